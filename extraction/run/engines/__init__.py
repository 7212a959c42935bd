"""The engine processes of a run on one machine."""
