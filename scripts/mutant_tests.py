"""Selection of the tests that concern a module, the nearest first, and a run of them up to the first failure."""

from __future__ import annotations

import ast
import os
import re
import resource
import signal
import subprocess
import sys
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path

#: The tests for the mutants of each folder; tests that do not import the module, however indirectly, are not run.
TESTS = {
    "schemas": ("tests/schemas/**/test_*.py",),
    "engine": (
        "tests/engine/fill/test_*.py",
        "tests/engine/models/language/test_lifting.py",
        "tests/engine/language/test_lookahead.py",
        "tests/kernels/test_block_scan.py",
    ),
    "kernels": ("tests/engine/language/test_lookahead.py", "tests/kernels/test_block_scan.py"),
}
#: The tests of code that uses the folder, at any distance, for mutants that the first tests did not catch.
LAST = {
    "schemas": ("tests/schemas/**/test_*.py", "tests/engine/fill/test_*.py", "tests/engine/models/**/test_*.py"),
    "engine": ("tests/engine/models/**/test_*.py",),
    "kernels": (),
}
#: Tests that reach a module by more imports than this tell nothing that nearer ones do not.
FARTHEST = 4
#: Tests that run long and tell little of operators: caches, sizes, speed, models, development data. The second group,
#: tables of other formats, runs in the last stage only.
LEFT_OUT = (
    "test_cache", "test_suite", "test_model", "test_filler",
    "test_scheduler",
)  # fmt: skip
LEFT_FOR_LAST = ("test_arrow", "test_library", "test_loading")
DESELECTED = "hundred_thousand or hostile"
#: The repetitions that are left out: of tests with several seeds two stay, and of the slowest test, which runs last,
#: the lowest efforts stay.
ANY_STEP = "tests/engine/fill/test_valid_at_any_step.py"
REPEATED = (
    *(f"{ANY_STEP}::test_every_state_at_every_step_is_valid[{seed}]" for seed in range(20) if seed % 8 != 5),
    *(f"{ANY_STEP}::test_scores_peaked_on_a_record_give_its_canonical_text[{effort}]"
      for effort in ("medium", "high")),
)  # fmt: skip
#: The limits: seconds of processor time for a stage and for each of its files, and bytes of address space, each a few
#: times the need.
SECONDS, SECONDS_A_FILE, MEMORY = 25, 6, 8 << 30


@cache
def imports(tree: Path, file: Path) -> frozenset[Path]:
    """The files of a tree that one of its files imports."""
    modules = set()
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        for name in names:
            below = name.removeprefix("cinnabar.").replace(".", "/")
            modules |= {tree / f"{below}.py", tree / below / "__init__.py"}
    return frozenset(one for one in modules if one.is_file())


def distance(tree: Path, test: Path, module: Path) -> int | None:
    """The number of imports from a test to a module of its tree; None if they do not lead there."""
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
    """The test files that are named after a module, and the others that concern it, each the nearest first."""
    words = (module.stem, module.stem.removesuffix("s"), module.parent.name)
    named, others = [], []
    for test in (test for pattern in patterns for test in tree.glob(pattern)):
        far, name = distance(tree, test, module), str(test.relative_to(tree))
        if test.stem not in LEFT_OUT + LEFT_FOR_LAST and far is not None and far <= FARTHEST:
            own = any(test.stem.removeprefix("test_").startswith(word) for word in words)
            (named if own else others).append((name == ANY_STEP, far, name))
    return [name for *_, name in sorted(named)], [name for *_, name in sorted(others)]


def stages(tree: Path, path: str) -> Iterator[list[str]]:
    """The test files that concern a module, in stages; a stage runs only if none before it failed."""
    folder = path.partition("/")[0]
    near = nearest(tree, tree / path, TESTS[folder])
    yield from near
    last = {
        test: distance(tree, test, tree / path) for pattern in LAST[folder] for test in tree.glob(pattern)
    }
    names = {str(test.relative_to(tree)) for test, far in last.items() if far is not None}
    yield sorted(name for name in names.difference(*near, (ANY_STEP,)) if Path(name).stem not in LEFT_OUT)


def outcome(tree: Path, tests: Sequence[str]) -> str:
    """The first failure among these tests in a tree, a test or a limit; empty if all pass."""
    env = os.environ | {
        "PYTHONPATH": str(tree / "src"), "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "",
    }  # fmt: skip
    command = (
        sys.executable, "-m", "pytest", "-x", "-q", "--no-header", "--tb=line", "-p", "no:cacheprovider",
        "--hypothesis-profile=mutants", "--hypothesis-seed=0", "--timeout=0",
        "-k", f"not ({DESELECTED})",
        *(f"--deselect={name}" for name in REPEATED), *tests,
    )  # fmt: skip

    # The limit is processor time, since wall time says little of a test on a busy machine.
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
