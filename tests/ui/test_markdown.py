"""Texts that are not ours are shown literally: wherever Streamlit reads Markdown, they are escaped.

The source of all pages is read: every argument that Streamlit reads as Markdown must be a literal, or come from one of
the functions that escape, also by way of variables, arguments and functions of the pages.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from tests.ui.test_pages import ROOT

PAGES = sorted((ROOT / "streamlit_app").rglob("*.py"))
BODY = set(
    "markdown caption title header subheader error warning info success toast badge button download_button link_button"
    " form_submit_button checkbox toggle radio selectbox multiselect slider select_slider text_input text_area"
    " number_input file_uploader metric expander popover status spinner dialog segmented_control pills chat_input"
    " write progress tabs".split()
)
"""Methods of ``st`` whose first argument is Markdown."""
NAMED = {"label", "help", "body", "text", "caption", "captions", "title"}
"""Names of arguments that are Markdown. ``delta`` of a metric and texts of tables are not."""
OPTIONS = {"radio", "segmented_control", "pills"}
"""Widgets whose options are Markdown; those of lists are not."""
SECOND = {"progress"}
"""The second argument is Markdown; the first is not."""


ESCAPE = frozenset("t plain code number score duration moment Markdown safe_markdown linked marked".split())
"""Functions that escape what is not ours. The last three draw the text of a model; they have tests of their own."""
KNOWN = {
    "tile.detail": "a field that is documented as Markdown; built in the same module from ``plain`` and ``t``",
}


class Page:
    """The source of one module."""

    def __init__(self, path: Path) -> None:
        self.name = str(path.relative_to(ROOT / "streamlit_app"))
        self.tree = ast.parse(path.read_text("utf-8"))
        self.parents = {child: node for node in ast.walk(self.tree) for child in ast.iter_child_nodes(node)}

    def found(self) -> Iterator[str]:
        """Yield each expression that is drawn as Markdown and may be somebody else's text."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                for text in self.drawn(node, node.func.attr):
                    if not self.is_safe(text, frozenset()):
                        yield f"line {text.lineno}: {node.func.attr}({ast.unparse(text)})"

    @staticmethod
    def drawn(call: ast.Call, name: str) -> Iterator[ast.expr]:
        if name in BODY:
            yield from call.args[1:2] if name in SECOND else call.args[:1]
            yield from (word.value for word in call.keywords if word.arg in NAMED)
        elif name.endswith("Column"):
            yield from (word.value for word in call.keywords if word.arg == "help")
        if name in OPTIONS:
            yield from (word.value for word in call.keywords if word.arg == "format_func")

    def is_safe(self, node: ast.expr, seen: frozenset[tuple[str, str]]) -> bool:
        """Return whether an expression can only be ours or escaped. ``seen`` are names that are being looked at."""

        def all_safe(parts: Iterable[ast.expr | None]) -> bool:
            return all(part is None or self.is_safe(part, seen) for part in parts)

        match node:
            case ast.Constant():
                return True
            case ast.JoinedStr(values=parts) | ast.BoolOp(values=parts) | ast.List(elts=parts) | ast.Tuple(elts=parts):
                return all_safe(parts)
            case ast.Dict(values=parts):
                return all_safe(parts)
            case ast.IfExp(body=one, orelse=other) | ast.BinOp(left=one, right=other, op=ast.Add()):
                return all_safe([one, other])
            case (
                ast.FormattedValue(value=one) | ast.Starred(value=one) | ast.Lambda(body=one) | ast.Subscript(value=one)
            ):
                return all_safe([one])
            case ast.GeneratorExp(elt=one) | ast.ListComp(elt=one) | ast.DictComp(value=one):
                return all_safe([one])
            case ast.Attribute(value=one, attr="__getitem__"):
                return all_safe([one])
            case ast.Call(func=ast.Attribute(value=ast.Constant(), attr="join"), args=[one]):
                return all_safe([one])
            case ast.Call(func=ast.Attribute(value=one, attr="items" | "values" | "get"), args=more):
                return all_safe([one, *more[1:]])
            case ast.Call(func=ast.Name(id="map"), args=[ast.Name(id=name), *_]):
                return name in ESCAPE
            case ast.Call(func=ast.Name(id=name)):
                return name in ESCAPE or self.returns_safe(name, seen)
            case ast.Name(id=name):
                return name in ESCAPE or (self.name, name) in seen or self.is_safe_name(node, seen)
            case ast.Attribute():
                return ast.unparse(node) in KNOWN
        return False

    def returns_safe(self, name: str, seen: frozenset[tuple[str, str]]) -> bool:
        """Return whether all that a function of the pages returns is safe."""
        if ("()", name) in seen:
            return True
        return bool(RETURNED.get(name)) and all(
            page.is_safe(value, seen | {("()", name)}) for page, value in RETURNED[name]
        )

    def is_safe_name(self, node: ast.Name, seen: frozenset[tuple[str, str]]) -> bool:
        """Return whether all that the function, or else the module, gives this name is safe."""
        seen |= {(self.name, node.id)}
        where: ast.AST = node
        while where in self.parents:
            where = self.parents[where]
            if isinstance(where, ast.FunctionDef):
                names = [given.arg for given in (*where.args.args, *where.args.kwonlyargs)]
                if node.id in names:
                    return is_given_safe(where, node.id, names.index(node.id), seen)
            if isinstance(where, ast.FunctionDef | ast.Module | ast.GeneratorExp | ast.ListComp):
                values = list(self.values(where, node.id))
                if values:
                    return all(self.is_safe(value, seen) for value in values)
        return False

    @staticmethod
    def values(where: ast.AST, name: str) -> Iterator[ast.expr]:
        """Yield all that is assigned to a name, or added to the list of this name."""
        for node in ast.walk(where):
            match node:
                case ast.Assign(targets=targets, value=value):
                    for target in targets:
                        if isinstance(target, ast.Tuple):
                            values = value.elts if isinstance(value, ast.Tuple) else [value] * len(target.elts)
                            pairs = zip(target.elts, values, strict=True)
                            yield from (given for each, given in pairs if getattr(each, "id", "") == name)
                        elif getattr(target, "id", "") == name or (
                            isinstance(target, ast.Subscript) and getattr(target.value, "id", "") == name
                        ):
                            yield value
                case (
                    ast.AnnAssign(target=target, value=ast.expr() as value) | ast.AugAssign(target=target, value=value)
                ):
                    if getattr(target, "id", "") == name:
                        yield value
                case ast.NamedExpr(target=ast.Name(id=given), value=value) if given == name:
                    yield value
                case ast.Call(func=ast.Attribute(value=ast.Name(id=given), attr="append" | "insert"), args=[*_, value]):
                    if given == name:
                        yield value
                case ast.For(target=target, iter=items) | ast.comprehension(target=target, iter=items):
                    each = target.elts if isinstance(target, ast.Tuple) else [target]
                    if name in [getattr(part, "id", "") for part in each]:
                        yield items


SOURCES = [Page(path) for path in PAGES]
RETURNED: dict[str, list[tuple[Page, ast.expr]]] = {}
"""Name of a function -> all that functions of this name return."""
CALLS: dict[str, list[tuple[Page, ast.Call]]] = {}
"""Name of a function -> its calls."""
for source in SOURCES:
    for found in ast.walk(source.tree):
        if isinstance(found, ast.FunctionDef):
            returns = [node for node in ast.walk(found) if isinstance(node, ast.Return) and node.value is not None]
            RETURNED.setdefault(found.name, []).extend((source, node.value) for node in returns if node.value)
        elif isinstance(found, ast.Call) and isinstance(found.func, ast.Name):
            CALLS.setdefault(found.func.id, []).append((source, found))


def is_given_safe(function: ast.FunctionDef, name: str, position: int, seen: frozenset[tuple[str, str]]) -> bool:
    """Return whether all pages call a function with a safe value of one argument."""
    given = [
        (page, call.args[position] if len(call.args) > position else word)
        for page, call in CALLS.get(function.name, [])
        for word in [next((word.value for word in call.keywords if word.arg == name), None)]
    ]
    return bool(given) and all(value is None or page.is_safe(value, seen) for page, value in given)


@pytest.mark.parametrize("page", SOURCES, ids=lambda page: page.name)
def test_what_is_drawn_as_markdown_is_a_literal_or_escaped(page: Page) -> None:
    assert list(page.found()) == []
