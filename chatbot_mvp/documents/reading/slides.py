"""Read presentations: each slide is a page with its title as heading."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Iterator
from typing import Any

from pptx import Presentation

from chatbot_mvp.documents.reading.charts import drawn
from chatbot_mvp.documents.reading.extracted import Extracted, clean_line, joined, raised
from chatbot_mvp.documents.reading.grid import Cell, rows_of
from chatbot_mvp.documents.reading.reader import GivenFile
from chatbot_mvp.documents.reading.structure import check_zip, parsed_xml

_A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_P = "{http://schemas.openxmlformats.org/presentationml/2006/main}"
_R = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"
_MC = "{http://schemas.openxmlformats.org/markup-compatibility/2006}"
_LISTS = ("", "body", "obj")
"""Kinds of placeholders whose paragraphs have bullets unless they say otherwise."""


def read(file: GivenFile) -> Extracted:
    """Read titles, texts, tables, values of charts, texts of diagrams and the speaker's notes.

    Raises:
        UploadError: the file cannot be read.
    """
    check_zip(file.name, file.content, ".pptx")
    lost: Counter[str] = Counter()
    pages: list[str] = []
    for number, slide in enumerate(Presentation(io.BytesIO(file.content)).slides, 1):
        for run in slide._element.xpath(".//a:r[a:rPr[@strike and @strike != 'noStrike']]"):
            lost["struck"] += len(run.findtext(f"{_A}t", "").split())
            run.getparent().remove(run)
        for text in slide._element.xpath(".//a:r[a:rPr[@baseline > 0]]/a:t[number() = number()]"):
            before = text.getparent().getprevious()
            text.text = raised(text.text.strip(), "".join(before.itertext()) if before is not None else "")
        parts = [part for shape in _shapes(slide._element) for part in _texts(shape, slide.part, lost)]
        parts.sort(key=lambda part: not part.startswith("# "))
        notes = slide.notes_slide.notes_text_frame if slide.has_notes_slide else None
        if notes is not None and notes.text.strip():
            parts.append("\n".join(clean_line(line) for line in notes.text.splitlines()))
        if slide._element.get("show") in ("0", "false"):
            lost["hidden"] += sum(len(part.split()) for part in parts)
            parts = []
        pages.append("\n\n".join(parts))
        file.on_pages(number)
    text, starts = joined(pages)
    return Extracted(text, starts, sum(not page for page in pages), dict(+lost))


def _shapes(slide: Any) -> Iterator[Any]:
    """Return the shapes of a slide in the order of their places, those of groups where the group is."""
    tree = slide.find(f"{_P}cSld/{_P}spTree")

    def place(shape: Any) -> tuple[int, int]:
        offset = next(shape.iter(f"{_A}off"), None)
        return (0, 0) if offset is None else (int(offset.get("y", 0)) // 200_000, int(offset.get("x", 0)))

    def walk(parent: Any) -> Iterator[Any]:
        for shape in sorted(parent, key=place):
            if shape.tag in (f"{_MC}AlternateContent", f"{_MC}Choice", f"{_P}grpSp"):
                yield from walk(shape)
            elif shape.tag in (f"{_P}sp", f"{_P}graphicFrame", f"{_P}pic"):
                yield shape

    return walk(() if tree is None else tree)


def _texts(shape: Any, part: Any, lost: Counter[str]) -> Iterator[str]:
    hidden = next((e.get("hidden") for e in shape.iter(f"{_P}cNvPr")), None)
    if hidden in ("1", "true"):
        lost["hidden"] += sum(len((text.text or "").split()) for text in shape.iter(f"{_A}t"))
        return
    if shape.tag == f"{_P}pic":
        lost["pictures"] += 1
        return
    if (table := next(shape.iter(f"{_A}tbl"), None)) is not None:
        yield rows_of(list(_rows(table)))
        return
    for drawing in shape.iter("{*}chart", "{*}relIds"):
        if link := drawing.get(f"{_R}id") or drawing.get(f"{_R}dm"):
            found = parsed_xml(part.related_part(link).blob) if link in part.rels else None
            lost["charts"] += found is None
            texts, rows = drawn(found) if found is not None else ([], [])
            yield from map(clean_line, texts)
            if rows:
                yield rows_of([[Cell(clean_line(cell)) for cell in row] for row in rows], int(any(rows[0])))
            return
    body = shape.find(f"{_P}txBody")
    if body is None:
        lost["embedded"] += shape.tag == f"{_P}graphicFrame"
        return
    holder = next(shape.iter(f"{_P}ph"), None)
    kind = "none" if holder is None else holder.get("type", "")
    if kind in ("sldNum", "dt", "ftr"):
        return
    lines = list(_lines(body, kind in _LISTS))
    if kind in ("title", "ctrTitle") and lines:
        yield "# " + " ".join(line.strip(" -") for line in lines)
    elif lines:
        yield "\n".join(lines)


def _lines(body: Any, listed: bool) -> Iterator[str]:
    for paragraph in body.findall(f"{_A}p"):
        text = clean_line(
            "".join(" " if e.tag == f"{_A}br" else e.text or "" for e in paragraph.iter(f"{_A}t", f"{_A}br"))
        )
        if not text:
            continue
        look = paragraph.find(f"{_A}pPr")
        level = int(look.get("lvl", 0)) if look is not None else 0
        marks = {child.tag.rpartition("}")[2] for child in look} if look is not None else set()
        bullet = bool(marks & {"buChar", "buAutoNum", "buBlip"}) or (listed and "buNone" not in marks)
        yield f"{'  ' * min(level, 8)}- {text}" if bullet else text


def _rows(table: Any) -> Iterator[list[Cell]]:
    for number, row in enumerate(table.iter(f"{_A}tr")):
        cells = [cell for cell in row.findall(f"{_A}tc") if not {"hMerge", "vMerge"} & set(cell.attrib)]
        look = table.find(f"{_A}tblPr")
        head = number == 0 and look is not None and look.get("firstRow") in ("1", "true")
        yield [
            Cell(
                clean_line(" ".join("".join(t.text or "" for t in p.iter(f"{_A}t")) for p in cell.iter(f"{_A}p"))),
                head,
                int(cell.get("gridSpan", 1)),
                int(cell.get("rowSpan", 1)),
            )
            for cell in cells
        ]
