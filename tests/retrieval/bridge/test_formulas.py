"""The walk over arrays gives what its formulas give for one document after the other (``reference.py``)."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Sequence
from typing import NamedTuple
from unittest import mock

import numpy as np
import pytest

from chatbot_mvp.embedding.base import Vectors
from chatbot_mvp.retrieval.arrays import Floats, Ints
from chatbot_mvp.retrieval.bridge import linking, terms
from chatbot_mvp.retrieval.bridge.building import build_corpus
from chatbot_mvp.retrieval.bridge.choice import STEP_FEATURES
from chatbot_mvp.retrieval.bridge.corpus import Corpus
from chatbot_mvp.retrieval.bridge.features import FEATURES
from chatbot_mvp.retrieval.bridge.second import PARENTS, WORD_PARENTS, SecondRound
from chatbot_mvp.retrieval.bridge.walk import BridgeWalk, Hops, Prepared, Question, Weights
from chatbot_mvp.retrieval.indexes.dense import ExactVectors
from chatbot_mvp.text import Analyzer, sentences
from chatbot_mvp.types import Chunk
from tests.fakes import FakeEmbedder
from tests.retrieval.bridge.reference import Asked, Walked
from tests.retrieval.bridge.reference_corpus import Library

ENGLISH = Analyzer("en")
NAMES = [f"{first} {last}" for last in ("Vidarte", "Orzama", "Kestrel") for first in ("Ada", "Bruno", "Clara", "Dario")]
NAMES += ["Sauceda", "Heron Bridge (1950)", "Heron Bridge", "Mercury"]
WORDS = "bridge river opened designed born bread engineer village of the in 1931 mercury Lisbon Toledo".split()


class Case(NamedTuple):
    chunks: list[Chunk]
    corpus: Corpus
    walk: BridgeWalk
    library: Library
    questions: list[Question]


def sentence(random: random.Random) -> str:
    parts = [
        random.choice(NAMES) if random.random() < 0.25 else random.choice(WORDS) for _ in range(random.randint(1, 12))
    ]
    return " ".join(parts).capitalize() if random.random() < 0.2 else " ".join(parts)


def asked_of(draw: random.Random, parents: list[int], documents: int) -> Hops:
    """Second queries with random results."""
    near = np.array([[draw.random() for _ in range(documents)] for _ in parents], np.float32)
    prior = np.array([draw.random() for _ in parents], np.float32)
    return Hops(np.array(parents, np.int64), prior, lambda rows: near[:, rows])


def made(seed: int, documents: int, followed: int = 40, examined: int = 2_000) -> Case:
    """Documents with names for titles, some of them twice, some without text or title. Most of them name the first."""
    draw = random.Random(seed)
    texts: list[tuple[str, str]] = [("Sauceda", "Sauceda is a village. It has bread.")]
    for _ in range(documents - 1):
        said = [sentence(draw) for _ in range(draw.randint(0, 4))]
        said += ["It lies near Sauceda"] * (draw.random() < 0.8)
        texts.append((draw.choice([*NAMES, *NAMES, "", f"Bridge {draw.randint(1, 9)}"]), ". ".join(said) + "."))
    chunks = [Chunk(f"d{n}", f"d{n}", title, text, 0, len(text)) for n, (title, text) in enumerate(texts)]
    corpus = build_corpus(chunks, len(chunks), ENGLISH)
    step = {name: draw.uniform(-1, 2) for name in STEP_FEATURES}
    walk = BridgeWalk(corpus, ENGLISH, Weights({name: draw.uniform(-1, 2) for name in FEATURES}, step))
    questions = []
    for n in range(4):
        text = f"{sentence(draw)} {draw.choice(NAMES)} unheard {sentence(draw)}"
        cosine = np.array([draw.uniform(-0.2, 1) for _ in chunks], np.float32)
        nearest = (-cosine).argsort()[: max(3, documents * 3 // 4)]
        hops = [asked_of(draw, draw.sample(range(documents), count), documents) for count in (3, min(5, documents))]
        questions.append(Question(text, nearest, lambda rows, c=cosine: c[rows], *hops) if n % 2 else Question(text))
    return Case(chunks, corpus, walk, Library(chunks, ENGLISH, followed, examined), questions)


def made_in_small_steps(seed: int, documents: int) -> Case:
    """What large corpora need, with small limits: incoming mentions sorted in several rounds and partly left out."""
    with (
        mock.patch.object(linking, "_BUCKET_ROWS", 16),
        mock.patch.object(linking, "_BACKWARD_OF_A_HUB", 5),
        mock.patch.object(linking, "_BACKWARD_LOOKED_AT", 3),
        mock.patch.object(terms, "_BUCKET", 50),
    ):
        return made(seed, documents, followed=5, examined=3)


@pytest.fixture(
    scope="module",
    params=[(made, 1, 6), (made, 2, 20), (made, 3, 70), (made_in_small_steps, 4, 50)],
    ids=["6 documents", "20", "70", "50 with small limits"],
)
def case(request: pytest.FixtureRequest) -> Case:
    build, seed, documents = request.param
    return build(seed, documents)


def walked(case: Case, question: Question, prepared: Prepared) -> Walked:
    rows, scores = prepared.found
    cosine = {} if question.cosine is None else dict(enumerate(question.cosine(np.arange(case.corpus.documents))))
    bm25 = dict(zip(rows.tolist(), scores.tolist(), strict=True))
    return Walked(Asked(case.library, question.text), bm25, cosine, question.nearest.tolist())


def prepared_of(case: Case) -> list[tuple[Question, Prepared, Walked]]:
    made = [p for p in case.walk.prepare(case.questions) if p is not None]
    assert len(made) == len(case.questions)
    return [(q, p, walked(case, q, p)) for q, p in zip(case.questions, made, strict=True)]


def holders_of(corpus: Corpus) -> Ints:
    return np.arange(corpus.documents).repeat(np.diff(corpus.mentions.start))


def test_the_corpus_holds_the_mentions_of_every_sentence(case: Case) -> None:
    corpus, edges, holders = case.corpus, case.corpus.mentions, holders_of(case.corpus)
    sentence = edges.sentence - corpus.sentence_start[holders]
    place = corpus.mention_begin - corpus.start[holders]
    columns = (holders, edges.other, sentence, place, edges.width, corpus.mention_weight)
    found = sorted(zip(*(column.tolist() for column in columns), strict=True))
    expected = sorted((m.holder, m.named, *m[3:], math.sqrt(m.strength)) for m in case.library.mentions)
    assert [mention[:5] for mention in found] == [mention[:5] for mention in expected]
    assert [mention[5] for mention in found] == pytest.approx([mention[5] for mention in expected])


def test_the_mentions_of_a_document_are_sorted_by_strength_then_by_place(case: Case) -> None:
    corpus = case.corpus
    columns = (holders_of(corpus), -corpus.mention_weight, corpus.mention_begin)
    keys = list(zip(*(column.tolist() for column in columns), strict=True))
    assert keys == sorted(keys)


def test_neighbours_are_the_documents_that_one_mentions_then_the_strongest_that_mention_it(case: Case) -> None:
    start = case.corpus.neighbours_start
    for row in range(case.corpus.documents):
        neighbours = case.corpus.neighbours[start[row] : start[row + 1]].tolist()
        assert neighbours == case.library.neighbours(row)


def test_only_the_strongest_mentions_of_a_document_link_it_backwards(case: Case) -> None:
    corpus, examined = case.corpus, case.library.examined
    if corpus.is_strong is None:
        assert examined == set(case.library.mentions)
        return
    columns = (holders_of(corpus), corpus.mentions.other, corpus.mention_begin - corpus.start[holders_of(corpus)])
    strong = list(zip(*(column[corpus.is_strong].tolist() for column in columns), strict=True))
    assert sorted(strong) == sorted((m.holder, m.named, m.position) for m in examined)


def test_the_corpus_has_the_idf_rarity_and_proper_words_of_the_formulas(case: Case) -> None:
    corpus, library, count = case.corpus, case.library, case.corpus.documents
    terms = sorted(set().union(*(document.terms for document in library.documents)))
    number = {term: corpus.vocabulary.number(term) for term in terms}
    assert sorted(number.values()) == list(range(len(corpus.idf))) == list(range(len(corpus.vocabulary)))
    assert [corpus.idf_of(term) for term in terms] == pytest.approx(list(map(library.idf, terms)), rel=1e-5)
    assert corpus.unseen_idf == corpus.idf_of("unheard") == pytest.approx(library.idf("no document has it"))
    assert corpus.rarity.tolist() == pytest.approx([library.rarity(row) for row in range(count)], rel=1e-5)
    for row, document in enumerate(library.documents):
        proper, title = (
            corpus.marks[corpus.mark_start[span] : corpus.mark_start[span + 1]].tolist() for span in (row, row + count)
        )
        assert sorted(proper) == sorted(number[term] for term in document.terms & library.proper)
        assert sorted(title) == sorted(len(terms) + number[term] for term in {*document.title_terms})
        assert corpus.title_weight[row] == pytest.approx(sum(map(library.idf, document.title_terms)), rel=1e-5)
    of_term = [library.idf(term) for term in sorted(terms, key=lambda term: number[term])]
    as_proper = [(idf / library.idf("no document has it")) ** 2 for idf in of_term]
    assert corpus.mark_weight.tolist() == pytest.approx([*as_proper, *of_term], rel=1e-5)


def test_candidates_are_what_searches_names_and_links_of_the_best_ones_lead_to(case: Case) -> None:
    for _, prepared, expected in prepared_of(case):
        assert prepared.candidates.rows.tolist() == expected.rows
        assert prepared.added == len(set(expected.rows) - set(expected.bm25) - set(expected.nearest))


def test_features_are_those_of_the_formulas(case: Case) -> None:
    for question, prepared, expected in prepared_of(case):
        wanted = expected.features()
        rows = prepared.candidates.rows
        for kind, hops in (("hop", question.hops), ("word_hop", question.word_hops)):
            if hops is not None:
                near = hops.nearness(rows)
                wanted[kind] = dict(zip(rows.tolist(), (near * hops.prior[:, None]).max(0), strict=True))
                wanted[f"{kind}_best"] = dict(zip(rows.tolist(), near.max(0), strict=True))
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
        nearness: list[dict[int, dict[int, float]]] = [{}, {}]
        for of_kind, hops in zip(nearness, (question.hops, question.word_hops), strict=True):
            if hops is not None:
                for parent, values in zip(hops.parents.tolist(), hops.nearness(rows), strict=True):
                    of_kind[parent] = dict(zip(rows.tolist(), values.tolist(), strict=True))
        of_row = dict(zip(rows.tolist(), score.tolist(), strict=True))
        weights = dict(zip(STEP_FEATURES, step.tolist(), strict=True))
        assert rows[order].tolist() == expected.chosen(of_row, weights, *nearness)


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
    walk = BridgeWalk(case.corpus, ENGLISH, None)
    for ranking, (_, p, _) in zip(walk.rank(case.questions, 5), prepared_of(case), strict=True):
        hand = p.features[FEATURES.index("hand")]
        assert ranking.rows.tolist() == p.candidates.rows[(-hand).argsort(kind="stable")[:5]].tolist()


def test_the_first_round_has_weights_of_its_own(case: Case) -> None:
    draw = random.Random(9)
    of_first = Weights({n: draw.uniform(-1, 2) for n in FEATURES}, {n: draw.uniform(-1, 2) for n in STEP_FEATURES})
    of_second = Weights({n: draw.uniform(-1, 2) for n in FEATURES}, {n: draw.uniform(-1, 2) for n in STEP_FEATURES})
    both = BridgeWalk(case.corpus, ENGLISH, Weights(of_second.linear, of_second.step, of_first))
    for weights, first_round in ((of_first, True), (of_second, False)):
        alone = BridgeWalk(case.corpus, ENGLISH, weights).rank(case.questions, 9)
        for one, other in zip(both.rank(case.questions, 9, first_round), alone, strict=True):
            assert one.rows.tolist() == other.rows.tolist()


def second_query(library: Library, question: str, row: int, text: str) -> str:
    """The words of a question that a document leaves open, and the names that its best sentence adds."""
    document, terms = library.documents[row], ENGLISH.terms
    asked = set(terms(question))
    spans = sentences(text)
    covered = [
        math.fsum(library.idf_or_unseen(term) for term in {*terms(text[begin:end]), *document.title_terms} & asked)
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

    round_ = SecondRound(case.corpus, ENGLISH, case.chunks, embed, ExactVectors(matrix))
    questions = [question._replace(hops=None, word_hops=None) for question in case.questions]
    firsts = case.walk.rank(questions, WORD_PARENTS, first_round=True)
    with_hops = round_.asked(case.walk, questions)
    parents = [
        (question, row)
        for question, first in zip(questions, firsts, strict=True)
        for row in first.rows[:PARENTS].tolist()
    ]
    assert asked_texts == [second_query(case.library, q.text, row, case.chunks[row].text) for q, row in parents]
    everything = np.arange(len(case.chunks))
    for question, first, found in zip(questions, firsts, with_hops, strict=True):
        assert found.hops is not None and found.word_hops is not None
        assert found.word_hops.parents.tolist() == first.rows.tolist()
        assert found.hops.parents.tolist() == first.rows[:PARENTS].tolist()
        assert found.word_hops.prior.tolist() == first.relative.tolist()
        assert found.hops.prior.tolist() == first.relative[:PARENTS].tolist()
        assert found._replace(nearest=question.nearest, hops=None, word_hops=None) == question
        added: list[int] = []
        by_words = found.word_hops.nearness(everything)
        for place, (row, values) in enumerate(zip(first.rows.tolist(), by_words, strict=True)):
            query = second_query(case.library, question.text, row, case.chunks[row].text)
            scores = dict(
                zip(*(each.tolist() for each in case.walk.search_words(ENGLISH.terms(query), 999)), strict=True)
            )
            scores.pop(row, None)
            top = max(scores.values(), default=1.0)
            assert values.tolist() == pytest.approx([scores.get(n, 0.0) / top for n in everything.tolist()], abs=1e-5)
            added += list(scores)[: 10 if place < PARENTS else 5]
        for row, values in zip(first.rows.tolist(), found.hops.nearness(everything), strict=False):
            vector = embedder.vector(second_query(case.library, question.text, row, case.chunks[row].text))
            cosine = np.round(matrix @ vector, 6).tolist()
            others = [other for other in everything.tolist() if other != row]
            near = sorted(others, key=lambda other: -cosine[other])[:60]
            low, high = cosine[near[-1]], cosine[near[0]]
            scaled = [min(1.0, max(0.0, (value - low) / max(high - low, 1e-6))) for value in cosine]
            assert values.tolist() == pytest.approx([0.0 if n == row else v for n, v in enumerate(scaled)], abs=1e-4)
            added += near[:15]
        assert found.nearest.tolist() == list(dict.fromkeys([*question.nearest.tolist(), *added]))
