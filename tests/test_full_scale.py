"""The made-up data set of HotpotQA's size, and what a whole run over it may cost."""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

from chatbot_mvp.datasets import load_dataset
from chatbot_mvp.documents.chunking import passage_chunk
from chatbot_mvp.embedding.base import Vectors
from chatbot_mvp.embedding.e5.embedder import local_e5
from chatbot_mvp.retrieval.bridge.building import build_corpus
from chatbot_mvp.retrieval.bridge.second import PARENTS, SecondRound
from chatbot_mvp.retrieval.bridge.walk import BridgeWalk, Question
from chatbot_mvp.retrieval.indexes.dense import ExactVectors
from chatbot_mvp.settings.model import load_settings
from chatbot_mvp.text import Analyzer
from tests.cases import draws
from tests.test_benchmarks import script

synthetic = script("synthetic")
full_scale = script("full_scale")

DOCUMENTS, QUERIES = 300, 60
SAMPLE, ASKED = 6_000, 200  # documents and questions whose second queries are embedded to know their time


def equal(one: object, other: object) -> list[bool]:
    """Per field of two made-up sets."""
    return [np.array_equal(getattr(one, f.name), getattr(other, f.name)) for f in fields(synthetic.Made)]


@pytest.mark.slow
def test_a_seed_always_gives_the_same_set_and_another_seed_another_one() -> None:
    made = synthetic.make(1, DOCUMENTS, QUERIES)
    assert all(equal(made, synthetic.make(1, DOCUMENTS, QUERIES)))
    assert not any(equal(made, synthetic.make(2, DOCUMENTS, QUERIES)))


def test_the_set_has_the_shape_of_hotpotqa(tmp_path: Path) -> None:
    """Two gold documents a question; of a bridge the first is named in the question, and names the second."""
    synthetic.make(1, DOCUMENTS, QUERIES).write(tmp_path)
    dataset = load_dataset(tmp_path)
    assert (len(dataset.documents), len(dataset.queries), dataset.language) == (DOCUMENTS, QUERIES, "en")
    assert all(len(dataset.qrels[query.query_id]) == 2 for query in dataset.queries)
    assert len({document.title for document in dataset.documents}) == DOCUMENTS
    assert 80 <= np.mean([len(document.text.split()) for document in dataset.documents]) <= 120
    assert 12 <= np.mean([len(query.text.split()) for query in dataset.queries]) <= 22
    by_id = {document.doc_id: document for document in dataset.documents}
    bridges = [query for query in dataset.queries if query.question_type == "bridge"]
    assert 0.6 * QUERIES <= len(bridges) <= 0.95 * QUERIES
    linked = 0
    for query in dataset.queries:
        first, second = [by_id[doc_id] for doc_id in dataset.qrels[query.query_id]]
        name = second.title.partition(" (")[0]
        assert first.title.partition(" (")[0] in query.text
        assert query.answer
        if query.question_type == "bridge":
            linked += name in first.text
        else:
            assert name in query.text
        assert (query.answer_type == "label") == (query.answer in ("yes", "no"))
    assert linked >= 0.9 * len(bridges)


@pytest.mark.slow
def test_a_run_over_it_embeds_nothing_and_tells_the_time_of_each_phase(tmp_path: Path) -> None:
    dataset = full_scale.prepare(tmp_path, 1, DOCUMENTS, QUERIES)
    run = full_scale.measure(tmp_path, dataset, "HYBRID", "cold")
    assert set(run.seconds) == {"load", "index", "embed_corpus", "embed_queries", "retrieve", "aggregate", "export"}
    assert sum(run.seconds.values()) < run.whole
    folder = tmp_path / "results" / run.run_id
    events = [json.loads(line)["event"] for line in (folder / "events.jsonl").read_text("utf-8").splitlines()]
    assert events.count("query_result") == QUERIES
    assert "embedding_batch" not in events
    assert "| HYBRID | cold |" in full_scale.table([run])


@pytest.mark.slow
@pytest.mark.timeout(1_200)
def test_a_run_of_hotpotqas_size_stays_within_its_limits(tmp_path: Path, capsys) -> None:  # type: ignore[no-untyped-def]
    """Of the default strategy, with and without an index in the cache; the whole process.

    The figures are always printed. Over the time on a machine with more to do than it has cores for, they say nothing
    about the run: then the test is skipped and says so. Memory does not depend on others. The limits are for a
    processor with instructions for 8-bit numbers (VNNI). Without them, embedding the second queries takes several times
    as long: what it costs there is measured, and added for the run that has to embed them. CI runs a twentieth of it,
    whose time is not judged.
    """
    whole = bool(draws(1, 0))
    documents, queries = draws(synthetic.DOCUMENTS, 3_300), draws(synthetic.QUERIES, 370)
    dataset = full_scale.prepare(tmp_path, 1, documents, queries)
    before = seconds_to_embed_second_queries(dataset) if whole else 0.0
    runs = full_scale.measure_both(tmp_path, dataset, "BRIDGE_HYBRID")
    # The speed of a shared machine changes by a third within minutes, so it is measured before and after.
    embedding = 0.0 if has_vnni() or not whole else max(before, seconds_to_embed_second_queries(dataset))
    said = full_scale.table(runs)
    with capsys.disabled():
        print(f"\n{said}")
    assert max(run.peak_mb for run in runs) <= full_scale.LIMIT_MB
    limit = full_scale.LIMIT_SECONDS + full_scale.SECOND_ROUND_SECONDS
    for run in runs if whole else ():
        allowed = limit + (embedding if run.cache == "cold" else 0)
        if run.whole > allowed and run.load > (os.cpu_count() or 1):
            pytest.skip(f"the machine is too busy to measure: {said}")
        assert run.whole <= allowed


def has_vnni() -> bool:
    """Whether this processor multiplies 8-bit numbers as fast as the one whose seconds the limits are in.

    ``ONEDNN_MAX_CPU_ISA=AVX2`` keeps the embedder from these instructions, as on a processor that lacks them.
    """
    if os.environ.get("ONEDNN_MAX_CPU_ISA") == "AVX2":
        return False
    return re.search(r"\bavx(512)?_vnni\b", Path("/proc/cpuinfo").read_text("utf-8")) is not None


def seconds_to_embed_second_queries(place: Path) -> float:
    """What embedding the second queries costs here: the time of those of a part of the set, for as many as it has."""
    dataset = load_dataset(place)
    analyzer = Analyzer(dataset.language)
    chunks = [passage_chunk(document) for document in dataset.documents[:SAMPLE]]
    corpus = build_corpus(chunks, len(chunks), analyzer)
    questions = [Question(query.text) for query in dataset.queries[:ASKED]]
    embedder = local_e5(load_settings().models_dir, 0)

    def embed(texts: Sequence[str]) -> Vectors:
        return embedder.embed(texts, "query")

    second = SecondRound(corpus, analyzer, chunks, embed, ExactVectors(np.eye(1, dtype=np.float32)))
    ranked = BridgeWalk(corpus, analyzer, None).rank(questions, PARENTS)
    texts = [second.query(q.text, row) for q, found in zip(questions, ranked, strict=True) for row in found.rows]
    embed(texts[:16])
    started = time.monotonic()
    embed(texts)
    return (time.monotonic() - started) / len(texts) * PARENTS * len(dataset.queries)
