"""Split a passage into units that an answer can quote: sentences, list items and table rows."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from chatbot_mvp.text import sentences

Span = tuple[int, int]
"""(start, end) in the passage's text, in characters from 0; ``end`` is exclusive."""

_FENCE = re.compile(r"\s*(?:```|~~~)")
_HEADING = re.compile(r"\s*#{1,6}\s")
ITEM = re.compile(r"\s*(?:[-*+•]|\d{1,3}[.)])\s+\S")
_ROW = re.compile(r"\s*\|")
_RULE = frozenset(" \t|:-")
"""The characters of the line between a table's column names and its rows."""
CELL = re.compile(r"[^|]+")
_REFERS = re.compile(
    r"(?:(?:En|Para|Por|Con|Sin|De|A) )?(?:(?:[Ee]st|[Ee]s)(?:e|a|os|as|o)|[Ee]llo|[Dd]ich[oa]s?|[Aa]quell?[oa]s?)\b"
    r"(?! (?:document|manual|cap[ií]tul|secci[oó]n|apartad|gu[ií]a|p[aá]gin|text|reglament))|"
    r"(?:(?:In|For|By|Without|After) )?(?:[Tt]h(?:is|ese|ose)|[Ss]uch|[Dd]oing so)\b"
    r"(?! (?:document|manual|chapter|section|guide|page|text))"
)
"""The beginning of a sentence whose subject stands in the one before ("Este plazo es de …"), and not in the text as a
whole ("Este manual …"). Not "it" or "she": that is mostly what the passage is about."""
_INITIALS = re.compile(r"(?:\b\w\.)+$")
_LONG = 300
"""A list item of more characters, which no tick could mark, is split into sentences, a code block into its lines."""
_TITLE = 80
"""Most characters of a title without marks."""
_TITLE_WORDS = 6
"""Most words, with the number, of the first sentence of an item that names what the others are about: "2. Choir."."""
_WHOLE_LIST = 450
"""The line that introduces a list is quoted with the items up to this many characters, but at least with one."""


@dataclass(frozen=True, slots=True)
class Unit:
    """A sentence, list item, table row or code block of a passage."""

    passage: int
    """Index of the passage, from 0."""
    spans: tuple[Span, ...]
    """What the answer quotes, in reading order: the line that introduces the unit, if any, and the unit itself."""
    text: str
    """The unit's own text, without the line that introduces it."""
    lead: str = ""
    """The line that introduces a list item or code block, the column names of a table row, the question in the passage
    to which the unit is the reply, or the sentence that it refers to."""
    before: str = ""
    """The previous sentence of the passage; "" for the first one."""
    topic: str = ""
    """Heading or question inside the passage under which the unit stands."""
    first: bool = False
    """True for the first sentence of the passage."""
    is_row: bool = False
    """True for a table row."""

    def overlaps(self, other: Unit) -> bool:
        """Return whether one of two units is an item of the list that the other one quotes."""
        return self.passage == other.passage and (self.spans[-1] in other.spans or other.spans[-1] in self.spans)


@dataclass(frozen=True, slots=True)
class _Block:
    kind: str
    """"heading", "code", "table", "item" or "text"."""
    start: int
    end: int


def units_of(text: str, passage: int) -> list[Unit]:
    """Return the units of a passage in reading order. Headings, questions and table rules are context, not units.

    Args:
        passage: index of the passage, from 0.
    """
    found: list[Unit] = []
    before, lead, topic, replied = "", (0, 0), "", ""
    introducing: int | None = None  # index in ``found`` of the sentence that introduces the current list
    named = titles(text)
    for block in blocks(text):
        if block.kind == "heading" or block.start in named:
            before, lead, topic = "", (0, 0), text[block.start : block.end]
            replied = topic if is_question(topic) else ""
        elif block.kind == "table":
            for unit in _rows(text, block, passage):
                found.append(replace(unit, before=before, topic=topic, first=not found))
                before, lead = unit.text, (0, 0)
        elif block.kind in ("item", "code"):
            introduced = text[slice(*lead)].endswith(":")
            intro = (lead,) if introduced else ()
            if introduced and introducing is not None:
                found[introducing] = _with_item(found[introducing], (block.start, block.end))
            said = list(_shifted(text, block)) if block.kind == "item" else []
            titled = len(said) > 1 and len(text[slice(*said[0])].split()) <= _TITLE_WORDS
            parts, under = list(_parts(text, block)), topic
            if titled and len(parts) > 1:
                under = text[slice(*parts.pop(0))]
            # An item with a title is about that, not about what happens to stand above it.
            context = replied or (text[slice(*lead)] if introduced or not titled else "")
            for span in parts:
                own = text[slice(*span)]
                found.append(Unit(passage, (*intro, span), own, context, before, under, not found))
        else:
            referred: tuple[Span, ...] = ()
            for span in _shifted(text, block):
                own = text[slice(*span)]
                if is_question(own):
                    before, lead, topic, replied, referred = "", (0, 0), own, own, ()
                    continue
                earlier = referred if _REFERS.match(own) else ()
                context = replied or (before if earlier else "")
                found.append(Unit(passage, (*earlier, span), own, context, before, topic, not found))
                referred = (span,)
                before, lead, replied, introducing = own, span, "", len(found) - 1
    return found


def titles(text: str) -> dict[int, str]:
    """Return (offset -> text) the lines that only say what the paragraph behind them is about, without marks of a
    heading.
    """
    every = list(blocks(text))
    return {
        block.start: text[block.start : block.end]
        for at, block in enumerate(every)
        if _is_title(text, every[max(at - 1, 0) : at + 2], block)
    }


def _is_title(text: str, around: Sequence[_Block], block: _Block) -> bool:
    """Return whether a line alone says what the paragraph behind it is about, as in a text file: "2. Accounts of 2024".

    Args:
        around: the block with those before and behind it.
    """
    own, after = text[block.start : block.end], around[-1]
    in_list = around[0] is not block and (around[0].kind == block.kind == "item" or text[: around[0].end].endswith(":"))
    line = block.kind in ("text", "item") and len(own) <= _TITLE and "\n" not in own and own[-1].isalnum()
    return line and not in_list and after is not block and after.kind == "text" and text[after.end - 1] in ".!?"


def is_question(text: str) -> bool:
    """Return whether a sentence or heading of a passage is a question."""
    return text.rstrip("\"'»”)*_ ").endswith("?")


def _with_item(unit: Unit, item: Span) -> Unit:
    """Return the sentence that introduces a list with one more item to quote, if there is room for it."""
    has_room = len(unit.spans) == 1 or item[1] - unit.spans[0][0] <= _WHOLE_LIST
    return replace(unit, spans=(*unit.spans, item)) if has_room else unit


def blocks(text: str) -> Iterator[_Block]:
    """Yield the blocks of a text in order. A paragraph and a list item may have several lines."""
    start = end = -1
    kind = ""
    in_fence = False
    for line in re.finditer(r"[^\n]*\n?", text):
        content = line.group().rstrip()
        now = _kind(content, in_fence)
        if now == "fence":
            in_fence = not in_fence
            if not in_fence:
                continue
        joins = (kind == now and now in ("text", "code", "table")) or (kind == "item" and now == "text")
        if start >= 0 and not joins:
            yield _Block(kind, start, end)
            start, kind = -1, ""
        if now in ("", "fence"):
            continue
        if start < 0:
            start, kind = line.start() + len(content) - len(content.lstrip()), now
        end = line.start() + len(content)
    if start >= 0:
        yield _Block(kind, start, end)


def _kind(line: str, in_fence: bool) -> str:
    if _FENCE.match(line):
        return "fence"
    if not line:
        return ""
    if in_fence:
        return "code"
    for kind, pattern in (("heading", _HEADING), ("table", _ROW), ("item", ITEM)):
        if pattern.match(line):
            return kind
    return "text"


def _shifted(text: str, block: _Block) -> Iterator[Span]:
    """Yield the sentences of a block. One that begins in the middle ("190 (1976) was" after "429 U.S.") is joined."""
    begin = last = -1
    for start, end in sentences(text[block.start : block.end]):
        start, end = block.start + start, block.start + end
        if begin >= 0 and _goes_on(text[begin:last], text[start:end]):
            last = end
            continue
        if begin >= 0:
            yield begin, last
        begin, last = start, end
    if begin >= 0:
        yield begin, last


def _goes_on(sentence: str, following: str) -> bool:
    return sentence.endswith(".") and (
        following[0].islower() or bool(_INITIALS.search(sentence) and following[0].isdigit())
    )


def _parts(text: str, block: _Block) -> Iterator[Span]:
    if block.end - block.start <= _LONG:
        yield block.start, block.end
    elif block.kind == "item":
        yield from _shifted(text, block)
    else:
        for line in re.finditer(r"[^\n]*\S", text[block.start : block.end]):
            yield block.start + line.start(), block.start + line.end()


def _is_rule(line: str) -> bool:
    return "-" in line and _RULE.issuperset(line.strip())


def _rows(text: str, block: _Block, passage: int) -> Iterator[Unit]:
    """Yield a unit for each row with several cells, and one for each sentence of a row with a single cell."""
    lines = [
        (line.start() + block.start, line.group()) for line in re.finditer(r"[^\n]+", text[block.start : block.end])
    ]
    rule = next((index for index, (_, line) in enumerate(lines) if _is_rule(line)), 0)
    names = [cell.group().strip() for _, line in lines[:rule] for cell in CELL.finditer(line)]
    header: tuple[Span, ...] = ()
    if rule and sum(map(bool, names)) > 1:
        header = ((block.start, lines[rule][0] + len(lines[rule][1].rstrip())),)
    for start, line in lines[rule + 1 if rule else 0 :]:
        cells = [(start + cell.start(), start + cell.end()) for cell in CELL.finditer(line) if cell.group().strip()]
        if len(cells) == 1:
            for span in _shifted(text, _Block("text", *cells[0])):
                yield Unit(passage, (span,), text[slice(*span)])
        elif cells and not _is_rule(line):
            span = (start, start + len(line.rstrip()))
            yield Unit(passage, (*header, span), text[slice(*span)], " ".join(names) if header else "", is_row=True)
