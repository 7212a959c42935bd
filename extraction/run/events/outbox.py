"""The events of a folder that wait for their receivers, one file for each address, which goes once it is taken.

They are delivered in their order for each address, again and again within a time that is bounded. An event that goes
twice has the same id.
"""

from __future__ import annotations

import contextlib
import hashlib
import random
import threading
import time
from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

import orjson

from cinnabar.extraction.run.events.receivers import NotTaken, kinds_of, public_address, send
from cinnabar.extraction.run.events.run_events import KINDS, Event, kind_of
from cinnabar.extraction.store.files import FolderLock, write_bytes
from cinnabar.extraction.store.path_safety import check_links
from cinnabar.schemas.errors import InUse, UsageError

#: The folder within the results.
OUTBOX = "outbox"
# Seconds that a receiver has for an answer, as Standard Webhooks has it; of the pauses the first and the longest.
_ANSWER, _PAUSES = 15.0, (0.2, 60.0)


@dataclass(frozen=True, slots=True)
class Waiting:
    """An event that waits for one receiver; `to` is its address as it is shown."""

    path: Path
    address: str
    event: Event
    id: str
    to: str

    def taken(self) -> None:
        """Removes the event, whose receiver has it."""
        self.path.unlink(missing_ok=True)


def outbox_of(out: Path) -> Path:
    """Returns where events of this folder of results wait. Raises StrangeName if a link leads out of the folder."""
    check_links(out, everything=True)
    return out / OUTBOX


def waiting_events(out: Path) -> list[Waiting]:
    """Returns the events that wait in this folder of results, those of the oldest run first."""
    entries = []
    for path in sorted(outbox_of(out).glob("[0-9]*.json")):
        # What is gone was delivered meanwhile; what is no event of ours is left alone.
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            if not path.is_symlink():
                content = orjson.loads(path.read_bytes())
                address, event = content["address"], content["event"]
                entries.append(Waiting(path, address, event, event["id"], public_address(address)))
    return entries


def put(out: Path, events: Sequence[Event], addresses: Sequence[str]) -> None:
    """Has these events wait for the addresses that want them, each once, on disk before it returns."""
    folder = outbox_of(out)
    for event in events:
        kind = kind_of(event)
        for address in (one for one in addresses if kind in (kinds_of(one) or KINDS)):
            # Names sort by run, then by kind.
            digest = hashlib.sha256(address.encode()).hexdigest()[:16]
            path = folder / f"{event['subject']}-{KINDS.index(kind)}-{digest}.json"
            write_bytes(path, orjson.dumps({"address": address, "event": event}) + b"\n")


def deliver(out: Path, addresses: Collection[str] | None, seconds: float) -> list[str]:
    """Delivers the events that wait for these addresses, or for all, for so many seconds at most.

    Returns what a person should know, in sentences. If another process delivers events of this folder, it does nothing.
    """
    queues, late = defaultdict[str, list[Waiting]](list), dict[str, str]()
    deadline = time.monotonic() + seconds
    try:
        lock = FolderLock(outbox_of(out))
    except (InUse, OSError):
        return []
    for entry in waiting_events(out):
        if addresses is None or entry.address in addresses:
            queues[entry.address].append(entry)
    # Daemons: a receiver that sends its answer byte by byte holds up neither the run nor the end of its process.
    senders = [threading.Thread(target=_send_all, args=(*one, deadline, late), daemon=True) for one in queues.items()]
    for one in senders:
        one.start()
    for one in senders:
        one.join(max(0.0, deadline + 1.0 - time.monotonic()))
    lock.release()
    send_them = "the next run, or `cinnabar status events --send`, sends them"
    return [f"{public_address(address)}: events wait ({why}); {send_them}" for address, why in late.items()]


def _send_all(address: str, queue: Sequence[Waiting], deadline: float, late: dict[str, str]) -> None:
    """Sends these events; `late` holds why some of them wait, and has nothing of the address once all are taken."""
    late[address], refused = "no answer yet", False
    for entry in queue:
        pause = _PAUSES[0]
        while (left := deadline - time.monotonic()) > 0:
            try:
                send(address, entry.event, min(_ANSWER, left))
                entry.taken()
                break
            except (NotTaken, UsageError, OSError) as error:
                late[address] = str(error)
                # A wrong setting stays as it is.
                after = None if isinstance(error, UsageError) else getattr(error, "after", 0.0)
            if after is None:
                refused = True
                break
            # Full jitter: receivers that come back are not met by all senders at once.
            wait = max(after, random.uniform(0.0, pause))
            if wait >= left:
                return
            time.sleep(wait)
            pause = min(2 * pause, _PAUSES[1])
        else:
            return
    if not refused:
        late.pop(address)
