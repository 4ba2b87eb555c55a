"""Derive a knowledge base's vocabulary from its chunks: headings, frequent terms, co-occurring terms.

Nothing here depends on a topic.
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
"""Occurrences from which a term or phrase counts as frequent."""
MAX_PHRASES = 5_000
COOC_WINDOW = 6
"""Terms co-occur if they are at most this many terms apart."""
COOC_KEPT = 5


@dataclass(frozen=True)
class KbIndex:
    """A knowledge base prepared for matching with questions."""

    chunks: Sequence[Chunk]
    """The chunks that a search can return; pieces of split paragraphs are joined."""
    section_titles_normalized: Mapping[str, str]
    """Heading in lower case without accents -> heading as written. Each part of a heading path is one entry."""
    vocab_terms: Mapping[str, int]
    """Term, bigram or trigram (terms separated by a space) -> occurrences, at least MIN_COUNT; most frequent first."""
    cooc_map: Mapping[str, tuple[str, ...]]
    """Term -> up to COOC_KEPT terms that co-occur with it at least MIN_COUNT times, strongest association first."""
    words: Mapping[str, str]
    """Word in lower case without accents -> its term, for every word of the KB except stop words."""
    matcher: PassageMatcher
    contexts: Sequence[str] = ()
    """One context per chunk; empty if the chunks were not enriched."""
    links: Sequence[tuple[int, ...]] = ()
    """For each paragraph of the matcher, the rows of the paragraphs whose sections it names."""

    @property
    def analyzer(self) -> Analyzer:
        return self.matcher.analyzer


def build_bm25_index(chunks: Sequence[Chunk], language: str, contexts: Sequence[str] = ()) -> KbIndex:
    """Index the chunks of a knowledge base.

    Args:
        chunks: in the order of their documents.
        language: "es" or "en"; decides stop words and stems.
        contexts: for each chunk, a description of its place in the document; empty if the chunks were not enriched.
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
        # Dice coefficient: a term that occurs near every other term is not specific to any of them.
        bound = [(-2 * n / (alone[term] + alone[other]), other) for other, n in counts.items() if n >= MIN_COUNT]
        if bound:
            found[term] = tuple(other for _, other in sorted(bound)[:COOC_KEPT])
    return found
