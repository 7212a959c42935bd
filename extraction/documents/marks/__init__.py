"""Marks on forms: boxes to tick and lines to sign, found on a page and told by the ink in them."""
