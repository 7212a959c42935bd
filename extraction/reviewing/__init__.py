"""Reads an output folder for people who review it: lists of documents, their contents, and the forms to correct them."""
