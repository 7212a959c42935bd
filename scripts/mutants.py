#!/usr/bin/env python3
"""Changes operators of the automaton, cut and commit code at random, and counts the changes that the tests catch.

    .venv/bin/python scripts/mutants.py --seed 1 --count 120

Cosmic Ray knows the mutants. A place is drawn (an operator, a number, a condition, a loop of one of the files below),
then one of its mutants, so that a `+` with its eleven mutants weighs as much as a `not` with its one. Each mutant is
written into a copy of the tree, and the tests that concern it run, the nearest first, until one fails; a mutant that
reaches a limit of time or memory fails too. The results are kept in RUN/mutants-SEED.jsonl: the same command continues
after the last one, and `--again` tries the survivors anew.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable
from dataclasses import asdict
from hashlib import sha256
from pathlib import Path

from mutant_draws import Mutant, difference, draw
from mutant_tests import outcome, stages

ROOT = Path(__file__).resolve().parents[1]
#: The modules of the automata and their layout, the cuts, and the commits.
_MODULES = {
    "schemas/automata": "automaton operations minimise numbers spelling strings",
    "schemas/compiling": "compile",
    "schemas/form": "fitting form instances layout",
    "schemas/formats": "formats",
    "schemas/judging": "judge ways translation dialects resources",
    "schemas/parsing": "algebra applicators containers language schema_object shape_reader scalars",
    "schemas/regex": "codepoints ecma machine matcher patterns",
    "engine/fill": "batch_state step layout repair writing",
    "engine/models/language": "lifting",
    "kernels": "block_scan",
}
FILES = tuple(f"{folder}/{name}.py" for folder, names in _MODULES.items() for name in names.split())


def forget_bytecode(file: Path) -> None:
    """Deletes the bytecode of a file: Python compares whole seconds and sizes, which may match the program before."""
    for compiled in (file.parent / "__pycache__").glob(f"{file.stem}.*.pyc"):
        compiled.unlink()


def caught_by(tree: Path, mutant: Mutant, source: str, changed: str) -> str:
    """The test or limit that catches a mutant; empty if none does."""
    file = tree / mutant.path
    forget_bytecode(file)
    file.write_text(changed, "utf-8")
    try:
        outcomes = (outcome(tree, tests) for tests in stages(tree, mutant.path) if tests)
        return next(filter(None, outcomes), "")
    finally:
        file.write_text(source, "utf-8")
        forget_bytecode(file)


def copy_tree(tree: Path) -> str:
    """Copies the working state of all files that git knows to a folder; returns the hash of all of it."""
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
    """Raises SystemExit if a test fails without any change; notes the files that passed."""
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
    """The figures by folder, and each survivor, as Markdown."""
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
    options = arguments()
    tree, kept = options.run / "tree", options.run / f"mutants-{options.seed}.jsonl"
    options.run.mkdir(parents=True, exist_ok=True)
    digest = copy_tree(tree)
    sources = {path: (ROOT / path).read_text("utf-8") for path in options.only or FILES}
    lines = kept.read_text("utf-8").splitlines() if kept.exists() else []
    known = {(one["path"], one["operator"], one["text"], one["nth"]): one for one in map(json.loads, lines)}
    if options.again:
        known = {key: one for key, one in known.items() if one["by"]}
    drawn = list(draw(sources, options.seed, options.count))
    paths = {mutant.path for mutant, _ in drawn if mutant.key not in known}
    check_unchanged(tree, paths, options.run / "passes.txt", digest)
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
            verdict = f"caught by {by}" if by else "SURVIVED"
            what = f"{mutant.path}:{mutant.start[0]} {mutant.operator}"
            print(f"{at}/{len(drawn)} {what} {verdict} ({one['seconds']} s)", file=sys.stderr, flush=True)
    print(table(known[mutant.key] for mutant, _ in drawn))


if __name__ == "__main__":
    main()
