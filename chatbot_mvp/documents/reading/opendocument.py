"""Read OpenDocument texts and presentations: their XML becomes a page of HTML."""

from __future__ import annotations

import html
from collections import Counter
from typing import Any

from chatbot_mvp.documents.reading.extracted import Extracted
from chatbot_mvp.documents.reading.formulas import linear
from chatbot_mvp.documents.reading.html import html_to_text
from chatbot_mvp.documents.reading.reader import GivenFile
from chatbot_mvp.documents.reading.structure import check_zip, parsed_xml
from chatbot_mvp.errors import UploadError

_NS = "{urn:oasis:names:tc:opendocument:xmlns:%s:1.0}"
_TEXT, _TABLE, _STYLE, _OFFICE, _DRAW = (_NS % name for name in ("text", "table", "style", "office", "drawing"))
_WEIGHT = f"{_NS % 'xsl-fo-compatible'}font-weight"
_LINK = "{http://www.w3.org/1999/xlink}href"
_SILENT = "tracked-changes sequence-decls forms soft-page-break bookmark variable-decls user-field-decls".split()
_TAGS = {"list-item": "li", "list-header": "li", "page": "div", "table": "table", "table-header-rows": "thead"}
_KINDS = {"annotation": "comments", "placeholder": "placeholders"}
_MOST_REPEATED = 1_000


class _Page:
    """Writes the elements of a document as HTML."""

    def __init__(self, parts: dict[str, bytes], lost: Counter[str]) -> None:
        self._parts = parts
        self._lost = lost
        self._styles: dict[tuple[str, str], Any] = {}

    def whole(self) -> str:
        for name in ("styles.xml", "content.xml"):
            root = parsed_xml(self._parts.get(name, b""))
            for style in () if root is None else root.iter(f"{_STYLE}style", f"{_TEXT}list-style"):
                self._styles[style.tag, style.get(f"{_STYLE}name")] = style
        body = None if root is None else root.find(f"{_OFFICE}body")
        return "" if body is None else self.inner(body)

    def inner(self, element: Any, depth: int = 0, numbered: str = "") -> str:
        out = [html.escape(element.text or "")]
        for child in element:
            if isinstance(child.tag, str):
                out.append(self.one(child, depth, numbered))
            out.append(html.escape(child.tail or ""))
        return "".join(out)

    def one(self, element: Any, depth: int, numbered: str) -> str:
        """Write an element; ``depth`` counts the lists around it, whose style is ``numbered``."""
        name = str(element.tag.rpartition("}")[2])
        style: str = element.get(f"{_TEXT}style-name", "")
        if name in _SILENT:
            return ""
        hidden = "hidden" * (element.get(f"{_TEXT}display") == "none")
        if kind := hidden or (self._left_out(style) if name in ("h", "p", "span") else _KINDS.get(name, "")):
            self._lost[kind] += len("".join(element.itertext()).split())
            return ""
        if name in ("s", "tab", "line-break"):
            return "<br>" if name == "line-break" else " "
        if name == "note":
            inside = self.inner(element.find(f"{_TEXT}note-body")).replace("<p>", " ").replace("</p>", " ")
            return f" ({inside.strip()})"
        if name == "list":
            style = style or numbered
            levels = self._styles.get((f"{_TEXT}list-style", style), ())
            level = next((one for one in levels if one.get(f"{_TEXT}level") == str(depth + 1)), None)
            tag = "ul" if level is None or level.tag != f"{_TEXT}list-level-style-number" else "ol"
            return f"<{tag}>{self.inner(element, depth + 1, style)}</{tag}>"
        if name == "table-row":
            again = min(int(element.get(f"{_TABLE}number-rows-repeated", 1)), _MOST_REPEATED)
            row = f"<tr>{self.inner(element)}</tr>"
            return row * (again if "".join(element.itertext()).strip() else 1)
        if name == "table-cell":
            across, down = (element.get(f"{_TABLE}number-{kind}-spanned", "1") for kind in ("columns", "rows"))
            again = min(int(element.get(f"{_TABLE}number-columns-repeated", 1)), 100)
            return f'<td colspan="{across}" rowspan="{down}">{self.inner(element)}</td>' * again
        if name == "image":
            self._lost["pictures"] += 1
            return ""
        if name == "object":
            return self._object(element)
        inside = self.inner(element, depth, numbered)
        if name in ("p", "span") and inside and self._look(style, _WEIGHT) == "bold":
            inside = f"<b>{inside}</b>"
        if name == "span" and self._look(style, f"{_STYLE}text-position").startswith("super"):
            inside = f"<sup>{inside}</sup>"
        if name == "h":
            level = min(int(element.get(f"{_TEXT}outline-level", 1)), 5)
            return f"<h{level}>{inside}</h{level}>"
        if name == "p":
            return f'<h1 class="title">{inside}</h1>' if inside and self._is_title(style) else f"<p>{inside}</p>"
        if name == "frame" and element.get(f"{_NS % 'presentation'}class") == "title":
            return f"<h1>{inside.replace('<p>', ' ').replace('</p>', ' ')}</h1>"
        inner = _TAGS.get(name)
        return f"<{inner}>{inside}</{inner}>" if inner else inside

    def _object(self, element: Any) -> str:
        """Return the table of a chart, or the formula of an object in a document."""
        folder = element.get(_LINK, "").removeprefix("./").rstrip("/") + "/"
        root = parsed_xml(self._parts.get(f"{folder}content.xml", b""))
        if root is None:
            self._lost["embedded"] += 1
            return ""
        if root.tag.rpartition("}")[2] == "math":
            return html.escape(linear(root))
        table = next(root.iter(f"{_TABLE}table"), None)
        self._lost["charts"] += table is None
        return "" if table is None else self.one(table, 0, "")

    def _chain(self, name: str) -> list[Any]:
        found: list[Any] = []
        while (style := self._styles.get((f"{_STYLE}style", name))) is not None and len(found) < 10:
            found.append(style)
            name = style.get(f"{_STYLE}parent-style-name", "")
        return found

    def _is_title(self, name: str) -> bool:
        return any(style.get(f"{_STYLE}name") == "Title" for style in self._chain(name))

    def _looks(self, name: str) -> list[Any]:
        return [look for style in self._chain(name) for look in style.findall(f"{_STYLE}text-properties")]

    def _look(self, name: str, kind: str) -> str:
        return next(filter(None, (look.get(kind) for look in self._looks(name))), "")

    def _left_out(self, name: str) -> str:
        for look in self._looks(name):
            if look.get(f"{_TEXT}display") == "none":
                return "hidden"
            if look.get(f"{_STYLE}text-line-through-style", "none") != "none":
                return "struck"
        return ""


def read(file: GivenFile) -> Extracted:
    """Read text, tables, notes, values of charts and formulas; changes and comments are left out.

    Raises:
        UploadError (upload_damaged, upload_encrypted): the file cannot be read.
    """
    parts = check_zip(file.name, file.content, ".odt")
    lost: Counter[str] = Counter()
    page = _Page(parts, lost)
    if not (body := page.whole()):
        raise UploadError("upload_damaged", name=file.name, kind=".odt", reason="its content.xml cannot be read")
    text = html_to_text(file.name, f"<body>{body}</body>", lost)
    return Extracted(text, lost=dict(+lost))
