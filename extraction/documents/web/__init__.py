"""Files of data and of the web: CSV, JSON, XML and EPUB."""
