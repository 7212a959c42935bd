"""Sinks: places elsewhere that the results of a folder are brought to, incrementally and idempotently.

`addresses` finds the sink of an address, `sink` brings a folder to several. `postgresql` and `delta` keep tables equal
to its views. Each sink reads where it stands first and the
folder afterwards, and commits only if nobody else has committed since, so it never goes back to an older state.
"""
