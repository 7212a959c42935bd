"""Files of data and of the web: CSV, JSON and XML."""
