"""Files that are made to take time or memory end within seconds, with an error that says what was found."""

from __future__ import annotations

import io
import resource
import subprocess
import sys
import zipfile
import zlib
from pathlib import Path

import pytest

from chatbot_mvp.documents.parsing import parse_upload
from chatbot_mvp.documents.reading.sandbox import CPU_SECONDS, MEMORY_MB
from chatbot_mvp.errors import UploadError
from chatbot_mvp.settings.model import PROJECT_ROOT
from tests.documents.made import docx_of, pdf
from tests.processor import reference_seconds

LIBRARIES_MB = 60
"""What a process has in memory of the files of its libraries, which the limit of its own memory does not count."""
READ = """
import resource, sys, time
from pathlib import Path
from chatbot_mvp.documents.parsing import parse_upload
from chatbot_mvp.documents.reading import readers
from chatbot_mvp.errors import ChatbotError
readers.find_spec = lambda name: None  # text recognition has limits of its own
began = time.process_time()
path = Path(sys.argv[1])
try:
    said = f"text {len(parse_upload(path.name, path.read_bytes(), 10**6, 100).text)}"
except ChatbotError as error:
    said = f"{error.code} {error}"
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(round(used.ru_utime + used.ru_stime + time.process_time() - began, 1), used.ru_maxrss // 1_000, said)
"""


def read(folder: Path, name: str, content: bytes) -> tuple[float, int, str]:
    """(processor's seconds, MB at most in the reading process, its text's length or the error's code and text)."""
    (folder / name).write_bytes(content)
    done = subprocess.run(
        [sys.executable, "-c", READ, str(folder / name)],
        cwd=PROJECT_ROOT,
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    seconds, mb, said = done.stdout.split(" ", 2)
    return float(seconds), int(mb), said


def page(body: str) -> bytes:
    return f"<!doctype html><html><body>{body}".encode()


def rows(count: int) -> str:
    return "<table>" + "<tr><td>a<td>b" * count + "</table>"


def paragraphs(count: int) -> str:
    return "".join(f"<w:p><w:r><w:t>{n * 7_919 % 65_537:x}</w:t></w:r></w:p>" for n in range(count))


def footnote(text: str) -> tuple[str, str]:
    """The parts of a Word document with a footnote: notes and relationships."""
    main = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
    office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    package = "http://schemas.openxmlformats.org/package/2006/relationships"
    return (
        f'<w:footnotes xmlns:w="{main}"><w:footnote w:id="2"><w:p><w:r><w:t>{text}</w:t></w:r></w:p></w:footnote>'
        "</w:footnotes>",
        f'<Relationships xmlns="{package}"><Relationship Id="f" Type="{office}/footnotes" Target="footnotes.xml"/>'
        "</Relationships>",
    )


def forms(depth: int, calls: int) -> bytes:
    """A page that draws a form which draws the next one many times, and so on."""
    found = pdf([], content=[zlib.compress(b"/F0 Do " * calls)])
    objects = []
    for n in range(depth):
        inner = f"/F{n + 1} Do ".encode() * calls if n + 1 < depth else b"BT /F1 12 Tf (a) Tj ET"
        resources = f"<< /XObject << /F{n + 1} {101 + n} 0 R >> >>" if n + 1 < depth else "<< >>"
        head = f"{100 + n} 0 obj\n<< /Type /XObject /Subtype /Form /BBox [0 0 9 9] /Resources {resources} "
        objects.append(head.encode() + f"/Length {len(inner)} >>\nstream\n".encode() + inner + b"\nendstream\nendobj\n")
    body = found.replace(b"/Font << /F1 3 0 R >>", b"/Font << /F1 3 0 R >> /XObject << /F0 100 0 R >>")
    end = body.rindex(b"xref\n0")
    return body[:end] + b"".join(objects) + b"trailer\n<< /Root 1 0 R >>\nstartxref\n0\n%%EOF\n"


def book(chapter: str, times: int = 1) -> bytes:
    """An EPUB that names one chapter so often."""
    return packed(
        "application/epub+zip",
        **{
            "META-INF/container.xml": '<container><rootfile full-path="p.opf"/></container>',
            "p.opf": '<package><item id="a" href="a.xhtml" media-type="application/xhtml+xml"/>'
            + '<itemref idref="a"/>' * times
            + "</package>",
            "a.xhtml": chapter,
        },
    )


def opendocument(kind: str, body: str) -> bytes:
    names = ("office", "text", "table")
    spaces = " ".join(f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"' for name in names)
    content = (
        f'<office:document-content {spaces} office:version="1.3"><office:body>{body}</office:body>'
        "</office:document-content>"
    )
    return packed(
        f"application/vnd.oasis.opendocument.{kind}", **{"META-INF/manifest.xml": "<a/>", "content.xml": content}
    )


def packed(kind: str, **parts: str) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("mimetype", kind)
        for name, part in parts.items():
            archive.writestr(name, part, zipfile.ZIP_DEFLATED)
    return out.getvalue()


def repeated(inside: str, again: int) -> str:
    return (
        f'<table:table><table:table-row table:number-rows-repeated="{again}"><table:table-cell '
        f'table:number-columns-repeated="{again}">{inside}</table:table-cell></table:table-row></table:table>'
    )


def fast() -> dict[str, tuple[str, bytes, str]]:
    return {
        "blanks": ("a.html", page("<p><sup>[" + " " * 500_000 + "x</p>"), "text"),
        "rows": ("a.html", page(rows(60_000)), "upload_too_many_rows The tables of 'a.html' have 60000 rows"),
        "depth": ("a.html", page("<b>" * 100_000), "upload_too_deep 'a.html' has 100002 elements inside"),
        "comments": ("a.txt", b"<!---->" * 1_000, "text"),
        "names": ("a.html", page("<table><tr><th>" + "x" * 500_000 + "<th>b" + "<tr><td>a<td>b" * 1_000), "text"),
        "a chapter so often": ("a.epub", book(page("<p>" + "a " * 200_000).decode(), 2_000), "text 399999"),
        "a chapter of blanks": ("a.epub", book(page(" " * 20_000_000).decode()), "upload_too_steep"),
        "rows of a chapter": ("a.epub", book(page(rows(60_000)).decode()), "upload_too_many_rows"),
        "repeated cells": (
            "a.odt",
            opendocument("text", f"<office:text>{repeated('<text:p>a</text:p>', 10**9)}</office:text>"),
            "upload_",
        ),
        "repeated tables": (
            "a.odt",
            opendocument(
                "text",
                f"<office:text>{repeated(repeated(repeated('<text:p>a</text:p>', 900), 900), 900)}</office:text>",
            ),
            "upload_expands",
        ),
        "spans inside spans": (
            "a.odt",
            opendocument(
                "text",
                f"<office:text><text:p>{'<text:span>' * 5_000}a{'</text:span>' * 5_000}</text:p></office:text>",
            ),
            "upload_damaged",
        ),
        "lists inside lists": (
            "a.odt",
            opendocument(
                "text", f"<office:text>{'<text:list>' * 400}<text:p>a</text:p>{'</text:list>' * 400}</office:text>"
            ),
            "upload_too_deep",
        ),
        "a sheet of repeated cells": (
            "a.ods",
            opendocument(
                "spreadsheet",
                f"<office:spreadsheet>{repeated('<text:p>a</text:p>', 16_000)}</office:spreadsheet>".replace(
                    "<table:table>", '<table:table table:name="a">'
                ),
            ),
            "upload_",
        ),
        "word rows": (
            "a.docx",
            docx_of("<w:p/><w:tbl>" + "<w:tr><w:tc><w:p/></w:tc></w:tr>" * 20_001 + "</w:tbl>"),
            "upload_too_many_rows The tables of 'a.docx' have 20001 rows",
        ),
        "word depth": (
            "a.docx",
            docx_of("<w:p/>" + "<w:tbl><w:tr><w:tc>" * 900 + "<w:p/>" + "</w:tc></w:tr></w:tbl>" * 900),
            "upload_too_deep",
        ),
        "word entities": (
            "a.docx",
            docx_of('<!DOCTYPE d [<!ENTITY a "aaaaaaaaaa">]><w:p/>'),
            "upload_damaged 'a.docx' cannot be read as .docx: it is damaged or incomplete (its XML declares entities",
        ),
    }


def slow() -> dict[str, tuple[str, bytes, str]]:
    notes, rels = footnote("x" * 100_000)
    references = "<w:p/>" + '<w:p><w:r><w:footnoteReference w:id="2"/></w:r></w:p>' * 5_000
    return {
        "300,000 rows": ("a.html", page(rows(300_000)), "upload_too_many_rows"),
        "100,000 cells": ("a.html", page("<table>" + ("<tr>" + "<td>a" * 9) * 9_990), "text"),
        "elements": ("a.html", page("<p>a" * 150_001), "upload_too_many_elements"),
        "items": ("a.html", page("<ol>" + "<li>a" * 149_000), "text"),
        "banners": ("a.html", page("<nav>" * 140 + "<i>a</i>" * 90_000), "upload_empty"),
        "one line": ("a.html", page("palabra " * 1_200_000), "text"),
        "one line of text": ("a.md", b"palabra " * 1_200_000, "text"),
        "one word": ("a.html", page("x" * 10_000_000), "text"),
        "pre": ("a.html", page("<pre>" + "<i> </i>" * 90_000 + "x"), "text"),
        "declarations": ("a.html", b"<html>" + b"<meta" * 1_000_000, ""),
        "word elements": ("a.docx", docx_of(paragraphs(40_000)), "text"),
        "too many word elements": ("a.docx", docx_of(paragraphs(40_001)), "upload_too_many_elements"),
        "notes": (
            "a.docx",
            docx_of(references, **{"word__footnotes.xml": notes, "word___rels__document.xml.rels": rels}),
            "upload_expands",
        ),
        "parts": (
            "a.docx",
            docx_of("<w:p/>", **{f"word__{n}.xml": b"<a/>" for n in range(5_001)}),
            "upload_too_many_parts",
        ),
        "a zip in it": ("a.docx", docx_of("<w:p/>", word__a__docx=docx_of("<w:p/>") * 1_000), "upload_empty"),
        "forms": ("a.pdf", forms(9, 10), "upload_"),
        "operators": ("a.pdf", pdf([], content=[zlib.compress(b"BT (a) Tj ET " * 2_000_000, 9)]), "upload_"),
        "states": ("a.pdf", pdf([], content=[zlib.compress(b"q " * 5_000_000, 9)]), "upload_"),
        "arrays": ("a.pdf", pdf([], content=[zlib.compress(b"[" * 5_000_000, 9)]), "upload_"),
    }


def processor_s_of_readers() -> float:
    """Processor seconds of this process and of the processes that it started and that ended."""
    both = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(used.ru_utime + used.ru_stime for used in both)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("case", fast())
def test_a_file_made_to_take_long_ends_at_once(case: str) -> None:
    name, content, expected = fast()[case]
    began = processor_s_of_readers()
    try:
        said = f"text {len(parse_upload(name, content, 10**6, 100).text)}"
    except UploadError as error:
        said = f"{error.code} {error}"
    assert said.startswith(expected)
    assert reference_seconds(processor_s_of_readers() - began) < 15  # a second; minutes before


@pytest.mark.slow
@pytest.mark.parametrize("case", slow())
def test_every_kind_of_bomb_ends_within_the_time_and_memory_of_a_reader(tmp_path: Path, case: str) -> None:
    name, content, expected = slow()[case]
    seconds, mb, said = read(tmp_path, name, content)
    # A processor that others use counts more seconds for the same work; the largest that is read needs most of them.
    if expected == "text" and said.startswith("upload_too_slow"):
        return
    assert said.startswith(expected)
    if reference_seconds(seconds) > CPU_SECONDS:
        seconds = read(tmp_path, name, content)[0]
    assert reference_seconds(seconds) <= CPU_SECONDS, said
    assert mb <= MEMORY_MB + LIBRARIES_MB
