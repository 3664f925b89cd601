"""Docstrings and signatures as Markdown, read from the source, so that types are shown as they are written there."""

import ast
import inspect
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from textwrap import dedent
from typing import Annotated, Any, Literal, get_args, get_origin

from reference.markdown import code, fence, joined, text

_SECTION = re.compile(r"(Args|Returns|Yields|Raises|Example|Examples):\s*")
_ENTRY = re.compile(r"    (\*{0,2}[\w.]+): (.*)")
_LONGEST = 88
"""Characters of a signature in one line."""


@dataclass(frozen=True)
class Docstring:
    """A docstring by its sections; ``text`` is what comes before them."""

    text: str
    sections: dict[str, list[str]]


def parse(doc: str | None) -> Docstring:
    """Return the sections of a docstring, and an example without a heading as one."""
    lines: dict[str, list[str]] = {"": []}
    current, bare = "", False
    for line in (doc or "").splitlines():
        heading = _SECTION.fullmatch(line)
        if heading:
            current, bare = heading[1], False
            continue
        if line.startswith(">>> "):
            current, bare = "Example", True
        elif bare and not line:
            current, bare = "", False
        elif line and not line.startswith(" ") and not bare:
            current = ""
        lines.setdefault(current, []).append(f"    {line}" if bare else line)
    return Docstring("\n".join(lines.pop("")).strip(), lines)


def paragraphs(source: str) -> list[str]:
    """Return paragraphs as Markdown; an indented one after ``::`` is code."""
    blocks: list[list[str]] = []
    for paragraph in re.split(r"\n\s*\n", source.strip("\n")):
        lines = paragraph.splitlines()
        if all(line.startswith("    ") for line in lines) and blocks:
            blocks.append(fence("python", dedent(paragraph).splitlines()))
        else:
            blocks.append(
                [text(" ".join(paragraph.split()).removesuffix(":") + (":" if paragraph.endswith(":") else ""))]
            )
    return joined(blocks)


def entries(lines: list[str]) -> list[tuple[str, str]]:
    """Return the entries of ``Args`` or ``Raises``."""
    found: list[tuple[str, str]] = []
    for line in lines:
        entry = _ENTRY.fullmatch(line)
        if entry and not line.startswith("     "):
            found.append((entry[1], entry[2]))
        elif line.strip() and found:
            found[-1] = found[-1][0], f"{found[-1][1]} {line.strip()}"
    return found


def document(function: Any, name: str, *, drop_first: bool = False) -> list[str]:
    """Return the documentation of a function: signature, text, arguments, result, errors and an example."""
    doc = parse(inspect.getdoc(function))
    return joined(
        [
            # Not "python": pages are scripts, whose blocks of Python are executed.
            fence("py", signature(function, name, drop_first=drop_first)),
            paragraphs(doc.text),
            *sections(doc),
        ]
    )


def sections(doc: Docstring) -> Iterator[list[str]]:
    """Yield the sections of a docstring as blocks."""
    for heading, key in (("Arguments", "Args"), ("Raises", "Raises")):
        listed = entries(doc.sections.get(key, []))
        if key == "Raises":
            for result in ("Returns", "Yields"):
                if result in doc.sections:
                    shown = paragraphs(dedent("\n".join(doc.sections[result])))
                    yield [f"**{result}**: {shown[0]}", *shown[1:]]
        if listed:
            yield [f"**{heading}**", "", *(f"- {code(name)}: {text(about)}" for name, about in listed)]
    example = dedent("\n".join(doc.sections.get("Example", []))).strip("\n")
    if example:
        yield fence("pycon", example.splitlines())


def signature(function: Any, name: str, *, drop_first: bool = False) -> list[str]:
    """Return the lines of a signature, with the types as the source has them."""
    function = inspect.unwrap(function)
    node, names = _definition(function), function.__globals__
    parameters = inspect.signature(function).parameters
    shown = {key: default_text(parameters[key].default, written) for key, written in _defaults(node.args).items()}
    result = f" -> {_annotation(node.returns, names)}" if node.returns else ""
    return call_lines(name, _parameters(node.args, shown, names, drop_first=drop_first), result)


def declared_constructor(cls: type[Any], name: str) -> list[str] | None:
    """Return the lines of the constructor that a class declares for type checkers; None if it declares none."""
    for node in ast.walk(_class_node(cls)):
        if isinstance(node, ast.FunctionDef) and node.name == "__init__":
            shown = {key: ast.unparse(written).replace("'", '"') for key, written in _defaults(node.args).items()}
            return call_lines(name, _parameters(node.args, shown, vars(sys.modules[cls.__module__]), drop_first=True))
    return None


def _defaults(arguments: ast.arguments) -> dict[str, ast.expr]:
    """Return the defaults as they are written, by parameter."""
    positional = [*arguments.posonlyargs, *arguments.args]
    first = len(positional) - len(arguments.defaults)
    pairs = [*zip(positional[first:], arguments.defaults, strict=True)]
    pairs += [(key, value) for key, value in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True) if value]
    return {argument.arg: default for argument, default in pairs}


def _parameters(
    arguments: ast.arguments, defaults: Mapping[str, str], names: Mapping[str, Any], *, drop_first: bool
) -> list[str]:
    def shown(argument: ast.arg) -> str:
        kind = f": {_annotation(argument.annotation, names)}" if argument.annotation else ""
        return f"{argument.arg}{kind}" + (f" = {defaults[argument.arg]}" if argument.arg in defaults else "")

    parts = [shown(argument) for argument in [*arguments.posonlyargs, *arguments.args][int(drop_first) :]]
    if arguments.vararg:
        parts.append(f"*{shown(arguments.vararg)}")
    elif arguments.kwonlyargs:
        parts.append("*")
    parts += [shown(argument) for argument in arguments.kwonlyargs]
    return [*parts, f"**{shown(arguments.kwarg)}"] if arguments.kwarg else parts


def result_type(function: Any) -> str:
    """Return the type that a function returns, as its source has it."""
    node = _definition(inspect.unwrap(function))
    return _annotation(node.returns, inspect.unwrap(function).__globals__)


def call_lines(name: str, parts: list[str], result: str = "") -> list[str]:
    """Return a call in one line, or with one parameter per line where it is long."""
    whole = f"{name}({', '.join(parts)}){result}"
    if len(whole) <= _LONGEST:
        return [whole]
    return [f"{name}(", *(f"    {part}," for part in parts), f"){result}"]


@cache
def _definition(function: Any) -> ast.FunctionDef:
    tree = ast.parse(dedent(inspect.getsource(function)))
    return next(node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))


def default_text(default: Any, written: ast.expr | None = None) -> str:
    """Return a default as Python writes it; an object by its public name, or as a call of its class."""
    if default is None or isinstance(default, str | int | float | tuple):
        return repr(default).replace("'", '"')
    if isinstance(written, ast.Name) and not written.id.startswith("_"):
        return written.id
    return f"{type(default).__name__}()"


def _annotation(node: ast.expr | None, names: Mapping[str, Any]) -> str:
    """Return a type as it is written; names of ``Literal`` and ``Annotated`` types by what they stand for."""
    if node is None:
        return ""
    return ast.unparse(_Spelled(names).visit(ast.parse(ast.unparse(node), mode="eval").body)).replace("'", '"')


class _Spelled(ast.NodeTransformer):
    """Spells out names of types, and removes the quotes of types that are defined later."""

    def __init__(self, names: Mapping[str, Any]) -> None:
        self.names = names

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        is_literal = isinstance(node.value, ast.Name) and node.value.id == "Literal"
        return node if is_literal else self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        return self.visit(ast.parse(node.value, mode="eval").body) if isinstance(node.value, str) else node

    def visit_Name(self, node: ast.Name) -> ast.AST:
        meant = self.names.get(node.id)
        if get_origin(meant) is Literal:
            return ast.parse(f"Literal[{', '.join(map(repr, get_args(meant)))}]", mode="eval").body
        if get_origin(meant) is Annotated:
            return ast.Name(get_args(meant)[0].__name__)
        return node


@dataclass(frozen=True)
class ClassField:
    """A field of a dataclass: its type and default as written, and the text below it."""

    name: str
    kind: str
    about: str


@cache
def _class_node(cls: type[Any]) -> ast.ClassDef:
    return next(node for node in ast.parse(dedent(inspect.getsource(cls))).body if isinstance(node, ast.ClassDef))


@cache
def class_fields(cls: type[Any]) -> tuple[ClassField, ...]:
    """Return the public fields that the body of a class declares, with their docstrings."""
    body, names = _class_node(cls).body, vars(sys.modules[cls.__module__])
    found = []
    for place, statement in enumerate(body):
        if not isinstance(statement, ast.AnnAssign) or not isinstance(statement.target, ast.Name):
            continue
        name, kind = statement.target.id, _annotation(statement.annotation, names)
        if name.startswith("_") or kind.startswith("ClassVar"):
            continue
        after = body[place + 1] if place + 1 < len(body) else None
        is_text = isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant)
        about = str(after.value.value) if is_text else ""  # type: ignore[union-attr]
        found.append(ClassField(name, kind, inspect.cleandoc(about)))
    return tuple(found)
