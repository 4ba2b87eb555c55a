"""Read answers whose unsupported places are labelled, in the form of RAGTruth, and measure the check on them.

One JSON object to a line: ``response``, the answer; ``source_info``, what it was given (a text, or an object with
``passages``, or any other object, whose texts are joined); ``labels``, places in the response that the source does not
support, each with ``start``, ``end`` (characters) and ``label_type``. RAGTruth keeps the sources in a file of their
own: a response names its ``source_id`` then, and the lines of ``source_info.jsonl`` have ``source_id`` and
``source_info``. Both files may be given as one. ``source`` and ``spans`` are read as names of the same.

A sentence is unsupported if a label touches it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.script import head, row
from chatbot_mvp.chat.verification import MIN_SUPPORT, verify
from chatbot_mvp.evaluation.kb.questions import auroc
from chatbot_mvp.text import Analyzer, detect_language
from chatbot_mvp.types import Chunk


@dataclass(frozen=True)
class Labelled:
    """An answer with the places that its source does not support."""

    response: str
    source: str
    spans: tuple[tuple[int, int, str], ...]
    """(start, end, kind) of each, in characters."""


def labelled(path: Path) -> Iterator[Labelled]:
    """Yield the answers of a file.

    Raises:
        ValueError: a line has no source, or a label is outside its response; the message names the line.
    """
    lines = [
        (number, json.loads(line))
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1)
        if line.strip()
    ]
    sources = {one["source_id"]: one["source_info"] for _, one in lines if "response" not in one}
    beside = path.with_name("source_info.jsonl")
    if beside.exists() and beside != path:
        for line in beside.read_text("utf-8").splitlines():
            one = json.loads(line)
            sources.setdefault(one["source_id"], one["source_info"])
    for number, one in lines:
        if "response" not in one:
            continue
        source = one.get("source_info", one.get("source", sources.get(one.get("source_id"))))
        if source is None:
            raise ValueError(f"line {number} of {path.name} has neither source_info nor a known source_id")
        spans = []
        for label in one.get("labels", one.get("spans", ())):
            start, end = int(label["start"]), int(label["end"])
            if not 0 <= start < end <= len(one["response"]):
                raise ValueError(f"line {number} of {path.name}: the label {start}-{end} is outside the response")
            spans.append((start, end, str(label.get("label_type", ""))))
        yield Labelled(one["response"], _text(source), tuple(spans))


def _text(source: Any) -> str:
    if isinstance(source, str):
        return source
    if isinstance(source, dict):
        return "\n\n".join(_text(value) for value in source.values())
    if isinstance(source, list):
        return "\n\n".join(_text(value) for value in source)
    return str(source)


def scored(one: Labelled) -> list[tuple[float, str | None]]:
    """Return (support, kind of the label that touches it, None without one) of each sentence of an answer."""
    chunk = Chunk("source", "source", "", one.source, 0, len(one.source))
    analyzer = Analyzer(detect_language(one.source))
    found = []
    for statement in verify(one.response, [chunk], analyzer, lambda _: 1.0):
        touching = [kind for start, end, kind in one.spans if start < statement.end and statement.start < end]
        found.append((statement.score, touching[0] if touching else None))
    return found


def print_spans(path: Path) -> None:
    """Print AUROC and the shares at the threshold, for all labels and for each kind."""
    every = [pair for one in labelled(path) for pair in scored(one)]
    true = [score for score, kind in every if kind is None]
    print(head(["label", "sentences", "marked", "AUROC"]))
    print(row(["none", len(true), f"{sum(score < MIN_SUPPORT for score in true) / max(1, len(true)):.3f}", "–"]))
    kinds = sorted({kind for _, kind in every if kind is not None})
    for name in ("any", *kinds):
        false = [score for score, kind in every if kind is not None and name in ("any", kind)]
        value = auroc(true, false)
        marked = sum(score < MIN_SUPPORT for score in false) / max(1, len(false))
        print(row([name, len(false), f"{marked:.3f}", "–" if value is None else f"{value:.3f}"]))
