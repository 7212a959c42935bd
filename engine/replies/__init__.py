"""Turns the text of a server's answer into a record of the form."""
