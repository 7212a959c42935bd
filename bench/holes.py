"""Measures how a code model fills holes in files of this project, by the marks of its own for the middle of a text.

    python -m bench holes --model models/q05.gguf
    python -m bench holes --model models/q05.gguf --folder some/code --seed 1

Ten files are drawn by the seed, and three holes within functions of each: a line, an expression, and a block of 1 to 5
lines. The model sees whole lines before and behind a hole, 600 tokens at most, and writes 120; of an answer that this
bound cuts the whole lines count. A hole is filled if the file parses with the text in it, and exact if the text is the
file's own, blanks at its ends apart.
"""

from __future__ import annotations

import argparse
import ast
import queue
import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

from bench.recording import Row, record
from bench.reporting import table
from cinnabar.engine.chat.language_chat import LanguageChat, shared_language_engine
from cinnabar.engine.chat.requests import ChatRequest, Done, Event, gap_between
from cinnabar.engine.models.language.language_model import LanguageModel, load_language_model

ROOT = Path(__file__).resolve().parents[1]
#: The folders of the product, and the files that are drawn from them, each with a hole of each kind.
FOLDERS, FILES = ("apps", "engine", "extraction", "flows", "kernels", "schemas"), 10
#: Tokens before a hole and behind it, and the most tokens of an answer.
BEFORE, BEHIND, MOST = 400, 200, 120
_PLAIN = (ast.Constant, ast.Name, ast.JoinedStr, ast.Slice, ast.Starred)
#: Lines of a block, at most; letters of an expression, at least.
LINES, LETTERS = 5, 8


@dataclass(frozen=True, slots=True)
class Hole:
    """A hole in a file's text, from `begin` to `end`."""

    path: Path
    kind: str
    text: str
    begin: int
    end: int

    @property
    def inner(self) -> str:
        """The text that the file has there."""
        return self.text[self.begin : self.end]

    def parses(self, inner: str) -> bool:
        """Whether the file parses with another text there."""
        try:
            ast.parse(self.text[: self.begin] + inner + self.text[self.end :])
        except (SyntaxError, ValueError):
            return False
        return True


def drawn_holes(paths: Sequence[Path], seed: int) -> list[Hole]:
    """Returns the holes that a seed draws: one of each kind in each of the first files that have all kinds."""
    draw = random.Random(seed)
    found = list[Hole]()
    for path in draw.sample(sorted(paths), len(paths)):
        text = path.read_text("utf-8")
        kinds = {"line": [*_lines(text)], "expression": [*_expressions(text)], "block": [*_blocks(text)]}
        if len(found) < len(kinds) * FILES and all(kinds.values()):
            found += [Hole(path, kind, text, *draw.choice(spans)) for kind, spans in kinds.items()]
    return found


def _functions(text: str) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def _statements(text: str) -> Iterator[list[ast.stmt]]:
    """Yields the lists of statements within functions, without docstrings."""
    for function in _functions(text):
        for node in ast.walk(function):
            for name in ("body", "orelse", "finalbody"):
                body = getattr(node, name, None)
                if isinstance(body, list):
                    first = node is function and name == "body" and ast.get_docstring(function) is not None
                    yield body[first:]


def _expressions(text: str) -> Iterator[tuple[int, int]]:
    """Yields where expressions on one line begin and end, but for constants and names."""
    at = _places(text)
    for body in _statements(text):
        for statement in body:
            for node in ast.walk(statement):
                if not isinstance(node, ast.expr) or isinstance(node, _PLAIN):
                    continue
                if node.lineno == node.end_lineno:
                    begin, end = _span(text, at, node, node)
                    if end - begin >= LETTERS:
                        yield begin, end


def _blocks(text: str) -> Iterator[tuple[int, int]]:
    """Yields where runs of statements of a few lines begin and end."""
    at = _places(text)
    for body in _statements(text):
        for first in range(len(body)):
            for last in range(first, len(body)):
                if (body[last].end_lineno or 0) - body[first].lineno < LINES:
                    yield _span(text, at, body[first], body[last])


def _lines(text: str) -> Iterator[tuple[int, int]]:
    """Yields where the code of the lines of statements begins and ends."""
    at, lines = _places(text), text.split("\n")
    numbers = {
        number
        for body in _statements(text)
        for statement in body
        for number in range(statement.lineno, (statement.end_lineno or 0) + 1)
    }
    for number in sorted(numbers):
        line = lines[number - 1]
        if line.strip() and not line.strip().startswith("#"):
            begin = at[number] + len(line) - len(line.lstrip())
            yield begin, at[number] + len(line.rstrip())


def _places(text: str) -> list[int]:
    """Returns where each line of a text begins, by its number from 1."""
    places = [0, 0]
    for line in text.split("\n"):
        places.append(places[-1] + len(line) + 1)
    return places


def _span(text: str, at: Sequence[int], first: ast.stmt | ast.expr, last: ast.stmt | ast.expr) -> tuple[int, int]:
    def place(number: int, column: int) -> int:
        # Columns count bytes.
        line = text[at[number] : at[number + 1]].encode()
        return at[number] + len(line[:column].decode())

    return place(first.lineno, first.col_offset), place(last.end_lineno or 0, last.end_col_offset or 0)


def around(hole: Hole, model: LanguageModel) -> tuple[str, str]:
    """Returns the whole lines before and behind a hole that have so many tokens at most, with the rest of its own."""
    before = hole.text[: hole.begin].splitlines(keepends=True)
    behind = hole.text[hole.end :].splitlines(keepends=True)
    sizes = [[len(model.tokenizer.encode(line)) for line in lines] for lines in (before[::-1], behind)]
    many, few = (
        max(1, sum(total <= most for total in accumulate(own)))
        for own, most in zip(sizes, (BEFORE, BEHIND), strict=True)
    )
    before, behind = before[-many:], behind[:few]
    return "".join(before), "".join(behind)


def filled(chat: LanguageChat, hole: Hole, model: LanguageModel) -> Done:
    """Returns what the model writes into a hole."""
    found: queue.Queue[Event] = queue.Queue()
    chat.submit(ChatRequest(hole.path.name, max_tokens=MOST, gap=gap_between(*around(hole, model))), found.put)
    event = found.get()
    if not isinstance(event, Done):
        raise SystemExit(f"holes: {event}")
    return event


def main() -> None:
    """Prints each hole with what came, and how many were filled."""
    parser = argparse.ArgumentParser(prog="python -m bench holes", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--model", required=True, help="the folder or GGUF file of a code model")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--folder", type=Path, nargs="+", help="where the files are drawn; this project without any")
    parser.add_argument("--record", action="store_true", help="write bench/results/holes.json")
    a = parser.parse_args()
    folders = a.folder or [ROOT / folder for folder in FOLDERS]
    holes = drawn_holes([path for folder in folders for path in folder.rglob("*.py")], a.seed)
    model = load_language_model(a.model)
    chat = LanguageChat(model, shared_language_engine(model, model), model.folder.name)
    begun = time.monotonic()
    parsed, exact, kinds = 0, 0, dict[str, int]()
    for hole in holes:
        done = filled(chat, hole, model)
        text = done.text
        if done.finish_reason == "length" and "\n" in text:
            text = text.rpartition("\n")[0]
        ok, same = hole.parses(text), text.strip() == hole.inner.strip()
        parsed, exact = parsed + ok, exact + same
        kinds[hole.kind] = kinds.get(hole.kind, 0) + same
        how = "exact" if same else "parses" if ok else "broken"
        print(
            f"{how}: {hole.kind} in {hole.path.name}, {done.finish_reason}, {done.usage.completion_tokens} tokens",
            flush=True,
        )
        if not same:
            print(f"    wanted {hole.inner!r}\n    got    {text!r}", flush=True)
    chat.close()
    seconds = time.monotonic() - begun
    each = ", ".join(f"{count} {kind}s" for kind, count in kinds.items())
    print(
        table(
            ("holes", "parse", "exact", "of these", "seconds"),
            [(str(len(holes)), str(parsed), str(exact), each, f"{seconds:.0f}")],
        )
    )
    if a.record:
        name = Path(a.model).stem
        got = f"{parsed}; {exact} ({each})"
        row = Row(
            f"{len(holes)} holes in ten files of this project, {name}: the file parses; to the letter",
            "27; 15",
            got,
            parsed < 27 or exact < 15,
        )
        record("holes", "holes in code", f"python -m bench holes --model {name}.gguf", [row], precision="int8")


if __name__ == "__main__":
    main()
