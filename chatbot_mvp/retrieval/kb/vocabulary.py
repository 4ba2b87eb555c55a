"""What a knowledge base says about itself: its headings, its frequent terms, what stands beside what.

``build_bm25_index`` derives it from the chunks alone; nothing here knows a topic.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from chatbot_mvp.retrieval.kb.links import named_sections
from chatbot_mvp.retrieval.kb.matching import PassageMatcher
from chatbot_mvp.retrieval.kb.passages import join_contexts, join_pieces, passages_of
from chatbot_mvp.text import Analyzer, fold
from chatbot_mvp.types import Chunk

MIN_COUNT = 2
"""A term or a phrase is frequent from here on."""
MAX_PHRASES = 5_000
COOC_WINDOW = 6
"""Terms at most this far apart co-occur."""
COOC_KEPT = 5


@dataclass(frozen=True)
class KbIndex:
    """A knowledge base ready to be matched with a question."""

    chunks: Sequence[Chunk]
    """What a hit can be: the chunks, pieces of one split paragraph joined."""
    section_titles_normalized: Mapping[str, str]
    """Heading in lower case without accents -> the heading as written; each part of a path for itself."""
    vocab_terms: Mapping[str, int]
    """Term, bigram or trigram (terms with a blank between) -> occurrences, at least MIN_COUNT; the frequent first."""
    cooc_map: Mapping[str, tuple[str, ...]]
    """Term -> up to COOC_KEPT terms that stand near it at least MIN_COUNT times, the closest bound first."""
    words: Mapping[str, str]
    """Every word of the KB, lower case and without accents -> its term."""
    matcher: PassageMatcher
    contexts: Sequence[str] = ()
    """Row for row the contexts of ``chunks``; empty where there are none."""
    links: Sequence[tuple[int, ...]] = ()
    """Row for row of the matcher's paragraphs those of the other sections that it names."""

    @property
    def analyzer(self) -> Analyzer:
        return self.matcher.analyzer


def build_bm25_index(chunks: Sequence[Chunk], language: str, contexts: Sequence[str] = ()) -> KbIndex:
    """Index the chunks of a knowledge base.

    Args:
        chunks: in the order of their documents.
        language: "es" or "en": whose stop words and stems are used.
        contexts: row for row what is said of the place of ``chunks`` in their documents; empty where nothing is.
    """
    analyzer = Analyzer(language)
    joined = join_pieces(chunks)
    joined_contexts = join_contexts(joined, chunks, contexts) if contexts else []
    passages = passages_of(joined, joined_contexts)
    words: dict[str, str] = {}
    sequences: list[list[str]] = []
    for passage in passages:
        pairs = analyzer.content_words(passage.text)
        words.update((fold(word), term) for word, term in pairs)
        sequences.append([term for _, term in pairs])
    titles: dict[str, str] = {}
    for heading in dict.fromkeys(passage.section for passage in passages):
        words.update((fold(word), term) for word, term in analyzer.content_words(heading))
        for part in filter(None, heading.split(" > ")):
            titles.setdefault(fold(part), part)
    for context in dict.fromkeys(joined_contexts):
        words.update((fold(word), term) for word, term in analyzer.content_words(context))
    return KbIndex(
        chunks=joined,
        section_titles_normalized=titles,
        vocab_terms=_frequent(sequences),
        cooc_map=_neighbours(sequences),
        words=words,
        matcher=PassageMatcher(passages, analyzer),
        contexts=joined_contexts,
        links=named_sections(passages, analyzer),
    )


def _frequent(sequences: Sequence[Sequence[str]]) -> dict[str, int]:
    counts: Counter[str] = Counter()
    for terms in sequences:
        counts.update(terms)
        counts.update(map(" ".join, pairwise(terms)))
        counts.update(map(" ".join, zip(terms, terms[1:], terms[2:], strict=False)))
    frequent = [(term, count) for term, count in counts.items() if count >= MIN_COUNT]
    return dict(sorted(frequent, key=lambda item: (-item[1], item[0]))[:MAX_PHRASES])


def _neighbours(sequences: Sequence[Sequence[str]]) -> dict[str, tuple[str, ...]]:
    alone: Counter[str] = Counter()
    together: Counter[tuple[str, str]] = Counter()
    for terms in sequences:
        alone.update(terms)
        for distance in range(1, COOC_WINDOW + 1):
            together.update(zip(terms, terms[distance:], strict=False))
    near: dict[str, Counter[str]] = defaultdict(Counter)
    for (one, other), count in together.items():
        if one != other:
            near[one][other] += count
            near[other][one] += count
    found = {}
    for term, counts in near.items():
        # Dice: what is near everything is bound to nothing.
        bound = [(-2 * n / (alone[term] + alone[other]), other) for other, n in counts.items() if n >= MIN_COUNT]
        if bound:
            found[term] = tuple(other for _, other in sorted(bound)[:COOC_KEPT])
    return found
