"""The review page: a server on this machine, and the page that it serves."""
