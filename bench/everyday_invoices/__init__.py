"""Forty invoices and receipts in ten layouts and four languages, with their truth; twenty of them are sealed."""
