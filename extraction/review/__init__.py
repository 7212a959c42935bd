"""Reads an output folder for people who review it: lists, contents, and the forms to correct records."""
