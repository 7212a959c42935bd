"""These tests work on output folders."""

from tests.support.store_fixtures import out, workload

__all__ = ["out", "workload"]
