"""The mention graph: who mentions whom, and the same again after it was saved."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from chatbot_mvp.retrieval.bridge.graph import MentionGraph, build_graph
from chatbot_mvp.text import Analyzer
from chatbot_mvp.types import Chunk

TEXTS = {
    "Kestrel Bridge": "The Kestrel Bridge was designed by Ada Vidarte in 1931. It crosses the Orzama.",
    "Ada Vidarte": "Ada Vidarte was an engineer born in Sauceda.",
    "Orzama": "The Orzama is a river. It passes Sauceda and the Kestrel Bridge.",
    "Sauceda": "Sauceda is a village of nine hundred people.",
}
TITLES = list(TEXTS)


def chunks_of(texts: dict[str, str]) -> list[Chunk]:
    return [Chunk(f"d{n}", f"d{n}", title, text, 0, len(text)) for n, (title, text) in enumerate(texts.items())]


@pytest.fixture(scope="module")
def graph() -> MentionGraph:
    return build_graph(chunks_of(TEXTS), Analyzer("en"))


def neighbours(graph: MentionGraph, title: str, side: str) -> set[str]:
    edges, row = getattr(graph, side), TITLES.index(title)
    return {TITLES[other] for other in edges.other[edges.start[row] : edges.start[row + 1]]}


@pytest.mark.parametrize(
    ("title", "mentions", "mentioned_by"),
    [
        ("Kestrel Bridge", {"Ada Vidarte", "Orzama"}, {"Orzama"}),
        ("Ada Vidarte", {"Sauceda"}, {"Kestrel Bridge"}),
        ("Sauceda", set(), {"Ada Vidarte", "Orzama"}),
    ],
)
def test_mentions_run_both_ways_and_none_to_oneself(
    graph: MentionGraph, title: str, mentions: set[str], mentioned_by: set[str]
) -> None:
    assert neighbours(graph, title, "outgoing") == mentions
    assert neighbours(graph, title, "incoming") == mentioned_by


def test_a_mention_stands_in_the_sentence_and_at_the_word_it_says(graph: MentionGraph) -> None:
    row = TITLES.index("Kestrel Bridge")
    terms = list(graph.vocabulary)
    edges = graph.outgoing
    for edge in range(edges.start[row], edges.start[row + 1]):
        begin = edges.position[edge]
        said = [terms[word] for word in graph.words[begin : begin + edges.width[edge]]]
        assert said == Analyzer("en").terms(TITLES[edges.other[edge]])
        assert set(graph.word_sentence[begin : begin + edges.width[edge]]) == {edges.sentence[edge]}


def test_passages_of_one_title_do_not_mention_each_other() -> None:
    twice = [*chunks_of({"Orzama": "The Orzama is a river."}), *chunks_of({"Orzama": "The Orzama floods."})]
    assert len(build_graph(twice, Analyzer("en")).outgoing.other) == 0


def test_a_document_that_many_mention_is_less_rare(graph: MentionGraph) -> None:
    rarity = dict(zip(TITLES, graph.rarity.tolist(), strict=True))
    assert rarity["Sauceda"] < rarity["Ada Vidarte"] <= 1.0


def test_a_saved_graph_is_the_same_graph(graph: MentionGraph, tmp_path: Path) -> None:
    graph.save(tmp_path / "g.npz")
    again = MentionGraph.load(tmp_path / "g.npz")
    assert again.vocabulary == graph.vocabulary
    assert again.names.bearers_of == graph.names.bearers_of
    assert again.names.usual_in_lower_case == graph.names.usual_in_lower_case
    assert again.unseen_idf == graph.unseen_idf
    for name in ("words", "idf", "rarity", "proper_words", "text_start", "title_start", "group"):
        np.testing.assert_array_equal(getattr(again, name), getattr(graph, name))
    for side in ("outgoing", "incoming"):
        for name in ("start", "other", "weight", "sentence", "position", "width"):
            np.testing.assert_array_equal(getattr(getattr(again, side), name), getattr(getattr(graph, side), name))


@pytest.mark.parametrize(
    "texts", [{}, {"": ""}, {"A": "", "": "word"}], ids=["none", "one empty", "no text or no title"]
)
def test_a_corpus_of_next_to_nothing_has_a_graph(texts: dict[str, str]) -> None:
    assert len(build_graph(chunks_of(texts), Analyzer("en")).group) == len(texts)
