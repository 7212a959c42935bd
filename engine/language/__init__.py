"""Language models, causal and diffusion ones, that fill a form: denoising under the automaton of the whole record."""
