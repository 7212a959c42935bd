"""Hashes of code, for each part of the code that decides values (engine/version.py).

A part's hash is blind to docstrings, comments, formatting, imports, annotations and the names of local variables, and
to the file of the part in which a definition stands; it is the same in every version of Python.
"""

from __future__ import annotations

import ast
import hashlib
import re
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from cinnabar.engine.version import PARTS, part_of

#: Tables that decide values lie beside the code: names of months, countries and currencies.
_SUFFIXES = (".py", ".tsv", ".gz")
_LEFT_OUT = (ast.Import, ast.ImportFrom)
_DEFINED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
_Scope = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | _Comprehension
# In a function with one of these, or with such a name, something may know its variables by name.
_KNOWING = (ast.ClassDef, ast.Global, ast.Nonlocal, ast.Match)
_ASKS = {"locals", "vars", "dir", "eval", "exec"}
# Marks a field of a class, for which a plain assignment would not do.
_FIELD = -1
_FIELDS_BY_NAME, _MARKS = re.compile(r"\b(dataclass|NamedTuple|Protocol)\b"), re.compile("ClassVar|InitVar|KW_ONLY")


def code_hashes(root: Path) -> dict[str, str]:
    """Returns the hash of each part's code and tables, in the project at `root`."""
    by_part: dict[str, list[str]] = defaultdict(list)
    tops = {place.partition("/")[0] for part in PARTS.values() for place in part.places}
    for path in (path for top in tops for path in (root / top).rglob("*") if path.suffix in _SUFFIXES):
        if part := part_of(path.relative_to(root).as_posix()):
            code = path.suffix == ".py"
            by_part[part] += _rules(path.read_text(encoding="utf-8")) if code else [_digest(path.read_bytes())]
    return {part: _digest("\n".join(sorted(by_part[part])).encode())[:16] for part in PARTS}


def _rules(source: str) -> Iterator[str]:
    """Yields the hashes of a module's statements without all that changes no value."""
    for statement in _Blind().visit(ast.parse(source)).body:
        if not isinstance(statement, _LEFT_OUT) and not _is_text(statement):
            yield _digest(_written(statement).encode())


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


class _Blind(ast.NodeTransformer):
    """Takes from a tree the annotations and the names of local variables, which become numbers in order of appearance.

    The depth of its function or comprehension stands before a number, so that no two variables have the same.
    """

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        self._depth = 0

    def visit_Name(self, node: ast.Name) -> ast.Name:
        node.id = self._names.get(node.id, node.id)
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> ast.AST:
        # Defaults and decorators belong to the scope around the function.
        node.args, node.returns = self.visit(node.args), None
        node.decorator_list = [self.visit(one) for one in node.decorator_list]
        with self._within(node):
            node.body = [made for one in node.body if (made := self.visit(one)) is not None]
        return node

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        node.args = self.visit(node.args)
        with self._within(node):
            node.body = self.visit(node.body)
        return node

    def visit_ListComp(self, node: _Comprehension) -> ast.AST:
        # The first iterable belongs to the scope around the comprehension.
        first, iterable = node.generators[0], self.visit(node.generators[0].iter)
        with self._within(node):
            first.iter = ast.Constant(None)
            self.generic_visit(node)
        first.iter = iterable
        return node

    visit_SetComp = visit_DictComp = visit_GeneratorExp = visit_ListComp

    def visit_arg(self, node: ast.arg) -> ast.arg:
        node.annotation = None
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        made = " ".join(ast.unparse(one) for one in (*node.decorator_list, *node.bases))
        for one in node.body:
            if isinstance(one, ast.AnnAssign):
                one.simple = _FIELD
                # A dataclass reads these marks alone, other classes may read the whole annotation.
                if _FIELDS_BY_NAME.search(made) and not _MARKS.search(ast.unparse(one.annotation)):
                    one.annotation = ast.Constant(None)
        return self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        if node.simple != _FIELD:
            node.annotation = ast.Constant(None)
        self.generic_visit(node)
        return node if node.simple == _FIELD or node.value is None else ast.Assign([node.target], node.value)

    def visit_If(self, node: ast.If) -> ast.AST | None:
        # Imports for annotations.
        for_annotations = isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING" and not node.orelse
        return None if for_annotations else self.generic_visit(node)

    @contextmanager
    def _within(self, scope: _Scope) -> Iterator[None]:
        """Numbers the variables of a function or a comprehension."""
        around, (local, kept) = self._names, _variables(scope)
        numbers = {name: f"{self._depth}.{at}" for at, name in enumerate(local)}
        self._names, self._depth = around | {name: name for name in kept} | numbers, self._depth + 1
        yield
        self._names, self._depth = around, self._depth - 1


def _variables(scope: _Scope) -> tuple[list[str], set[str]]:
    """Returns the names of a scope's variables that may change, in order of appearance, and its names that stay.

    Those of parameters, imports, functions and classes stay, and all where others than the function may know them.
    """
    if isinstance(scope, _COMPREHENSIONS):
        own, kept = [node for one in scope.generators for node in _own(one.target)], set[str]()
    else:
        body = scope.body if isinstance(scope.body, list) else [scope.body]
        own = [node for one in body for node in _own(one)]
        kept = {one.arg for one in ast.walk(scope.args) if isinstance(one, ast.arg)}
        kept |= {one.name for one in own if isinstance(one, (*_DEFINED, ast.ExceptHandler)) and one.name}
        kept |= {
            (one.asname or one.name).partition(".")[0]
            for imported in own
            if isinstance(imported, _LEFT_OUT)
            for one in imported.names
        }
    bound = [one.id for one in own if isinstance(one, ast.Name) and not isinstance(one.ctx, ast.Load)]
    if any(isinstance(one, _KNOWING) or (isinstance(one, ast.Name) and one.id in _ASKS) for one in ast.walk(scope)):
        kept |= set(bound)
    return [name for name in dict.fromkeys(bound) if name not in kept], kept


def _own(node: ast.AST) -> Iterator[ast.AST]:
    """Yields a node and those below it in order, without those of functions, classes and comprehensions in it."""
    yield node
    if not isinstance(node, (*_DEFINED, *_COMPREHENSIONS, ast.Lambda)):
        for child in ast.iter_child_nodes(node):
            yield from _own(child)


def _written(node: object) -> str:
    """Returns a tree as text: every field that is set, but no bare text, import or place in the file."""
    if isinstance(node, list):
        counted = (one for one in node if not isinstance(one, _LEFT_OUT) and not _is_text(one))
        return f"[{','.join(map(_written, counted))}]"
    if not isinstance(node, ast.AST):
        return repr(node)
    parts = []
    for name, value in ast.iter_fields(node):
        # Fields that are empty came with later versions of Python, or say nothing.
        if value is None or value == [] or name in ("ctx", "kind", "type_comment"):
            continue
        parts.append(f"{name}={_written(value)}")
    return f"{type(node).__name__}({','.join(parts)})"


def _is_text(statement: object) -> bool:
    """Returns True for a docstring, and for a text below a constant or a field that documents it."""
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )
