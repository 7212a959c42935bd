"""Documents that are pages of a PDF of several."""
