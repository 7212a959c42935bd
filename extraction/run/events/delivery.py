"""Delivers waiting events: in their order for each address, again and again within a time that is bounded."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from cinnabar.extraction.run.events import mail, webhook
from cinnabar.extraction.run.events.addresses import found_at
from cinnabar.extraction.run.events.answers import Later, Refusal
from cinnabar.extraction.run.events.outbox import OUTBOX, Waiting, waiting
from cinnabar.extraction.store.files import FolderLock
from cinnabar.schemas.errors import InUse, UsageError

# Seconds that a receiver has for an answer, as Standard Webhooks has it; of the pauses the first and the longest.
_ANSWER, _PAUSES = 15.0, (0.2, 60.0)


@dataclass(slots=True)
class Delivered:
    """What became of waiting events: how many were sent, and by address why the others were not."""

    sent: int = 0
    refused: dict[str, str] = field(default_factory=dict)
    late: dict[str, str] = field(default_factory=dict)

    @property
    def notes(self) -> list[str]:
        """Returns what a person should know, in sentences."""
        told = {"an event was refused ({}); `cinnabar events` lists it": self.refused}
        told["events wait ({}); the next run, or `cinnabar events --send`, sends them"] = self.late
        return [f"{at}: {text.format(why)}" for text, whys in told.items() for at, why in whys.items()]


def deliver(out: Path, addresses: Collection[str] | None, seconds: float) -> Delivered:
    """Delivers the events that wait for these addresses, or for all, for so many seconds at most.

    If another process delivers events of this folder, it does nothing.
    """
    queues: dict[str, list[Waiting]] = {}
    result, deadline = Delivered(), time.monotonic() + seconds
    if not waiting(out):
        return result
    try:
        lock = FolderLock(out / OUTBOX)
    except InUse:
        return result
    for entry in waiting(out):
        if addresses is None or entry.address in addresses:
            queues.setdefault(entry.address, []).append(entry)
    # Daemons: a receiver that sends its answer byte by byte holds up neither the run nor the end of its process.
    senders = [
        threading.Thread(target=_send_all, args=(*one, deadline, result), daemon=True) for one in queues.items()
    ]
    keeper = threading.Thread(target=_release_after, args=(lock, senders), daemon=True)
    for thread in (*senders, keeper):
        thread.start()
    keeper.join(max(0.0, deadline - time.monotonic()) + 1.0)
    return result


def _release_after(lock: FolderLock, senders: Sequence[threading.Thread]) -> None:
    for one in senders:
        one.join()
    lock.release()


def _send_all(address: str, queue: Sequence[Waiting], deadline: float, result: Delivered) -> None:
    for entry in queue:
        pause = _PAUSES[0]
        while (left := deadline - time.monotonic()) > 0:
            try:
                _send(entry, min(_ANSWER, left))
                entry.taken()
                result.sent += 1
                break
            except Refusal as refusal:
                entry.refused(str(refusal))
                result.refused[address] = str(refusal)
                break
            except (Later, UsageError, OSError) as later:
                result.late[address] = str(later)
                # Full jitter: receivers that come back are not met by all senders at once.
                wait = max(getattr(later, "after", 0.0), random.uniform(0.0, pause))
                if time.monotonic() + wait >= deadline:
                    return
                time.sleep(wait)
                pause = min(2 * pause, _PAUSES[1])
        else:
            return
    result.late.pop(address, None)


def _send(entry: Waiting, timeout: float) -> None:
    address = found_at(entry.address)
    (mail.send if address.startswith("mailto:") else webhook.post)(address, entry.event, timeout)
