"""A passage that a question quotes nearly word for word is among the first five of BRIDGE if it is among LEXICAL's.

The corpus is made: 200 topics of eight records that differ in one number or one name, and pages about the people,
towns, companies and topics that the records mention, which a walk over mentions follows.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

from chatbot_mvp.documents.chunking import passage_chunk
from chatbot_mvp.retrieval.pipeline import growing_pipeline
from chatbot_mvp.settings.model import load_settings
from chatbot_mvp.types import Document, last
from tests.fakes import FakeEmbedder

TOPICS, RECORDS, QUESTIONS, FIRST = 200, 8, 500, 5
SEED, PEOPLE = 9, 9
"""A corpus in which BRIDGE_HYBRID lost a passage that LEXICAL has first."""

_SYLLABLES = [consonant + vowel for consonant in "bcdfglmnprstv" for vowel in "aeiou"]
_PLACES = ("Pump Station", "Bridge", "Archive", "Reservoir", "Lighthouse", "Quarry", "Mill", "Viaduct", "Foundry")
_VERBS = ("repaired", "inspected", "financed", "surveyed", "photographed", "closed", "reopened", "measured")
_PARTS = ("main valve", "north wall", "old gate", "eastern pier", "water wheel", "upper gallery", "iron roof")
_FIRMS = ("Works", "Brothers", "Company", "Union")
_OTHER_WORDS = ("renovated", "perhaps", "municipal", "document")

Quoting = Callable[[list[str], random.Random], str]


class Asked(NamedTuple):
    """A question and the document that it quotes."""

    text: str
    doc_id: str


def _without_a_word(words: list[str], rng: random.Random) -> str:
    at = rng.randrange(6, len(words))
    return " ".join([*words[:at], *words[at + 1 :]])


def _with_another_word(words: list[str], rng: random.Random) -> str:
    at = rng.randrange(6, len(words))
    return " ".join([*words[:at], rng.choice(_OTHER_WORDS), *words[at + 1 :]])


QUOTING: tuple[Quoting, ...] = (
    lambda words, _: f"{' '.join(words)}.",
    lambda words, _: f"What was done: {' '.join(words)}?",
    _without_a_word,
    _with_another_word,
)


def _name(rng: random.Random) -> str:
    return "".join(rng.choices(_SYLLABLES, k=rng.randint(2, 4))).capitalize()


@cache
def made() -> tuple[list[Document], list[Asked]]:
    rng = random.Random(SEED)
    topics: list[str] = list({f"{_name(rng)} {rng.choice(_PLACES)}": None for _ in range(TOPICS)})
    people = [f"{_name(rng)} {_name(rng)}" for _ in range(PEOPLE)]
    towns = [_name(rng) for _ in range(PEOPLE)]
    firms = [f"{_name(rng)} {rng.choice(_FIRMS)}" for _ in range(PEOPLE)]
    records = []
    for number, topic in enumerate(topics):
        done = f"the {rng.choice(_PARTS)} of the {topic} was {rng.choice(_VERBS)} in {1900 + number % 90}"
        by, plan, first = f"{rng.choice(firms)} of {rng.choice(towns)}", rng.choice(topics), rng.randint(100, 900)
        for row, person in enumerate(rng.sample(people, RECORDS)):
            key = f"order {first + row}" if number % 2 else f"engineer {person}"
            text = (
                f"Under {key}, {done} by {by}. The work followed the plan that had been drawn for the {plan}, and it "
                "took eleven weeks."
            )
            records.append(Document(f"record-{number}-{row}", topic, text))
    pages = [
        (one, f"{one} was an engineer from {rng.choice(towns)} who worked for {rng.choice(firms)}.") for one in people
    ]
    pages += [(one, f"{one} is known for the {rng.choice(topics)}. {rng.choice(people)} lived there.") for one in towns]
    pages += [(one, f"{one} built the {rng.choice(topics)} under {rng.choice(people)}.") for one in firms]
    pages += [(one, f"The {one} stands near {rng.choice(towns)}, built by {rng.choice(firms)}.") for one in topics]
    asked = []
    for _ in range(QUESTIONS):
        record = rng.choice(records)
        words = record.text.partition(". ")[0].split()
        asked.append(Asked(rng.choice(QUOTING)(words, rng), record.doc_id))
    return [*records, *(Document(f"page-{at}", title, text) for at, (title, text) in enumerate(pages))], asked


def places(strategy: str, folder: Path) -> list[int]:
    """The place of each quoted document among the hits, from 1; a large number if it is not there."""
    documents, asked = made()
    settings = load_settings(data_dir=folder, retrieval_strategy=strategy, generation_enabled=False)
    chunks = [passage_chunk(document) for document in documents]
    pipeline = last(growing_pipeline(chunks, "en", settings, FakeEmbedder))
    assert (pipeline.index.graph is not None) == strategy.startswith("BRIDGE")
    found = [[chunk.doc_id for chunk in hits] for hits in pipeline.found([one.text for one in asked])]
    return [ids.index(one.doc_id) + 1 if one.doc_id in ids else 10**6 for one, ids in zip(asked, found, strict=True)]


@pytest.fixture(scope="module")
def lexical(tmp_path_factory: pytest.TempPathFactory) -> list[int]:
    found = places("LEXICAL", tmp_path_factory.mktemp("lexical"))
    assert sum(place <= FIRST for place in found) > 0.95 * QUESTIONS, "the questions are about something"
    return found


@pytest.mark.sampled(1)
@pytest.mark.parametrize("strategy", ["BRIDGE", "BRIDGE_HYBRID"])
def test_no_quoted_passage_of_lexical_is_lost(
    clean_env: Path, tmp_path: Path, lexical: list[int], strategy: str
) -> None:
    found = places(strategy, tmp_path)
    _, asked = made()
    lost = [
        (one.text, before, after)
        for one, before, after in zip(asked, lexical, found, strict=True)
        if before <= FIRST < after
    ]
    assert not lost
