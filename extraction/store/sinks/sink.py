"""What a sink is."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Delivered:
    """What was brought to a sink: `sent` rows or files (`unit`); 0 if it had everything."""

    address: str
    sent: int
    unit: str


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
