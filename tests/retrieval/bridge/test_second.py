"""The second round asks for what a found document leaves open, with the names that this document adds."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from chatbot_mvp.retrieval.bridge.second import PARENTS, SecondRound
from chatbot_mvp.retrieval.bridge.walk import BridgeWalk, Question, load_weights
from chatbot_mvp.retrieval.indexes.corpus import CorpusIndex, growing_index
from chatbot_mvp.retrieval.pipeline import growing_pipeline
from chatbot_mvp.settings.model import Settings
from chatbot_mvp.types import Chunk, last
from tests.fakes import FakeEmbedder

TEXTS = {
    "Kestrel Bridge": "It was opened in 1931. The Kestrel Bridge was designed by Ada Vidarte.",
    "Ada Vidarte": "Ada Vidarte was an engineer from Sauceda.",
    "Heron Bridge": "The Heron Bridge was designed by a committee. It was opened in 1950.",
    "Bread": "Sauceda is known for its bread.",
    "Engineer": "An engineer designs machines and bridges.",
}
CHUNKS = [Chunk(title, title, title, text, 0, len(text)) for title, text in TEXTS.items()]
QUESTION = "Which village does the designer of the Kestrel Bridge come from?"


def index(tmp_path: Path) -> CorpusIndex:
    return last(growing_index(CHUNKS, "en", tmp_path, FakeEmbedder, with_links=True))


def second_round(made: CorpusIndex, embedder: FakeEmbedder) -> SecondRound:
    assert made.graph is not None and made.dense is not None
    return SecondRound(
        made.graph, made.analyzer, CHUNKS, lambda texts: embedder.embed(texts, "query"), made.dense.vectors
    )


def test_a_second_query_has_the_open_words_and_the_new_names_of_the_best_sentence(tmp_path: Path) -> None:
    """ "Kestrel Bridge" and "designer" are covered; 1931 is in another sentence."""
    query = second_round(index(tmp_path), FakeEmbedder()).query(QUESTION, 0)
    assert query == "Which village does the of the come from? Ada Vidarte."


def test_a_document_that_covers_all_and_adds_no_name_gives_the_question_itself(tmp_path: Path) -> None:
    assert second_round(index(tmp_path), FakeEmbedder()).query("Bread known Sauceda", 3) == "Bread known Sauceda"


def test_a_long_question_gives_a_short_second_query(tmp_path: Path) -> None:
    query = second_round(index(tmp_path), FakeEmbedder()).query("unknown words " * 5_000, 0)
    assert len(query.split()) == 256


def test_all_second_queries_of_a_batch_are_embedded_in_one_call(tmp_path: Path) -> None:
    made, embedder = index(tmp_path), FakeEmbedder()
    assert made.graph is not None
    walk = BridgeWalk(made.graph, made.analyzer, load_weights("BRIDGE_HYBRID"))
    asked = second_round(made, embedder).asked(walk, [Question(QUESTION), Question(""), Question("Heron Bridge")])
    assert [len(texts) for _, texts in embedder.batches] == [2 * PARENTS]
    assert [question.hops is None for question in asked] == [False, True, False]


def test_nearness_lies_between_0_and_1_and_is_0_for_the_document_that_asks(tmp_path: Path) -> None:
    made = index(tmp_path)
    assert made.graph is not None
    walk = BridgeWalk(made.graph, made.analyzer, load_weights("BRIDGE_HYBRID"))
    [asked] = second_round(made, FakeEmbedder()).asked(walk, [Question(QUESTION)])
    assert asked.hops is not None
    nearness = asked.hops.nearness(np.arange(len(CHUNKS)))
    assert nearness.shape == (PARENTS, len(CHUNKS))
    assert nearness.min() == 0 and nearness.max() == 1
    assert all(nearness[i, parent] == 0 for i, parent in enumerate(asked.hops.parents.tolist()))
    assert set(asked.nearest.tolist()) == set(range(len(CHUNKS)))


def test_words_of_a_second_query_find_the_document_that_only_a_found_one_names(tmp_path: Path) -> None:
    """The question does not know the name of the designer, which BM25 finds from the bridge."""
    made = index(tmp_path)
    assert made.graph is not None
    walk = BridgeWalk(made.graph, made.analyzer, load_weights("BRIDGE_HYBRID"))
    [asked] = second_round(made, FakeEmbedder()).asked(walk, [Question(QUESTION)])
    assert asked.word_hops is not None
    parents = asked.word_hops.parents.tolist()
    assert 0 in parents
    near = asked.word_hops.nearness(np.arange(len(CHUNKS)))
    assert near.min() == 0 and near.max() == 1
    assert near[parents.index(0)].argmax() == list(TEXTS).index("Ada Vidarte")
    assert all(near[i, parent] == 0 for i, parent in enumerate(parents))


def test_a_second_query_without_a_known_word_finds_nothing_by_words(tmp_path: Path) -> None:
    made = index(tmp_path)
    assert made.graph is not None
    walk = BridgeWalk(made.graph, made.analyzer, load_weights("BRIDGE_HYBRID"))
    rows, scores = walk.search_words(made.analyzer.terms("unheard Zanzibar"), 9)
    assert len(rows) == len(scores) == 0


def test_a_strategy_without_vectors_embeds_nothing(tmp_path: Path) -> None:
    embedder = FakeEmbedder()
    settings = Settings(_env_file=None, data_dir=tmp_path, retrieval_strategy="BRIDGE")  # type: ignore[call-arg]
    last(growing_pipeline(CHUNKS, "en", settings, lambda: embedder)).retrieve([QUESTION])
    assert embedder.batches == []


def test_a_second_query_is_embedded_once_in_two_runs(tmp_path: Path) -> None:
    embedder = FakeEmbedder()
    settings = Settings(_env_file=None, data_dir=tmp_path)  # type: ignore[call-arg]
    for _ in range(2):
        last(growing_pipeline(CHUNKS, "en", settings, lambda: embedder)).retrieve([QUESTION, QUESTION])
    assert len(embedder.embedded) == len(set(embedder.embedded)) == len(CHUNKS) + 1 + PARENTS
