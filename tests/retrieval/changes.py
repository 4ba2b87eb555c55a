"""Small knowledge bases whose documents change, and what two of them must have in common to be equal."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import PurePath
from typing import Any

import numpy as np

from chatbot_mvp.documents.chunked_files import ChunkedFiles, chunk_files
from chatbot_mvp.documents.kb_files import join_sources
from chatbot_mvp.documents.parsing import ParsedText
from chatbot_mvp.retrieval.indexes.corpus import CorpusIndex
from chatbot_mvp.retrieval.pipeline import Pipeline
from chatbot_mvp.text import fold
from chatbot_mvp.types import Document

SPANISH = """energía energia garantía ruta rutas archivo archivos dieta firma firmas taller llave horno Horno motor
vacaciones nómina contraseña válvula 48 107 el la de los que se con para un una por en no es""".split()
ENGLISH = """engine engines password warranty valve valves oven route holiday payroll file filing 48 107 archivo motor
the of and to in that is for with on are this must not be or""".split()
HEADINGS = ["Taller", "Ruta de pagos", "Energía", "Options", "Véase también", "48", "A"]
UNKNOWN = ["submarino", "enerjia", "yave", "archibo", "pasword", "garntia", "vacasiones", "zzz"]
OPERATIONS = ("add", "replace", "remove", "move", "rename", "edit", "copy", "empty", "short", "reverse")

Documents = list[tuple[str, str]]
"""(name, text) of each document, in order."""


def paragraph(draw: random.Random, words: Sequence[str]) -> str:
    kind = draw.random()
    said = [" ".join(draw.choices(words, k=draw.randint(1, 9))).capitalize() for _ in range(draw.randint(1, 4))]
    if kind < 0.06:
        return "\n".join(f"| {draw.choice(words)} | {line} |" for line in said)
    if kind < 0.12:
        return "\n".join(f"- {line}" for line in said * 12)  # a list that is cut, in pieces of one paragraph
    if kind < 0.16:
        return ". ".join(said * 14) + "."  # longer than a chunk
    if kind < 0.2:
        return f"Véase {draw.choice(HEADINGS)}. {said[0]}."
    if kind < 0.23:
        return "```\n# no heading\n" + said[0]  # a fence that is not closed
    return ". ".join(said) + "."


def document(seed: int) -> str:
    """A document of headings and up to a dozen paragraphs; the same for the same seed."""
    draw = random.Random(seed)
    words = draw.choice([SPANISH, SPANISH, SPANISH, ENGLISH, [*SPANISH, *ENGLISH]])
    parts = []
    for _ in range(draw.choice([0, 1, 1, 3, 6])):
        if draw.random() < 0.6:
            parts.append(f"{'#' * draw.randint(1, 4)} {draw.choice([*HEADINGS, *words])}")
        parts += [paragraph(draw, words) for _ in range(draw.randint(0, 3))]
    return "\n\n".join(parts)


def short_documents(seed: int, count: int) -> Documents:
    """Documents of one sentence each, which alone are a corpus."""
    draw = random.Random(seed)
    return [(f"Pieza {seed + n}.md", f"{' '.join(draw.choices(SPANISH, k=8))}.") for n in range(count)]


def changed(documents: Documents, operation: str, place: int, seed: int) -> Documents:
    """Return the documents after one change of the one at ``place``, counted over and over."""
    found, at = list(documents), place % max(1, len(documents))
    name = f"{HEADINGS[seed % 3]}-{seed}.md" if seed % 4 else "Taller.md"
    if operation == "add" or not documents:
        found.insert(at, (name, document(seed)))
    elif operation == "short":
        found[at:at] = short_documents(seed, 10)
    elif operation == "replace":
        found[at] = (found[at][0], document(seed))
    elif operation == "remove":
        del found[at]
    elif operation == "move":
        found.insert(seed % len(found), found.pop(at))
    elif operation == "rename":
        found[at] = (name, found[at][1])
    elif operation == "edit":
        found[at] = (found[at][0], f"{found[at][1]}\n\n{paragraph(random.Random(seed), SPANISH)}")
    elif operation == "copy":
        found.append(found[at])
    elif operation == "empty":
        found[at] = (found[at][0], "")
    elif operation == "reverse":
        found.reverse()
    return found


def chunks_of(documents: Documents, known: ChunkedFiles | None = None) -> ChunkedFiles:
    parsed = [(name, ParsedText(text, "utf-8", len(text), False)) for name, text in documents]
    text, files = join_sources([one for one in parsed if len(parsed) == 1 or one[1].text.strip()], 10**9)
    title = PurePath(files[0].name).stem if files else "Título"
    return chunk_files(Document("kb", title, text), files, known=known)


def questions_of(seed: int, count: int) -> list[str]:
    """Questions of known words, of misspelt ones, of rare and of unknown ones."""
    draw = random.Random(seed)
    words = [*SPANISH, *ENGLISH, *HEADINGS, *UNKNOWN]
    return [" ".join(draw.choices(words, k=draw.randint(1, 6))) for _ in range(count)]


def traces_of(pipeline: Pipeline, questions: Sequence[str]) -> list[Any]:
    """Whole traces but for the seconds of their stages."""
    return [
        replace(trace, records=tuple(replace(record, seconds=0.0) for record in trace.records))
        for trace in pipeline.retrieve(questions)
    ]


def facts(index: CorpusIndex, questions: Sequence[str]) -> Iterator[tuple[str, Any]]:
    """Yield all that a search, a suggestion or a completion can ask of the words, by name."""
    yield "chunks", list(index.chunks)
    yield "languages", index.analyzer.key
    searched = [*questions, *map(fold, questions)]
    yield "search", [index.lexical.search(question, 5) for question in searched]
    words = sorted({*SPANISH, *ENGLISH, *UNKNOWN})
    terms = sorted({term for word in words for term in index.analyzer.terms(word)})
    yield "documents", [(term, index.lexical.document_frequency(term), index.idf(term)) for term in terms]
    if (kb := index.kb) is None:
        return
    yield "paragraphs", list(kb.matcher.passages)
    yield "words", list(kb.words.items())
    yield "written", list(kb.written.items())
    yield "neighbours", {term: kb.cooc_map.get(term, ()) for term in terms}
    yield "all neighbours", dict(kb.cooc_map)
    yield "vocabulary", list(kb.vocab_terms.items())
    yield "titles", list(kb.section_titles_normalized.items())
    yield "heading words", list(kb.heading_words.items())
    yield "sections", kb.sections_of_term
    yield "spoken", kb.spoken
    yield "is a corpus", kb.is_corpus
    yield "links", [kb.links[row] for row in range(len(kb.matcher.passages))]
    yield "spellings", [kb.spellings.nearest(fold(word)) for word in words]
    matcher = kb.matcher
    yield "same section", [matcher.same_section(row).tolist() for row in range(len(matcher.passages))]
    yield "windows", [matcher.window_text(row) for row in range(len(matcher.window_passage))]
    yield "sentences", [matcher.sentence_text(row) for row in range(len(matcher.window_passage))]
    yield "numbers after", [matcher.pairs.numbers_after(term) for term in terms]
    yield "pairs", [matcher.pairs.rows(pair).tolist() for pair in pairwise(terms)]
    for question in questions:
        of_question = index.analyzer.terms(question)
        weights = {term: 1.0 + place for place, term in enumerate(of_question)}
        scores = [
            matcher.bm25(weights, with_questions=True),
            matcher.window_coverage(weights),
            matcher.letters(question),
            matcher.pair_share(of_question),
            matcher.heading_counts(of_question),
            matcher.of_language(np.arange(len(matcher.window_passage), dtype=float), 0),
        ]
        yield f"scores of {question}", [one.tolist() for one in scores]
