"""Which corrections wait and cannot be read, for those who look at a folder."""

from __future__ import annotations

from pathlib import Path

from cinnabar.extraction.storage.waiting import any_waiting


def unread_corrections(out: Path) -> dict[Path, str]:
    """Returns the files of waiting corrections that cannot be read, with the reasons; they stay where they are."""
    if not any_waiting(out):
        return {}
    # Only a folder with such corrections needs their rules.
    from cinnabar.extraction.corrections import journal

    return journal.broken(out)
