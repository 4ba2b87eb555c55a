"""Markdown from Python: tables, code, and the documented fields of a class."""

from __future__ import annotations

import ast
import inspect
import json
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def catalogue(language: str) -> Mapping[str, str]:
    """The texts of the pages in a language, those of wings among them."""
    texts: dict[str, str] = {}
    for folder in (ROOT / "streamlit_app" / "i18n", *sorted((ROOT / "streamlit_app" / "wings").glob("*/"))):
        path = folder / f"{language}.json"
        texts |= json.loads(path.read_text("utf-8")) if path.is_file() else {}
    return texts


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A Markdown table; a bar inside a cell is escaped."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(str(cell).replace("|", r"\|") for cell in line) + " |" for line in lines)


def code(text: object) -> str:
    """As code; an empty text stays empty."""
    return f"`{text}`" if str(text) else ""


def one_line(text: str | None) -> str:
    """Without line breaks, and with Markdown's code marks in place of reStructuredText's."""
    return " ".join((text or "").split()).replace("``", "`")


def first_paragraph(thing: object) -> str:
    """The first paragraph of a docstring, on one line."""
    return one_line((thing.__doc__ or "").split("\n\n")[0])


def documented_fields(cls: type) -> dict[str, str]:
    """Name of each annotated attribute -> the docstring below it; members of an enum likewise."""
    body = ast.parse(textwrap.dedent(inspect.getsource(cls))).body[0]
    assert isinstance(body, ast.ClassDef)
    found: dict[str, str] = {}
    name = ""
    for node in body.body:
        if isinstance(node, ast.AnnAssign | ast.Assign):
            target = node.target if isinstance(node, ast.AnnAssign) else node.targets[0]
            name = target.id if isinstance(target, ast.Name) else ""
            if name and not name.startswith("_"):
                found[name] = ""
        elif name in found and isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            found[name] = one_line(str(node.value.value))
            name = ""
        else:
            name = ""
    return found


def fields_of(cls: type) -> str:
    """The fields of a dataclass as a list; those whose name says it all come last, together."""
    fields = documented_fields(cls)
    said = [f"- {code(name)}: {text}" for name, text in fields.items() if text]
    plain = ", ".join(code(name) for name, text in fields.items() if not text)
    return "\n".join([*said, *([f"- {plain}"] if plain else [])])
