"""Targets that read documents and questions: uploads, formats, chunker, search, answers without a model."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

from chatbot_mvp.chat.dated import date_of, held_first
from chatbot_mvp.chat.verification import verify
from chatbot_mvp.documents.blocks import blocks, paragraphs
from chatbot_mvp.documents.chunking import chunk_document, heading_text, split_sections
from chatbot_mvp.documents.parsing import parse_upload
from chatbot_mvp.documents.reading.pdf_layout import Line, OutlineEntry, compose
from chatbot_mvp.documents.reading.reader import GivenFile
from chatbot_mvp.documents.reading.readers import reader_of
from chatbot_mvp.documents.reading.sandbox import read_with
from chatbot_mvp.embedding.base import Embedder
from chatbot_mvp.llm.base import ChatRequest, Grounding, Message
from chatbot_mvp.llm.demo import DemoModel
from chatbot_mvp.prompting.fence import as_data, from_data
from chatbot_mvp.retrieval.pipeline import Pipeline, growing_pipeline
from chatbot_mvp.settings.model import load_settings
from chatbot_mvp.text import Analyzer, detect_language, sentences
from chatbot_mvp.types import Chunk, Document, last

from .base import Run, Target, expect
from .inputs import decoded, encoded, split

MANUAL = """# Manual

Intro del manual.

## Vacaciones

Cada persona dispone de 23 días laborables. La solicitud va al portal, véase «Dietas».

- Uno: hasta el 31/12/2024.
- Dos: «U.S.» y Sr. López, art. 3.

## 2.1 Dietas

| Concepto | Euros |
|---|---|
| Jornada completa | 48 |
| Media jornada | 24 |

```python
# no es un título
```
"""
QUESTION = "¿De cuántos dias de vacasiones dispone cada persona?"
_HTML = """<!doctype html><html lang="es"><head><title>T</title></head><body><h1>A</h1><p>b <b>c</b></p>
<table><caption>x</caption><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2</td></tr></table>
<ul><li>uno<ol><li>dos</li></ol></li></ul><pre>x</pre><img src=x alt=y><script>z</script></body></html>"""
_BODY = (
    '<w:p><w:pPr><w:pStyle w:val="Heading1"/></w:pPr><w:r><w:t>Uno</w:t></w:r></w:p><w:tbl><w:tr><w:tc><w:p><w:r>'
    '<w:t>a</w:t></w:r></w:p></w:tc></w:tr></w:tbl><w:p><w:hyperlink w:anchor="x">'
    "<w:r><w:t>b</w:t></w:r></w:hyperlink></w:p>"
)
_WORD = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
_RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_MARKDOWN_WORDS = (
    "# ",
    "\n\n",
    "```",
    "~~~",
    "|---|",
    "| ",
    "- ",
    "1. ",
    "**",
    "__",
    "\x00",
    "\u202e",
    "\r\n",
    "Art. ",
)


def _upload(_: Path) -> Run:
    def run(data: bytes) -> None:
        for name in ("a.md", "b.txt"):
            found = parse_upload(name, data, 2_000, 1)
            expect(len(found.text) <= 2_000 and "\r" not in found.text, "the text is cut and has plain line ends")

    return run


def _html(_: Path) -> Run:
    return lambda data: _text_of(".html", data)


def _docx(_: Path) -> Run:
    def run(data: bytes) -> None:
        body, relations = split(data, 2)
        _text_of(".docx", word_file(body, relations))

    return run


def _pdf(_: Path) -> Run:
    return lambda data: _text_of(".pdf", data)


def _text_of(kind: str, content: bytes) -> None:
    reader = reader_of(kind)
    assert reader is not None
    file = GivenFile(f"a{kind}", content, 50, lambda pages: None)
    text = read_with(reader.read, kind, file).text
    expect("\x00" not in text, "no NUL is left in the text")


def word_file(body: bytes, relations: bytes = b"") -> bytes:
    """Return a .docx whose ``document.xml`` has this body."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr(
            "[Content_Types].xml",
            '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension="xml" '
            'ContentType="application/xml"/><Override PartName="/word/document.xml" ContentType="application/vnd.'
            'openxmlformats-officedocument.wordprocessingml.document.main+xml"/></Types>',
        )
        package = "http://schemas.openxmlformats.org/package/2006/relationships"
        archive.writestr(
            "_rels/.rels",
            f'<Relationships xmlns="{package}"><Relationship Id="r" Type="{_RELATIONS}/officeDocument" '
            'Target="word/document.xml"/></Relationships>',
        )
        head = f'<w:document {_WORD} xmlns:r="{_RELATIONS}"><w:body>'.encode()
        archive.writestr("word/document.xml", head + body + b"</w:body></w:document>")
        links = f'<Relationships xmlns="{package}">'.encode() + relations + b"</Relationships>"
        archive.writestr("word/_rels/document.xml.rels", links)
    return out.getvalue()


def _pdf_layout(_: Path) -> Run:
    def run(data: bytes) -> None:
        pages: list[list[Line]] = [[]]
        outline = []
        for number, row in enumerate(data.split(b"\n")):
            if row == b"\x0c":
                pages.append([])
                continue
            head, text = (row[:3] + b"\x00" * 3)[:3], decoded(row[3:])
            if head[0] == 0xFF:
                outline.append(OutlineEntry(text, head[1] % 5, 1 + head[2] % 4))
            elif text.strip():  # the reader makes no empty lines
                pages[-1].append(Line(text.strip(), head[0] % 30 / 2.0, head[1] > 127, 800.0 - number * (head[1] % 40)))
        found = compose(pages, outline)
        expect(not found.text or len(found.page_starts) == len(pages), "every page has a start")
        expect(all(0 <= start <= len(found.text) for start in found.page_starts), "starts are offsets of the text")

    return run


def _chunker(_: Path) -> Run:
    def run(data: bytes) -> None:
        text = decoded(data)
        chunks = chunk_document(Document("d", "t", text))
        for chunk in chunks:
            expect(chunk.text == text[chunk.start : chunk.end], "a chunk is a slice of its source")
            expect(bool(chunk.text.strip()), "a chunk has text")
        expect(bool(chunks) or not any(map(str.isalnum, text)), "a text with letters has chunks")
        spans = {"sentences": sentences(text), "blocks": blocks(text), "paragraphs": paragraphs(text)}
        for name, found in spans.items():
            expect(all(0 <= a <= b <= len(text) for a, b in found), f"{name} are spans of the text")
            expect(found == sorted(found), f"{name} are in order")
        split_sections(text)
        heading_text(text[:2_000])
        detect_language(text)
        for language in ("es", "en"):
            Analyzer(language).content_words(text)
        escaped = as_data(text)
        expect(as_data(escaped) == escaped and "<" not in escaped, "escaped text stays escaped")
        from_data(escaped)

    return run


def _pipeline(text: str, strategy: str, folder: Path, language: str = "es") -> Pipeline:
    settings = load_settings(data_dir=folder, retrieval_strategy=strategy, generation_enabled=False)
    chunks = chunk_document(Document("kb", "manual", text))
    return last(growing_pipeline(chunks, language, settings, _no_vectors))


def _no_vectors() -> Embedder:
    raise AssertionError("a search by words needs no vectors")


def _query(folder: Path) -> Run:
    pipelines = [_pipeline(MANUAL, strategy, folder) for strategy in ("LEXICAL", "BRIDGE")]

    def run(data: bytes) -> None:
        question = decoded(data)
        for pipeline in pipelines:
            [trace] = pipeline.retrieve([question])
            expect(trace.evidence is None or 0.0 <= trace.evidence <= 1.0, "evidence is between 0 and 1")
        passages = tuple(hit.chunk for hit in trace.chunks_final)
        asked = ChatRequest((Message("user", question),), grounding=Grounding(question, passages, "es"))
        reply = DemoModel().complete(asked)
        for quote in reply.quotes or ():
            expect(0 <= quote.start < quote.end <= len(passages[quote.number - 1].text), "a quote is in its passage")

    return run


def _knowledge_base(folder: Path) -> Run:
    def run(data: bytes) -> None:
        text, question = map(decoded, split(data, 2))
        if not text.strip():
            return
        language = "en" if len(data) % 2 else "es"
        [trace] = _pipeline(text, "LEXICAL", folder, language).retrieve([question or text[:100]])
        for hit in trace.chunks_final:
            expect(hit.chunk.text == text[hit.chunk.start : hit.chunk.end], "a found chunk is a slice of its source")

    return run


def _extractive(_: Path) -> Run:
    def run(data: bytes) -> None:
        question, *texts = map(decoded, split(data, 4))
        passages = tuple(
            Chunk(f"c{n}", "d", text.partition("\n")[0], text, 0, len(text)) for n, text in enumerate(texts) if text
        )
        goes_on = frozenset((passage.chunk_id, side) for passage in passages for side in (-1, 1))
        for least_proof in (None, 1.0):
            grounding = Grounding(question, passages, "es", least_proof=least_proof, goes_on=goes_on, date_of=date_of)
            asked = ChatRequest((Message("user", question),), grounding=grounding)
            for quote in DemoModel().complete(asked).quotes or ():
                expect(
                    0 <= quote.start < quote.end <= len(passages[quote.number - 1].text), "a quote is in its passage"
                )
        verify(question, passages, Analyzer("es"), lambda _: 1.0)
        held_first(question, passages, [passage.section for passage in passages], [True] * len(passages))

    return run


_PDF = b"""%PDF-1.4
1 0 obj << /Type /Catalog /Pages 2 0 R /Outlines 6 0 R >> endobj
2 0 obj << /Type /Pages /Kids [4 0 R] /Count 1 >> endobj
3 0 obj << /Type /Font /Subtype /Type1 /BaseFont /Helvetica-Bold /Encoding /WinAnsiEncoding >> endobj
4 0 obj << /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Resources << /Font << /F1 3 0 R >> >> /Contents 5 0 R >>
endobj
5 0 obj << /Length 61 >> stream
BT /F1 12 Tf 72 700 Td (Manual de normas) Tj 0 -14 Td <41> Tj ET
endstream endobj
6 0 obj << /Type /Outlines /First 7 0 R /Last 7 0 R /Count 1 >> endobj
7 0 obj << /Title (Manual) /Parent 6 0 R /Dest [4 0 R /Fit] >> endobj
trailer << /Size 8 /Root 1 0 R >>
startxref
0
%%EOF
"""
_LAYOUT = b"\x18\x00\x10Manual de normas\n\x0c\n\x18\xc0\x10Una frase larga que sigue en la linea\n\xff\x00\x01Manual\n"
TARGETS = (
    Target("upload", _upload, (MANUAL.encode(), MANUAL.encode("cp1252"), _HTML.encode()), _MARKDOWN_WORDS, 2.5),
    Target("html", _html, (_HTML.encode(),), ("<table>", "<td>", "</p>", "<li>", "<pre>", "<!--", "&#0;", "<br>"), 0.3),
    Target("docx", _docx, (_BODY.encode(), b"<w:p>\x1e<Relationship/>"), ("<w:p>", "<w:tc>", "<w:t>", "</w:p>"), 0.3),
    Target(
        "pdf", _pdf, (_PDF,), ("/Type", "/Kids", "obj", "endobj", "stream", "xref", "/Length", "<<", "BT", "Tj"), 0.5
    ),
    Target("pdf-layout", _pdf_layout, (_LAYOUT,), ("\n\x0c\n", "•", "- ", "1 de 3"), 1),
    Target("chunker", _chunker, (MANUAL.encode(),), _MARKDOWN_WORDS, 0.8),
    Target(
        "query",
        _query,
        (QUESTION.encode(), encoded("que dias")),
        ("AND", "OR", '"', "*", "~2", "terms:", "[a TO b]"),
        0.3,
    ),
    Target("knowledge-base", _knowledge_base, (MANUAL.encode() + b"\x1e" + QUESTION.encode(),), _MARKDOWN_WORDS, 0.05),
    Target(
        "extractive",
        _extractive,
        (
            QUESTION.encode() + b"\x1e" + MANUAL.encode(),
            b"antes de mayo\x1eDiciembre\nDNI 01.234.567, 5 kg\x1e3 de abril de 2026\n6 kg",
        ),
        (
            "¿",
            "| ",
            "- ",
            ". ",
            "\n\n",
            "cuánto",
            "ahora",
            "diciembre",
            "2026-13",
            "12:30",
            " 5 € ",
            "|-|-|\n",
            ": ",
            "; ",
        ),
        2,
    ),
)
