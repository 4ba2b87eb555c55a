"""Answer from a whole list or table: how many items it has, and which row has the most or least of something."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from chatbot_mvp.llm.base import Grounding
from chatbot_mvp.llm.extractive.reader import Reader
from chatbot_mvp.llm.extractive.units import CELL, Span, Unit, blocks, units_of
from chatbot_mvp.llm.extractive.values import LIGHT_WORDS, VALUES, last_clause, plain_of
from chatbot_mvp.text import fold, sentences
from chatbot_mvp.types import Chunk

_HOW_MANY = re.compile(r"(?:^|\b(?:y|a|de|en|con|and) )(?:cuant[oa]s|how many) (.+)")
_ANYTHING = frozenset(
    """cosas elementos puntos requisitos documentos papeles pasos personas gente miembros opciones tipos clases
    things items points requirements documents steps people persons members options kinds types""".split()
)
"""What the items of a list can be called, whatever they are."""
_WHOLE_FROM = 900
"""A list that ends with its passage may go on in the next one if the passage has at least this many characters."""
_MOST_ITEMS = 20
"""A longer list is not quoted as a whole."""
_LEAST = 0.5
"""Share of the question's known words that introduction and headings of a counted list must have."""
_MOST = re.compile(
    r"\b(mas|menos|mayor|menor|maxim[oa]|minim[oa]|most|least|fewest|more|less|fewer|largest|smallest|highest|lowest|"
    r"longest|shortest|cheapest|biggest|fastest|hottest|coldest|heaviest|lightest)\b(?: (\w+))?"
)
_SMALLER = re.compile(r"menos|menor|minim|least|fewe|less|smallest|lowest|shortest|cheapest|fastest|coldest|lightest")
_SMALL = re.compile(r"barat|cort|pequen|econom|baj|liger|rapid|breve|fri|cheap|short|small|low|fast|quick|cold|light")
_KINDS = {
    "money": re.compile(r"barat|caro|cara|econom|cuesta|precio|cheap|expensive|cost"),
    "duration": re.compile(r"larg|cort|dura|rapid|tarda|breve|long|short|fast|quick"),
    "temperature": re.compile(r"calient|fri[oa]|hot|cold|calor"),
}
"""Kind of the values that are compared -> the words for it in a question."""
_FIGURE = re.compile(r"\d[\d.]*(?:,\d+)?(?:\s*(h|horas?|hours?)\b)?")


@dataclass(frozen=True)
class Items:
    """A list or table of a passage."""

    passage: int
    head: str
    """What stands above it: the innermost heading, the line that introduces it, the names of a table's columns."""
    intro: Span | None
    """The line that introduces a list, or a table's head."""
    spans: tuple[Span, ...]
    """Items or rows."""
    columns: tuple[str, ...]
    """Names of a table's columns; empty for a list."""


def items_of(passage: Chunk, number: int) -> Iterator[Items]:
    """Yield the lists and tables that a passage has as a whole, with two items or more."""
    text, found = passage.text, list(blocks(passage.text))
    heading = passage.section.rpartition(" > ")[2]
    lead: Span | None = None
    row = 0
    while row < len(found):
        block = found[row]
        if block.kind == "heading":
            heading, lead = text[block.start : block.end], None
        elif block.kind == "text":
            lead = (block.start, block.end)
        stop = row + 1
        while block.kind == "item" and stop < len(found) and found[stop].kind == "item":
            stop += 1
        cut = stop == len(found) and len(text) >= _WHOLE_FROM
        if block.kind == "item" and stop - row > 1 and (row or lead) and not cut:
            intro = _last_sentence(text, lead) if lead and text[slice(*lead)].endswith(":") else None
            head = f"{heading}\n{text[slice(*lead)] if lead else ''}"
            yield Items(number, head, intro, tuple((item.start, item.end) for item in found[row:stop]), ())
        if block.kind == "table" and not cut:
            rows = [unit.spans for unit in units_of(text, number) if unit.is_row and unit.spans[0][0] == block.start]
            if len(rows) > 1 and len(rows[0]) > 1:
                intro = rows[0][0]
                names = tuple(cell.strip() for cell in CELL.findall(text[slice(*intro)].partition("\n")[0]))
                yield Items(number, f"{heading}\n{names[0]}", intro, tuple(spans[-1] for spans in rows), names)
        row = stop


def _last_sentence(text: str, block: Span) -> Span:
    """Return the last sentence of a block of text, the one that introduces a list."""
    *_, (start, end) = sentences(text[slice(*block)])
    return block[0] + start, block[0] + end


def whole_lists(grounding: Grounding) -> Iterator[Unit]:
    """Yield each list of the passages as one unit, with the heading above it as a part of its text."""
    for number, passage in enumerate(grounding.passages):
        for items in items_of(passage, number):
            if not items.columns and len(items.spans) <= _MOST_ITEMS:
                text = passage.text[items.spans[0][0] : items.spans[-1][1]]
                yield Unit(number, _with_intro(items), f"{items.head}\n{text}", is_list=True)


def _with_intro(items: Items) -> tuple[Span, ...]:
    return (*((items.intro,) if items.intro else ()), *items.spans)


def counted(grounding: Grounding, reader: Reader) -> tuple[int, Unit] | None:
    """Return (how many items a list has, the list) if the question asks for that; None if no list fits."""
    found = _HOW_MANY.search(plain_of(last_clause(grounding.question)))
    if not found:
        return None
    asked = found[1].split()
    noun, rest = asked[0], [word for word in asked[1:] if word not in LIGHT_WORDS]
    every = {term for passage in grounding.passages for term in reader.terms(passage.index_text)}
    known = [term for term in reader.ordered_terms(" ".join(rest)) if _among(term, every)]
    best: tuple[float, Items] | None = None
    for number, passage in enumerate(grounding.passages):
        for items in items_of(passage, number):
            name = reader.terms(items.columns[0] if items.columns else items.head)
            named = all(_among(term, name) for term in reader.terms(noun)) and bool(reader.terms(noun))
            around = reader.terms(f"{items.head} {passage.section}")
            share = sum(_among(term, around) for term in known) / len(known) if known else float(named)
            if (named or (noun in _ANYTHING and known)) and share >= _LEAST and (best is None or share > best[0]):
                best = share, items
    if best is None:
        return None
    items = best[1]
    text = grounding.passages[items.passage].text[items.spans[0][0] : items.spans[-1][1]]
    return len(items.spans), Unit(items.passage, _with_intro(items), text, is_row=bool(items.columns))


def extreme(grounding: Grounding, reader: Reader) -> Unit | None:
    """Return the row of a table that has the most or least of what a question asks for; None if no table says it."""
    plain = plain_of(last_clause(grounding.question))
    found = _MOST.search(plain)
    if not found:
        return None
    smallest = bool(_SMALLER.match(found[1])) != bool(_SMALL.match(found[2] or ""))
    terms = reader.terms(grounding.question)
    for number, passage in enumerate(grounding.passages):
        for items in items_of(passage, number):
            if not items.columns or not terms & reader.terms(items.head):
                continue
            cells = [[cell.strip() for cell in CELL.findall(passage.text[slice(*span)])] for span in items.spans]
            columns = _columns(plain, terms, items.columns, cells, reader)
            rows = {
                _extreme([_figure(row[at]) if at < len(row) else None for row in cells], smallest) for at in columns
            }
            if len(rows) == 1 and (row := rows.pop()) is not None and items.intro:
                span = items.spans[row]
                return Unit(number, (items.intro, span), passage.text[slice(*span)], is_row=True)
    return None


def _columns(
    plain: str, terms: frozenset[str], names: Sequence[str], cells: Sequence[Sequence[str]], reader: Reader
) -> list[int]:
    """Return the columns that a question compares: those that it names, or else those with the values it asks for."""
    if named := [at for at, name in enumerate(names) if at and reader.terms(name) & terms]:
        return named
    kinds = [kind for kind, words in _KINDS.items() if words.search(plain)]
    return [
        at
        for at in range(1, len(names))
        if any(all(len(row) > at and VALUES[kind].given.search(fold(row[at])) for row in cells) for kind in kinds)
    ]


def _figure(cell: str) -> float | None:
    """Return the number of a cell, with hours as minutes; None if it has none."""
    figures = [(match.group().split()[0].rstrip("."), match[1]) for match in _FIGURE.finditer(cell)]
    values = [
        float(re.sub(r"\.(?=\d{3}\b)", "", figure).replace(",", ".")) * (60 if hours else 1)
        for figure, hours in figures
    ]
    return sum(values) if values else None


def _extreme(values: Sequence[float | None], smallest: bool) -> int | None:
    """Return the row of the one smallest or largest value; None if two rows have it, or one has no value."""
    known = [value for value in values if value is not None]
    if len(known) < len(values) or not known:
        return None
    best = min(known) if smallest else max(known)
    return values.index(best) if known.count(best) == 1 else None


def _among(term: str, terms: frozenset[str] | set[str]) -> bool:
    return term in terms or (len(term) > 3 and any(other[:5] == term[:5] for other in terms if len(other) > 3))
