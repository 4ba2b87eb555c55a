"""Build the arrays of the walk from the documents of a corpus, part by part.

A part is some tens of thousands of documents. The first pass reads the documents in Python and stores their words as
numbers. The second pass goes over these numbers and finds the mentions of the names. Only the names, the terms and a
few numbers per document are in memory as a whole; everything else is in files, sorted by parts and then merged.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np

from chatbot_mvp.retrieval.bridge.arrays import REACH, Array, Ints, distinct, offsets
from chatbot_mvp.retrieval.bridge.corpus import Corpus
from chatbot_mvp.retrieval.bridge.keys import first_flags, joined, keys_of_rows
from chatbot_mvp.retrieval.bridge.linking import Linker
from chatbot_mvp.retrieval.bridge.mentions import Names, build_heads, build_names
from chatbot_mvp.retrieval.bridge.postings import PostingsWriter
from chatbot_mvp.retrieval.bridge.reading import Part, PartReader
from chatbot_mvp.retrieval.bridge.terms import TermTable
from chatbot_mvp.storage.arrays import ArrayFiles
from chatbot_mvp.text import Analyzer
from chatbot_mvp.types import Chunk, Progress, ProgressCallback, ignore_progress

_PART_WORDS = 1_500_000
"""Number of words from which a part is complete: it decides the memory of the build."""


def build_corpus(
    chunks: Iterable[Chunk],
    count: int,
    analyzer: Analyzer,
    progress: ProgressCallback = ignore_progress,
    folder: Path | None = None,
    part_words: int = _PART_WORDS,
) -> Corpus:
    """Build the arrays of the walk in linear time.

    Args:
        count: number of ``chunks``, which are read once, in their order.
        progress: called in the phase "link"; may raise to stop.
        folder: an empty folder for the arrays, which ``Corpus.open`` loads later; None to keep them in memory.
        part_words: number of words from which a part is complete. The arrays do not depend on it.

    Raises:
        OSError: the disk is full or not writable.
    """
    files = ArrayFiles(folder)
    try:
        builder, reader = _Builder(files), PartReader(analyzer)
        for row, chunk in enumerate(chunks):
            reader.read(chunk)
            if reader.words >= part_words:
                builder.add(reader.part())
                reader = PartReader(analyzer)
            if row % 1_000 == 0:
                progress(Progress("link", row, 2 * count))
        builder.add(reader.part())
        return builder.finish(progress)
    finally:
        files.close()


class _Builder:
    """Turns parts into the arrays of ``Corpus``."""

    def __init__(self, files: ArrayFiles) -> None:
        self._files = files
        self._terms = TermTable()
        self._rows = self._sentences = 0
        files.append("words", np.full(REACH, -1, np.int32))

    def add(self, part: Part) -> None:
        """First pass: write the words of a part as term numbers, and set aside what the second pass needs."""
        files, tokens, rows = self._files, part.tokens, len(part.sentences)
        sentence_of = np.arange(len(part.sentence_words)).repeat(part.sentence_words)
        row_of = np.arange(rows).repeat(np.diff(offsets(part.sentence_words)[offsets(part.sentences)]))
        content = (~tokens.is_stop).take(part.words).nonzero()[0]
        row_of_content = row_of.take(content)
        lengths = np.bincount(row_of_content, minlength=rows)
        stems, title_stems = tokens.stem.take(part.words.take(content)), tokens.stem.take(part.title_words)
        title_rows = np.arange(rows).repeat(part.title_lengths)
        of_stem = self._numbered(part, stems, title_stems, lengths)
        terms, title_terms = of_stem.take(stems), of_stem.take(title_stems)
        padded = np.full(len(terms) + REACH * rows, -1, np.int32)
        padded[np.arange(len(terms)) + REACH * row_of_content] = terms
        files.append("words", padded)
        files.append("word_sentence", (sentence_of.take(content) + self._sentences).astype(np.int32))
        for name, values in (
            ("sentence_counts", part.sentences),
            ("text_lengths", lengths.astype(np.int32)),
            ("title_lengths", part.title_lengths),
            ("title_words", title_terms),
            ("title_keys", part.title_key),
        ):
            files.append(name, values)
        pairs = _pairs(len(self._terms), row_of_content, terms, title_rows, title_terms)
        lower = _pairs_of(row_of, part, tokens.is_lower)
        upper = _pairs_of(row_of, part, tokens.is_upper)
        self._count(tokens.stem_key, of_stem, pairs, lower, upper)
        self._write_names(part, lower)
        files.set_aside(
            {
                "words": part.words,
                "sentence_words": part.sentence_words,
                "sentences": part.sentences,
                "lengths": lengths,
                "title_terms": title_terms,
                "title_lengths": part.title_lengths,
                **pairs,
                **tokens._asdict(),
            }
        )
        self._rows += rows
        self._sentences += len(part.sentence_words)

    def finish(self, progress: ProgressCallback) -> Corpus:
        """Second pass: find the mentions, and write what depends on the whole corpus."""
        files, terms, count = self._files, self._terms, self._rows
        counts = terms.counts()
        idf = np.log(1 + (count - counts.documents + 0.5) / (counts.documents + 0.5)).astype(np.float32)
        unseen_idf = float(np.log(1 + (count + 0.5) / 0.5))
        proper = terms.is_proper(counts)
        lengths, title_lengths = files.read("text_lengths"), files.read("title_lengths")
        group = _numbered_groups(files.read("title_keys"))
        names = self._names(group)
        linker = Linker(files, names, group)
        postings = PostingsWriter(files, counts, lengths, title_lengths)
        begin = 0
        title_marks: list[Array] = []
        title_weight: list[Array] = []
        mark_counts: tuple[list[Array], list[Array]] = ([], [])
        files.append("marks", np.zeros(0, np.int32))
        for part in files.set_aside_before():
            rows = len(part["lengths"])
            linker.add(begin, part)
            postings.add(begin, part)
            row = part["pair_row"]
            kept = proper.take(part["pair_term"]).nonzero()[0]
            files.append("marks", part["pair_term"].take(kept))
            mark_counts[0].append(np.bincount(row.take(kept), minlength=rows))
            title_row = np.arange(rows).repeat(part["title_lengths"])
            title_weight.append(np.bincount(title_row, idf.take(part["title_terms"]), rows).astype(np.float32))
            distinct_terms, title_counts = _distinct_of_rows(part["title_terms"], title_row, rows)
            title_marks.append(distinct_terms)
            mark_counts[1].append(title_counts)
            begin += rows
            progress(Progress("link", count + begin, 2 * count))
        for terms_of_titles in title_marks:
            files.append("marks", terms_of_titles + np.int32(len(terms)))
        mean_length = max(1.0, int(lengths.sum(dtype=np.int64)) / max(1, count))
        text_begin = offsets(lengths + REACH) + REACH
        for name, values in (
            ("words", files.read("title_words")),
            ("start", np.concatenate((text_begin, text_begin[-1] + offsets(title_lengths)[1:]))),
            ("sentence_start", offsets(files.read("sentence_counts"))),
            ("body_norm", 1.2 * (0.25 + 0.75 * lengths.astype(np.int64) / mean_length)),
            ("title_norm", 1 + 0.25 * title_lengths.astype(np.int64)),
            ("length", np.log1p(lengths.astype(np.int64) / mean_length).astype(np.float32)),
            ("idf", idf),
            ("mark_start", offsets(np.concatenate((*mark_counts[0], *mark_counts[1])))),
            ("mark_weight", np.concatenate(((idf / unseen_idf) ** 2, idf)).astype(np.float32)),
            ("title_weight", np.concatenate(title_weight)),
            ("group", group),
            ("vocabulary.key", terms.keys),
            ("vocabulary.number", terms.numbers),
        ):
            files.append(name, values)
        linker.finish()
        postings.finish()
        files.forget("sentence_counts", "text_lengths", "title_lengths", "title_words", "title_keys")
        return Corpus.of(files.finish({"documents": count, "unseen_idf": unseen_idf}))

    def _numbered(self, part: Part, stems: Array, title_stems: Array, lengths: Array) -> Array:
        """Return the term number of each stem of a part; -1 for stems that it has as stop words only."""
        never = len(stems) + len(title_stems)
        first = np.full(len(part.tokens.stem_key), never)
        # In each document, the words of the text come before those of the title.
        text_rows = np.arange(len(lengths)).repeat(lengths)
        title_rows = np.arange(len(lengths)).repeat(part.title_lengths)
        place = np.arange(len(stems)) + offsets(part.title_lengths)[text_rows]
        of_title = np.arange(len(title_stems)) + offsets(lengths)[title_rows + 1]
        first[title_stems[::-1]] = of_title[::-1]
        in_texts = np.full(len(first), never)
        in_texts[stems[::-1]] = place[::-1]
        np.minimum(first, in_texts, out=first)
        order = first.argsort(kind="stable")[: np.count_nonzero(first < never)]
        of_stem = np.full(len(first), -1, np.int32)
        of_stem[order] = self._terms.number(part.tokens.stem_key.take(order), part.proper.take(order))
        return of_stem

    def _count(self, stem_key: Array, of_stem: Array, pairs: dict[str, Array], lower: Array, upper: Array) -> None:
        stems = len(of_stem)
        known = (of_stem >= 0).nonzero()[0]
        stem_of = np.zeros(len(self._terms), np.int64)
        stem_of[of_stem.take(known)] = known
        stem = stem_of.take(pairs["pair_term"])
        uses = [np.bincount(which, minlength=stems) for which in (stem, stem[pairs["pair_title"] > 0])]
        cases = [np.bincount(pairs_of_case % max(1, stems), minlength=stems) for pairs_of_case in (lower, upper)]
        self._terms.count(of_stem, stem_key, np.stack(uses), np.stack(cases))

    def _write_names(self, part: Part, lower: Array) -> None:
        """Write the keys of the names that the documents of a part give themselves."""
        names, tokens = part.names, part.tokens
        stems = tokens.stem_key.take(names.stems)
        length = np.diff(names.start)
        pair = names.row.astype(np.int64).repeat(length) * len(tokens.stem_key) + names.stems
        at = lower.searchsorted(pair)
        in_lower_case = lower.take(at, mode="clip") == pair if len(lower) else np.zeros(len(pair), bool)
        usual = np.logical_and.reduceat(in_lower_case, names.start[:-1]) if len(length) else np.zeros(0, bool)
        longer = (length > 1).nonzero()[0]
        first = names.start.take(longer)
        for name, values in (
            ("own.key", keys_of_rows(stems, names.start)),
            ("own.row", (names.row + self._rows).astype(np.int32)),
            ("own.kind", names.kind),
            ("own.form", keys_of_rows(tokens.form_key.take(names.forms), names.start)),
            ("own.usual", usual),
            ("own.head", joined(stems.take(first), stems.take(first + 1))),
            ("own.length", length.take(longer).astype(np.uint8)),
        ):
            self._files.append(name, values)

    def _names(self, group: Array) -> Names:
        files = self._files
        own = {name: files.read(f"own.{name}") for name in ("key", "row", "kind", "form", "usual")}
        files.forget(*(f"own.{name}" for name in own))
        built = build_names(**own, group=group)
        del own
        built |= build_heads(files.read("own.head"), files.read("own.length"))
        files.forget("own.head", "own.length")
        for name, values in built.items():
            files.append(f"names.{name}", values)
        return Names(**built)


def _pairs(terms: int, rows: Ints, numbers: Array, title_rows: Ints, title_numbers: Array) -> dict[str, Array]:
    """Return the distinct pairs of document and term, ordered by both, with the counts of the term.

    Returns:
        ``pair_row``, counted from the first document of the part; ``pair_term``; ``pair_count``, in text and title;
        ``pair_title``.
    """
    title_key = title_rows * terms + title_numbers
    keys, count = distinct(np.concatenate((rows * terms + numbers, title_key)))
    title_keys, title_count = distinct(title_key)
    in_title = np.zeros(len(keys), np.int32)
    in_title[keys.searchsorted(title_keys)] = title_count
    return {
        "pair_row": (keys // max(1, terms)).astype(np.int32),
        "pair_term": (keys % max(1, terms)).astype(np.int32),
        "pair_count": count.astype(np.int32),
        "pair_title": in_title,
    }


def _pairs_of(row_of: Ints, part: Part, chosen: Array) -> Ints:
    """Return the distinct pairs of document and stem, as row * stems + stem, of the words of the chosen tokens."""
    at = chosen.take(part.words).nonzero()[0]
    return distinct(row_of.take(at) * len(part.tokens.stem_key) + part.tokens.stem.take(part.words.take(at)))[0]


def _numbered_groups(keys: Array) -> Array:
    """Number the distinct keys in the order of their first use."""
    order = keys.argsort(kind="stable")
    first = first_flags(keys.take(order))
    first_row = order[first].argsort(kind="stable")
    number = np.empty(len(first_row), np.int32)
    number[first_row] = np.arange(len(first_row))
    groups = np.empty(len(keys), np.int32)
    groups[order] = number.take(first.cumsum() - 1)
    return groups


def _distinct_of_rows(values: Array, row: Ints, rows: int) -> tuple[Array, Ints]:
    """Drop the repeated values of each row; return (the others in their order, how many each row has)."""
    order = np.lexsort((values, row))  # equal values of a row in their order
    again = np.zeros(len(values), bool)
    again[order[1:]] = (np.diff(row[order]) == 0) & (np.diff(values[order]) == 0)
    return values[~again], np.bincount(row[~again], minlength=rows)
