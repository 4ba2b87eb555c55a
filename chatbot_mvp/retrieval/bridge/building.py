"""Build the arrays of the walk from the documents of a corpus, part by part.

A part is some tens of thousands of documents. The first pass reads the documents in Python and stores their words as
numbers. Between the passes, terms and names are sorted by ranges of their keys. The second pass goes over the words
and finds the mentions of the names. A part or a range is in memory at a time; everything else is in files.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from chatbot_mvp.retrieval.arrays import Array, Ints, distinct, offsets
from chatbot_mvp.retrieval.bm25 import idf, idfs, length_norm
from chatbot_mvp.retrieval.bridge.corpus import REACH, Corpus
from chatbot_mvp.retrieval.bridge.keys import FirstUses, KeyTable, joined, keys_of_rows
from chatbot_mvp.retrieval.bridge.linking import Linker
from chatbot_mvp.retrieval.bridge.names import Names, build_heads, build_names
from chatbot_mvp.retrieval.bridge.reading import Part, PartReader, Tokens
from chatbot_mvp.retrieval.bridge.terms import Pairs, PartTerms, PostingsWriter, TermTable
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
        self._terms = TermTable(files)
        self._titles = FirstUses(files, "titles")
        self._names = KeyTable(files, "own")
        self._heads = KeyTable(files, "heads")
        self._rows = self._sentences = self._words = self._title_words = 0

    def add(self, part: Part) -> None:
        """First pass: store the words of a part, its terms and its names."""
        stored = {**part._asdict(), **part.tokens._asdict()}
        del stored["tokens"], stored["names"], stored["title_key"]
        rows, stems, words = len(part.sentences), len(part.tokens.stem_key), _content_words(stored)
        pairs = _pairs(stems, words.row, words.stem, words.title_row, words.title_stem)
        row_of = np.arange(rows).repeat(np.diff(offsets(part.sentence_words)[offsets(part.sentences)]))
        lower = _pairs_of(row_of, part, part.tokens.is_lower)
        upper = _pairs_of(row_of, part, part.tokens.is_upper)
        uses = [np.bincount(which, minlength=stems) for which in (pairs.term, pairs.term[pairs.title > 0])]
        cases = [np.bincount(pairs_of_case % max(1, stems), minlength=stems) for pairs_of_case in (lower, upper)]
        used = _in_order_of_use(stems, words)
        self._terms.add(part.tokens.stem_key, used, np.stack(uses), np.stack(cases))
        self._titles.add(part.title_key)
        self._add_names(part, lower)
        self._files.set_aside(stored)
        self._rows += rows
        self._words += len(words.stem)
        self._title_words += len(words.title_stem)

    def finish(self, progress: ProgressCallback) -> Corpus:
        """Second pass: find the mentions, and write what depends on the whole corpus."""
        files, count, begin = self._files, self._rows, 0
        self._terms.finish()
        unseen_idf = idf(count, 0)
        group = self._write_groups()
        linker = Linker(files, self._write_names(group), group)
        postings = PostingsWriter(files, count, self._words, self._title_words)
        files.append("words", np.full(REACH, -1, np.int32))
        for number, arrays in enumerate(files.set_aside_before()):
            linker.add(begin, arrays)
            terms = self._terms.of_part(number, arrays["proper"])
            self._finish_part(begin, arrays, terms, postings, unseen_idf)
            begin += len(arrays["sentences"])
            progress(Progress("link", count + begin, 2 * count))
        self._terms.forget()
        for terms_of_titles in files.pieces("title_words"):
            files.append("words", terms_of_titles)
        for title_lengths in files.pieces("title_lengths"):
            files.append_offsets("start", title_lengths)
        for terms_of_titles in files.pieces("title_marks"):
            files.append("marks", terms_of_titles + np.int32(len(self._terms)))
        for counts in files.pieces("title_mark_counts"):
            files.append_offsets("mark_start", counts)
        for of_terms in files.pieces("idf"):
            files.append("mark_weight", of_terms)
        files.forget("title_words", "title_lengths", "title_marks", "title_mark_counts")
        linker.finish()
        del linker  # and the maps of the names with it
        postings.finish()
        return Corpus.of(files.finish({"documents": count, "unseen_idf": unseen_idf}))

    def _finish_part(
        self, begin: int, arrays: dict[str, Array], terms: PartTerms, postings: PostingsWriter, unseen_idf: float
    ) -> None:
        """Write what does not depend on other documents of the part, given the terms of the whole corpus."""
        files, count, rows, words = self._files, self._rows, len(arrays["sentences"]), _content_words(arrays)
        text_terms, title_terms = terms.of_stem.take(words.stem), terms.of_stem.take(words.title_stem)
        padded = np.full(len(text_terms) + REACH * rows, -1, np.int32)
        padded[np.arange(len(text_terms)) + REACH * words.row] = terms.number.take(text_terms)
        of_terms = idfs(count, terms.documents).astype(np.float32)
        new_idf = of_terms[len(of_terms) - terms.new :]
        pairs = _pairs(len(terms.number), words.row, text_terms, words.title_row, title_terms)
        kept = terms.is_proper.take(pairs.term).nonzero()[0]
        title_marks, title_counts = _distinct_of_rows(terms.number.take(title_terms), words.title_row, rows)
        mean_length = max(1.0, self._words / max(1, count))
        for name, values in (
            ("words", padded),
            ("word_sentence", (words.sentence + self._sentences).astype(np.int32)),
            ("body_norm", length_norm(words.lengths, mean_length)),
            ("title_norm", 1 + 0.25 * arrays["title_lengths"].astype(np.int64)),
            ("length", np.log1p(words.lengths / mean_length).astype(np.float32)),
            ("idf", new_idf),
            ("mark_weight", (new_idf / unseen_idf) ** 2),
            ("marks", terms.number.take(pairs.term.take(kept))),
            ("title_weight", np.bincount(words.title_row, of_terms.take(title_terms), rows).astype(np.float32)),
            ("title_words", terms.number.take(title_terms)),
            ("title_lengths", arrays["title_lengths"]),
            ("title_marks", title_marks),
            ("title_mark_counts", title_counts),
        ):
            files.append(name, values)
        files.append_offsets("start", words.lengths + REACH, first=REACH)
        files.append_offsets("sentence_start", arrays["sentences"])
        files.append_offsets("mark_start", np.bincount(pairs.row.take(kept), minlength=rows))
        postings.add(begin, terms, pairs, words.lengths, arrays["title_lengths"])
        self._sentences += len(arrays["sentence_words"])

    def _add_names(self, part: Part, lower: Array) -> None:
        """Store the names that the documents of a part give themselves."""
        names, tokens = part.names, part.tokens
        stems = tokens.stem_key.take(names.stems)
        length = np.diff(names.start)
        pair = names.row.astype(np.int64).repeat(length) * len(tokens.stem_key) + names.stems
        at = lower.searchsorted(pair)
        in_lower_case = lower.take(at, mode="clip") == pair if len(lower) else np.zeros(len(pair), bool)
        usual = np.logical_and.reduceat(in_lower_case, names.start[:-1]) if len(length) else np.zeros(0, bool)
        self._names.add(
            keys_of_rows(stems, names.start),
            row=(names.row + self._rows).astype(np.int32),
            kind=names.kind,
            form=keys_of_rows(tokens.form_key.take(names.forms), names.start),
            usual=usual,
        )
        longer = (length > 1).nonzero()[0]
        first = names.start.take(longer)
        heads = joined(stems.take(first), stems.take(first + 1))
        self._heads.add(heads, length=length.take(longer).astype(np.uint8))

    def _write_groups(self) -> Array:
        """Number the distinct titles in the order of their first use; return the number of each document's title."""
        self._titles.finish()
        for part in range(len(self._titles.table)):
            self._files.append("group", self._titles.numbers(part))
        self._titles.table.forget()
        return self._files.view("group")

    def _write_names(self, group: Array) -> Names:
        files = self._files
        for of in self._names.ranges():
            key, row, kind, form, usual = self._names.read(of, "key", "row", "kind", "form", "usual")
            built = build_names(key, row, kind, form, usual, group)
            files.append_offsets("names.start", np.diff(built.pop("start")))
            for name, values in built.items():
                files.append(f"names.{name}", values)
        for of in self._heads.ranges():
            head, length = self._heads.read(of, "key", "length")
            for name, values in build_heads(head, length).items():
                files.append(f"names.{name}", values)
        self._names.forget()
        self._heads.forget()
        return Names(*(files.view(f"names.{name}") for name in Names._fields))


class _ContentWords(NamedTuple):
    """The content words of the texts and titles of a part, document by document."""

    row: Ints
    """Row of the document of each word of a text, counted from the first document of the part."""
    sentence: Ints
    """Sentence of each word of a text, counted from the first one of the part."""
    stem: Array
    """Stem of each word of a text."""
    lengths: Ints
    """Number of content words of each text."""
    title_row: Ints
    """Row of the document of each word of a title."""
    title_stem: Array
    """Stem of each word of a title."""
    title_lengths: Array
    """Number of content words of each title."""


def _content_words(arrays: dict[str, Array]) -> _ContentWords:
    """List the content words of a part, given the arrays of ``Part`` and ``Tokens``."""
    tokens = Tokens(*(arrays[name] for name in Tokens._fields))
    sentences, sentence_words, words = arrays["sentences"], arrays["sentence_words"], arrays["words"]
    content = (~tokens.is_stop).take(words).nonzero()[0]
    sentence = np.arange(len(sentence_words)).repeat(sentence_words).take(content)
    row = np.arange(len(sentences)).repeat(sentences).take(sentence)
    return _ContentWords(
        row,
        sentence,
        tokens.stem.take(words.take(content)),
        np.bincount(row, minlength=len(sentences)),
        np.arange(len(sentences)).repeat(arrays["title_lengths"]),
        tokens.stem.take(arrays["title_words"]),
        arrays["title_lengths"],
    )


def _in_order_of_use(stems: int, words: _ContentWords) -> Ints:
    """Return the distinct stems of the content words of a part, in the order of their first use.

    In each document, the words of the text come before those of the title.

    Args:
        stems: number of stems of the part, those of stop words included.
    """
    never = len(words.stem) + len(words.title_stem)
    of_text = np.arange(len(words.stem)) + offsets(words.title_lengths)[words.row]
    of_title = np.arange(len(words.title_stem)) + offsets(words.lengths)[words.title_row + 1]
    first, in_titles = np.full(stems, never), np.full(stems, never)
    first[words.stem[::-1]] = of_text[::-1]
    in_titles[words.title_stem[::-1]] = of_title[::-1]
    np.minimum(first, in_titles, out=first)
    return first.argsort(kind="stable")[: np.count_nonzero(first < never)]


def _pairs(terms: int, rows: Ints, numbers: Array, title_rows: Ints, title_numbers: Array) -> Pairs:
    """Return the distinct pairs of document and term, ordered by both, with the counts of the term.

    Args:
        terms: number of terms.
        rows, numbers: document and term of each word of the texts. ``title_rows``, ``title_numbers``: of the titles.
    """
    title_key = title_rows * terms + title_numbers
    keys, count = distinct(np.concatenate((rows * terms + numbers, title_key)))
    title_keys, title_count = distinct(title_key)
    in_title = np.zeros(len(keys), np.int32)
    in_title[keys.searchsorted(title_keys)] = title_count
    return Pairs(keys // max(1, terms), (keys % max(1, terms)).astype(np.int32), count.astype(np.int32), in_title)


def _pairs_of(row_of: Ints, part: Part, chosen: Array) -> Ints:
    """Return the distinct pairs of document and stem, as row * stems + stem, of the words of the chosen tokens."""
    at = chosen.take(part.words).nonzero()[0]
    return distinct(row_of.take(at) * len(part.tokens.stem_key) + part.tokens.stem.take(part.words.take(at)))[0]


def _distinct_of_rows(values: Array, row: Ints, rows: int) -> tuple[Array, Ints]:
    """Drop the repeated values of each row; return (the others in their order, how many each row has)."""
    order = np.lexsort((values, row))  # equal values of a row in their order
    again = np.zeros(len(values), bool)
    again[order[1:]] = (np.diff(row[order]) == 0) & (np.diff(values[order]) == 0)
    return values[~again], np.bincount(row[~again], minlength=rows)
