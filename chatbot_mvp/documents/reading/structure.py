"""Check what a file unpacks to, and how many elements it has before a tree of them is built.

The time and memory of the readers grow with the elements, their nesting and their tables, not with the bytes.
"""

from __future__ import annotations

import io
import zipfile
import zlib
from dataclasses import dataclass, field
from typing import Any
from xml.parsers import expat

from chatbot_mvp.errors import UploadError

MAX_UNPACKED_MB = 60
"""Limit of a document's unpacked XML, as declared in the zip directory. zipfile never unpacks more than declared."""
MAX_RATIO = 250
"""Limit of unpacked to packed size for a part over one megabyte; ordinary documents have 5 to 30."""
MAX_PARTS = 5_000
MAX_DEPTH = 150
"""Elements inside each other. Ordinary pages have up to 60."""
MAX_HTML_ELEMENTS = 150_000
MAX_WORD_ELEMENTS = 300_000
"""Elements of the XML, most of which describe the look of a text."""
MAX_WORD_RUNS = 80_000
"""Paragraphs, and pieces of text of one look. They take most of the time; 300 pages have 10,000 to 50,000."""
MAX_ROWS = 20_000
"""Rows of all tables together."""
_READ = (".xml", ".rels", ".opf", ".xhtml", ".html", ".htm")
"""Ends of the names of parts that readers read."""


def check_zip(name: str, content: bytes, kind: str) -> dict[str, bytes]:
    """Return the parts of a packed file by their paths, pictures and other files as empty.

    Args:
        kind: the format's name in errors.

    Raises:
        UploadError (upload_damaged): the file is not a readable zip archive.
        UploadError (upload_too_many_parts, upload_expands, upload_too_steep): nothing was unpacked.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            parts = archive.infolist()
            read = [part for part in parts if part.filename.lower().endswith(_READ)]
            _require_small(name, parts, read)
            return {part.filename: archive.read(part) if part in read else b"" for part in parts}
    # zipfile raises NotImplementedError for an unknown compression and RuntimeError for a password.
    except (zipfile.BadZipFile, zlib.error, ValueError, OSError, EOFError, NotImplementedError, RuntimeError) as error:
        raise UploadError("upload_damaged", name=name, kind=kind, reason=str(error)) from error


def _require_small(name: str, parts: list[zipfile.ZipInfo], read: list[zipfile.ZipInfo]) -> None:
    if len(parts) > MAX_PARTS:
        raise UploadError("upload_too_many_parts", name=name, parts=len(parts), limit=MAX_PARTS)
    if sum(part.file_size for part in read) > MAX_UNPACKED_MB * 1_000_000:
        raise UploadError("upload_expands", name=name, limit_mb=MAX_UNPACKED_MB)
    for part in read:
        ratio = -(-part.file_size // max(1, part.compress_size))
        if part.file_size > 1_000_000 and ratio > MAX_RATIO:
            raise UploadError("upload_too_steep", name=name, part=part.filename, ratio=ratio, limit=MAX_RATIO)


def parsed_xml(part: bytes) -> Any:
    """Return the root of a part, without its entities; None if it is empty or damaged."""
    from lxml import etree  # type: ignore[import-untyped]  # lxml has no types

    try:
        return etree.fromstring(part, etree.XMLParser(resolve_entities=False, no_network=True, huge_tree=True))
    except etree.XMLSyntaxError:
        return None


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
    from lxml import etree

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
