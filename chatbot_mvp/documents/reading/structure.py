"""Check how many elements a page or a Word document has before a tree of them is built.

The time and memory of the readers grow with the elements, their nesting and their tables, not with the bytes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any
from xml.parsers import expat

from chatbot_mvp.errors import UploadError

MAX_DEPTH = 150
"""Elements inside each other. Ordinary pages have up to 60."""
MAX_HTML_ELEMENTS = 150_000
MAX_WORD_ELEMENTS = 300_000
"""Elements of the XML, most of which describe the look of a text."""
MAX_WORD_RUNS = 80_000
"""Paragraphs, and pieces of text of one look. They take most of the time; 300 pages have 10,000 to 50,000."""
MAX_ROWS = 20_000
"""Rows of all tables together."""


@dataclass
class _Count:
    """Receives the events of a parser."""

    row: str
    run: tuple[str, ...] = ()
    runs: int = 0
    elements: int = 0
    rows: int = 0
    deepest: int = 0
    _depth: int = field(default=0)

    def start(self, tag: str, attributes: Any) -> None:
        self.elements += 1
        self.rows += tag == self.row
        self.runs += tag in self.run
        self._depth += 1
        self.deepest = max(self.deepest, self._depth)

    def end(self, tag: str) -> None:
        self._depth -= 1

    def close(self) -> None:
        return

    def require(self, name: str, most: int) -> None:
        if self.deepest > MAX_DEPTH:
            raise UploadError("upload_too_deep", name=name, depth=self.deepest, limit=MAX_DEPTH)
        if self.rows > MAX_ROWS:
            raise UploadError("upload_too_many_rows", name=name, rows=self.rows, limit=MAX_ROWS)
        if self.elements > most:
            raise UploadError("upload_too_many_elements", name=name, elements=self.elements, limit=most)


def check_html(name: str, markup: str) -> None:
    """Check the elements of a page, with the parser that builds its tree later.

    Raises:
        UploadError (upload_too_deep, upload_too_many_rows, upload_too_many_elements)
    """
    from lxml import etree  # type: ignore[import-untyped]  # lxml has no types

    count = _Count("tr")
    parser = etree.HTMLParser(target=count)
    try:
        # In pieces of text: a whole string with an encoding declaration is refused.
        for begin in range(0, len(markup), 1_000_000):
            parser.feed(markup[begin : begin + 1_000_000])
        parser.close()
    except etree.LxmlError:
        pass  # the tree's parser reads what can be read
    count.require(name, MAX_HTML_ELEMENTS)


def check_word(name: str, parts: list[bytes]) -> None:
    """Check the elements of all XML parts of a Word document together.

    Raises:
        UploadError (upload_too_deep, upload_too_many_rows, upload_too_many_elements)
        UploadError (upload_damaged): a part declares entities, which can grow without bound.
    """
    count = _Count("w:tr", ("w:p", "w:r"))
    for part in parts:
        parser = expat.ParserCreate()
        parser.StartElementHandler = count.start
        parser.EndElementHandler = count.end

        def refuse(*_: object) -> None:
            raise UploadError("upload_damaged", name=name, kind=".docx", reason="its XML declares entities")

        parser.EntityDeclHandler = refuse
        try:
            parser.Parse(part, True)
        except expat.ExpatError as error:
            raise UploadError("upload_damaged", name=name, kind=".docx", reason=str(error)) from error
    count.require(name, MAX_WORD_ELEMENTS)
    if count.runs > MAX_WORD_RUNS:
        raise UploadError("upload_too_many_elements", name=name, elements=count.runs, limit=MAX_WORD_RUNS)
