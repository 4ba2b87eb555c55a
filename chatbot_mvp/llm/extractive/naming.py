"""Tell which rows, columns and heads of a table a question names."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence

from chatbot_mvp.llm.base import Grounding
from chatbot_mvp.llm.extractive.kinds import asked, last_clause, plain_of
from chatbot_mvp.llm.extractive.measurement import UNITS, unit_of
from chatbot_mvp.llm.extractive.opposites import said_alike
from chatbot_mvp.llm.extractive.proof import COUNT, content_of, denied_in
from chatbot_mvp.llm.extractive.reader import Reader
from chatbot_mvp.llm.extractive.tables import Bounds, Table, bounds_in, days_in, number_in, value_in
from chatbot_mvp.llm.extractive.values import value_asked
from chatbot_mvp.text import fold

_ASKS = re.compile(r"\b(?:que|cual(?:es)?|quien(?:es)?|which|what|who)\b")
_NUMBER = re.compile(r"(?<![\w.,:/])[€$£]?\d(?:[\d.,]*\d)?(?![\w:/])(?: ?(?:([^\W\d_]+[²³]?)|[€$£%]))?")
UNIT_IN_HEAD = re.compile(r"[(\[]([^()\[\]]+)[)\]]$")
"""Finds what a head has in brackets: "Price (€)"."""
_BEGINNING = 5
"""Letters with which two forms of a word begin alike; all of a shorter word."""
_EACH = re.compile(r"[,;/]| (?:y|e|o|u|and|or) ")


class Naming:
    """A question, and what it says of the tables of its passages. One that follows others has their words where it says
    none itself.
    """

    def __init__(self, grounding: Grounding, reader: Reader) -> None:
        self.grounding, self.reader = grounding, reader
        *before, self.clause = grounding.question.removesuffix("? ").split("? ")  # what this question follows
        self.named_by = [reader.terms(one) for one in (self.clause, *reversed(before))]
        self.days, self.asks = days_in(fold(self.clause)), self.clause
        plain = plain_of(last_clause(self.clause))
        self.value, rest = value_asked(plain)
        self.kind = asked(self.clause, reader).kind
        self.words = list(content_of(self.clause, plain, rest, reader))
        for one in reversed(before):
            if self.value or self.kind != "yes_no":
                break
            plain = plain_of(last_clause(one))  # "And on Sundays?" asks what the one before does
            self.value, rest = value_asked(plain)
            self.kind = asked(f"{one}?", reader).kind
            self.words += [(word, literal) for word, literal in content_of(one, plain, rest, reader) if not literal]
            self.clause = f"{one}? {self.clause}"
        self.folded = fold(self.clause)
        self.spanish = reader.language == "es"
        self.stems = reader.terms(self.clause)
        self.denied = denied_in(self.clause, reader)
        self.bounds = bounds_in(self.folded, self.spanish)
        ask = _ASKS.search(plain) or COUNT.search(plain)
        after = reader.ordered_terms(plain[ask.end() :]) if ask else []
        self.noun = after[0] if after else ""

    def named(
        self, table: Table, ranged: Collection[int], used: set[str], stems: frozenset[str]
    ) -> Iterator[tuple[int, set[int]]]:
        """Yield the columns with a cell all of whose words are among some terms, and the rows of these cells.

        Of a cell with several things, one of them is enough, and of days, that the question's are among them.
        """
        found: dict[frozenset[str], dict[int, set[int]]] = {}
        partly: dict[frozenset[str], dict[int, set[int]]] = {}
        for column, name in enumerate(table.names):
            if column in ranged or (not name and column):
                continue
            for row, cells in enumerate(table.rows):
                terms = self.terms(cells[column])
                number = value_in(cells[column], self.spanish) or bounds_in(fold(cells[column]), self.spanish)
                named = not number or (column == 0 and cells[column].isdecimal()) or any(map(_is_code, terms))
                named = named or sum(map(str.isalpha, terms)) > 1  # "10 jumping lessons" is no amount
                if named and terms and terms <= stems:
                    found.setdefault(terms, {}).setdefault(column, set()).add(row)
                elif named and (one := self._one_of(cells[column], stems, table)):
                    partly.setdefault(one, {}).setdefault(column, set()).add(row)
        found |= {one: columns for one, columns in partly.items() if not any(one <= terms for terms in found)}
        longest = {terms: columns for terms, columns in found.items() if not any(terms < other for other in found)}
        by_column: dict[int, set[int]] = {}
        for terms, columns in longest.items():
            headed = [column for column in columns if self.of_head(table.names[column])]
            for column in headed or columns:
                by_column.setdefault(column, set()).update(columns[column])
            used |= terms
        yield from by_column.items()

    def _one_of(self, cell: str, stems: frozenset[str], table: Table) -> frozenset[str]:
        """Return the terms of one of several things in a cell that some terms have and the table does not stand under;
        those of the question's days if they are among the cell's. () if none is.
        """
        days, said = self.days
        if days and days <= days_in(fold(cell))[0]:
            return self.reader.terms(said)
        each = map(self.terms, _EACH.split(cell))
        above = self.reader.terms(self.under(table))
        return next((one for one in each if one and one <= stems and not one <= above), frozenset())

    def of_head(self, name: str) -> int:
        """Return how many words of the question a head says, or has another word for."""
        return len(self.terms(name) & self.stems) + len(self.alike(name))

    def alike(self, name: str) -> set[str]:
        """Return the terms of the question for which a head has another word: "opens" of "Opening"."""
        said = said_alike(self.folded, fold(name), self.reader.language)
        return {term for one in said for term in self.reader.terms(one)} - self.terms(name)

    def is_noun(self, name: str) -> bool:
        """Return whether a head is the noun that is asked for, and no more: a size of plots counts no plots."""
        words = [fold(word.text) for word in self.reader.words(bare(name)) if not word.is_stop]
        return (
            bool(self.noun)
            and len(words) == 1
            and (_alike(words[0], self.noun) or self.reader.terms(name) == {self.noun})
        )

    def terms(self, said: str) -> frozenset[str]:
        """Return the terms of a head or cell; none if it denies what the question does not, or the other way round."""
        terms = self.reader.terms(said)
        return terms if denied_in(said, self.reader) & self.stems == self.denied & terms else frozenset()

    def in_range(self, table: Table, used: set[str]) -> Iterator[tuple[int, set[int]]]:
        """Yield the column of ranges, if one has the range of the question or holds its number, and those rows."""
        for column, name in enumerate(table.names):
            ranges = [bounds_in(fold(cells[column]), self.spanish) for cells in table.rows]
            if 2 * sum(one is not None for one in ranges) <= len(ranges):
                continue
            if self.bounds:
                rows = {row for row, one in enumerate(ranges) if one and one.ends == self.bounds.ends}
                used |= self.reader.terms(self.bounds.said)
            elif number := next((one for one in _NUMBER.finditer(self.folded) if self._fits(one, name, ranges)), None):
                value = number_in(number.group(), self.spanish)
                rows = {row for row, one in enumerate(ranges) if one and one.holds(value)}
                used |= self.reader.terms(number.group())
            else:
                continue
            yield column, rows if len(rows) == 1 else set()
            return

    def _fits(self, number: re.Match[str], name: str, ranges: Sequence[Bounds | None]) -> bool:
        """Return whether a number of the question is of the unit of a column of ranges."""
        signs = re.findall("[€$£%]", number.group())
        unit = signs[0] if signs else number[1] or ""
        units = {one.unit for one in ranges if one} - {""}
        if not units or not unit:
            return self.of_head(name) > 0
        return any(self.unit(one) == self.unit(unit) for one in units)

    def other_forms(self, name: str) -> set[str]:
        """Return the terms of the question that a head has in another form, or as its unit: "dura" of "Duración"."""
        heads = [fold(word.text) for word in self.reader.words(bare(name)) if not word.is_stop]
        unit = UNITS.get(fold(found[1])) if (found := UNIT_IN_HEAD.search(name)) else None
        return {
            word.stem
            for word in self.reader.words(self.clause)
            if not word.is_stop
            if (unit and UNITS.get(fold(word.text)) == unit) or any(_alike(fold(word.text), head) for head in heads)
        }

    def unit(self, said: str) -> object:
        """Return what tells a unit from others."""
        return unit_of(said) if said in UNITS else self.reader.terms(said) or said

    def under(self, table: Table) -> str:
        return f"{self.grounding.quotable[table.units[0].passage].section}\n{table.units[0].topic}"


def bare(name: str) -> str:
    return UNIT_IN_HEAD.sub("", name)


def _alike(one: str, other: str) -> bool:
    """Return whether two words begin alike, so that they may be forms of one: "dura" and "duracion"."""
    letters = min(len(one), len(other), _BEGINNING)
    return letters >= 4 and one[:letters] == other[:letters]


def _is_code(term: str) -> bool:
    return not term.isalpha() and not term.isdecimal()
