"""Read what carries pages of HTML: messages and books."""

from __future__ import annotations

import posixpath
import re
from collections import Counter
from collections.abc import Iterator
from email import message_from_bytes, policy
from typing import Any
from urllib.parse import unquote

from lxml import etree  # type: ignore[import-untyped]  # lxml has no types

from chatbot_mvp.documents.reading.decoding import decode
from chatbot_mvp.documents.reading.extracted import Extracted, clean_line, clean_text, joined
from chatbot_mvp.documents.reading.html import html_to_text
from chatbot_mvp.documents.reading.reader import GivenFile
from chatbot_mvp.documents.reading.structure import check_zip

_SHOWN = ("From", "To", "Cc", "Date")


def read_eml(file: GivenFile) -> Extracted:
    """Read a message: its subject as heading, who wrote it when to whom, its text, messages that are attached likewise,
    and names of what else is.
    """
    lost: Counter[str] = Counter()
    parts = _said(message_from_bytes(file.content, policy=policy.default), file.name, lost)
    return Extracted("\n\n".join(part for part in parts if part), lost=dict(+lost))


def _said(message: Any, name: str, lost: Counter[str]) -> Iterator[str]:
    if subject := clean_line(str(message["Subject"] or "")):
        yield f"# {subject}"
    yield "\n".join(f"{head}: {clean_line(str(message[head]))}" for head in _SHOWN if message[head])
    body = message.get_body(("html", "plain"))
    if body is not None:
        content = body.get_payload(decode=True)
        text, _, damaged = decode(content if isinstance(content, bytes) else b"", body.get_content_charset() or "")
        lost["bytes"] += damaged
        yield html_to_text(name, text, lost) if body.get_content_subtype() == "html" else clean_text(text)
    for attached in message.iter_attachments():
        if attached.get_content_type() == "message/rfc822" and attached.get_payload():
            yield from _said(attached.get_payload(0), name, lost)
            continue
        lost["embedded"] += 1
        yield clean_line(attached.get_filename() or attached.get_content_type())


def read_epub(file: GivenFile) -> Extracted:
    """Read the chapters of a book in their order.

    Raises:
        UploadError (upload_damaged): the file is not a readable book.
    """
    parts = check_zip(file.name, file.content, ".epub")
    parser = etree.XMLParser(resolve_entities=False, no_network=True, recover=True)
    container = etree.fromstring(parts["META-INF/container.xml"], parser)
    place = unquote(next(iter(container.iter("{*}rootfile"))).get("full-path"))
    package = etree.fromstring(parts[place], parser)
    items = {item.get("id"): item for item in package.iter("{*}item")}
    lost: Counter[str] = Counter()
    pages = []
    for name in dict.fromkeys(reference.get("idref") for reference in package.iter("{*}itemref")):
        item = items.get(name)
        if item is None or "nav" in (item.get("properties") or "").split():
            continue
        path = posixpath.normpath(posixpath.join(posixpath.dirname(place), unquote(item.get("href", ""))))
        if path in parts and re.search("html|xml", item.get("media-type", "")):
            pages.append(html_to_text(file.name, parts[path], lost, titled=False))
    return Extracted(joined(pages)[0], lost=dict(+lost))
