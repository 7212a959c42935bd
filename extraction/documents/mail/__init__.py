"""Mails: headers, bodies and attachments, and the facts of their headers."""
