"""OCR: image files become pages, and the pictures of a document become words in processes of their own."""
