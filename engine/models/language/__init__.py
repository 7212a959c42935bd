"""Language models in Hugging Face form: one decoder for diffusion and autoregressive families."""
