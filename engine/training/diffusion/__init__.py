"""Training of diffusion language models, by labelled sets or by generated pages."""
