"""What a data folder holds, as the program itself says it when it opens the folder."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

from benchmarks.recorder.facts import JSON
from chatbot_mvp.app import App, build_app
from chatbot_mvp.errors import ChatbotError
from chatbot_mvp.settings.model import load_settings


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def knowledge_bases(app: App) -> JSON:
    """Return name -> versions and draft of each knowledge base: documents with the hashes of their texts."""
    found = {}
    for record in sorted(app.kbs.records(), key=lambda one: one.kb_id):
        staged = app.kb_changes.staged(record.kb_id)
        steps = app.kb_changes.history(record.kb_id)
        rows = [(f"{s.entry.number} {s.entry.what} {s.entry.note}".strip(), s.entry.version_id, s.kept) for s in steps]
        rows += [("draft", staged.version_id, True)] if staged else []
        found[record.kb_name] = {
            "id": record.kb_id,
            "versions": [
                [name, *(_version(app, record.kb_id, version) if kept else ["not kept"])]
                for name, version, kept in rows
            ],
        }
    return found


def _version(app: App, kb_id: str, version: str) -> list[JSON]:
    try:
        whole = app.kbs.document(kb_id, version).text
        documents = app.kb_changes.documents(kb_id, version)
    except ChatbotError as error:
        return [error.code]
    about = [[one.path, one.sha256[:16], one.title, one.author, one.created, *one.tags] for one in documents]
    return [digest(whole), len(whole), about]


def files_with(root: Path, words: Iterable[str]) -> dict[str, list[str]]:
    """Return each word -> the parts of a folder that have a file with it, whatever its case in UTF-8."""
    found: dict[str, list[str]] = {}
    contents = {
        path: path.read_bytes().lower()
        for path in sorted(root.rglob("*"))
        if path.is_file() and "models" not in path.parts
    }
    for word in words:
        having = [path.relative_to(root) for path, content in contents.items() if word.lower().encode() in content]
        found[word] = sorted(
            {"/".join(path.parts[:2] if path.parts[0] == "cache" else path.parts[:1]) for path in having}
        )
    return found


def holds(data: Path, words: Iterable[str]) -> JSON:
    """Return the knowledge bases of a data folder, the runs, and where words stand."""
    if not data.is_dir():
        return {}
    app = build_app(load_settings(data_dir=data, retrieval_strategy="LEXICAL", provider="demo"))
    lines, _ = app.archive.runs()
    return {
        "knowledge bases": knowledge_bases(app),
        "runs": [[line.dataset, line.strategy, line.queries] for line in lines],
        "words": files_with(data, words),
    }
