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
MOST_READ = 200
"""Chunks with a number that are read for a code before it. A year in a long text has more."""
_CODE_TERMS, _CODE_CHARS = 2, 4
"""A code before a number has at most so many parts, each with a digit or at most so many letters."""
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
    beside = [pair for pair in beside if pair[1] in numbers and len(matcher.pairs.rows(pair)) <= MOST_NAMED]
    beside = [pair for pair in beside if matcher.pairs.numbers_after(pair[0]) >= LEAST_NUMBERS]
    pairs = {pair for pair in beside if len(matcher.pairs.rows(pair))}
    having = [{int(row) for row in matcher.terms.rows(number)} for number in sorted(numbers)]
    single = set[int]().union(*(rows for rows in having if len(rows) <= MOST_NAMED))
    read = set[int]().union(*(rows for rows in having if beside and len(rows) <= MOST_READ))
    near = {int(row) for pair in pairs for row in matcher.pairs.rows(pair)}
    # chunk -> (numbers that its best paragraph lacks, place of the name there)
    records: dict[int, tuple[int, int]] = {}
    bare: dict[int, None] = {}
    for passage in sorted(near | single | read):
        found = matcher.passages[passage]
        terms = index.analyzer.terms(f"{found.section}\n{found.text}")
        lacking = len(numbers.difference(terms))
        place = _first_name(terms, pairs, beside if passage in read else ())
        for row in found.hits:
            if place is not None:
                records[row] = min(records.get(row, (lacking, place)), (lacking, place))
            elif not lacking and passage in single:
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


def _first_name(terms: Sequence[str], pairs: Collection[Pair], coded: Collection[Pair]) -> int | None:
    """Return where the first name stands in ``terms``; None if there is none.

    Args:
        pairs: a word and a number behind it, at most one term apart.
        coded: the same, where the number is the end of a code ("expediente EXP-7/1234").
    """
    for at, term in enumerate(terms):
        if any((term, other) in pairs for other in terms[at + 1 : at + 3]):
            return at
        for end in range(at + 1, min(at + 2 + _CODE_TERMS, len(terms))):
            if (term, terms[end]) in coded:
                return at
            if len(terms[end]) > _CODE_CHARS and not any(map(str.isdigit, terms[end])):
                break
    return None
