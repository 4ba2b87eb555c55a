"""Answer a question from the cells of a table: one cell, the row whose range holds a value, or what rows say together.

A question is answered if each of its words is accounted for: by the heads of the columns and the cells that are used,
by what the table stands under, or by the operation. The operations are fixed, and computed over whole tables alone.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from chatbot_mvp.llm.base import Grounding
from chatbot_mvp.llm.extractive.kinds import NUMERALS
from chatbot_mvp.llm.extractive.measurement import UNITS
from chatbot_mvp.llm.extractive.naming import UNIT_IN_HEAD, Naming, bare
from chatbot_mvp.llm.extractive.opposites import says_otherwise
from chatbot_mvp.llm.extractive.proof import COUNT, NEAR, denied_in, has, text_of
from chatbot_mvp.llm.extractive.reader import Reader
from chatbot_mvp.llm.extractive.tables import Table, bounds_in, tables_of, value_in
from chatbot_mvp.llm.extractive.units import Unit
from chatbot_mvp.llm.extractive.values import PAY, VALUES, gives, without_ages
from chatbot_mvp.text import fold

_LEAST = re.compile(
    r"\b(?:mas (?:baj|barat|cort|tempran|pequen|liger)\w*|menor(?:es)?|minim[oa]s?|menos|lowest|shortest|smallest|"
    r"cheapest|earliest|lightest|least|fewest|minimum)\b"
)
_MOST = re.compile(
    r"\b(?:mas (?:alt|car|larg|tard|grand|pesad)\w*|mayor(?:es)?|maxim[oa]s?|mas|highest|longest|largest|biggest|"
    r"latest|greatest|heaviest|most expensive|most|maximum)\b"
)
_MONEY = re.compile(r"barat|car[oa]|cheap|expens")
_SUM = re.compile(r"\b(?:en total|total(?:es)?|suman?|in total|altogether|sum)\b")
_MAY = re.compile(
    r"\b(?:pued\w+|podemos|podr\w+|deb(?:o|en?|emos)|permit\w+|hay que|teng\w+ que|can|may|must|should|allow\w*)\b"
)
_ADDENDS = 12
"""Most numbers that a sum shows; the rows that are quoted have them all."""
_DIGITS = re.compile(r"\d(?:[\d.,]*\d)?")
_SEVERAL = re.compile(rf"[,;/?]|\b(?:y|e|and|{NUMERALS})\b|^\W*\d[\d.,]*\W*$")
"""What a cell has that is several things, or a number of them."""
_NAME = re.compile(r"[A-ZÁÉÍÓÚÑ][^\W\d_]+(?:(?: de| del| la)* [A-ZÁÉÍÓÚÑ][^\W\d_]+)+")
"""A cell that is the name of a person."""
_PLACES = re.compile(
    r"(?:lugar|sitio|ubicacion|localizacion|direccion|sede|sala|aula|planta|edificio|local|recinto|"
    r"place|location|venue|room|address|site|where|building)(?: .*)?"
)
"""A folded head over places."""
_BLANK = re.compile(r"\W*|n ?/ ?[ad]|s ?/ ?d")
"""A folded cell that says nothing."""
_TOTALS = re.compile(r"\b(?:totales|total|sumas?|suma|media|subtotal|average|mean|sum)\b")


@dataclass(frozen=True, slots=True)
class Cells:
    """Rows that answer a question."""

    units: tuple[Unit, ...]
    value: float
    """As ``Proof.value``."""
    said: str = ""
    """What is computed from them, "" if they say it themselves."""
    met: int = 0
    """Words of the question in heads and cells."""


def answer_from_cells(grounding: Grounding, reader: Reader) -> Cells | None:
    """Return what the tables of the passages of ``grounding`` answer; None if none does, or two differ."""
    question = _Question(grounding, reader)
    if question.kind in ("yes_no", "why") or (question.kind in ("how", "") and not question.value):
        return None
    found = [cells for table in tables_of(grounding.quotable, grounding.goes_on) if (cells := question.over(table))]
    best = max(((cells.value >= 1, cells.met) for cells in found), default=(False, 0))
    chosen = {
        tuple(unit.text for unit in cells.units): cells for cells in found if (cells.value >= 1, cells.met) == best
    }
    return next(iter(chosen.values())) if len(chosen) == 1 and best[0] else None


def rows_that_lack_it(grounding: Grounding, reader: Reader) -> frozenset[str]:
    """Return the texts of the rows of tables whose cell in a column that is asked for is empty: what stands in another
    column of the row is no answer.
    """
    question = _Question(grounding, reader)
    return frozenset(
        text for table in tables_of(grounding.quotable, grounding.goes_on) for text in question.lacking(table)
    )


class _Question(Naming):
    """Reads what is asked from one table after another."""

    def over(self, table: Table) -> Cells | None:
        """Return the rows of one table that answer, whatever their proof."""
        around = f"{self.under(table)}\n{table.above}"
        said = (around, *table.names, *(cell for row in table.rows for cell in row))
        if self.denied and not self.denied <= {term for one in said for term in denied_in(one, self.reader)}:
            return None
        chosen: dict[int, set[int]] = {}  # column -> its rows that have what the question says
        used: set[str] = set()  # terms that are accounted for
        chosen.update(self.in_range(table, used))
        self.named_before = False
        for back, named_by in enumerate(self.named_by):
            if rows_of := dict(self.named(table, chosen, used, named_by)):
                chosen.update(rows_of)
                self.named_before = back > 0
                break
        if len(self.named_by) > 1:  # what stands in the columns of what is named is replaced by that
            used |= {term for row in table.rows for column in chosen for term in self.reader.terms(row[column])}
        rows = {*range(len(table.rows))}.intersection(*chosen.values())
        used.update(*(self.terms(table.names[column]) for column in chosen))
        met = used.union(*map(self.reader.terms, table.names))
        left, new = (
            " ".join(fold(word.text) for word in self.reader.words(said) if word.stem not in met)
            for said in (self.clause, self.asks)
        )
        return self._read(table, chosen, rows, used, left, new) if rows else None

    def lacking(self, table: Table) -> Iterator[str]:
        """Yield the texts of the rows with an empty cell under a head that is named. If none of the kind asked for is,
        also those with an empty cell of that kind and another one that is filled.
        """
        heads = {column for column, name in enumerate(table.names) if name and self.of_head(name)}
        of_kind = {
            column for column in range(len(table.names)) if self.value and self._of_kind(table, column, self.value)
        }
        for unit, cells in zip(table.units, table.rows, strict=True):
            empty = {column for column, cell in enumerate(cells) if _BLANK.fullmatch(fold(cell))}
            if empty & heads or (not of_kind & heads and set() < of_kind & empty < of_kind):
                yield unit.text

    def _target(self, table: Table, chosen: Collection[int], computed: bool, money: bool) -> int | None:
        """Return the column that is asked for: that whose head says most of the question, or has its kind of value."""
        if table.names == ("", ""):
            return 1
        columns = [
            column
            for column, name in enumerate(table.names)
            if column not in chosen and not says_otherwise(self.clause, name, self.reader.language)
        ]
        if computed:
            columns = [column for column in columns if self._values(table, column, range(len(table.rows)))]
        columns = [column for column in columns if not money or self._of_kind(table, column, "money")]
        said = {column: self.of_head(table.names[column]) for column in columns}
        # Of "Club" and "Club Plus", what is asked about is the first, unless the question says "Plus".
        rank = {column: (said[column], said[column] - len(self.terms(bare(table.names[column])))) for column in columns}
        best = max(rank.values(), default=(0, 0))
        if best[0]:
            found = [column for column in columns if rank[column] == best]
        else:
            kinds = ("date", "time") if self.value == "when" else ("money" if money else self.value,)
            of_kinds = ([column for column in columns if kind and self._of_kind(table, column, kind)] for kind in kinds)
            found = next((of_kind for of_kind in of_kinds if of_kind), [])
            forms = [column for column in columns if self.other_forms(table.names[column])]
            found = [column for column in found if column in forms] or found or (forms if computed else [])
            if self.kind == "who" and not found:
                found = [column for column in columns if all(_NAME.fullmatch(cells[column]) for cells in table.rows)]
            if self.kind == "where" and not found:
                found = [column for column in columns if _PLACES.fullmatch(fold(bare(table.names[column])).strip())]
        if not found and 0 in columns and self.kind == "what" and self.noun in self.reader.terms(self.under(table)):
            return 0  # what each row is about, which the heading names
        return found[0] if len(found) == 1 else None

    def _of_kind(self, table: Table, column: int, kind: str) -> bool:
        filled = (row for row, cells in enumerate(table.rows) if not _BLANK.fullmatch(fold(cells[column])))
        cells = [_with_unit(table, row, column) for row in filled]
        given = VALUES[kind].given
        return bool(cells) and all(given.search(self._ageless(kind, table.names[column], cell)) for cell in cells)

    def _ageless(self, kind: str, name: str, cell: str) -> str:
        """Return a folded cell without the ages that it gives under its head, as ``without_ages``."""
        head = f"{fold(bare(name)).strip()}: "
        return without_ages(kind, head + fold(cell), self.folded).removeprefix(head)

    def _read(
        self, table: Table, chosen: Mapping[int, set[int]], rows: set[int], used: set[str], left: str, new: str
    ) -> Cells | None:
        ranged = any(bounds_in(fold(table.rows[0][column]), self.spanish) for column in chosen)
        found = (one for said in (new, left) for one in (_LEAST.search(said), _MOST.search(said)) if one)
        extreme = None if ranged or self.bounds else next(found, None)
        key = next((column for column, name in enumerate(table.names) if self.is_noun(name)), 0)
        if self.is_noun(table.names[key]):
            used.add(self.noun)
        said, several = "", len(rows) > 1
        compares = bool(extreme or (self.bounds and not ranged))
        adds = _SUM.search(left) if several and not compares else None
        money = bool(extreme and _MONEY.search(extreme.group()))
        target = self._target(table, [*chosen, key] if compares else chosen, bool(compares or adds), money)
        if extreme:
            if not several or self.kind == "number":  # of one row, or by how much
                return None
            used |= self.reader.terms(extreme.group())
            values = self._values(table, target, rows)
            end = (min if extreme.re is _LEAST else max)(values.values(), default=None)
            rows = {row for row, value in values.items() if value == end}
        elif self.bounds and not ranged:
            target = self._of_unit(table, [*chosen, key]) if target is None else target
            used |= self.reader.terms(self.bounds.said)
            values = self._values(table, target, rows, self.bounds.unit)
            rows = {row for row, value in values.items() if self.bounds.holds(value)}
        elif adds:
            used |= self.reader.terms(adds.group())
            said = self._sum(table, target, rows)
            rows = rows if said else set()
        elif (
            COUNT.search(left)
            and self.is_noun(table.names[key])
            and not _MAY.search(self.folded)  # how many there are is not how many one may have
            and _of_one_each(table, key)
            and (key == _subject(table) or (chosen and several))
        ):
            target, said = key, str(len(rows))
        elif not chosen or target is None:
            return None
        if not rows or target is None or (not table.whole and not (len(rows) == 1 and chosen and not extreme)):
            return None
        used |= (
            self.terms(table.names[target])
            | self.terms(table.names[key])
            | self.other_forms(table.names[target])
            | self.alike(table.names[target])
        )
        if self._of_kind(table, target, "money"):
            used |= {word.stem for word, _ in self.words if re.fullmatch(PAY, fold(word.text))}
        if not (said or extreme) and not self._offers(table, rows, target):
            return None
        return self._proven(table, sorted(rows), target, used, said)

    def _values(self, table: Table, column: int | None, rows: Collection[int], unit: str = "") -> dict[int, Decimal]:
        """Return the numbers of a column, all of one unit; {} if it has other cells, or a row of totals.

        Args:
            unit: what they are compared with; "" for anything.
        """
        if column is None or any(_TOTALS.search(fold(cells[0])) for cells in table.rows):
            return {}
        found = {row: value_in(_with_unit(table, row, column), self.spanish) for row in rows}
        units = {self.unit(one[1]) for one in found.values() if one}
        named = self.reader.terms(unit)
        if unit and self.unit(unit) not in units and not named & self.reader.terms(table.names[column]):
            return {}
        return {row: one[0] for row, one in found.items() if one} if len(units) == 1 and all(found.values()) else {}

    def _of_unit(self, table: Table, others: Collection[int]) -> int | None:
        """Return the only column with the unit of the bound."""
        unit = self.bounds.unit if self.bounds else ""
        values = [value_in(_with_unit(table, 0, column), self.spanish) for column in range(len(table.names))]
        same = [one is not None and bool(unit) and self.unit(one[1]) == self.unit(unit) for one in values]
        columns = [at for at, is_same in enumerate(same) if is_same and at not in others]
        return columns[0] if len(columns) == 1 else None

    def _sum(self, table: Table, column: int | None, rows: Collection[int]) -> str:
        values = self._values(table, column, rows)
        if not values or column is None or ":" in table.rows[0][column]:
            return ""
        cells = [table.rows[row][column] for row in sorted(values)]
        digits = f"{sum(values.values()):,f}" if any(re.search(r"\d[.,]\d{3}\b", cell) for cell in cells) else ""
        digits = digits or f"{sum(values.values()):f}"
        total = digits.translate(str.maketrans(",.", ".,")) if self.spanish else digits
        shown = cells if len(cells) <= _ADDENDS else [*cells[: _ADDENDS // 2], "…", *cells[-_ADDENDS // 2 :]]
        return f"{re.sub(_DIGITS, total, cells[0], count=1)} = {' + '.join(shown)}"

    def _offers(self, table: Table, rows: Collection[int], column: int) -> bool:
        """Return whether cells are of the kind that is asked for; a number is of what its column or table names."""
        for row in rows:
            cell = table.rows[row][column]
            if not cell or (self.kind == "who" and value_in(cell, self.spanish)):
                return False
            section = self.grounding.quotable[table.units[row].passage].section
            name = table.names[column]
            with_unit = _with_unit(table, row, column)
            texts = [with_unit, f"{cell} {name}", f"{cell} {section}"] if cell[:1].isdigit() else [cell]
            plain = (self._ageless(self.value, name, text) for text in texts)
            known = not self.value or any(gives(self.value, text, self.folded) for text in plain)
            if not known or (self.kind == "number" and not self.value and not any(map(str.isdigit, cell))):
                return False
        return True

    def _proven(self, table: Table, rows: Sequence[int], target: int, used: set[str], said: str) -> Cells:
        units = tuple(table.units[row] for row in rows)
        under = self.under(table)
        counted = self.noun in used | self.reader.terms(under + table.above)
        if COUNT.search(self.folded) and not (counted or all(self._in_unit(table, row, target) for row in rows)):
            return Cells(units, 0.0)  # what is counted is something else
        counts, values, met = said == str(len(rows)), [], 0
        # The last departure is no word of "first departure", though it is near it.
        of_head = self.terms(bare(table.names[target]))
        partly = bool(of_head & self.stems) and not of_head <= self.stems
        text = f"{under}\n{table.above}\n{text_of(units[0])}"
        near = self.grounding.near([text])[0][1] if self.grounding.near and not partly else {}
        for word, literal in self.words:
            # Nobody wrote a number of rows, so that nothing beside the table says what it is about.
            around = under if literal or counts else f"{under}\n{table.above}"
            if word.stem in used:
                values.append(1.0)
                met += 1
            elif word.stem in self.denied ^ denied_in(under, self.reader):
                values.append(0.0)
            elif has(around, word, self.reader):
                values.append(1.0)
            else:
                literal = literal or counts or self.named_before  # what is new has to stand there
                values.append(0.0 if literal else near.get(fold(word.text), 0.0))
        # Of "How much is it?", all that is said stands in the question before.
        return Cells(units, min(values, default=float(len(self.named_by) > 1)) / NEAR, said, met)

    def _in_unit(self, table: Table, row: int, column: int) -> bool:
        """Return whether a cell is in the unit that the question counts: "40 min" of "how many minutes"."""
        unit = next(
            (UNITS.get(fold(word.text)) for word in self.reader.words(self.clause) if word.stem == self.noun), None
        )
        value = value_in(_with_unit(table, row, column), self.spanish)
        return value is not None and unit is not None and UNITS.get(value[1].split(" ")[0]) == unit


def _subject(table: Table) -> int:
    """Return the column that says what each row is about: the first, or the second behind numbers of rows."""
    return 1 if all(cells[0].isdecimal() for cells in table.rows) else 0


def _of_one_each(table: Table, column: int) -> bool:
    """Return whether each cell of a column is one thing: no number of them, no list, no gap."""
    return all(cells[column] and not _SEVERAL.search(fold(cells[column])) for cells in table.rows)


def _with_unit(table: Table, row: int, column: int) -> str:
    """Return a number with the unit that the head of its column has in brackets, or that of its row: "Price (€)"."""
    cell = table.rows[row][column]
    units = [
        found[1] for one in (table.names[column], *table.rows[row][:column]) if (found := UNIT_IN_HEAD.search(one))
    ]
    return f"{cell} {units[0]}" if units and cell[-1:].isdigit() else cell
