"""Convert Word documents to text: what mammoth leaves out is written into the document, and its HTML is read."""

from __future__ import annotations

import io
import re
import zipfile
from collections import Counter
from collections.abc import Iterator
from itertools import chain
from typing import Any, NamedTuple

import mammoth
from bs4 import BeautifulSoup
from lxml import etree  # type: ignore[import-untyped]  # lxml has no types

from chatbot_mvp.documents.reading.charts import drawn
from chatbot_mvp.documents.reading.extracted import Extracted
from chatbot_mvp.documents.reading.formulas import linear
from chatbot_mvp.documents.reading.html import leave_out, lower_headings_under_title, soup_to_text
from chatbot_mvp.documents.reading.reader import GivenFile
from chatbot_mvp.documents.reading.structure import check_word, check_zip, parsed_xml

LABEL = ("\ue000", "\ue001")
"""What stands around the number of a paragraph, at its beginning."""
CODE_STYLE = "CodeOfThisReader"

_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_STRICT = "{http://purl.oclc.org/ooxml/wordprocessingml/main}"
_M = "{http://schemas.openxmlformats.org/officeDocument/2006/math}"
_R = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"
_CHART = "{http://schemas.openxmlformats.org/drawingml/2006/chart}chart"
_DIAGRAM = "{http://schemas.openxmlformats.org/drawingml/2006/diagram}relIds"
_AS = {f"{_W}{name}": f"{_W}smartTag" for name in ("fldSimple", "dir", "bdo")}
_AS |= {f"{_W}ptab": f"{_W}tab", f"{_W}cr": f"{_W}br"}
"""Element -> what it is read as."""
_CODE_NAME = re.compile(
    r"(?:source ?code|code(?: ?block)?|html preformatted|preformatted(?: text)?|verbatim|código)", re.I
)
_MARGIN = re.compile(r"word/(?:header|footer)\d*\.xml")
_MONOSPACED = re.compile(r"courier|consolas|mono\b|menlo|monaco|lucida console|fixed", re.I)
_ROMAN_VALUES = (1000, 900, 500, 400, 100, 90, 50, 40, 10, 9, 5, 4, 1)
_ROMAN = tuple(zip(_ROMAN_VALUES, "m cm d cd c xc l xl x ix v iv i".split(), strict=True))
_LIKE_CODE = re.compile(r"[{}();=<>\\$_#]|^\s{2}")

_STYLES = """
p[style-name='Title'] => h1.title:fresh
p[style-name='Título'] => h1.title:fresh
p[style-name='Puesto'] => h1.title:fresh
p.CodeOfThisReader => pre:separator('\\n')
""" + "\n".join(
    f"p[style-name='{name} {level}'] => h{level}:fresh"
    for name in ("Título", "título", "Encabezado")
    for level in range(1, 7)
)


def prepared(parts: dict[str, bytes], lost: Counter[str]) -> bytes:
    """Return a Word document whose body says as text what Word shows.

    Args:
        parts: of the document, by their paths in it.
        lost: receives what was taken out, as in ``Extracted.lost``.
    """
    main = next((name for name in parts if re.fullmatch(r"word/document\d*\.xml", name)), "")
    body = parsed_xml(parts.get(main, b""))
    if body is None or _STRICT[1:-1].encode() in parts[main]:
        return _packed(parts)
    styles = _Styles(parsed_xml(parts.get("word/styles.xml", b"")))
    numbers = _Numbers(parsed_xml(parts.get("word/numbering.xml", b"")), styles)
    _take_out(body, styles, lost)
    for element in body.iter(*_AS):  # mammoth reads nothing in what it does not know
        element.tag = _AS[element.tag]
    for formula in [*body.iter(f"{_M}oMathPara"), *body.iter(f"{_M}oMath")]:
        if formula.getparent() is not None and formula.getparent().tag != f"{_M}oMathPara":
            beside = formula.getnext() is not None and formula.getnext().tag == formula.tag
            formula.getparent().replace(formula, _run(linear(formula) + " " * beside))
    for paragraph in body.iter(f"{_W}p"):
        if label := numbers.label(paragraph):
            place = 1 if len(paragraph) and paragraph[0].tag == f"{_W}pPr" else 0
            paragraph.insert(place, _run(label.join(LABEL)))
        if styles.is_code(paragraph):
            _set_style(paragraph, CODE_STYLE)
    for row in body.iter(f"{_W}tr"):
        before = row.find(f"{_W}trPr/{_W}gridBefore")
        for _ in range(min(int(before.get(f"{_W}val", "0")), 60) if before is not None else 0):
            cell = etree.Element(f"{_W}tc")
            etree.SubElement(cell, f"{_W}p")
            row.insert(0, cell)
    for table in body.iter(f"{_W}tbl"):
        if (row := table.find(f"{_W}tr")) is not None and styles.draws_head(table):
            row.insert(0, etree.Element(f"{_W}trPr"))
            etree.SubElement(row[0], f"{_W}tblHeader")
    _write_drawings(body, main, parts, lost)
    if (comments := parsed_xml(parts.get("word/comments.xml", b""))) is not None:
        lost["comments"] += _words(comments)
    for name in filter(_MARGIN.fullmatch, parts):
        if (margin := parsed_xml(parts[name])) is not None:
            lost["margins"] += _words(margin)
    lost["embedded"] += sum("/embeddings/" in name and not name.endswith(".xlsx") for name in parts)
    return _packed(parts | {main: etree.tostring(body)})


def _packed(parts: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, part in parts.items():
            archive.writestr(name, part)
    return out.getvalue()


def _run(text: str) -> Any:
    run = etree.Element(f"{_W}r")
    etree.SubElement(run, f"{_W}t").text = text
    run[0].set("{http://www.w3.org/XML/1998/namespace}space", "preserve")
    return run


def _words(element: Any) -> int:
    return sum(len((text.text or "").split()) for text in element.iter(f"{_W}t"))


def _value(element: Any, path: str) -> str | None:
    """Return the value of a property; None if it is not there."""
    found = element.find("/".join(f"{_W}{name}" for name in path.split("/"))) if element is not None else None
    return None if found is None else str(found.get(f"{_W}val", "1"))


def _set_style(paragraph: Any, name: str) -> None:
    properties = paragraph.find(f"{_W}pPr")
    if properties is None:
        properties = etree.Element(f"{_W}pPr")
        paragraph.insert(0, properties)
    style = properties.find(f"{_W}pStyle")
    if style is None:
        style = etree.Element(f"{_W}pStyle")
        properties.insert(0, style)
    style.set(f"{_W}val", name)


def _take_out(body: Any, styles: _Styles, lost: Counter[str]) -> None:
    for run in list(body.iter(f"{_W}r")):
        if kind := styles.left_out(run):
            lost[kind] += _words(run)
            run.getparent().remove(run)
    for field_ in list(body.iter(f"{_W}sdt")):
        if _value(field_, "sdtPr/showingPlcHdr") not in (None, "0", "false"):
            lost["placeholders"] += _words(field_)
            for text in field_.iter(f"{_W}t"):
                text.text = ""
    lost["pictures"] += sum(1 for _ in body.iter("{http://schemas.openxmlformats.org/drawingml/2006/picture}pic"))


def _write_drawings(body: Any, main: str, parts: dict[str, bytes], lost: Counter[str]) -> None:
    """Write the values of charts as tables, and the texts of diagrams as paragraphs, below where they stand."""
    folder, name = main.rsplit("/", 1)
    related = parsed_xml(parts.get(f"{folder}/_rels/{name}.rels", b""))
    targets = {link.get("Id"): str(link.get("Target")) for link in related} if related is not None else {}
    for drawing in list(body.iter(_CHART, _DIAGRAM)):
        target = targets.get(drawing.get(f"{_R}id") or drawing.get(f"{_R}dm"), "")
        part = parsed_xml(parts.get(target[1:] if target.startswith("/") else f"{folder}/{target}", b""))
        paragraph = next(drawing.iterancestors(f"{_W}p"), None)
        if part is None or paragraph is None or paragraph.getparent() is None:
            lost["charts"] += 1
            continue
        texts, rows = drawn(part)
        if rows:
            paragraph.addnext(_table(rows))
        for text in reversed(texts):
            new = etree.Element(f"{_W}p")
            new.append(_run(text))
            paragraph.addnext(new)


def _table(rows: list[list[str]]) -> Any:
    table = etree.Element(f"{_W}tbl")
    for row in rows:
        line = etree.SubElement(table, f"{_W}tr")
        for cell in row:
            paragraph = etree.SubElement(etree.SubElement(line, f"{_W}tc"), f"{_W}p")
            paragraph.append(_run(cell))
    return table


class _Styles:
    """What the styles of a document say about its runs, paragraphs and tables."""

    def __init__(self, styles: Any) -> None:
        self._styles = {style.get(f"{_W}styleId"): style for style in _each(styles, "style")}
        self._code = {key for key, style in self._styles.items() if _CODE_NAME.fullmatch(_value(style, "name") or "")}

    def based(self, key: str | None) -> Iterator[Any]:
        """Yield a style and those that it is based on."""
        for _ in range(10):
            if (style := self._styles.get(key)) is None:
                return
            yield style
            key = _value(style, "basedOn")

    def left_out(self, run: Any) -> str:
        """Return as what a run is no content, or ""."""
        kinds = ("vanish", "hidden"), ("strike", "struck"), ("dstrike", "struck")
        return next((kind for name, kind in kinds if self._is(run, name)), "")

    def draws_head(self, table: Any) -> bool:
        """Return whether a table's style draws its first row as a head."""
        look = table.find(f"{_W}tblPr/{_W}tblLook")
        if look is None or look.get(f"{_W}firstRow", "0") in ("0", "false"):
            return False
        styles = self.based(_value(table, "tblPr/tblStyle"))
        parts = (part for style in styles for part in style.findall(f"{_W}tblStylePr[@{_W}type='firstRow']"))
        return any(part.find(f".//{_W}{name}") is not None for part in parts for name in ("b", "shd"))

    def is_code(self, paragraph: Any) -> bool:
        if (style := _value(paragraph, "pPr/pStyle")) is not None and style in self._code:
            return True
        runs = [run for run in paragraph.iter(f"{_W}r") if run.findtext(f"{_W}t", "").strip()]
        fonts = [run.find(f"{_W}rPr/{_W}rFonts") for run in runs]
        if not runs or not all(font is not None and _MONOSPACED.search(font.get(f"{_W}ascii", "")) for font in fonts):
            return False
        return bool(_LIKE_CODE.search("".join(text.text or "" for text in paragraph.iter(f"{_W}t"))))

    def _is(self, run: Any, name: str) -> bool:
        paragraph = next(run.iterancestors(f"{_W}p"), None)
        styles = (self.based(_value(*place)) for place in ((run, "rPr/rStyle"), (paragraph, "pPr/pStyle")))
        said = (_value(place, f"rPr/{name}") for place in chain([run], *styles))
        return next((value for value in said if value is not None), "0") not in ("0", "false", "off", "none")


class _Level(NamedTuple):
    start: int = 1
    form: str = "decimal"
    text: str = ""


class _Numbers:
    """Counts the numbers that Word shows before paragraphs."""

    def __init__(self, numbering: Any, styles: _Styles) -> None:
        self._levels = {found.get(f"{_W}abstractNumId"): _levels(found) for found in _each(numbering, "abstractNum")}
        self._lists: dict[str, str] = {}
        self._starts: dict[tuple[str, int], int] = {}
        for found in _each(numbering, "num"):
            number = found.get(f"{_W}numId")
            self._lists[number] = _value(found, "abstractNumId") or ""
            for override in found.iter(f"{_W}lvlOverride"):
                if (start := _value(override, "startOverride") or "").isdecimal():
                    self._starts[number, int(override.get(f"{_W}ilvl", "0"))] = int(start)
        self._styles = styles
        self._counts: dict[str, dict[int, int]] = {}

    def label(self, paragraph: Any) -> str:
        """Return the number of a paragraph as Word shows it; "" for none or a bullet."""
        number, level = _value(paragraph, "pPr/numPr/numId"), _value(paragraph, "pPr/numPr/ilvl")
        for style in self._styles.based(_value(paragraph, "pPr/pStyle")) if number is None else ():
            number, level = _value(style, "pPr/numPr/numId"), level or _value(style, "pPr/numPr/ilvl")
            if number is not None:
                break
        depth = int(level) if level and level.isdecimal() else 0
        name = self._lists.get(number or "", "")
        levels = self._levels.get(name, {})
        if depth not in levels or not number:
            return ""
        counts = self._counts.setdefault(name, {})
        if (start := self._starts.pop((number, depth), None)) is not None:
            counts[depth] = start - 1
        counts[depth] = counts.get(depth, levels[depth].start - 1) + 1
        for deeper in [key for key in counts if key > depth]:
            del counts[deeper]
        if levels[depth].form in ("bullet", "none") or "%" not in levels[depth].text:
            return ""

        def shown(match: re.Match[str]) -> str:
            at = int(match.group(1)) - 1
            level = levels.get(at, _Level())
            return _numeral(counts.get(at, level.start), level.form)

        return re.sub(r"%(\d)", shown, levels[depth].text).strip()


def _each(root: Any, name: str) -> list[Any]:
    return [] if root is None else list(root.iter(f"{_W}{name}"))


def _levels(found: Any) -> dict[int, _Level]:
    levels = {}
    for level in found.iter(f"{_W}lvl"):
        start, form, text = (_value(level, name) for name in ("start", "numFmt", "lvlText"))
        first = int(start) if start and start.isdecimal() else 1
        levels[int(level.get(f"{_W}ilvl", "0"))] = _Level(first, form or "decimal", text or "")
    return levels


def _numeral(number: int, form: str) -> str:
    """Return a number in a form of Word: "upperRoman", "lowerLetter", "decimalZero"; others as digits."""
    said = f"{number:02}" if form == "decimalZero" else str(number)
    if form.endswith("Letter"):
        said = (chr(97 + (number - 1) % 26) * (1 + (number - 1) // 26))[:10]
    elif form.endswith("Roman") and 0 < number < 4_000:
        said = ""
        for value, letters in _ROMAN:
            said += letters * (number // value)
            number %= value
    return said.upper() if form.startswith("upper") else said


def read(file: GivenFile) -> Extracted:
    """Read the body text, with each footnote at its reference. Omits deletions and what ``Extracted.lost`` counts.

    Raises:
        UploadError: the file is damaged, or none that people write.
    """
    parts = check_zip(file.name, file.content, ".docx")
    check_word(file.name, [part for name, part in parts.items() if name.lower().endswith(".xml")])
    lost: Counter[str] = Counter()
    html = mammoth.convert_to_html(
        io.BytesIO(prepared(parts, lost)),
        style_map=_STYLES,
        include_embedded_style_map=False,
        convert_image=lambda image: [],  # images are never opened
        external_file_access=False,
    ).value
    soup = BeautifulSoup(html, "html.parser")
    _place_notes(soup)
    lower_headings_under_title(soup)
    leave_out(soup, lost)
    return Extracted(soup_to_text(soup), lost=dict(+lost))


def _place_notes(soup: BeautifulSoup) -> None:
    """Replace each reference to a footnote or endnote by the note's text in parentheses."""
    notes: dict[str, str] = {}
    for item in soup.find_all("li", id=lambda value: bool(value) and value.startswith(("footnote-", "endnote-"))):
        for back in item.find_all("a", href=lambda value: bool(value) and "note-ref-" in value):
            back.decompose()
        notes[f"#{item['id']}"] = " ".join(item.get_text(" ").split())
        item.decompose()
    for link in soup.find_all("a", href=lambda value: value in notes):
        place = link.parent if link.parent is not None and link.parent.name == "sup" else link
        text = notes.pop(str(link["href"]), "")  # once: many references to a long note would multiply it
        place.replace_with(f" ({text})" if text else "")
