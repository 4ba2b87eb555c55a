"""Sentences held against passages, without a knowledge base: support, signs, and what is told to differ."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import chain

from benchmarks.claims import by_hand, held, of_handbook
from benchmarks.claims_made import Case
from benchmarks.recorder.facts import Fact, Place
from benchmarks.recorder.sources import SPANISH, rows_of, short_hash, some
from benchmarks.script import SAMPLES
from chatbot_mvp.chat.claims.comparison import differences
from chatbot_mvp.chat.verification import verify
from chatbot_mvp.text import Analyzer
from chatbot_mvp.types import Chunk


def facts(place: Place) -> Iterator[Fact]:
    cases = [*by_hand(), *by_hand("more"), *of_handbook()]
    for number, one in enumerate(held(cases)):
        said = sorted([sign.name, sign.kind, sign.value, sign.said, sign.source] for sign in one.signs)
        told = [[each.kind, each.said, each.source] for each in differences(one.signs)]
        value = {"share": one.share, "support": one.support, "signs": said, "told": told, "text": one.case.text}
        yield Fact(f"statements/by hand/{number:03d}", value)
    yield from _answers(place)
    if place.shared is not None and not place.sample:
        yield from _shared(place)


def _answers(place: Place) -> Iterator[Fact]:
    """Answers of several sentences, with and without citations, held against several passages."""
    every = [row for row in rows_of(SAMPLES / "judge_es.jsonl") if row.get("response")]
    rows = [(row["id"], row["response"], row["retrieved_contexts"]) for row in every]
    rows += [(f"{row['id']} cited", f"{row['response']} [1] [2]", row["retrieved_contexts"]) for row in every]
    for path in SPANISH[:6]:
        parts = [part for part in path.read_text("utf-8").split("\n\n") if len(part) > 60]
        for at, part in enumerate(some(parts, 4)):
            answer = f"{part.rstrip('.')} [1]. No {part[:1].lower()}{part[1:80]} [2][9].\n- {part[-70:]}"
            rows.append((f"{path.stem} {at}", answer, [part, parts[at]]))
    analyzer = Analyzer("es")
    for name, answer, texts in rows:
        chunks = [Chunk(f"c{at}", f"c{at}", "", text, 0, len(text)) for at, text in enumerate(texts)]
        found = verify(answer, chunks, analyzer, lambda term: 1.0 + len(term) / 8)
        value = [
            [one.start, one.end, list(one.numbers), one.score, one.supported, one.cited, len(one.differences)]
            for one in found
        ]
        yield Fact(f"statements/answers/{name}", value)


def _shared(place: Place) -> Iterator[Fact]:
    """Claims that people labelled: numbers alone."""
    assert place.shared is not None
    folder = place.shared / "claims"
    wice = [json.loads(line) for line in (folder / "wice_dev.jsonl").read_text("utf-8").splitlines()]
    cases = [
        Case(row["claim"], "\n".join(row["evidence"]), row["label"] == "supported", "other", "en", "wice", "held")
        for row in some(wice, 300)
    ]
    begin = []
    for name in ("begin_cmu_dev.tsv", "begin_wow_dev.tsv"):
        lines = [line.split("\t") for line in (folder / name).read_text("utf-8").splitlines()]
        head, rows = lines[0], [line for line in lines[1:] if len(line) == len(lines[0])]
        text, passage = head.index("response"), head.index("knowledge")
        begin += [Case(row[text], row[passage], True, "other", "en", "begin", "held") for row in some(rows, 100)]
    for number, one in enumerate(held(list(chain(cases, begin)))):
        signs = sorted([sign.name, sign.value, short_hash(f"{sign.said}|{sign.source}")] for sign in one.signs)
        value = {"share": one.share, "support": one.support, "signs": signs, "text": short_hash(one.case.text)}
        yield Fact(f"statements/labelled/{number:03d}", value, shared=True)
