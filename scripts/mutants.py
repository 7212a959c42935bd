#!/usr/bin/env python3
"""Changes operators of the automaton, cut and commit code at random: how many changes do the tests catch?

    .venv/bin/python scripts/mutants.py --seed 1 --count 120

Cosmic Ray knows the mutants. A place is drawn (an operator, a number, a condition, a loop of one of the files
below), then one of the mutants there, so that a `+`, which has eleven, weighs as much as a `not`, which has
one. Each is written into a copy of the tree, and the tests that concern it run, the nearest first, until one
fails; one that runs into a limit of time or memory fails too. What is done is kept in
RUN/mutants-SEED.jsonl: the same command goes on where it was, and `--again` tries the survivors anew.

What says nothing by its kind is never drawn: annotations, decorators (`slots`, sizes of caches), the texts of
errors, `strict=` of `zip`, and `==` exchanged for `is`. A single mutant that cannot change any output is
listed in equivalent_mutants.toml with the reason, and is not drawn either.
"""

from __future__ import annotations

import argparse
import ast
import difflib
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
import tomllib
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, cast

ROOT = Path(__file__).resolve().parents[1]
EQUIVALENT = Path(__file__).with_name("equivalent_mutants.toml")
#: The automata and what is laid out with them, the cuts, and what commits.
FILES = (
    *(f"schemas/{name}.py" for name in (
        "algebra", "annotations", "applicators", "automaton", "boolean", "canonical", "codepoints", "compile",
        "concatenation", "containers", "counts", "ecma", "fitting", "form", "formats", "hosts", "instances",
        "language", "layout", "literals", "machine", "matcher", "minimise", "named_types", "normalise",
        "numbers", "reader", "regex", "scalars", "spelling", "strings", "times", "uris",
    )),
    *(f"schemas/judging/{name}.py" for name in (
        "applicators", "assertions", "building", "checks", "containers", "dialects", "judge", "resources",
        "values",
    )),
    *(f"engine/{name}.py" for name in (
        "canvas", "constraint", "denoising", "layout", "lifting", "repair", "steps", "writing",
    )),
    *(f"kernels/{name}.py" for name in ("class_logits", "constrained_scan")),
)  # fmt: skip
#: The tests of a folder's mutants; those that do not come to import the module are not run.
TESTS = {
    "schemas": ("tests/schemas/test_*.py",),
    "engine": ("tests/engine/test_*.py", "tests/kernels/test_c*.py"),
    "kernels": ("tests/engine/test_*.py", "tests/kernels/test_c*.py"),
}
#: What a mutant meets that those did not catch: what is done with its folder further up, however far.
LAST = {
    "schemas": ("tests/schemas/test_*.py", "tests/engine/test_*.py", "tests/engine/models/test_*.py"),
    "engine": ("tests/engine/models/test_*.py",),
    "kernels": (),
}
#: Tests that come to import a module by more imports than this say nothing of it that nearer ones do not.
FARTHEST = 4
#: What runs long and says little of operators: caches, sizes, speed, models, development data; and, but in
#: the last stage, tables of other formats.
LEFT_OUT = (
    "test_cache", "test_encodings", "test_judging_suite", "test_model", "test_remote_filler",
    "test_scan_speed", "test_scheduler",
)  # fmt: skip
LEFT_FOR_LAST = ("test_arrow", "test_describe", "test_library", "test_loading")
DESELECTED = "hundred_thousand or hostile"
#: Of tests that do the same with other seeds, two; the slowest test of all, which runs last, with the lowest
#: efforts only.
ANY_STEP = "tests/engine/test_valid_at_any_step.py"
REPEATED = (
    *(f"{ANY_STEP}::test_every_state_at_every_step_is_valid[{seed}]" for seed in range(20) if seed % 8 != 5),
    *(f"{ANY_STEP}::test_scores_peaked_on_a_record_give_its_canonical_text[{how}-{effort}]"
      for how in ("spell", "copy") for effort in ("medium", "high")),
)  # fmt: skip
#: Seconds of the processor's time for the files of a stage and for each of them, and bytes of address space:
#: a few times what is needed.
SECONDS, SECONDS_A_FILE, MEMORY = 25, 6, 8 << 30
#: Operators that need parameters, or change what is left out by its kind.
OTHER_OPERATORS = re.compile(r"Variable|RemoveDecorator|Operator_(?!Is)\w+_Is|Operator_Is(Not)?_(?!Is)")


@dataclass(frozen=True, slots=True)
class Mutant:
    """The `occurrence`-th change that a Cosmic Ray operator makes in a file; `start` is (line, column)."""

    path: str
    operator: str
    occurrence: int
    start: tuple[int, int]
    #: The line as it stands, and which of the operator's changes in such lines of the file it is. With
    #: `path` and `operator` they name the mutant as long as the line stays.
    text: str
    nth: int

    @property
    def key(self) -> tuple[str, str, str, int]:
        return self.path, self.operator, self.text, self.nth

    @property
    def place(self) -> tuple[str, tuple[int, int], str]:
        return self.path, self.start, self.operator.partition("_")[0]


def left_out(source: str) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """[start, end) of what says nothing by its kind, as (line, column in characters)."""
    lines = source.splitlines()

    def place(line: int, column: int) -> tuple[int, int]:
        return line, len(lines[line - 1].encode()[:column].decode())

    found: list[ast.AST | None] = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            found += [*node.decorator_list, node.returns]
        elif isinstance(node, ast.ClassDef):
            found += node.decorator_list
        elif isinstance(node, ast.arg | ast.AnnAssign):
            found.append(node.annotation)
        elif isinstance(node, ast.Raise):
            found += [below for below in ast.walk(node) if isinstance(below, ast.JoinedStr)]
        elif isinstance(node, ast.keyword) and node.arg == "strict":
            found.append(node.value)
        elif isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            found.append(node)
    return [
        (place(node.lineno, node.col_offset), place(node.end_lineno, node.end_col_offset))
        for node in found
        if node is not None
    ]


def mutants_of(path: str, source: str) -> Iterator[Mutant]:
    """Every mutant of a file that may be drawn, operator by operator in the order of Cosmic Ray."""
    from cosmic_ray.ast import ast_nodes, get_ast
    from cosmic_ray.plugins import get_operator, operator_names

    lines, spans = source.splitlines(), left_out(source)
    nodes = list(ast_nodes(get_ast(source)))
    for name in sorted(operator_names()):
        if OTHER_OPERATORS.search(name):
            continue
        operator, seen = get_operator(name)(), Counter[str]()
        places = (start for node in nodes for start, _ in operator.mutation_positions(node))
        for occurrence, start in enumerate(places):
            text = lines[start[0] - 1].strip()
            if not any(first <= start < end for first, end in spans):
                yield Mutant(path, name, occurrence, start, text, seen[text])
            seen[text] += 1


def mutated(mutant: Mutant, source: str) -> str | None:
    """The file with the change; None where that is no program, or the same one."""
    from cosmic_ray.mutating import mutate_code
    from cosmic_ray.plugins import get_operator

    changed: str | None = mutate_code(source, get_operator(mutant.operator)(), mutant.occurrence)
    if changed is None:
        return None
    try:
        same = ast.dump(ast.parse(changed)) == ast.dump(ast.parse(source))
        compile(changed, mutant.path, "exec", dont_inherit=True)
    except SyntaxError:
        return None
    return None if same else changed


def entries() -> list[dict[str, Any]]:
    """The mutants that are known to change nothing, each with its reason."""
    return cast("list[dict[str, Any]]", tomllib.loads(EQUIVALENT.read_text("utf-8")).get("mutant", []))


def equivalent() -> set[tuple[str, str, str, int]]:
    """The keys of the mutants that are known to change nothing."""
    return {(one["path"], one["operator"], one["text"], one.get("nth", 0)) for one in entries()}


def draw(sources: dict[str, str], seed: int, count: int) -> Iterator[tuple[Mutant, str]]:
    """At most `count` mutants at different places, each with its program, in an order that `seed` decides."""

    def rank(mutant: Mutant) -> bytes:
        # Of its own, so that a change to other lines changes nothing here.
        return sha256(repr((seed, *mutant.key)).encode()).digest()

    known, places = equivalent(), dict[tuple[str, tuple[int, int], str], list[Mutant]]()
    for path, source in sources.items():
        for mutant in mutants_of(path, source):
            places.setdefault(mutant.place, []).append(mutant)
    order = sorted(places.values(), key=lambda here: rank(here[0]))
    for mutant in (min(here, key=rank) for here in order):
        if count == 0:
            return
        if mutant.key in known:
            continue
        changed = mutated(mutant, sources[mutant.path])
        if changed is not None:
            count -= 1
            yield mutant, changed


def difference(source: str, changed: str) -> str:
    """The lines that differ, as in a patch."""
    lines = difflib.unified_diff(source.splitlines(), changed.splitlines(), lineterm="", n=0)
    return "\n".join(line for line in lines if line[:3] not in ("---", "+++") and line[:2] != "@@")


@cache
def imports(tree: Path, file: Path) -> frozenset[Path]:
    """The files of a tree that one of them imports."""
    found = set()
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        for name in names:
            below = name.removeprefix("cinnabar.").replace(".", "/")
            found |= {
                tree / one for one in (f"{below}.py", f"{below}/__init__.py", f"tests/engine/{below}.py")
            }
    return frozenset(one for one in found if one.is_file())


def distance(tree: Path, test: Path, module: Path) -> int | None:
    """How many imports lead from a test to a module of its tree, None where none do."""
    steps, waiting = {test: 0}, deque([test])
    while waiting:
        file = waiting.popleft()
        if file == module:
            return steps[file]
        for below in imports(tree, file) - steps.keys():
            steps[below] = steps[file] + 1
            waiting.append(below)
    return None


def nearest(tree: Path, module: Path, patterns: Iterable[str]) -> tuple[list[str], list[str]]:
    """The test files that are named after a module, and the others that concern it, the nearest first."""
    words = (module.stem, module.stem.removesuffix("s"), module.parent.name)
    named, others = [], []
    for test in (test for pattern in patterns for test in tree.glob(pattern)):
        far, name = distance(tree, test, module), str(test.relative_to(tree))
        if test.stem not in LEFT_OUT + LEFT_FOR_LAST and far is not None and far <= FARTHEST:
            own = any(test.stem.removeprefix("test_").startswith(word) for word in words)
            (named if own else others).append((name == ANY_STEP, far, name))
    return [name for *_, name in sorted(named)], [name for *_, name in sorted(others)]


def stages(tree: Path, path: str) -> Iterator[list[str]]:
    """The test files that concern a module; what follows a stage runs where nothing of it failed."""
    folder = path.partition("/")[0]
    near = nearest(tree, tree / path, TESTS[folder])
    yield from near
    last = {
        test: distance(tree, test, tree / path) for pattern in LAST[folder] for test in tree.glob(pattern)
    }
    names = {str(test.relative_to(tree)) for test, far in last.items() if far is not None}
    yield sorted(name for name in names.difference(*near, (ANY_STEP,)) if Path(name).stem not in LEFT_OUT)


def outcome(tree: Path, tests: Sequence[str]) -> str:
    """What failed first of these tests in a tree: a test, a limit; empty where all pass."""
    env = os.environ | {
        "PYTHONPATH": str(tree / ".typing"), "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "",
    }  # fmt: skip
    command = (
        sys.executable, "-m", "pytest", "-x", "-q", "--no-header", "--tb=line", "-p", "no:cacheprovider",
        "--hypothesis-profile=mutants", "--hypothesis-seed=0", "--timeout=0",
        "-k", f"not ({DESELECTED})",
        *(f"--deselect={name}" for name in REPEATED), *tests,
    )  # fmt: skip

    # Of the processor's time, for on a busy machine a clock says little of a test.
    seconds = SECONDS + SECONDS_A_FILE * len(tests)

    def limits() -> None:
        os.nice(10)
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))

    try:
        done = subprocess.run(
            command, cwd=tree, env=env, preexec_fn=limits, capture_output=True, text=True,
            timeout=60 * seconds, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return "a limit of time"
    if done.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
        return "a limit of time"
    if done.returncode == 0:
        return ""
    failed = re.search(r"^(?:FAILED|ERROR) (\S+)", done.stdout, re.MULTILINE)
    return failed[1] if failed else f"exit status {done.returncode}"


def forget_bytecode(file: Path) -> None:
    """Python compares whole seconds and sizes, which may be those of the program before."""
    for compiled in (file.parent / "__pycache__").glob(f"{file.stem}.*.pyc"):
        compiled.unlink()


def caught_by(tree: Path, mutant: Mutant, source: str, changed: str) -> str:
    """The test that catches a mutant, or the limit; empty where none does."""
    file = tree / mutant.path
    forget_bytecode(file)
    file.write_text(changed, "utf-8")
    try:
        found = (outcome(tree, tests) for tests in stages(tree, mutant.path) if tests)
        return next(filter(None, found), "")
    finally:
        file.write_text(source, "utf-8")
        forget_bytecode(file)


def copy_tree(tree: Path) -> str:
    """What git knows, as it stands now, in a folder of its own; the hash of all of it."""
    shutil.rmtree(tree, ignore_errors=True)
    digest = sha256()
    names = subprocess.run(
        ("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"),
        cwd=ROOT, check=True, capture_output=True, text=True,
    ).stdout.split("\0")  # fmt: skip
    for name in filter(None, names):
        if (ROOT / name).exists():
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, tree / name, follow_symlinks=False)
            if (tree / name).is_file():
                digest.update(name.encode() + b"\0" + (tree / name).read_bytes())
    return digest.hexdigest()


def check_unchanged(tree: Path, paths: Iterable[str], noted: Path, digest: str) -> None:
    """Raises SystemExit where tests fail without any change; which files passed is noted."""
    tests = sorted({test for path in paths for stage in stages(tree, path) for test in stage})
    passed = noted.read_text("utf-8").splitlines() if noted.exists() else []
    tests = [test for test in tests if f"{digest} {test}" not in passed]
    if not tests:
        return
    if failed := outcome(tree, tests):
        raise SystemExit(f"mutants: expected tests that pass without any change, {failed} fails")
    with noted.open("a", encoding="utf-8") as file:
        file.writelines(f"{digest} {test}\n" for test in tests)


def table(results: Iterable[dict[str, object]]) -> str:
    """The figures by folder, and each survivor."""
    results = list(results)
    lines = ["| code | mutants | caught | share |", "|---|---|---|---|"]
    folders = sorted({str(one["path"]).rpartition("/")[0] for one in results})
    for folder in [*folders, ""]:
        here = [bool(one["by"]) for one in results if folder in ("", str(one["path"]).rpartition("/")[0])]
        share = f"{100 * sum(here) / len(here):.1f}%" if here else "-"
        lines.append(f"| {folder or 'all'} | {len(here)} | {sum(here)} | {share} |")
    for one in results:
        if not one["by"]:
            lines.append(f"\n{one['path']}:{one['line']} {one['operator']} (nth = {one['nth']})")
            lines.append(str(one["difference"]))
    return "\n".join(lines)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seed", type=int, default=1, help="decides which mutants (default 1)")
    parser.add_argument("--count", type=int, default=120, help="how many (default 120)")
    parser.add_argument(
        "--only", metavar="FILE", action="append", choices=FILES, help="of this file (may be repeated)"
    )
    parser.add_argument(
        "--run", type=Path, default=ROOT / "runs/mutants", help="the folder that keeps results (runs/mutants)"
    )
    parser.add_argument("--again", action="store_true", help="try the survivors anew")
    return parser.parse_args()


def main() -> None:
    asked = arguments()
    tree, kept = asked.run / "tree", asked.run / f"mutants-{asked.seed}.jsonl"
    asked.run.mkdir(parents=True, exist_ok=True)
    digest = copy_tree(tree)
    sources = {path: (ROOT / path).read_text("utf-8") for path in asked.only or FILES}
    lines = kept.read_text("utf-8").splitlines() if kept.exists() else []
    known = {(one["path"], one["operator"], one["text"], one["nth"]): one for one in map(json.loads, lines)}
    if asked.again:
        known = {key: one for key, one in known.items() if one["by"]}
    drawn = list(draw(sources, asked.seed, asked.count))
    paths = {mutant.path for mutant, _ in drawn if mutant.key not in known}
    check_unchanged(tree, paths, asked.run / "passes.txt", digest)
    for at, (mutant, changed) in enumerate(drawn, 1):
        if mutant.key not in known:
            began = time.monotonic()
            by = caught_by(tree, mutant, sources[mutant.path], changed)
            one = asdict(mutant) | {
                "line": mutant.start[0], "by": by, "seconds": round(time.monotonic() - began, 1),
                "difference": difference(sources[mutant.path], changed),
            }  # fmt: skip
            known[mutant.key] = one
            with kept.open("a", encoding="utf-8") as file:
                file.write(json.dumps(one) + "\n")
            said = f"caught by {by}" if by else "SURVIVED"
            what = f"{mutant.path}:{mutant.start[0]} {mutant.operator}"
            print(f"{at}/{len(drawn)} {what} {said} ({one['seconds']} s)", file=sys.stderr, flush=True)
    print(table(known[mutant.key] for mutant, _ in drawn))


if __name__ == "__main__":
    main()
