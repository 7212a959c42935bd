"""Records written by a diffusion language model under a form's exact constraint."""
