"""The mention graph: which document mentions which, and all documents as flat arrays, built once per corpus.

A "row" is a chunk's position in the corpus; a "content word" is a word that is not a stop word. Ragged data is stored
in one flat array with an array of row offsets (compressed sparse rows).
"""

from __future__ import annotations

import json
from array import array
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from chatbot_mvp.retrieval.bridge.arrays import Array, Floats, Ints, distinct, offsets
from chatbot_mvp.retrieval.bridge.names import Bearer, Name, Names, collect_names, names_of
from chatbot_mvp.retrieval.bridge.postings import Postings, build_postings
from chatbot_mvp.text import Analyzer, Word, sentences
from chatbot_mvp.types import Chunk, Progress, ProgressCallback, ignore_progress

GRAPH_VERSION = 2
"""Part of the cache key. Raise it with every change that alters the graph of any corpus."""

_MAX_PER_PAIR = 4  # mentions kept per pair of documents


class Edges(NamedTuple):
    """Mentions grouped by the document at one end: entries ``start[i]:start[i + 1]`` belong to document i."""

    start: Ints
    other: Array
    """The document at the other end."""
    weight: Floats
    """0-1: confidence that the mention means the document (see ``Names.meant``)."""
    sentence: Array
    """Number of the sentence with the mention, counted from 0 over the whole corpus."""
    position: Array
    """Index of the mention's first content word among all content words of the corpus."""
    width: Array
    """Number of content words in the mention."""


@dataclass(frozen=True)
class MentionGraph:
    """The data of a corpus that the walk reads. Read-only; safe to share between threads."""

    names: Names
    vocabulary: dict[str, int]
    """Term -> its number."""
    idf: Floats
    """For each term number: ln(1 + (N - n + 0.5) / (n + 0.5)), for n of N documents with the term in text or title."""
    unseen_idf: float
    """The idf of a term that no document has."""
    words: Array
    """Term number of each content word of the texts, document after document."""
    word_sentence: Array
    """Sentence number of each entry of ``words``."""
    text_start: Ints
    """Offset of each document's words in ``words``, and the total."""
    sentence_start: Ints
    """Number of each document's first sentence, and the total."""
    title_words: Array
    """Term number of each content word of the titles, document after document."""
    title_start: Ints
    """Offset of each document's words in ``title_words``, and the total."""
    title_weight: Floats
    """For each document: sum of the idf of its title's terms."""
    proper_words: Array
    """Distinct proper words (words hardly ever written in lower case) of each document, as term numbers."""
    proper_start: Ints
    """Offset of each document's words in ``proper_words``, and the total."""
    group: Array
    """For each document: a number that documents with equal titles share."""
    rarity: Floats
    """For each document: 1 if no document mentions it, near 0 for a hub: ln((N + 1) / (1 + in-degree)) / ln(N + 1)."""
    outgoing: Edges
    """Mentions grouped by the document that contains them, strongest first."""
    incoming: Edges
    """Mentions grouped by the document that they name, strongest first."""
    postings: Postings
    """Index of the walk's first search."""

    def idf_of(self, term: str) -> float:
        number = self.vocabulary.get(term)
        return self.unseen_idf if number is None else float(self.idf[number])

    def terms_present(self, terms: Iterable[str], rows: Sequence[int]) -> list[set[str]]:
        """Return for each document the subset of ``terms`` that occurs in its text or title."""
        numbers = [(number, term) for term in terms if (number := self.vocabulary.get(term)) is not None]
        present = []
        for row in rows:
            has = set(self.words[self.text_start[row] : self.text_start[row + 1]].tolist())
            has.update(self.title_words[self.title_start[row] : self.title_start[row + 1]].tolist())
            present.append({term for number, term in numbers if number in has})
        return present

    def save(self, path: Path) -> None:
        """Write the graph to one ``.npz`` file."""
        arrays: dict[str, Any] = {}
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, (Edges, Postings)):
                arrays.update({f"{field.name}.{part}": array for part, array in value._asdict().items()})
            elif isinstance(value, np.ndarray):
                arrays[field.name] = value
        bearers = [
            [list(name), [[b.row, b.kind, list(b.form)] for b in found], name in self.names.usual_in_lower_case]
            for name, found in self.names.bearers_of.items()
        ]
        text = json.dumps({"names": bearers, "vocabulary": list(self.vocabulary), "unseen_idf": self.unseen_idf})
        arrays["text"] = np.frombuffer(text.encode(), np.uint8)
        partial = path.with_suffix(".partial.npz")
        np.savez(partial, **arrays)
        partial.replace(path)

    @classmethod
    def load(cls, path: Path) -> MentionGraph:
        """Read a graph that ``save`` wrote.

        Raises:
            OSError, ValueError, KeyError: the file is missing or damaged.
        """
        with np.load(path, allow_pickle=False) as arrays:
            text = json.loads(arrays["text"].tobytes())
            plain: dict[str, Any] = {f.name: arrays[f.name] for f in fields(cls) if f.name in arrays}
            parts: dict[str, Any] = {
                name: kind(**{part: arrays[f"{name}.{part}"] for part in kind._fields})
                for name, kind in (("outgoing", Edges), ("incoming", Edges), ("postings", Postings))
            }
        bearers = {
            tuple(name): [Bearer(row, kind, tuple(form)) for row, kind, form in found]
            for name, found, _ in text["names"]
        }
        usual = {tuple(name) for name, _, is_usual in text["names"] if is_usual}
        names = Names(bearers, usual, plain["group"].tolist())
        vocabulary = {term: number for number, term in enumerate(text["vocabulary"])}
        return cls(names=names, vocabulary=vocabulary, unseen_idf=text["unseen_idf"], **plain, **parts)


def build_graph(
    chunks: Sequence[Chunk], analyzer: Analyzer, progress: ProgressCallback = ignore_progress
) -> MentionGraph:
    """Build the graph in two passes: collect words and names, then find the mentions of the names. Linear time."""
    reader = _Reader(analyzer)
    for row, chunk in enumerate(chunks):
        reader.read(chunk)
        if row % 1_000 == 0:
            progress(Progress("link", row, 2 * len(chunks)))
    return reader.graph(progress)


class _Reader:
    """Collects the documents of a corpus one by one."""

    def __init__(self, analyzer: Analyzer) -> None:
        self.analyzer = analyzer
        self.vocabulary: dict[str, int] = {}
        self.words = array("i")
        self.word_sentence = array("i")
        self.forms: list[Word] = []
        """Distinct words of the texts as written."""
        self.form_of: dict[int, int] = {}
        """``id`` of a word object -> its number in ``forms``."""
        self.read_forms = array("i")
        """All words of all texts as numbers in ``forms``, for the second pass. Word objects would take too much memory,
        and tokenising the texts again would be the slowest part of the build."""
        self.sentence_lengths = array("i")
        self.text_lengths: list[int] = []
        self.sentence_counts: list[int] = []
        self.title_words: list[int] = []
        self.title_lengths: list[int] = []
        self.described: list[dict[Name, tuple[int, tuple[str, ...]]]] = []
        self.group_of: dict[str, int] = {}
        self.groups: list[int] = []
        self.in_lower_case: list[set[str]] = []
        self.lower_count: Counter[str] = Counter()
        self.upper_count: Counter[str] = Counter()

    def read(self, chunk: Chunk) -> None:
        analyzer, vocabulary = self.analyzer, self.vocabulary
        texts = [chunk.text[start:end] for start, end in sentences(chunk.text)] or [""]
        before = len(self.words)
        flat: list[Word] = []
        for text in texts:
            words = analyzer.words(text)
            content = [vocabulary.setdefault(word.stem, len(vocabulary)) for word in words if not word.is_stop]
            self.words.extend(content)
            self.word_sentence.extend([len(self.sentence_lengths)] * len(content))
            self.sentence_lengths.append(len(words))
            flat += words
        self._keep(flat)
        self.text_lengths.append(len(self.words) - before)
        self.sentence_counts.append(len(texts))
        title = [word for word in analyzer.words(chunk.section) if not word.is_stop]
        self.title_words.extend(vocabulary.setdefault(word.stem, len(vocabulary)) for word in title)
        self.title_lengths.append(len(title))
        described = names_of(chunk.section, texts[0], analyzer)
        self.described.append(described)
        self.groups.append(self.group_of.setdefault(chunk.section, len(self.group_of)))
        lower = {word.stem for word in flat if word.text[0].islower()}
        # Keep only the stems of its own names, because nothing reads the others.
        self.in_lower_case.append({stem for name in described for stem in name if stem in lower})
        self.lower_count.update(lower)
        self.upper_count.update({word.stem for word in flat if word.text[0].isupper()})

    def _keep(self, words: list[Word]) -> None:
        form_of = self.form_of
        for word in words:
            number = form_of.get(id(word))
            if number is None:
                number = form_of[id(word)] = len(self.forms)
                self.forms.append(word)  # keeps the object alive, so that its id stays unique
            self.read_forms.append(number)

    def graph(self, progress: ProgressCallback) -> MentionGraph:
        count = len(self.groups)
        names = collect_names(self.described, self.in_lower_case, self.groups)
        words = np.array(self.words, np.int32)
        title_words = np.array(self.title_words, np.int32)
        text_start, title_start = offsets(np.array(self.text_lengths)), offsets(np.array(self.title_lengths))
        terms = len(self.vocabulary)
        owner = np.repeat(np.arange(count), self.text_lengths)
        title_owner = np.repeat(np.arange(count), self.title_lengths)
        # Distinct pairs of document and term, ordered by document.
        pairs, _ = distinct(np.concatenate((owner * terms + words, title_owner * terms + title_words)).astype(np.int64))
        del owner
        frequency = np.bincount(pairs % terms, minlength=terms) if terms else np.zeros(0, np.int64)
        idf = np.log(1 + (count - frequency + 0.5) / (frequency + 0.5)).astype(np.float32)
        proper = np.array([self._is_proper(stem) for stem in self.vocabulary], bool)
        proper_pairs = pairs[proper[pairs % terms]] if terms else pairs
        edges = self._mentions(names, text_start, progress)
        linked, _ = distinct(edges["target"] * np.int64(count) + edges["source"])
        incoming_degree = np.bincount(linked // max(1, count), minlength=count)
        rarity = np.log((count + 1) / (1 + incoming_degree)) / np.log(count + 1)
        return MentionGraph(
            names=names,
            vocabulary=self.vocabulary,
            idf=idf,
            unseen_idf=float(np.log(1 + (count + 0.5) / 0.5)),
            words=words,
            word_sentence=np.array(self.word_sentence, np.int32),
            text_start=text_start,
            sentence_start=offsets(np.array(self.sentence_counts)),
            title_words=title_words,
            title_start=title_start,
            title_weight=np.bincount(title_owner, idf[title_words], count).astype(np.float32),
            proper_words=(proper_pairs % max(1, terms)).astype(np.int32),
            proper_start=offsets(np.bincount(proper_pairs // max(1, terms), minlength=count)),
            group=np.array(self.groups, np.int32),
            rarity=rarity.astype(np.float32),
            outgoing=_grouped(edges, "source", "target", count),
            incoming=_grouped(edges, "target", "source", count),
            postings=build_postings(words, text_start, title_words, title_start, terms),
        )

    def _is_proper(self, stem: str) -> bool:
        """Return whether a stem is hardly ever written in lower case, is no number and has at least 3 letters."""
        rarely_lower = self.lower_count[stem] <= 0.1 * self.upper_count[stem]
        return rarely_lower and len(stem) > 2 and not stem[0].isdigit()

    def _mentions(self, names: Names, text_start: Ints, progress: ProgressCallback) -> dict[str, Array]:
        columns: dict[str, list[Any]] = {
            name: [] for name in ("source", "target", "weight", "sentence", "position", "width")
        }
        forms, number, begin = self.forms, 0, 0  # number of the next sentence, index of its first word
        for row, count in enumerate(self.sentence_counts):
            found: dict[int, list[tuple[float, int, int, int]]] = {}
            position = int(text_start[row])
            for _ in range(count):
                end = begin + self.sentence_lengths[number]
                words = [forms[form] for form in self.read_forms[begin:end]]
                begin = end
                content = list(accumulate((not word.is_stop for word in words), initial=0))
                for mention in names.mentions(words):
                    width = content[mention.end] - content[mention.start]
                    for target, strength in names.meant(mention):
                        if self.groups[target] != self.groups[row]:
                            place = (strength, number, position + content[mention.start], width)
                            found.setdefault(target, []).append(place)
                position += content[-1]
                number += 1
            for target, places in found.items():
                for place in places[:_MAX_PER_PAIR]:
                    for name, value in zip(columns, (row, target, *place), strict=True):
                        columns[name].append(value)
            if row % 1_000 == 0:
                progress(Progress("link", len(self.groups) + row, 2 * len(self.groups)))
        return {
            name: np.array(values, np.float32 if name == "weight" else np.int32) for name, values in columns.items()
        }


def _grouped(edges: dict[str, Array], by: str, other: str, count: int) -> Edges:
    """Group edges by the document at one end, strongest first, equal ones in reading order."""
    order = np.lexsort((edges["position"], -edges["weight"], edges[by]))
    return Edges(
        start=offsets(np.bincount(edges[by], minlength=count)),
        other=edges[other][order],
        weight=edges["weight"][order],
        sentence=edges["sentence"][order],
        position=edges["position"][order],
        width=edges["width"][order],
    )
