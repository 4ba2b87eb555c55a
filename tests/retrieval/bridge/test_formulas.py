"""The walk over arrays gives what its formulas give for one document after the other (``reference.py``)."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pytest

from chatbot_mvp.embedding.base import Vectors
from chatbot_mvp.retrieval.bridge.arrays import Floats, Ints
from chatbot_mvp.retrieval.bridge.choice import STEP_FEATURES
from chatbot_mvp.retrieval.bridge.features import FEATURES
from chatbot_mvp.retrieval.bridge.graph import MentionGraph, build_graph
from chatbot_mvp.retrieval.bridge.second import PARENTS, SecondRound
from chatbot_mvp.retrieval.bridge.walk import BridgeWalk, Hops, Prepared, Question
from chatbot_mvp.retrieval.bridge.weights import Weights
from chatbot_mvp.retrieval.indexes.dense import ExactVectors
from chatbot_mvp.text import Analyzer, sentences
from chatbot_mvp.types import Chunk
from tests.fakes import FakeEmbedder
from tests.retrieval.bridge.reference import Asked, Library, Walked

ENGLISH = Analyzer("en")
NAMES = [f"{first} {last}" for last in ("Vidarte", "Orzama", "Kestrel") for first in ("Ada", "Bruno", "Clara", "Dario")]
NAMES += ["Sauceda", "Heron Bridge (1950)", "Heron Bridge", "Mercury"]
WORDS = "bridge river opened designed born bread engineer village of the in 1931 mercury Lisbon Toledo".split()


class Case(NamedTuple):
    chunks: list[Chunk]
    graph: MentionGraph
    walk: BridgeWalk
    library: Library
    questions: list[Question]


def sentence(random: random.Random) -> str:
    parts = [
        random.choice(NAMES) if random.random() < 0.25 else random.choice(WORDS) for _ in range(random.randint(1, 12))
    ]
    return " ".join(parts).capitalize() if random.random() < 0.2 else " ".join(parts)


def made(seed: int, documents: int) -> Case:
    """Documents with names for titles, some of them twice, some without text or title. Most of them name the first."""
    draw = random.Random(seed)
    texts: list[tuple[str, str]] = [("Sauceda", "Sauceda is a village. It has bread.")]
    for _ in range(documents - 1):
        said = [sentence(draw) for _ in range(draw.randint(0, 4))]
        said += ["It lies near Sauceda"] * (draw.random() < 0.8)
        texts.append((draw.choice([*NAMES, *NAMES, "", f"Bridge {draw.randint(1, 9)}"]), ". ".join(said) + "."))
    chunks = [Chunk(f"d{n}", f"d{n}", title, text, 0, len(text)) for n, (title, text) in enumerate(texts)]
    graph = build_graph(chunks, ENGLISH)
    step = {name: draw.uniform(-1, 2) for name in STEP_FEATURES}
    walk = BridgeWalk(graph, ENGLISH, Weights({name: draw.uniform(-1, 2) for name in FEATURES}, step))
    questions = []
    for n in range(4):
        text = f"{sentence(draw)} {draw.choice(NAMES)} unheard {sentence(draw)}"
        cosine = np.array([draw.uniform(-0.2, 1) for _ in chunks], np.float32)
        near = np.array([[draw.random() for _ in chunks] for _ in range(3)], np.float32)
        parents = np.array(draw.sample(range(documents), 3), np.int64)
        prior = np.array([draw.random() for _ in parents], np.float32)
        nearest = (-cosine).argsort()[: max(3, documents * 3 // 4)]
        hops = Hops(parents, prior, lambda rows, near=near: near[:, rows])
        questions.append(Question(text, nearest, lambda rows, c=cosine: c[rows], hops) if n % 2 else Question(text))
    return Case(chunks, graph, walk, Library(chunks, ENGLISH), questions)


@pytest.fixture(scope="module", params=[(1, 6), (2, 20), (3, 70)], ids=["6 documents", "20", "70"])
def case(request: pytest.FixtureRequest) -> Case:
    return made(*request.param)


def walked(case: Case, question: Question, prepared: Prepared) -> Walked:
    rows, scores = prepared.found
    cosine = {} if question.cosine is None else dict(enumerate(question.cosine(np.arange(len(case.graph.group)))))
    bm25 = dict(zip(rows.tolist(), scores.tolist(), strict=True))
    return Walked(Asked(case.library, question.text), bm25, cosine, question.nearest.tolist())


def prepared_of(case: Case) -> list[tuple[Question, Prepared, Walked]]:
    made = [p for p in case.walk.prepare(case.questions) if p is not None]
    assert len(made) == len(case.questions)
    return [(q, p, walked(case, q, p)) for q, p in zip(case.questions, made, strict=True)]


def test_the_graph_holds_the_mentions_of_every_sentence(case: Case) -> None:
    graph, out = case.graph, case.graph.outgoing
    holders = np.arange(len(graph.group)).repeat(np.diff(out.start))
    found = {
        (
            holder,
            other,
            round(weight, 5),
            sentence - graph.sentence_start[holder],
            place - graph.text_start[holder],
            width,
        )
        for holder, other, weight, sentence, place, width in zip(
            holders.tolist(), *(getattr(out, name).tolist() for name in out._fields[1:]), strict=True
        )
    }
    assert found == {(*m[:2], round(m.strength, 5), *m[3:]) for m in case.library.mentions}
    assert len(graph.incoming.other) == len(out.other) == len(case.library.mentions)


def test_edges_are_sorted_by_strength_then_by_place_and_both_sides_hold_the_same_ones(case: Case) -> None:
    def edges(side: str) -> list[tuple[int, int, float, int]]:
        e = getattr(case.graph, side)
        owner = np.arange(len(case.graph.group)).repeat(np.diff(e.start))
        return list(zip(owner.tolist(), e.other.tolist(), e.weight.tolist(), e.position.tolist(), strict=True))

    for side in ("outgoing", "incoming"):
        keys = [(owner, -weight, position) for owner, _, weight, position in edges(side)]
        assert keys == sorted(keys)
    assert {(b, a, *rest) for a, b, *rest in edges("incoming")} == set(edges("outgoing"))


def test_the_graph_has_the_idf_rarity_and_proper_words_of_the_formulas(case: Case) -> None:
    graph, library = case.graph, case.library
    assert dict(zip(graph.vocabulary, graph.idf.tolist(), strict=True)) == pytest.approx(
        {term: library.idf(term) for document in library.documents for term in document.terms}, rel=1e-5
    )
    assert graph.unseen_idf == pytest.approx(library.idf("no document has it"))
    assert graph.rarity.tolist() == pytest.approx([library.rarity(row) for row in range(len(graph.group))], rel=1e-5)
    terms = list(graph.vocabulary)
    for row, document in enumerate(library.documents):
        proper = graph.proper_words[graph.proper_start[row] : graph.proper_start[row + 1]].tolist()
        assert len(proper) == len(set(proper))
        assert {terms[number] for number in proper} == document.terms & library.proper
        assert graph.title_weight[row] == pytest.approx(sum(map(library.idf, document.title_terms)), rel=1e-5)


def test_candidates_are_what_searches_names_and_links_of_the_best_ones_lead_to(case: Case) -> None:
    for _, prepared, expected in prepared_of(case):
        assert prepared.candidates.rows.tolist() == expected.rows
        assert prepared.added == len(set(expected.rows) - set(expected.bm25) - set(expected.nearest))


def test_features_are_those_of_the_formulas(case: Case) -> None:
    for question, prepared, expected in prepared_of(case):
        wanted = expected.features()
        rows = prepared.candidates.rows
        if question.hops is not None:
            near = question.hops.nearness(rows)
            wanted["hop"] = dict(zip(rows.tolist(), (near * question.hops.prior[:, None]).max(0), strict=True))
            wanted["hop_best"] = dict(zip(rows.tolist(), near.max(0), strict=True))
        for name, values in zip(FEATURES, prepared.features, strict=True):
            of_formula = [wanted[name][row] if name in wanted else 0.0 for row in rows.tolist()]
            assert values.tolist() == pytest.approx(of_formula, rel=1e-3, abs=1e-5), (name, question.text)


def scores_of(case: Case, prepared: Sequence[Prepared]) -> tuple[list[Floats], Floats]:
    linear, step = case.walk._weights or pytest.fail("made with weights")
    return [linear @ p.features for p in prepared], step


def test_documents_are_chosen_one_by_one_by_what_they_add(case: Case) -> None:
    triples = prepared_of(case)
    scores, step = scores_of(case, [p for _, p, _ in triples])
    chosen = case.walk.choose([p for _, p, _ in triples], scores, step)
    for (question, prepared, expected), score, (order, _) in zip(triples, scores, chosen, strict=True):
        rows = prepared.candidates.rows
        nearness: dict[int, dict[int, float]] = {}
        if question.hops is not None:
            near = question.hops.nearness(rows)
            for parent, values in zip(question.hops.parents.tolist(), near, strict=True):
                nearness[parent] = dict(zip(rows.tolist(), values.tolist(), strict=True))
        of_row = dict(zip(rows.tolist(), score.tolist(), strict=True))
        weights = dict(zip(STEP_FEATURES, step.tolist(), strict=True))
        assert rows[order].tolist() == expected.chosen(of_row, weights, nearness)


def test_a_ranking_shows_the_chosen_documents_and_their_signals(case: Case) -> None:
    triples = prepared_of(case)
    scores, step = scores_of(case, [p for _, p, _ in triples])
    chosen = case.walk.choose([p for _, p, _ in triples], scores, step)
    rankings = case.walk.rank(case.questions, 5)
    for (question, p, _), score, (order, _), ranking in zip(triples, scores, chosen, rankings, strict=True):
        first: Ints = order[:5]
        assert ranking.rows.tolist() == p.candidates.rows[first].tolist()
        falling = np.minimum.accumulate(np.exp(np.minimum(0, score[first] - score.max())))
        assert ranking.relative.tolist() == pytest.approx(falling.tolist())
        f = dict(zip(FEATURES, p.features[:, first], strict=True))
        wanted = {
            "bm25_norm": p.bm25[first] / p.bm25.max(),
            "named": f["named_idf"],
            "link_bonus": f["forward_new"] + f["support"],
        }
        if question.cosine is not None:
            wanted["vector_norm"] = f["cosine_scaled"]
        assert set(ranking.signals) == set(wanted)
        for name, values in wanted.items():
            assert ranking.signals[name].tolist() == pytest.approx(values.tolist(), abs=1e-6)
        assert (ranking.candidates, ranking.added) == (len(p.candidates.rows), p.added)


def test_without_weights_the_hand_set_score_ranks(case: Case) -> None:
    walk = BridgeWalk(case.graph, ENGLISH, None)
    for ranking, (_, p, _) in zip(walk.rank(case.questions, 5), prepared_of(case), strict=True):
        hand = p.features[FEATURES.index("hand")]
        assert ranking.rows.tolist() == p.candidates.rows[(-hand).argsort(kind="stable")[:5]].tolist()


def test_the_first_round_has_weights_of_its_own(case: Case) -> None:
    draw = random.Random(9)
    of_first = Weights({n: draw.uniform(-1, 2) for n in FEATURES}, {n: draw.uniform(-1, 2) for n in STEP_FEATURES})
    of_second = Weights({n: draw.uniform(-1, 2) for n in FEATURES}, {n: draw.uniform(-1, 2) for n in STEP_FEATURES})
    both = BridgeWalk(case.graph, ENGLISH, Weights(of_second.linear, of_second.step, of_first))
    for weights, first_round in ((of_first, True), (of_second, False)):
        alone = BridgeWalk(case.graph, ENGLISH, weights).rank(case.questions, 9)
        for one, other in zip(both.rank(case.questions, 9, first_round), alone, strict=True):
            assert one.rows.tolist() == other.rows.tolist()


def second_query(library: Library, question: str, row: int, text: str) -> str:
    """The words of a question that a document leaves open, and the names that its best sentence adds."""
    document, terms = library.documents[row], ENGLISH.terms
    asked = set(terms(question))
    spans = sentences(text)
    covered = [
        sum(library.idf_or_unseen(term) for term in {*terms(text[begin:end]), *document.title_terms} & asked)
        for begin, end in spans
    ]
    begin, end = spans[covered.index(max(covered))] if spans else (0, 0)
    left = [word for word in question.split() if not terms(word) or not {*terms(word)} <= document.terms]
    said = re.findall(r"[A-Z0-9À-ÖØ-Þ][\w'’.-]*", f"{document.title} {text[begin:end]}")
    names = [word for word in dict.fromkeys(said) if terms(word) and not {*terms(word)} & asked]
    return " ".join([*left, *names]) or question


def test_second_queries_and_their_nearness_are_those_of_the_formulas(case: Case) -> None:
    embedder = FakeEmbedder()
    matrix = embedder.embed([chunk.index_text for chunk in case.chunks], "passage")
    asked_texts: list[str] = []

    def embed(texts: Sequence[str]) -> Vectors:
        asked_texts.extend(texts)
        return embedder.embed(texts, "query")

    round_ = SecondRound(case.graph, ENGLISH, case.chunks, embed, ExactVectors(matrix))
    questions = [question._replace(hops=None) for question in case.questions]
    firsts = case.walk.rank(questions, PARENTS, first_round=True)
    with_hops = round_.asked(case.walk, questions)
    parents = [
        (question, row) for question, first in zip(questions, firsts, strict=True) for row in first.rows.tolist()
    ]
    assert asked_texts == [second_query(case.library, q.text, row, case.chunks[row].text) for q, row in parents]
    everything = np.arange(len(case.chunks))
    for question, first, found in zip(questions, firsts, with_hops, strict=True):
        assert found.hops is not None
        assert found.hops.parents.tolist() == first.rows.tolist()
        assert found.hops.prior.tolist() == first.relative.tolist()
        assert found._replace(nearest=question.nearest, hops=None) == question
        added: list[int] = []
        for row, values in zip(first.rows.tolist(), found.hops.nearness(everything), strict=True):
            vector = embedder.vector(second_query(case.library, question.text, row, case.chunks[row].text))
            cosine = np.round(matrix @ vector, 6).tolist()
            others = [other for other in everything.tolist() if other != row]
            near = sorted(others, key=lambda other: -cosine[other])[:60]
            low, high = cosine[near[-1]], cosine[near[0]]
            scaled = [min(1.0, max(0.0, (value - low) / max(high - low, 1e-6))) for value in cosine]
            assert values.tolist() == pytest.approx([0.0 if n == row else v for n, v in enumerate(scaled)], abs=1e-4)
            added += near[:15]
        assert found.nearest.tolist() == list(dict.fromkeys([*question.nearest.tolist(), *added]))
