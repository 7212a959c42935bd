"""Plain text and HTML, and the charsets of both."""
