"""Brings a folder to its sinks at the end of a run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from cinnabar.extraction.store import manifest as manifests
from cinnabar.extraction.store.sinks.sink import Delivered, Sink
from cinnabar.schemas.errors import CinnabarError, RunError
from cinnabar.schemas.wording import counted


def deliver(out: Path, sinks: Sequence[Sink], note: Callable[[str], object]) -> None:
    """Brings the committed results of this folder to each sink; a folder without results is brought nowhere.

    Every sink is tried. Raises RunError if one fails.
    """
    if not sinks or not manifests.read_live(out):
        return
    failed = []
    for sink in sinks:
        try:
            note(words(sink.bring(out)))
        except CinnabarError as error:
            failed.append(str(error))
    if failed:
        raise RunError(
            f"{'; '.join(failed)}; the records are safe in {out}; run the same command again, or"
            f" `cinnabar export --out {out} --to ADDRESS`"
        )


def words(done: Delivered) -> str:
    """Returns what was brought in words."""
    return f"{done.address}: {f'{counted(done.sent, done.unit)} sent' if done.sent else 'nothing new'}"
