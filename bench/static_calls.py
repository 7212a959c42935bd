"""What the functions of the product call, told by their text alone: imports, annotations, fields, assigned names.

All branches count, a container stands for what it holds, and a call of what is not of the product gives what it is
given. A method of a protocol stands for those of all classes that have its members, and one that is asked of a base for
those of the classes below it; `self` is of its own class. Operators, loops over our own classes and functions that are
values of tables are not followed.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from itertools import chain
from typing import TypeVar

from tests.support.import_graph import modules

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Function:
    """A function or a method. An inner one is a part of the text of another."""

    module: str
    node: ast.FunctionDef | ast.AsyncFunctionDef
    owner: Class | None = None
    inner: bool = False

    @property
    def name(self) -> str:
        """Its module, class and name."""
        return ".".join((self.module, *([self.owner.node.name] if self.owner else []), self.node.name))


@dataclass(frozen=True, slots=True)
class Class:
    """A class."""

    module: str
    node: ast.ClassDef


@dataclass(frozen=True, slots=True)
class Instance:
    """Something of a class."""

    of: Class


#: What an expression may stand for, and all that it may; a text is the name of a module.
Value = Function | Class | Instance | str
Values = tuple[Value, ...]


def _all(found: Iterable[Iterable[_T]]) -> tuple[_T, ...]:
    return tuple(dict.fromkeys(chain.from_iterable(found)))


class Scope:
    """The names that a text binds; what they stand for is found when it is asked."""

    def __init__(self, module: str, nodes: Iterable[ast.AST], owner: Class | None = None, inner: bool = False) -> None:
        self.module, self.owner, self.inner = module, owner, inner
        self.bound: dict[str, list[Callable[[], Values]]] = {}
        self._known: dict[str, Values] = {}
        for node in nodes:
            for name, find in _bindings(node, self):
                self.bound.setdefault(name, []).append(find)

    def __getitem__(self, name: str) -> Values:
        if name not in self._known:
            # A name may be told by itself.
            self._known[name] = ()
            self._known[name] = _all(find() for find in self.bound.get(name, ()))
        return self._known[name]

    def of(self, name: str) -> Values:
        """Returns what a name stands for here, or in the module."""
        if self.owner and name in ("self", "cls", "Self"):
            return (Instance(self.owner),) if name == "self" else (self.owner,)
        return self[name] if name in self.bound else named(self.module, name)


def _bindings(node: ast.AST, scope: Scope) -> Iterator[tuple[str, Callable[[], Values]]]:
    """Yields the names that a node binds, each with a call that finds what it stands for."""
    targets: list[ast.expr] = []
    find: Callable[[], Values] = tuple
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            yield node.name, lambda: (Function(scope.module, node, scope.owner, scope.inner),)
        case ast.ClassDef():
            yield node.name, lambda: (Class(scope.module, node),)
        case ast.Import():
            yield from ((one.asname or one.name, partial(named, one.name)) for one in node.names)
        case ast.ImportFrom():
            yield from ((one.asname or one.name, partial(named, node.module or "", one.name)) for one in node.names)
        case ast.arg():
            yield node.arg, partial(told, node.annotation, scope)
        case ast.AnnAssign():
            targets, find = [node.target], partial(_annotated, node, scope)
        case ast.Assign():
            targets, find = node.targets, partial(values, node.value, scope)
        case ast.NamedExpr():
            targets, find = [node.target], partial(values, node.value, scope)
        case ast.For() | ast.comprehension():
            targets, find = [node.target], partial(values, node.iter, scope)
        case ast.withitem() if node.optional_vars:
            targets, find = [node.optional_vars], partial(_entered, node.context_expr, scope)
    for part in chain.from_iterable(one.elts if isinstance(one, ast.Tuple) else [one] for one in targets):
        yield ast.unparse(part), find


def _annotated(node: ast.AnnAssign, scope: Scope) -> Values:
    return told(node.annotation, scope) or values(node.value, scope)


def _entered(node: ast.expr, scope: Scope) -> Values:
    found = values(node, scope)
    return _all(map(returned, methods(found, "__enter__"))) or found


@cache
def _of_module(module: str) -> Scope:
    waiting: list[ast.AST] = [ast.parse(modules()[module].read_text("utf-8"))] if module in modules() else []
    for node in waiting:
        waiting += [one for one in ast.iter_child_nodes(node) if isinstance(node, ast.Module | ast.If | ast.Try)]
    return Scope(module, waiting)


@cache
def of_class(one: Class) -> Scope:
    """Returns the names in a class, with those that its methods give to `self`."""
    scope = Scope(one.module, one.node.body, one)
    for node in one.node.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            for name, found in of_function(Function(one.module, node, one)).bound.items():
                if name.startswith("self."):
                    scope.bound.setdefault(name.removeprefix("self."), []).extend(found)
    return scope


@cache
def of_function(one: Function) -> Scope:
    """Returns the names in a function."""
    return Scope(one.module, [node for node in ast.walk(one.node) if node is not one.node], one.owner, inner=True)


def named(module: str, name: str = "") -> Values:
    """Returns what a name of a module stands for, or the module."""
    whole = f"{module}.{name}".rstrip(".")
    return (whole,) if whole in modules() else _of_module(module)[name]


@cache
def line(of: Class) -> tuple[Class, ...]:
    """Returns a class and those of the product that it is made of."""
    above = _all(told(base, _of_module(of.module)) for base in of.node.bases)
    return (of, *_all(line(one.of) for one in above if isinstance(one, Instance)))


def member(of: Class, name: str) -> Values:
    """Returns what an attribute of something of this class may be."""
    return next(filter(None, (of_class(one)[name] for one in line(of))), ())


def methods(found: Values, *names: str) -> list[Function]:
    """Returns the methods of these names that the things among these have."""
    have = _all(member(one.of, name) for one in found if isinstance(one, Instance) for name in names)
    return [one for one in have if isinstance(one, Function)]


def told(note: ast.AST | None, scope: Scope) -> Values:
    """Returns what has this annotation."""
    match note:
        case ast.Constant(value=str(text)):
            return told(ast.parse(text, mode="eval").body, scope)
        case ast.Subscript(value=ast.Name(id="type" | "Callable" | "Literal" as outer), slice=inner):
            return values(inner, scope) if outer == "type" else ()
        case ast.Name() | ast.Attribute():
            return tuple(Instance(one) if isinstance(one, Class) else one for one in values(note, scope))
    return _all(told(one, scope) for one in ast.iter_child_nodes(note)) if note else ()


def returned(function: Function) -> Values:
    """Returns what a call of this function gives."""
    return told(function.node.returns, of_function(function))


def values(node: ast.AST | None, scope: Scope) -> Values:
    """Returns what this expression may stand for."""
    match node:
        case ast.Name() | ast.Attribute():
            return _all(map(_got, meant(node, scope)))
        case ast.Call(func=ast.Name(id="super")) if scope.owner:
            return tuple(map(Instance, line(scope.owner)[1:]))
        case ast.Call(func=func, args=given):
            called = values(func, scope)
            asked = [one for one in (*called, *methods(called, "__call__")) if isinstance(one, Function)]
            made = tuple(Instance(one) for one in called if isinstance(one, Class))
            within = func.value if isinstance(func, ast.Attribute) else None
            return _all(map(returned, asked)) + made if called else _all(values(one, scope) for one in (within, *given))
        case ast.Compare() | ast.JoinedStr() | ast.Lambda() | None:
            return ()
    return _all(values(one, scope) for one in ast.iter_child_nodes(node) if isinstance(one, ast.expr))


def _got(one: Value) -> Values:
    """Returns what naming this gives: of a property what it returns."""
    marks = one.node.decorator_list if isinstance(one, Function) else []
    is_property = any(ast.unparse(mark).endswith("property") for mark in marks)
    return returned(one) if isinstance(one, Function) and is_property else (one,)


def meant(node: ast.Name | ast.Attribute, scope: Scope) -> Values:
    """Returns what a name stands for; a property is a function here."""
    if isinstance(node, ast.Name):
        return scope.of(node.id)
    found = values(node.value, scope)
    classes = [one.of if isinstance(one, Instance) else one for one in found]
    own = [member(one, node.attr) for one in classes if isinstance(one, Class)]
    return _all([*own, *(named(one, node.attr) for one in found if isinstance(one, str))])


@cache
def calls(function: Function) -> tuple[Function, ...]:
    """Returns what a function calls or names, in the order of its text."""
    scope, found = of_function(function), list[tuple[int, int, Function]]()
    for node in chain.from_iterable(map(ast.walk, function.node.body)):
        named_at, called = node, list[Function]()
        if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Load):
            own = isinstance(node, ast.Name) or ast.unparse(node.value) in ("self", "cls", "super()")
            for one in meant(node, scope):
                if isinstance(one, Function) and not one.inner:
                    called += [one, *(() if own else _others(one))]
        elif isinstance(node, ast.Call):
            named_at, of = node.func, values(node.func, scope)
            made = tuple(Instance(one) for one in of if isinstance(one, Class))
            called = methods(made, "__init__", "__post_init__") + methods(of, "__call__")
        elif isinstance(node, ast.withitem):
            named_at = node.context_expr
            called = methods(values(named_at, scope), "__enter__", "__exit__")
        if isinstance(named_at, ast.expr):
            found += [(named_at.end_lineno or 0, named_at.end_col_offset or 0, one) for one in called]
    return tuple(dict.fromkeys(one for *_, one in sorted(found, key=lambda at: at[:2])))


@cache
def _classes() -> tuple[Class, ...]:
    """Returns all classes that stand in no other and in no function."""
    every = _all(_of_module(module)[name] for module in modules() for name in _of_module(module).bound)
    return tuple(one for one in every if isinstance(one, Class))


@cache
def _others(method: Function) -> list[Function]:
    """Returns the methods that one of a protocol, or of a base, stands for."""
    if (owner := method.owner) is None:
        return []
    protocol, asked = "Protocol" in map(ast.unparse, owner.node.bases), of_class(owner).bound.keys()
    found: list[Function] = []
    for one in _classes():
        have = _all(of_class(each).bound for each in line(one))
        if owner in line(one) or (protocol and asked <= set(have)):
            found += [each for each in of_class(one)[method.node.name] if isinstance(each, Function)]
    return found
