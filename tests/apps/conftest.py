"""These tests share a model, a finished run and a Prefect server."""

from tests.support.run_fixtures import _extracted, done, notes, prefect_server, tiny_model, writing

__all__ = ["_extracted", "done", "notes", "prefect_server", "tiny_model", "writing"]
