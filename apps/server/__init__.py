"""The local server: Mercury's API in front of a model on this machine, and an endpoint for documents."""
