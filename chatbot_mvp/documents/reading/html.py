"""Convert HTML to text. Keeps headings, lists and tables, drops navigation and scripts, fetches nothing."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable

from bs4 import BeautifulSoup, Tag
from bs4.dammit import EncodingDetector
from markdownify import MarkdownConverter

from chatbot_mvp.documents.reading.decoding import decode
from chatbot_mvp.documents.reading.extracted import Extracted, clean_text, raised
from chatbot_mvp.documents.reading.formulas import linear
from chatbot_mvp.documents.reading.grid import Cell, rows_of
from chatbot_mvp.documents.reading.reader import GivenFile
from chatbot_mvp.documents.reading.structure import check_html

_UNSEEN = frozenset(
    "script style template noscript iframe object embed applet svg canvas audio video picture img map option "
    "datalist dialog link meta base title".split()
)
_MENUS = frozenset(("nav", "menu", "footer"))
_MENU_ROLES = ("navigation", "contentinfo", "search", "menu", "menubar", "dialog")
_STRUCK = frozenset(("del", "s", "strike"))
_PICTURES = frozenset(("img", "svg", "canvas", "picture", "video", "audio", "object", "embed", "iframe"))
_HIDING = re.compile(
    r"(?:^|[;{\s])(?:display\s*:\s*none|visibility\s*:\s*hidden|font-size\s*:\s*0(?![.\d]*[1-9]))", re.I
)
_STRIKING = re.compile(r"text-decoration[\w-]*\s*:[^;]*line-through", re.I)
_NO_RULE = re.compile(
    r"/\*[^*]*+(?:\*(?!/)[^*]*+)*+(?:\*/|\Z)|"
    r"@media\b(?!\s*(?:all|screen)\s*\{)[^{}]{0,200}+\{(?:[^{}]*+\{[^{}]*+\})*+[^{}]*+\}",
    re.I,
)
"""Comments, and rules for paper or for screens of some widths alone."""
_RULE = re.compile(r"([^{}]{1,200})\{([^{}]{0,2000})\}")
_FOOTNOTE = re.compile(r"\[\w{1,4}\]")
_LABEL = re.compile("\ue000([^\ue001\\n]*)\ue001[ \t]*")
"""The number of a paragraph in a Word document."""
_PLAIN_LABEL = re.compile(r"\d{1,3}[.)]")
_TICK = re.compile(r"^\[[x ]\] (?=\S)", re.M)
_BLANKS = re.compile(r"(?<=\S)[ \t]{2,}(?=\S)")
_LONG_BLANK = re.compile(r"[\t \r\n]{50,}")
_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
_SPANS = ("colspan", "rowspan")
_MATH = ("math", "m:math", "mml:math")


def read(file: GivenFile) -> Extracted:
    """Read the text of an HTML page, but not its menus, and nothing that a browser does not show.

    Raises:
        UploadError (upload_too_many_elements, upload_too_deep): the page is not one that people write.
    """
    lost: Counter[str] = Counter()
    text = html_to_text(file.name, file.content, lost)
    return Extracted(text, lost=dict(+lost))


def html_to_text(name: str, content: bytes | str, lost: Counter[str] | None = None, titled: bool = True) -> str:
    """Convert a page to Markdown text as ``read`` describes.

    Args:
        lost: receives what was left out, as in ``Extracted.lost``.
        titled: whether the page's title is to be the heading of a page without any.
    """
    lost = Counter() if lost is None else lost
    markup = content if isinstance(content, str) else _decoded(content, lost)
    check_html(name, markup)
    # lxml knows which end tags are optional, and for HTML it loads neither DTDs nor external entities.
    soup = BeautifulSoup(markup, "lxml")
    title = clean_text(soup.title.get_text(" ")) if soup.title else ""
    _write_formulas(soup)
    leave_out(soup, lost)
    lower_headings_under_title(soup)
    untitled = not soup.find(_HEADINGS)
    _head_what_opens(soup)
    text = soup_to_text(soup)
    return f"# {title}\n\n{text}" if titled and title and text and untitled else text


def _write_formulas(soup: BeautifulSoup) -> None:
    """Write each formula in one line, once: pages have it for the eyes beside it, as a picture or as hidden letters."""
    from lxml import etree  # type: ignore[import-untyped]  # lxml has no types

    formulas = soup.find_all(_MATH)
    pictures: dict[str, list[Tag]] = {}
    for picture in reversed(soup.find_all("img", alt=True) if formulas else ()):
        pictures.setdefault(str(picture["alt"]), []).append(picture)
    parser = etree.XMLParser(recover=True, resolve_entities=False, no_network=True)
    for formula in formulas:
        if not formula.name:
            continue  # in what was taken out
        text = linear(etree.fromstring(str(formula), parser))
        around = formula.parent
        for twin in (around.find_previous_sibling(True), around.find_next_sibling(True)) if around else ():
            if twin is not None and twin.get("aria-hidden") == "true":
                twin.decompose()
        shown = pictures.get(str(formula.get("alttext")))
        place = shown.pop() if shown else formula
        place.name = "span"  # in its place: to put another one there costs as much as there are beside it
        place.string = f" {text} " if formula.get("display") == "block" else text
        if place is not formula:
            formula.decompose()


def leave_out(soup: BeautifulSoup, lost: Counter[str]) -> None:
    """Take out what is not drawn, hidden, struck out or a menu, and count it; put fields' values in their places."""
    hiding = {
        name.strip()
        for style in soup.find_all("style")
        for names, body in _RULE.findall(_NO_RULE.sub("", style.get_text()))
        if _HIDING.search(body)
        for name in names.split(",")
        if re.fullmatch(r"\s*[.#][\w-]+\s*", name)
    }
    opening = soup.find_all(True, {"aria-controls": True})
    opened = {name for element in opening for name in str(element.get("aria-controls")).split()}
    # One pass over all elements: a CSS selector takes half of the time that a page of many elements needs.
    for element in soup.find_all(True):
        if not element.name:
            continue  # in what was left out; to ask ``decomposed`` would look for a child of that name
        if element.name in ("input", "textarea", "select"):
            element.replace_with(_value(element))
            continue
        lost["pictures"] += element.name in _PICTURES
        if element.name == "img" and (said := " ".join(str(element.get("alt") or "").split())):
            element.replace_with(f" {said} ")
            continue
        if element.name in _UNSEEN:
            element.decompose()
        elif kind := _left_out(element, hiding, opened):
            lost[kind] += len(element.get_text(" ").split())
            element.decompose()
        elif element.name == "sup":
            _raise(element)
        elif element.name == "button" and not _opens(element):
            element.decompose()  # what it does when it is pressed, not text


def _opens(button: Tag) -> bool:
    """Return whether a button is the heading of what it shows or hides."""
    headed = button.find(_HEADINGS) or button.find_parent(_HEADINGS)
    return bool(headed or {"aria-expanded", "aria-controls", "data-toggle", "data-bs-toggle"} & button.attrs.keys())


def _left_out(element: Tag, hiding: set[str], opened: set[str]) -> str:
    """Return as what an element's text is left out, or ""; what a reader of the page can open is not hidden."""
    attributes = element.attrs
    if element.name in _MENUS:
        return "menus" if element.name != "footer" or not element.find_parent(["article", "blockquote"]) else ""
    if element.name in _STRUCK:
        return "struck"
    if not attributes:
        return ""
    style = str(attributes.get("style", ""))
    names = {f"#{attributes.get('id')}", *(f".{name}" for name in attributes.get("class") or ())}
    hidden = "hidden" in attributes or attributes.get("aria-hidden") == "true" or _HIDING.search(style)
    if (hidden or hiding & names) and attributes.get("id") not in opened:
        return "hidden"
    if _STRIKING.search(style):
        return "struck"
    return "menus" if attributes.get("role") in _MENU_ROLES else ""


def _value(field: Tag) -> str:
    """Return what a field of a form shows."""
    kind = str(field.get("type", "text")).lower()
    if field.name == "input" and kind in ("checkbox", "radio"):
        return "[x] " if field.has_attr("checked") else "[ ] "
    if field.name == "select":
        return " ".join(option.get_text(" ") for option in field.find_all("option", selected=True))
    if field.name == "textarea":
        return field.get_text()
    return str(field.get("value", "")) if kind in ("text", "number", "date", "email", "tel", "url", "time") else ""


def _raise(mark: Tag) -> None:
    """Keep a raised number apart from the number or the word before it, of which it is no part."""
    text = mark.get_text().strip()
    before = mark.previous_sibling
    last = str(before if isinstance(before, str) else before.get_text() if before is not None else "")[-40:]
    if _FOOTNOTE.fullmatch(text):
        mark.decompose()  # "[1]" would look like a citation in the app's answers
    elif re.fullmatch(r"[-+−]?\d{1,3}(?:\s*,\s*\d{1,3})*", text):
        mark.replace_with(raised(text, last, note=bool(mark.find("a") or mark.find_parent("a"))))


def _decoded(content: bytes, lost: Counter[str]) -> str:
    # Look for the declaration at the beginning only: the search takes quadratic time.
    declared = EncodingDetector.find_declared_encoding(content[:4_096], is_html=True, search_entire_document=True)
    text, _, lost["bytes"] = decode(content, declared or "")
    return text


def soup_to_text(root: BeautifulSoup | Tag) -> str:
    """Convert an element to Markdown without emphasis, links, images and escapes."""
    for text in root.find_all(string=_LONG_BLANK):
        # The converter's own expressions take quadratic time in the length of a run of blanks.
        text.replace_with(_LONG_BLANK.sub(lambda run: "\n" if "\n" in run.group() else " ", text))
    numbers: dict[int, int] = {}
    for ordered in root.find_all("ol"):
        start = str(ordered.get("start", ""))
        first = int(start) if start.isdecimal() and len(start) < 10 else 1
        numbers |= {id(item): row for row, item in enumerate(ordered.find_all("li", recursive=False), first)}

    class Converter(MarkdownConverter):
        def process_tag(self, node: Tag, parent_tags: set[str] | None = None) -> str:
            """Write a data table as rows; write a layout table or a nested table as the plain text of its cells."""
            inside = parent_tags or set()
            if node.name != "table":
                return str(super().process_tag(node, parent_tags))  # type: ignore[misc]  # markdownify has no types
            if "data" in inside or _is_layout(node):
                cells = super().process_tag(node, parent_tags)  # type: ignore[misc]  # markdownify has no types
                return f"\n\n{cells}\n\n"
            return f"\n\n{table_rows(node, lambda cell: str(self.process_tag(cell, {*inside, 'data'})))}\n\n"

        def convert_td(self, el: Tag, text: str, parent_tags: set[str]) -> str:
            return f"\n\n{text}\n\n"

        convert_table = convert_tr = convert_th = convert_summary = convert_hr = convert_td

        def convert_li(self, el: Tag, text: str, parent_tags: set[str]) -> str:
            """Write an item with its mark or number; the library counts all previous items for each."""
            text = text.strip()
            if not text:
                return "\n"
            mark = f"{numbers[id(el)]}. " if id(el) in numbers else "- "
            if said := _LABEL.match(text):  # its number as the file shows it
                text = text[said.end() :]
                mark = f"{said[1]} " if _PLAIN_LABEL.fullmatch(said[1]) else f"- {said[1]} "
            return mark + text.replace("\n", "\n" + " " * len(mark)) + "\n"

        def convert_pre(self, el: Tag, text: str, parent_tags: set[str]) -> str:
            """Write a code block without blank lines around it; the library takes quadratic time for that."""
            if not text:
                return ""
            body = text.rstrip(" \n")
            first = body.rfind("\n", 0, len(body) - len(body.lstrip(" \n"))) + 1
            return f"\n\n```\n{body[first:]}\n```\n\n"

    converter = Converter(
        heading_style="atx",
        bullets="-",
        strip=["a", "b", "strong", "i", "em", "u", "s", "del", "code", "kbd", "samp", "sub", "sup", "q"],
        escape_asterisks=False,
        escape_underscores=False,
        escape_misc=False,
        newline_style="backslash",
    )
    written = clean_text(_LABEL.sub(r"\1 ", converter.convert_soup(root).replace("\\\n", "\n")))
    parts = written.split("```")
    # The blanks on both sides of what was left out are one.
    parts[::2] = [_TICK.sub(r"- \g<0>", _BLANKS.sub(" ", part)) for part in parts[::2]]
    return "```".join(parts)


def lower_headings_under_title(soup: BeautifulSoup) -> None:
    """Move all headings one level down if the document has a title, since chapters also begin at level 1."""
    if not soup.select("h1.title"):
        return
    for heading in soup.find_all(["h1", "h2", "h3", "h4", "h5"]):
        if "title" not in (heading.get("class") or []):
            heading.name = f"h{int(heading.name[1]) + 1}"


def _head_what_opens(soup: BeautifulSoup) -> None:
    """Make the line of what can be opened a heading below the one above it: "How do I cancel?", with its answer."""
    level = 1
    for element in soup.find_all([*_HEADINGS, "summary"]):
        around = len(element.find_parents("details"))
        if element.name != "summary":
            level = level if around else int(element.name[1])
        elif not element.find(_HEADINGS):
            element.name = f"h{min(level + max(around, 1), 6)}"


def _is_layout(table: Tag) -> bool:
    """Return whether a table only arranges a page."""
    if table.get("role") == "presentation":
        return True
    if table.find(["caption", "th"]) or not table.find(["table", *_HEADINGS]):
        return False
    rows = [row for row in table.find_all("tr") if row.find_parent("table") is table]
    widest = max((len(row.find_all("td", recursive=False)) for row in rows), default=0)
    return widest < 2 or len(rows) < 2


def table_rows(table: Tag, text_of: Callable[[Tag], str]) -> str:
    """Write a table as ``grid.rows_of`` describes, below its caption."""
    rows: list[list[Cell]] = []
    for row in table.find_all("tr"):
        if row.find_parent("table") is not table:
            continue  # of a table inside a cell
        cells = row.find_all(["td", "th"], recursive=False)
        in_head = row.parent is not None and row.parent.name == "thead"
        rows.append([_cell(cell, in_head, text_of) for cell in cells])
    caption = table.find("caption")
    above = f"{clean_text(caption.get_text(' '))}\n\n" if caption else ""
    return above + rows_of(rows)


def _cell(cell: Tag, in_head: bool, text_of: Callable[[Tag], str]) -> Cell:
    across, down = (int(n) if (n := str(cell.get(name, ""))).isdecimal() and len(n) < 5 else 1 for name in _SPANS)
    text = " ".join(clean_text(text_of(cell).replace("\\\n", "\n").replace("```", "")).split())
    return Cell(text, in_head or cell.name == "th", across, down or 1_000, _is_bold(cell))


def _is_bold(cell: Tag) -> bool:
    texts = (part for part in cell.descendants if isinstance(part, str) and part.strip())  # to search costs more
    return all(any(above.name in ("b", "strong", "th") for above in text.parents) for text in texts)
