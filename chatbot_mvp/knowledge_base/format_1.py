"""Knowledge bases of format 1: one frozen text with its list of files. They are read as they are.

The first change of such a knowledge base writes it anew. The texts of its documents come from its one text, without the
headings that joining had put in; no original was kept.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path, PurePath
from typing import Any

from chatbot_mvp.documents.kb_files import KbFile, join_sources, text_hash
from chatbot_mvp.documents.parsing import ParsedText
from chatbot_mvp.knowledge_base.versions import Entry, Head, KbDocument, Version, file_of
from chatbot_mvp.storage.formats import IncompleteFile
from chatbot_mvp.storage.json_object import parse_json

FORMAT = 1
SOURCE, FILES = "source.txt", "files.json"

_KEYS = (
    *("kb_id", "kb_name", "language", "chars", "original_chars", "kb_truncated", "encoding", "sha256", "added_at"),
    *("files", "chunks", "languages"),
)
_FENCE = re.compile(r"^\s*(```|~~~)")
_LOWERED = re.compile(r"^( {0,3})##(#{0,4})(?=[ \t]+\S)")


def read_text(folder: Path) -> str:
    """Return the text. Raises OSError or ValueError."""
    return (folder / SOURCE).read_bytes().decode()


def read(folder: Path, found: Mapping[str, Any]) -> tuple[Head, Version]:
    """Return a knowledge base as the current format has it, with one version.

    Args:
        found: what its ``kb.json`` holds.

    Raises:
        OSError, ValueError, TypeError, KeyError: it cannot be read.
    """
    if missing := [key for key in _KEYS if key not in found]:
        raise IncompleteFile(f"{missing[0]}: the key is missing")
    files = tuple(file_of(row) for row in parse_json((folder / FILES).read_bytes()))
    if not files:
        raise IncompleteFile("files: it names no file")
    at, sha256 = found["added_at"], found["sha256"]
    version = Version(
        version_id=text_hash(f"{FORMAT} {sha256} {files}")[:24],
        documents=tuple(_document(file, at) for file in files),
        files=files,
        language=found["language"],
        languages=tuple(found["languages"]),
        chars=found["chars"],
        original_chars=found["original_chars"],
        kb_truncated=found["kb_truncated"],
        sha256=sha256,
        chunks=found["chunks"],
        max_chars=found["chars"],
    )
    entry = Entry(1, version.version_id, at, "created", added=len(files))
    return Head(folder.name, found["kb_name"], at, (entry,)), version


def texts_of(text: str, version: Version) -> dict[str, ParsedText]:
    """Return path -> parsed text of the documents of a knowledge base of format 1.

    Joined again they give ``text``: the limit of characters that cut it then does not cut it again.
    """
    if len(version.files) == 1:
        [file] = version.files
        return {file.name: _parsed(file, text, file.page_starts)}
    found = {}
    for file in version.files:
        raised, starts = _raise_headings(text[file.start : file.end], [at - file.start for at in file.page_starts])
        found[file.name] = _parsed(file, raised, tuple(starts))
    joined, _ = join_sources(list(found.items()), len(text))
    if joined != text:  # its documents cannot be told apart: it stays one
        return {PurePath(version.files[0].name).name: ParsedText(text, "utf-8", version.original_chars, False)}
    return found


def _document(file: KbFile, at: str) -> KbDocument:
    return KbDocument(
        file.name, file.sha256, "", 0, file.encoding, file.original_chars, file.cut, (), file.empty_pages, at
    )


def _parsed(file: KbFile, text: str, starts: tuple[int, ...]) -> ParsedText:
    return ParsedText(text, file.encoding, file.original_chars, file.cut, starts, file.empty_pages)


def _raise_headings(text: str, offsets: list[int]) -> tuple[str, list[int]]:
    """Undo what joining did to headings: ``text`` with each one level higher, and ``offsets`` moved accordingly."""
    lines: list[str] = []
    removed: list[int] = []
    position, fence = 0, ""
    for line in text.split("\n"):
        if found := _FENCE.match(line):
            fence = "" if fence == found.group(1) else fence or found.group(1)
        raised = line if fence else _LOWERED.sub(r"\1#\2", line)
        if raised != line:
            removed.append(position)
        lines.append(raised)
        position += len(line) + 1
    return "\n".join(lines), [offset - sum(at < offset for at in removed) for offset in offsets]
