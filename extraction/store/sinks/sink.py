"""What a sink is, whether it holds an earlier state of the same folder, and how a run brings its results there."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from cinnabar.extraction.store import manifest as manifests
from cinnabar.schemas.errors import CinnabarError, RunError, UsageError
from cinnabar.schemas.wording import with_noun


@dataclass(frozen=True, slots=True)
class Position:
    """A state of a folder: the number of its newest commit, and its newest run.

    Every commit has a number of its own, so two equal positions of a folder are the same rows.
    """

    batch: int
    run: str


@dataclass(frozen=True, slots=True)
class Delivered:
    """What was brought to a sink: `sent` rows or files (`unit`); 0 if it had everything."""

    address: str
    sent: int
    unit: str

    def __str__(self) -> str:
        return f"{self.address}: {f'{with_noun(self.sent, self.unit)} sent' if self.sent else 'nothing new'}"


class Sink(Protocol):
    """An address that results of a folder are brought to; `address` holds no secret."""

    address: str

    def check(self) -> None:
        """Raises UsageError if the place cannot be reached, or cannot do what a sink needs."""

    def bring(self, out: Path) -> Delivered:
        """Has the place hold what the folder holds now; a second call changes nothing.

        It is the old state or the new one for those who read it, also if this process is killed. Raises UsageError if
        the place holds results of another folder, RunError if it fails.
        """


def check_follows(address: str, before: Position | None, here: Position, runs: Collection[str]) -> None:
    """Raises UsageError if a sink holds other results than those of this folder, or newer ones.

    `before` is where the sink stands, None if it is empty; `runs` are the runs of the folder.
    """
    if before is not None and (before.batch > here.batch or (before.run and before.run not in runs)):
        raise UsageError(
            f"{address}: holds results up to commit {before.batch} and run {before.run}, expected an earlier state of"
            f" this folder, which ends with commit {here.batch} and run {here.run}; name another address, or the folder"
            " that those came from"
        )


def deliver(out: Path, sinks: Sequence[Sink], note: Callable[[str], object]) -> None:
    """Brings the committed results of this folder to each sink; a folder without results is brought nowhere.

    Every sink is tried. Raises RunError if one fails.
    """
    if not sinks or not manifests.read_live(out):
        return
    failed = []
    for sink in sinks:
        try:
            note(str(sink.bring(out)))
        except CinnabarError as error:
            failed.append(str(error))
    if failed:
        raise RunError(
            f"{'; '.join(failed)}; the records are safe in {out}; run the same command again, or"
            f" `cinnabar export --out {out} --to ADDRESS`"
        )
