"""Diffusion language models that fill a form: denoising under the automaton of the whole record."""
