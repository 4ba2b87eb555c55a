"""Read formats that are text with marks: RTF, subtitles, notebooks, XML."""

from __future__ import annotations

import html
import itertools
import json
import re
from collections import Counter
from collections.abc import Callable
from datetime import date
from typing import Any

from chatbot_mvp.documents.reading.decoding import decode
from chatbot_mvp.documents.reading.extracted import Extracted, clean_line, clean_text, raised
from chatbot_mvp.documents.reading.grid import Cell, rows_of
from chatbot_mvp.documents.reading.html import html_to_text
from chatbot_mvp.documents.reading.reader import GivenFile
from chatbot_mvp.documents.reading.structure import check_html
from chatbot_mvp.text import fold

_CODE = re.compile(r"(^ {0,3}(`{3,}|~{3,}).*?(?:^ {0,3}\2[`~]*[ \t]*$|\Z)|`[^`\n]+`)", re.M | re.S)
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.S)
_TABLE = re.compile(r"<table\b.*?</table\s*>", re.I | re.S)
_STRUCK = re.compile(r"~~(?=\S)[^~\n]{1,1000}~~|<(del|s|strike)\b[^>]*>.*?</\1\s*>", re.I | re.S)
_UNDERLINED = re.compile(r"(?:\A|(?<=\n\n))(?![ \t>#*+|-])(?=[^\n]*\w)([^\n]++)\n(=++|--++)[ \t]*+(?=\n|\Z)")
"""A heading whose mark is the line below it."""
_FRONT = re.compile(r"\A(---|\+\+\+)[ \t]*\n(.*?\n|)(?:\1|\.\.\.)[ \t]*(?:\n|\Z)", re.S)
"""What says of a document what it is, in YAML or TOML, above its text."""
_FRONT_CHARS = 20_000
_ABOUT = {
    "title": ("title", "titulo"),
    "author": ("author", "authors", "autor", "autora", "autores"),
    "source": ("source", "url", "fuente"),
    "created": ("date", "created", "published", "fecha"),
    "tags": ("tags", "keywords", "categories", "etiquetas", "categorias"),
}
"""Field of ``Extracted.about`` -> how it may be called, the first one that is there."""
_RTF = re.compile(r"\\[a-z]+-?\d* ?|\\'[0-9a-fA-F]{2}|\\.|[{}]|[^\\{}]+", re.S)
_LOOKS = {"\\v": "hidden", "\\strike": "struck", "\\super": "raised"}
_LOOKS |= dict.fromkeys(("\\v0", "\\strike0", "\\super0", "\\nosupersub", "\\plain"), "")
"""What begins a text of a look, or ends it."""
_CUE = re.compile(r"^(?:[ \t]*+\d++[ \t]*+\n)?[ \t]*+(?:(\d{1,4}):)?(\d\d?):\d\d?(?:[.,]\d+)?[ \t]*-->[^\n]*$", re.M)
"""The time of what is said next, below its number: hours, minutes."""
_CUE_MARK = re.compile(r"</?[a-zA-Z][^<>]*>|<[\d:.]+>|\{\\[^{}]*\}")


def read_rtf(file: GivenFile) -> Extracted:
    """Read the text of a Rich Text file; its tables as rows, its headings as paragraphs."""
    from striprtf.striprtf import rtf_to_text

    lost: Counter[str] = Counter()
    converted: Any = rtf_to_text
    text = clean_text(converted(_shown(file.content.decode("latin-1"), lost), errors="ignore"))
    parts = []
    for is_row, group in itertools.groupby(text.split("\n"), lambda line: line.rstrip().endswith("|")):
        lines = list(group)
        cells = [[Cell(clean_line(cell)) for cell in line.rstrip().split("|")[:-1]] for line in lines]
        parts.append(rows_of(cells) if is_row else "\n\n".join(lines))
    return Extracted(clean_text("\n\n".join(parts)), lost=dict(+lost))


def _shown(text: str, lost: Counter[str]) -> str:
    """Return an RTF file without what is hidden or struck out, with raised numbers apart, and with each note in
    parentheses at its place.
    """
    out: list[str] = []
    outer: list[tuple[str, str]] = []
    look, end = "", "}"  # of the text of a group; what ends it
    before = ""
    for piece in _RTF.findall(text):
        word = piece.strip()
        if piece == "{":
            outer.append((look, end))
            end = "}"
        elif piece == "}":
            piece = end
            look, end = outer.pop() if outer else ("", "}")
        elif word == "\\footnote":
            piece, end = " (", ")}"
        elif word in _LOOKS:
            look = _LOOKS[word]
        elif not re.match(r"\\[a-z*]", piece):
            if look in ("hidden", "struck"):
                lost[look] += len(piece.split()) if piece[0] != "\\" else 0
                continue
            if look == "raised" and word.isdecimal():
                piece = "".join(f"\\u{ord(char)}?" for char in raised(word, before))
            before = word
        out.append(piece)
    return "".join(out)


def read_md(file: GivenFile) -> Extracted:
    """Leave comments and what is struck out away from a Markdown file; write tables of HTML as rows, headings as one
    line; take what stands above its text as what it says of itself.
    """
    text, about, rest = _without_front(file.content.decode("utf-8", "surrogatepass"))
    lost = Counter({"metadata": rest})

    def table(match: re.Match[str]) -> str:
        return f"\n\n{html_to_text(file.name, match.group(), lost, titled=False)}\n\n"

    def left_out(kind: str) -> Callable[[re.Match[str]], str]:
        def count(match: re.Match[str]) -> str:
            lost[kind] += len(re.sub(r"<!--|-->|</?\w[^>]*>|~~", " ", match.group()).split())
            return ""

        return count

    parts = _CODE.split(text)
    del parts[2::3]  # the fences alone
    for place in range(0, len(parts), 2):
        part = _COMMENT.sub(left_out("comments"), parts[place])
        part = _UNDERLINED.sub(lambda found: f"{'#' if found[2][0] == '=' else '##'} {found[1]}", part)
        parts[place] = _STRUCK.sub(left_out("struck"), _TABLE.sub(table, part))
    return Extracted("".join(parts), lost=dict(+lost), about=about)


def _without_front(text: str) -> tuple[str, dict[str, Any], int]:
    """Return a text without its front matter, what that says as in ``Extracted.about``, and the words of the rest."""
    import tomllib

    import yaml

    found = _FRONT.match(text[:_FRONT_CHARS])
    try:
        load = tomllib.loads if found and found[1] == "+++" else yaml.safe_load
        said = load(found[2]) if found else None
    except (yaml.YAMLError, ValueError, RecursionError):
        said = None
    if not found or not isinstance(said, dict):
        return text, {}, 0
    given = {fold(str(key)): value for key, value in said.items()}
    about: dict[str, Any] = {}
    for name, keys in _ABOUT.items():
        key = next((key for key in keys if given.get(key)), "")
        value = given.get(key, [])
        listed = value if isinstance(value, list) else [value]
        parts = [str(one.get("name", "")) if isinstance(one, dict) else str(one) for one in listed]
        if name == "tags":
            parts = [part.strip() for one in parts for part in re.split("[,;]", one)]
        elif name == "created":
            parts = [day for one in parts if (day := _day(one))]
        if parts := list(filter(None, parts)):
            about[name] = parts if name == "tags" else ", ".join(parts)
            del given[key]
    return text[found.end() :].lstrip("\n"), about, len(" ".join(map(str, given.values())).split())


def _day(text: str) -> str:
    try:
        return date.fromisoformat(text[:10]).isoformat()
    except ValueError:
        return ""


def read_vtt(file: GivenFile) -> Extracted:
    """Read subtitles (WebVTT, SubRip): what is said, each minute with its time before it."""
    text, _, damaged = decode(file.content)
    parts: list[str] = []
    minute = -1
    pieces = _CUE.split(text.replace("\r\n", "\n").replace("\r", "\n"))
    for hours, minutes, lines in zip(pieces[1::3], pieces[2::3], pieces[3::3], strict=True):
        if file.name.lower().endswith(".vtt"):
            lines = re.split(r"\n[ \t]*\n", lines, maxsplit=1)[0]  # below it stand notes and styles
        said = re.sub(r"<v(?:\.[\w.]+)?\s+([^<>\n]+)>", r"\1: ", lines)
        if spoken := clean_line(html.unescape(_CUE_MARK.sub("", said))):
            now = int(hours or 0) * 60 + int(minutes)
            parts.append(f"[{now // 60:02}:{now % 60:02}]\n{spoken}" if now != minute else spoken)
            minute = now
    return Extracted("\n\n".join(parts), lost={"bytes": damaged} if damaged else {})


def read_ipynb(file: GivenFile) -> Extracted:
    """Read a notebook: its texts, its code, and what the code printed."""
    book = json.loads(decode(file.content)[0])
    language = str(book.get("metadata", {}).get("language_info", {}).get("name", ""))
    parts: list[str] = []
    pictures = 0
    for cell in book.get("cells", []):
        source = "".join(cell.get("source", ""))
        if cell.get("cell_type") == "code":
            parts.append(f"```{language}\n{source.rstrip()}\n```")
            for output in cell.get("outputs", []):
                data: dict[str, Any] = output.get("data", {})
                pictures += any(kind.startswith("image/") for kind in data)
                if page := "".join(data.get("text/html", "")):
                    parts.append(html_to_text(file.name, page))
                elif printed := "".join(output.get("text", "") or data.get("text/plain", "")):
                    parts.append(f"```\n{printed.rstrip()}\n```")
        else:
            parts.append(source)
    return Extracted(clean_text("\n\n".join(parts)), lost={"pictures": pictures} if pictures else {})


def read_xml(file: GivenFile) -> Extracted:
    """Read the texts of an XML file, each with the names and attributes of its element.

    Raises:
        UploadError (upload_too_deep, upload_too_many_elements)
    """
    from lxml import etree  # type: ignore[import-untyped]  # lxml has no types

    check_html(file.name, file.content.decode("latin-1"))
    root = etree.fromstring(file.content, etree.XMLParser(resolve_entities=False, no_network=True, recover=True))
    lines: list[str] = []

    def walk(element: Any) -> None:
        name = etree.QName(element).localname
        given = [f"{etree.QName(key).localname}: {clean_line(value)}" for key, value in element.attrib.items()]
        children = [child for child in element if isinstance(child.tag, str)]
        whole = not children or any((child.tail or "").strip() for child in children)
        text = clean_line(" ".join(element.itertext()) if whole else element.text or "")
        if text or given:
            lines.append("; ".join([f"{name}: {text}" if text else name, *given]))
        if whole:
            return
        leaves = [child for child in children if not len(child)]
        if len(leaves) == len(children) > 1 and len({child.tag for child in children}) == len(children):
            parts = ((etree.QName(child).localname, clean_line(child.text or "")) for child in children)
            lines.append("- " + "; ".join(f"{key}: {value}" for key, value in parts if value))
            return
        for child in children:
            walk(child)

    if root is not None:
        walk(root)
    return Extracted("\n\n".join(line for line in lines if line))
