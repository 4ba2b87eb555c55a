"""The command ``check``."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from chatbot_mvp.chat.checking import (
    CheckedText,
    check_in_base,
    check_in_index,
    check_pairs,
    index_of,
    language_of,
    place_in,
)
from chatbot_mvp.cli.common import INCOMPLETE, EnvOption, JsonOption, open_app, print_json, stored_kb
from chatbot_mvp.documents.parsing import ParsedText, parse_upload
from chatbot_mvp.knowledge_base.gathering import contents, given
from chatbot_mvp.settings.model import load_settings
from chatbot_mvp.terminal import json_line, say

checking = typer.Typer()


@checking.command("check")
def check(
    text: Annotated[str | None, typer.Argument(help="The text to check; - reads it from standard input")] = None,
    against: Annotated[
        list[str] | None, typer.Option(metavar="FILE", help="Document to check against; repeatable, also folders")
    ] = None,
    base: Annotated[
        str | None, typer.Option(metavar="NAME", help="Name or id of a knowledge base to check against")
    ] = None,
    pairs: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.jsonl",
            help="Check each line {id, text, sources: [text, …]} against its own sources; - reads standard input",
        ),
    ] = None,
    env: EnvOption = None,
    as_json: JsonOption = False,
) -> None:
    named = [name for name, given_one in (("--against", against), ("--base", base), ("--pairs", pairs)) if given_one]
    if len(named) != 1 or (text is None) != (pairs is not None):
        raise typer.BadParameter("give a text and either --against or --base, or no text and --pairs")
    if pairs is not None:
        _check_pairs(pairs, as_json)
        return
    said = sys.stdin.read() if text == "-" else text or ""
    checked = _in_base(said, base, env) if base else _in_files(said, against or [], env)
    if as_json:
        print_json(checked.as_json())
        return
    for one in checked.statements:
        say(_line(one))


def _in_base(text: str, base: str, env: Path | None) -> CheckedText:
    app = open_app(env)
    return check_in_base(text, app.kbs, stored_kb(app, base))


def _in_files(text: str, files: list[str], env: Path | None) -> CheckedText:
    settings = load_settings(env)
    found = given(files, settings)
    documents: dict[str, ParsedText] = {}
    limits = settings.kb_max_chars, settings.kb_max_upload_mb, settings.kb_max_pages
    for state in found.failed:
        raise state.error
    for file, content in contents(found, settings.kb_max_upload_mb):
        if not isinstance(content, bytes):
            raise content.error
        documents[file.path] = parse_upload(file.path, content, *limits)
    language = language_of(" ".join(parsed.text[:10_000] for parsed in documents.values()))
    return check_in_index(text, index_of(documents, language), place_in(documents))


def _check_pairs(path: Path, as_json: bool) -> None:
    results, refused = [], []
    with _lines(path) as lines:
        for number, result in check_pairs(lines):
            if isinstance(result, str):
                refused.append({"line": number, "reason": result})
                say(f"line {number} is left out: {result}", error=True)
            elif as_json:
                results.append(result)
            else:
                say(json_line(result))
    if as_json:
        print_json({"pairs": results, "left_out": refused})
    if refused:
        raise typer.Exit(INCOMPLETE)


@contextmanager
def _lines(path: Path) -> Iterator[Iterator[str]]:
    if str(path) == "-":
        yield iter(sys.stdin)
        return
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            yield iter(file)
    except OSError as error:
        raise typer.BadParameter(f"{path} cannot be read: {error.strerror or error}", param_hint="--pairs") from error


def _line(one: Mapping[str, Any]) -> str:
    """Return a sentence with its sign: ✓ found, ~ found in part, ≠ said otherwise, ✗ nowhere; and where."""
    sign = "✓" if one["tick"] else "~" if one["supported"] else "≠" if one["found"] else "✗"
    lines = [f"{sign} {one['score']:.2f} {one['text']}"]
    if (found := one["found"]) is not None:
        page = f", {found['page']}" if found["page"] else ""
        section = f" > {found['section']}" if found["section"] not in ("", found["file"]) else ""
        lines.append(f"    {found['file']}{page}{section}: {found['text']}")
    lines += [f"    {each['kind']}: {each['said'] or '–'} / {each['source'] or '–'}" for each in one["differences"]]
    return "\n".join(lines)
