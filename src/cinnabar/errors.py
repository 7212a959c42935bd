"""The exceptions that Cinnabar raises on purpose.

CinnabarError
├── UsageError                 wrong use, reported before any work begins (exit status 2)
│   ├── SchemaError            the schema itself is broken or cannot be found
│   │   └── RegexError         a pattern that cannot be read or is not regular: position, reason
│   ├── NotUnited              versions of a schema with types that one table cannot hold: pointer, both types
│   ├── InUse                  a folder that another run is writing to: folder, what
│   ├── Refused                a correction after which a record would break its schema, or not be storable: places
│   ├── Overtaken              a correction of a value that somebody has changed since it was seen: places
│   ├── RequestRefused         a request of a chat (engine/chat/requests.py): event
│   ├── NoMailbox              a mailbox that its server does not have
│   ├── TooLarge               an automaton past the cap on states
│   ├── TooMuchWork            patterns that would together take too much work to compile
│   ├── UnsupportedNumber      bounds or a multipleOf that no automaton of acceptable size holds
│   └── UnsupportedSchema      a keyword that cannot be enforced (refusals.py): pointer, keyword, reason, advice
│       └── NoValue            a schema of which no value was found, mostly because none exists
├── NotAccepted                a value that its schema does not allow: pointer
├── NotStored                  a value that its schema allows and no column can hold: pointer
├── DocumentError              a document that cannot be read: quarantine, with `code`
├── ModelError                 weights or settings that do not fit
├── EngineFailure              one request that could not be filled: quarantine, with `code`
└── RunError                   the run itself failed; rerun the same command (exit status 1)
    ├── StrangeName            a name in an output folder that Cinnabar does not give (extraction/store/path_safety.py)
    ├── NoEngine               no process starts, or no service answers, that would do its work
    └── ClusterGone            the machines that did its work do not answer any more
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


class CinnabarError(Exception):
    """The root of the tree."""


class IncompleteFolder(UserWarning):
    """A folder of results that lacks manifests."""


class UsageError(CinnabarError):
    """Wrong use, reported in one line before any work begins."""


class SchemaError(UsageError):
    """A schema that is not JSON, contradicts the standard's meta-schema, or cannot be found."""


class RegexError(SchemaError):
    """A pattern that is not ECMA-262 (flag u), or that is not regular.

    `position` is the offset in the pattern, in characters.
    """

    def __init__(self, position: int, reason: str) -> None:
        self.position, self.reason = position, reason
        super().__init__(f"pattern, at character {position}: {reason}")


class NotUnited(UsageError):
    """Two versions of a schema with values that no one type holds; `pointer` is the place in the record."""

    def __init__(self, pointer: str, old: str, new: str) -> None:
        self.pointer, self.old, self.new = pointer, old, new
        super().__init__(
            f"{pointer or '/'}: was {old} and is now {new}, which one table cannot hold together; give the field"
            " another name and run `cinnabar backfill` with that version, which fills the new field from the documents"
            " and keeps all others; or give the schema another title, or choose another folder with --out"
        )


class InUse(UsageError):
    """A folder that another run is writing to; `what` says so and names the process of that run."""

    def __init__(self, folder: Path, process: str) -> None:
        self.folder = folder
        self.what = f"{folder}: another run is writing here (process {process})"
        super().__init__(f"{self.what}; wait for it to end, or choose another --out")


class Refused(UsageError):
    """A correction after which a record would break its schema, or hold a value that no column can store.

    `places` has the JSON pointers (RFC 6901) of the wrong values, each with the reason.
    """

    def __init__(
        self, document: str, places: list[tuple[str, str]], fault: str = "would break its schema"
    ) -> None:
        self.places = places
        listed = "; ".join(f"{pointer or '/'}: {message}" for pointer, message in places[:5])
        super().__init__(f"{document}: the corrected record {fault} at {listed}; nothing was changed")


@dataclass(frozen=True, slots=True)
class OvertakenPlace:
    """A place that somebody changed since a person saw it: the wanted value and the present one, as JSON texts.

    `mine` is None if the change has no value, `theirs` if the record leaves the place out. `who` changed it, "" for a
    run; `undone` if they took a correction back.
    """

    pointer: str
    mine: str | None
    theirs: str | None
    who: str = ""
    undone: bool = False


class Overtaken(UsageError):
    """A correction of places that somebody has changed since the person saw them; nothing was changed."""

    def __init__(self, document: str, places: list[OvertakenPlace]) -> None:
        self.places = places
        listed = "; ".join(
            f"{one.pointer or '/'} is now {one.theirs or 'left out'} ({one.who or 'a run'})"[:200] for one in places[:5]
        )
        super().__init__(
            f"{document}: has changed since it was seen: {listed}; nothing was changed; look at it, and correct again"
        )


class NoMailbox(UsageError):
    """A mailbox that does not exist on a server that answers."""


class TooLarge(UsageError):
    """An automaton past the cap on states; `states` is the number at which the building stopped."""

    def __init__(self, states: int, limit: int, advice: str = "") -> None:
        self.states, self.limit = states, limit
        problem = f"the automaton needs {states} states or more, expected at most {limit}"
        super().__init__(problem + (f" ({advice})" if advice else ""))


class TooMuchWork(UsageError):
    """Patterns of one schema that together take too much work; `patterns` is the number compiled before."""

    def __init__(self, patterns: int) -> None:
        self.patterns = patterns
        super().__init__(f"the {patterns} patterns or multiples before it used up the work allowed for one schema")


class UnsupportedNumber(UsageError):
    """Bounds or a `multipleOf` that no automaton of acceptable size holds."""


def shorten(pointer: str) -> str:
    """Returns a JSON pointer, or a parameter's name, for a message: both ends of a long one."""
    return pointer if len(pointer) <= 120 else f"{pointer[:60]} … {pointer[-50:]}"


class UnsupportedSchema(UsageError):
    """A schema that cannot be enforced.

    `pointer` is the JSON pointer (RFC 6901) of the keyword within the schema; the message shows both ends of a long
    one.
    """

    def __init__(self, pointer: str, keyword: str, reason: str, advice: str = "") -> None:
        self.pointer, self.keyword, self.reason, self.advice = pointer, keyword, reason, advice
        super().__init__(f"{shorten(pointer) or '/'}: {keyword}: {reason}" + (f" ({advice})" if advice else ""))


class NoValue(UnsupportedSchema):
    """A schema of which no value was found; if it is one of several alternatives, that alternative is dropped."""


class NotAccepted(CinnabarError, ValueError):
    """A value that its schema does not allow; `pointer` (RFC 6901) is the place of the value in the record."""

    def __init__(self, pointer: str, why: str) -> None:
        self.pointer = pointer
        super().__init__(f"{pointer or '/'}: {why}")


class NotStored(CinnabarError, ValueError):
    """A value that its schema allows and that its column cannot hold.

    `pointer` (RFC 6901) is the place of the value in the record, "" if it is unknown; `why` is the message without it.
    """

    def __init__(self, pointer: str, why: str) -> None:
        self.pointer, self.why = pointer, why if len(why) <= 300 else f"{why[:300]} …"
        super().__init__(f"{pointer or '/'}: {self.why}")


class DocumentError(CinnabarError):
    """A document that cannot be read.

    `code` is one of `UNREADABLE` in extraction/plan/outcomes.py; `detail` describes the problem.
    """

    def __init__(self, code: str, detail: str = "") -> None:
        self.code, self.detail = code, detail
        super().__init__(f"{code}: {detail}" if detail else code)


class ModelError(CinnabarError):
    """Weights or settings of a model that do not fit together."""


class EngineFailure(CinnabarError):
    """One request that could not be filled; the others of its batch are not affected."""

    def __init__(self, code: str, detail: str = "") -> None:
        self.code, self.detail = code, detail
        super().__init__(f"{code}: {detail}" if detail else code)


class RunError(CinnabarError):
    """The run failed as a whole; committed records stay, and the same command resumes it."""


class NoEngine(RunError):
    """No process starts, or no service answers, that would fill the batches of a run."""


class ClusterGone(RunError):
    """The Ray cluster of a run does not answer any more."""
