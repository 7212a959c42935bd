"""Recipes that train the weights which ship; not part of the wheel."""
