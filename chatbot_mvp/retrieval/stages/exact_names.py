"""The chunks of a knowledge base that a question names by a number, as in "expediente 1234"."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import pairwise

from chatbot_mvp.retrieval.indexes.corpus import CorpusIndex
from chatbot_mvp.retrieval.trace import RetrievalTrace

LEAST_NUMBERS = 10
"""A word with at least this many different numbers behind it names records: the numbers tell things of one kind apart.
Years and amounts stand behind many words, a few behind each."""
MOST_NAMED = 20
"""A word and a number that stand together in more chunks than this name no record."""
MOST_BARE = 3
"""The same for a number without its word, which can be an amount or a year as well."""
_CORRECTIONS = ("fuzzy_heading", "vocab")  # notes of the expansion that correct spelling

Pair = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Named:
    """What the numbers of a question name: rows of chunks, those that begin with the name first."""

    records: tuple[int, ...] = ()
    """Chunks that have a number of the question behind the word that names records."""
    bare: tuple[int, ...] = ()
    """Other chunks that have all numbers of the question, if they are few."""


def named_chunks(trace: RetrievalTrace, index: CorpusIndex) -> Named:
    """Return the chunks that a question names by numbers. A number may stand one term away from its word."""
    assert index.kb is not None, "named chunks are of a knowledge base"
    matcher = index.kb.matcher
    words = index.analyzer.content_words(trace.query)
    numbers = {term for word, term in words if any(map(str.isdigit, word)) and term in matcher.terms}
    if not numbers:
        return Named()
    names = [term for _, term in words]
    notes = [note.partition(": ") for note in trace.expansion_notes]
    corrected = [term for source, _, word in notes if source in _CORRECTIONS for term in index.analyzer.terms(word)]
    beside = [*pairwise(names), *zip(names, names[2:], strict=False)]
    beside += [(word, number) for word in corrected for number in numbers]
    pairs = {pair for pair in beside if pair[1] in numbers and 0 < len(matcher.pairs.rows(pair)) <= MOST_NAMED}
    pairs = {pair for pair in pairs if matcher.pairs.numbers_after(pair[0]) >= LEAST_NUMBERS}
    single = {number for number in numbers if len(matcher.terms.rows(number)) <= MOST_NAMED}
    named = {int(row) for pair in pairs for row in matcher.pairs.rows(pair)}
    having = {int(row) for number in single for row in matcher.terms.rows(number)}
    records: dict[
        int, tuple[int, int]
    ] = {}  # chunk -> (numbers that its best paragraph lacks, place of the name there)
    bare: dict[int, None] = {}
    for passage in sorted(named | having):
        found = matcher.passages[passage]
        terms = index.analyzer.terms(f"{found.section}\n{found.text}")
        lacking, place = len(numbers.difference(terms)), _first_pair(terms, pairs)
        for row in found.hits:
            if place is not None:
                records[row] = min(records.get(row, (lacking, place)), (lacking, place))
            elif not lacking:
                bare[row] = None
    others = [row for row in bare if row not in records]
    best_first = sorted(records, key=lambda row: (records[row], row))
    return Named(tuple(best_first), tuple(others) if len(others) <= MOST_BARE else ())


def names_record(trace: RetrievalTrace, index: CorpusIndex) -> bool:
    """Return whether a question names the record that the first final chunk is, and asks for little else.

    The chunk has all terms of the question, except one at most that the whole corpus lacks ("¿Qué dice …?").
    """
    first = trace.chunks_final[0].chunk
    if index.kb is None or index.row_of[first.chunk_id] not in named_chunks(trace, index).records:
        return False
    terms = set(index.analyzer.terms(trace.query))
    [present] = index.terms_present(terms, [first])
    lacking = terms - present
    return len(lacking) <= 1 and not any(index.lexical.document_frequency(term) for term in lacking)


def _first_pair(terms: Sequence[str], pairs: Collection[Pair]) -> int | None:
    """Return where the first of the pairs stands in ``terms``, at most one term apart; None if none does."""
    for at, term in enumerate(terms):
        if any((term, other) in pairs for other in terms[at + 1 : at + 3]):
            return at
    return None
