"""Released language models that fill a form: each field is a branch behind the document, grounded in its words."""
