"""Every Python process of ours is started by one helper."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from tests.support.import_graph import modules

#: What starts a process, by the module that has it. `os.fork` is not among them: a forked process imports nothing new.
STARTS = {
    "subprocess": {"Popen", "call", "check_call", "check_output", "getoutput", "getstatusoutput", "run"},
    "os": {"popen", "posix_spawn", "posix_spawnp", "startfile", "system"},
    "asyncio": {"create_subprocess_exec", "create_subprocess_shell"},
    "concurrent.futures": {"ProcessPoolExecutor"},
    "pty": {"spawn"},
}
#: Modules that start Python processes themselves, and that nothing of ours imports.
STARTING = {"multiprocessing", "multiprocess", "loky", "joblib", "billiard"}
#: Programs that are Python or begin it.
PYTHON = re.compile(r"(?:.*/)?(?:python|pip|prefect|uvicorn|ray|cinnabar|env|sh|bash)[\d.]*")
#: The modules that start other programs, and which ones.
OTHERS = {
    "cinnabar.extraction.documents.processes.process": "the command of its caller",
    "cinnabar.extraction.documents.ocr.engines": "tesseract",
    "cinnabar.extraction.documents.ocr.tesseract": "tesseract",
}


def unsafe(tree: ast.Module) -> Iterator[str]:
    """What of a module starts a Python process, or any process, by itself."""
    called = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(attr="executable" | "_base_executable"):
                yield f"{node.lineno}: names the interpreter"
            case ast.Import(names=names) | ast.ImportFrom(names=names):
                home = getattr(node, "module", None)
                if {(home or one.name).partition(".")[0] for one in names} & STARTING:
                    yield f"{node.lineno}: imports what starts Python processes"
                if {one.name for one in names} & STARTS.get(home or "", set()):
                    yield f"{node.lineno}: takes a start out of its module"
            case ast.Attribute(value=ast.Name(id=home), attr=name) if id(node) in called:
                if name in STARTS.get(home, set()) or (home == "os" and name.startswith(("exec", "spawn"))):
                    yield f"{node.lineno}: {home}.{name}"
            case ast.List(elts=[ast.Constant(value=str(first)), _, *_]) if PYTHON.fullmatch(first):
                yield f"{node.lineno}: a command of {first}"
            case ast.Tuple(elts=[ast.Constant(value=str(first)), ast.Constant(value=str(then)), *_]):
                if PYTHON.fullmatch(first) and then.startswith("-"):
                    yield f"{node.lineno}: a command of {first}"
            case ast.Call(func=ast.Attribute(attr="which" | "with_name"), args=[ast.Constant(value=str(first)), *_]):
                if PYTHON.fullmatch(first):
                    yield f"{node.lineno}: looks for {first}"


def test_no_module_starts_a_process_without_the_helper() -> None:
    found = [
        f"{module}:{fault}"
        for module, path in modules().items()
        if module != "cinnabar.engine.child_process"
        for fault in unsafe(ast.parse(path.read_text()))
        if not (": subprocess." in fault and (module in OTHERS or "python_command(" in path.read_text()))
    ]
    assert not found, "\n".join(found)


def test_each_way_around_the_helper_is_found() -> None:
    ways = (
        "subprocess.run([sys.executable, '-m', 'pip'])",
        "subprocess.Popen(command)",
        "subprocess.check_output(['python3.11', '-c', ''])",
        "import multiprocessing",
        "from multiprocessing import get_context",
        "from concurrent.futures import ProcessPoolExecutor",
        "os.execv(path, words)",
        "os.spawnlp(os.P_WAIT, 'python', 'python')",
        "os.system('prefect server start')",
        "asyncio.create_subprocess_exec('python')",
        "from subprocess import Popen",
        "words = ['prefect', 'server', 'start', *more]",
        "words = ['.venv/bin/ray', port]",
        "words = [shutil.which('pip'), name]",
        "words = [Path(python).with_name('cinnabar')]",
    )
    assert [way for way in ways if not [*unsafe(ast.parse(way))]] == []
