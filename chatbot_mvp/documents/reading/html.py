"""Convert HTML to text. Keeps headings, lists and tables, drops navigation and scripts, fetches nothing."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from chatbot_mvp.documents.reading.extracted import Extracted, clean_text
from chatbot_mvp.documents.reading.reader import GivenFile
from chatbot_mvp.documents.reading.structure import check_html
from chatbot_mvp.errors import MissingPackage

if TYPE_CHECKING:
    from bs4 import BeautifulSoup, Tag

_DROPPED = frozenset(
    "script style template noscript iframe object embed applet svg math canvas audio video picture img map form button "
    "input select textarea nav aside footer menu dialog link meta base head".split()
)
_DROPPED_ROLES = ("navigation", "banner", "contentinfo", "search", "menu", "dialog")
_FOOTNOTE = re.compile(r"\[\w{1,4}\]")
_LONG_BLANK = re.compile(r"[\t \r\n]{50,}")
_MAX_COLUMN_NAME = 200
_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")


def read(file: GivenFile) -> Extracted:
    """Read the text of an HTML page, or of its ``main`` or only ``article`` element if it has one.

    Raises:
        MissingPackage: beautifulsoup4, lxml or markdownify is not installed.
        UploadError (upload_too_many_elements, upload_too_deep): the page is not one that people write.
    """
    return Extracted(html_to_text(file.name, file.content))


def html_to_text(name: str, content: bytes | str) -> str:
    """Convert a page to Markdown text as ``read`` describes."""
    try:
        from bs4 import BeautifulSoup, FeatureNotFound
    except ImportError as error:
        raise missing("beautifulsoup4") from error
    try:
        # lxml knows which end tags are optional, and for HTML it loads neither DTDs nor external entities.
        markup = content if isinstance(content, str) else _decoded(content)
        check_html(name, markup)
        soup = BeautifulSoup(markup, "lxml")
    except FeatureNotFound as error:
        raise missing("lxml") from error
    title = clean_text(soup.title.get_text(" ")) if soup.title else ""
    # One pass over all elements: a CSS selector takes half of the time that a page of many elements needs.
    for element in soup.find_all(True):
        if not element.decomposed and _is_dropped(element):
            element.decompose()
    with_heading = {id(parent) for heading in soup.find_all(_HEADINGS) for parent in heading.parents}
    for element in soup.find_all("header"):
        if id(element) not in with_heading:  # a page banner; the header of an article contains a heading
            element.decompose()
    for mark in soup.find_all("sup"):
        if mark.string and _FOOTNOTE.fullmatch(mark.string.strip()):
            mark.decompose()  # "[1]" would look like a citation in the app's answers
    articles = soup.find_all("article")
    body = soup.find("main") or (articles[0] if len(articles) == 1 else None)
    root = body if body is not None and body.get_text(strip=True) else soup
    text = soup_to_text(root)
    if title and text and not root.find(_HEADINGS):
        return f"# {title}\n\n{text}"
    return text


def _is_dropped(element: Tag) -> bool:
    """Return whether an element shows no text of the page: not drawn, hidden, or navigation."""
    attributes = element.attrs
    if element.name in _DROPPED:
        return True
    return bool(attributes) and (
        "hidden" in attributes or attributes.get("aria-hidden") == "true" or attributes.get("role") in _DROPPED_ROLES
    )


def _decoded(content: bytes) -> str:
    from bs4.dammit import EncodingDetector, UnicodeDammit

    # Look for the declaration at the beginning only: the search takes quadratic time.
    declared = EncodingDetector.find_declared_encoding(content[:4_096], is_html=True, search_entire_document=True)
    return UnicodeDammit(content, user_encodings=[declared or "utf-8", "utf-8"]).unicode_markup or ""


def soup_to_text(root: BeautifulSoup | Tag) -> str:
    """Convert an element to Markdown without emphasis, links, images and escapes."""
    try:
        from markdownify import MarkdownConverter
    except ImportError as error:
        raise missing("markdownify") from error
    for text in root.find_all(string=_LONG_BLANK):
        # The converter's own expressions take quadratic time in the length of a run of blanks.
        text.replace_with(_LONG_BLANK.sub(lambda run: "\n" if "\n" in run.group() else " ", text))
    inner = root.find_all(["table", *_HEADINGS])
    layout = {id(parent) for element in inner for parent in element.parents if parent.name == "table"}
    numbers: dict[int, int] = {}
    for ordered in root.find_all("ol"):
        start = str(ordered.get("start", ""))
        first = int(start) if start.isdecimal() and len(start) < 10 else 1
        numbers |= {id(item): row for row, item in enumerate(ordered.find_all("li", recursive=False), first)}

    class Converter(MarkdownConverter):
        def process_tag(self, node: Tag, parent_tags: set[str] | None = None) -> str:
            """Write a data table as a list; write a layout table or a nested table as the plain text of its cells."""
            inside = parent_tags or set()
            if node.name != "table":
                return str(super().process_tag(node, parent_tags))  # type: ignore[misc]  # markdownify has no types
            if "table" in inside or id(node) in layout or node.get("role") == "presentation":
                cells = super().process_tag(node, parent_tags)  # type: ignore[misc]  # markdownify has no types
                return f"\n\n{cells}\n\n"
            return f"\n\n{table_rows(node)}\n\n"

        def convert_table(self, el: Tag, text: str, parent_tags: set[str]) -> str:
            return text

        def convert_tr(self, el: Tag, text: str, parent_tags: set[str]) -> str:
            return f"\n\n{text}\n\n"

        def convert_td(self, el: Tag, text: str, parent_tags: set[str]) -> str:
            return f"\n\n{text}\n\n"

        convert_th = convert_td

        def convert_li(self, el: Tag, text: str, parent_tags: set[str]) -> str:
            """Write an item with its mark or number; the library counts all previous items for each."""
            text = text.strip()
            if not text:
                return "\n"
            mark = f"{numbers[id(el)]}. " if id(el) in numbers else "- "
            return mark + text.replace("\n", "\n" + " " * len(mark)) + "\n"

        def convert_pre(self, el: Tag, text: str, parent_tags: set[str]) -> str:
            """Write a code block without blank lines around it; the library takes quadratic time for that."""
            if not text:
                return ""
            body = text.rstrip(" \n")
            first = body.rfind("\n", 0, len(body) - len(body.lstrip(" \n"))) + 1
            return f"\n\n```\n{body[first:]}\n```\n\n"

        def convert_hr(self, el: Any, text: str, parent_tags: Any) -> str:
            return "\n\n"

    converter = Converter(
        heading_style="atx",
        bullets="-",
        strip=["a", "b", "strong", "i", "em", "u", "s", "del", "code", "kbd", "samp", "sub", "sup", "q"],
        escape_asterisks=False,
        escape_underscores=False,
        escape_misc=False,
        newline_style="backslash",
    )
    return clean_text(converter.convert_soup(root).replace("\\\n", "\n"))


def table_rows(table: Tag) -> str:
    """Write each row as a list item "column: cell; …", so that a row is understandable in any chunk.

    Column names come from a first row of ``th`` cells, or from the first row of a table of three or more columns.
    """
    rows: list[tuple[list[str], bool]] = []  # (cells, whether all are th)
    for row in table.find_all("tr"):
        found = row.find_all(["td", "th"])
        cells = [clean_text(cell.get_text(" ")).replace("\n", " ") for cell in found]
        if any(cells):
            rows.append((cells, all(cell.name == "th" for cell in found)))
    caption = table.find("caption")
    lines = [clean_text(caption.get_text(" ")), ""] if caption else []
    names: list[str] = []
    for index, (cells, heads) in enumerate(rows):
        named = heads or (len(cells) > 2 and all(cells))
        # Each row repeats the names: long ones would multiply the text.
        if index == 0 and len(rows) > 1 and len(cells) > 1 and named and max(map(len, cells)) <= _MAX_COLUMN_NAME:
            names = cells
        elif len(names) == len(cells):
            lines.append("- " + "; ".join(f"{n}: {c}" if n else c for n, c in zip(names, cells, strict=True) if c))
        elif len(cells) == 2 and all(cells):
            lines.append(f"- {cells[0].rstrip(':')}: {cells[1]}")
        else:
            lines.append("- " + "; ".join(cell for cell in cells if cell))
    return "\n".join(lines)


def missing(package: str) -> MissingPackage:
    """Create the error for a reader whose package is not installed."""
    return MissingPackage(feature="This kind of document", package=package, command=f"pip install {package}")
