"""These tests work on output folders."""

from tests.support.store_fixtures import _unsynced, out, workload

__all__ = ["_unsynced", "out", "workload"]
