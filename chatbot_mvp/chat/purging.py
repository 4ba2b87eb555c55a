"""Conversations and the chat's log without the text of purged documents: a mark stands in its place, turns stay."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from chatbot_mvp.knowledge_base.purged_files import purge_files, purge_lines
from chatbot_mvp.knowledge_base.purged_text import Purged

Row = dict[str, Any]


def purge_chat(conversations: Iterable[Path], logs: Iterable[Path], purged: Purged) -> int:
    """Rewrite the conversations of a knowledge base, by file, and the logs; return the number of files that changed.

    Raises:
        OSError: a file cannot be written.
    """
    count = sum(purge_lines(path, lambda rows: _conversation(rows, purged)) for path in conversations)
    return count + purge_files(logs, purged)


def _conversation(rows: list[Row], purged: Purged) -> list[Row]:
    try:
        return _rewritten(rows, purged)
    except (AttributeError, KeyError, TypeError, ValueError):  # a line has another shape; its words go all the same
        return [purged.text.without_in(row, purged.kb_id, made=True) for row in rows]


def _rewritten(rows: list[Row], purged: Purged) -> list[Row]:
    if not any(row.get("type") == "conversation" and purged.kb_id in _asked(row) for row in rows):
        return rows
    touched = {row.get("turn") for row in rows if row.get("type") == "answer" and _quotes(row["answer"], purged)}
    for turn, text in _streamed(rows).items():
        if purged.text.quoted_in(text):
            touched.add(turn)
    found: list[Row] = []
    answered = {row.get("turn") for row in rows if row.get("type") == "answer"}
    for row in rows:
        kind, turn = row.get("type"), row.get("turn")
        if kind == "answer":
            found.append({**row, "answer": _answer(row["answer"], purged, turn in touched)})
        elif kind in ("text", "restart") and turn in touched:
            # What was streamed is in the answer; a turn that never got one says that it was purged.
            if kind == "text" and turn not in answered and not any(_is_mark(one, turn, purged) for one in found):
                found.append({**row, "text": purged.mark})
        else:
            found.append(purged.text.without_in(row, purged.kb_id))
    return found


def _asked(row: Row) -> list[object]:
    """Return the ids of the knowledge bases of a conversation, from its first line."""
    return [row.get("kb_id"), *(other.get("kb_id") for other in row.get("others") or ())]


def _is_mark(row: Row, turn: object, purged: Purged) -> bool:
    return row.get("type") == "text" and row.get("turn") == turn and row.get("text") == purged.mark


def _streamed(rows: list[Row]) -> dict[object, str]:
    """Return turn -> the text that was streamed; a quotation may be spread over several lines."""
    found: dict[object, str] = {}
    for row in rows:
        if row.get("type") == "text":
            found[row.get("turn")] = found.get(row.get("turn"), "") + str(row.get("text", ""))
    return found


def _sources(answer: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield from answer.get("sources") or ()
    yield from (answer.get("nearest") or {}).get("passages") or ()


def _is_of(source: Mapping[str, Any], purged: Purged) -> bool:
    """Return whether a passage is of a purged document."""
    of_kb = source.get("doc_id", purged.kb_id) == purged.kb_id
    return (of_kb and source.get("file") in purged.paths) or purged.text.quoted_in(str(source.get("text", "")))


def _quotes(answer: Mapping[str, Any], purged: Purged) -> bool:
    """Return whether an answer cites or quotes a purged document."""
    if any(_is_of(one, purged) for one in _sources(answer)):
        return True
    return not answer.get("abstained") and purged.text.quoted_in(str(answer.get("text", "")))


def _answer(answer: Row, purged: Purged, touched: bool) -> Row:
    """Return an answer without purged text. Of one that was made of it, nothing stays that a model wrote."""
    found: Row = purged.text.without_in(answer, purged.kb_id)
    found["text"] = answer["text"] if answer.get("abstained") else found["text"]
    found["sources"] = [_source(one, purged) for one in answer.get("sources") or ()]
    if answer.get("nearest"):
        passages = [_source(one, purged) for one in answer["nearest"].get("passages") or ()]
        found["nearest"] = {**found["nearest"], "passages": passages}
    debug = found["debug"]
    asked = [
        {**one, "content": purged.mark} if purged.text.quoted_in(str(one.get("content", ""))) else one
        for one in answer["debug"].get("prompt") or ()
    ]
    found["debug"] = {**debug, "prompt": asked}
    if not touched:
        return found
    if not answer.get("abstained"):
        found |= {"text": purged.mark, "statements": []}
    found["debug"] = {
        **debug,
        "prompt": [{**one, "content": purged.mark} for one in asked],
        "withheld": purged.mark if debug.get("withheld") else "",
        "query_expanded": "",
        "expansion_notes": [],
    }
    return found


def _source(source: Row, purged: Purged) -> Row:
    if not _is_of(source, purged):
        return source
    file = purged.mark if source.get("file") is not None else None
    return {**source, "text": purged.mark, "section": purged.mark, "file": file, "page": None, "highlights": []}
