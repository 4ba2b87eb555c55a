"""A small file of each format, read as an upload is: does every reader work where the program is installed?"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor

from chatbot_mvp.documents.parsing import parse_upload
from chatbot_mvp.errors import ReaderFailed

_TEXT = "Every format is read."
_DRAWN = f"BT /F 12 Tf 72 720 Td ({_TEXT}) Tj ET"
_PDF = f"""%PDF-1.4
1 0 obj << /Type /Catalog /Pages 2 0 R >> endobj
2 0 obj << /Type /Pages /Kids [3 0 R] /Count 1 >> endobj
3 0 obj << /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Resources 4 0 R /Contents 5 0 R >> endobj
4 0 obj << /Font << /F << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >> >> endobj
5 0 obj << /Length {len(_DRAWN)} >> stream
{_DRAWN}
endstream endobj
trailer << /Root 1 0 R >>
"""
"""Without the table of the places of its objects, which PDFium then finds by itself."""
_NOTES = {"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [{"cell_type": "markdown", "source": _TEXT}]}
_PLAIN = {
    ".txt": _TEXT,
    ".md": f"<!-- what has a comment has a reader -->\n{_TEXT}",
    ".html": f"<html><p>{_TEXT}</p></html>",
    ".pdf": _PDF,
    ".csv": f"{_TEXT}\n",
    ".eml": f"Subject: trial\n\n{_TEXT}\n",
    ".rtf": rf"{{\rtf1 {_TEXT}}}",
    ".vtt": f"WEBVTT\n\n00:00.000 --> 00:01.000\n{_TEXT}\n",
    ".ipynb": json.dumps(_NOTES),
    ".xml": f"<trial>{_TEXT}</trial>",
}

_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_MAIN = "http://schemas.openxmlformats.org/{}/2006/main"
_ODF = "urn:oasis:names:tc:opendocument:xmlns"
_SHOWN = "application/vnd.openxmlformats-officedocument.presentationml"


def _part(kind: str, target: str) -> str:
    """Return the file that relates a part of an Office document to another one, "r"."""
    link = f'<Relationship Id="r" Type="{_OFFICE}/{kind}" Target="{target}"/>'
    return f'<Relationships xmlns="{_PACKAGE}/relationships">{link}</Relationships>'


_PACKED = {
    ".docx": {
        "word/document.xml": f'<w:document xmlns:w="{_MAIN.format("wordprocessingml")}"><w:body><w:p><w:r>'
        f"<w:t>{_TEXT}</w:t></w:r></w:p></w:body></w:document>"
    },
    ".xlsx": {
        "_rels/.rels": _part("officeDocument", "xl/workbook.xml"),
        "xl/workbook.xml": f'<workbook xmlns="{_MAIN.format("spreadsheetml")}" xmlns:r="{_OFFICE}"><sheets>'
        '<sheet name="a" sheetId="1" r:id="r"/></sheets></workbook>',
        "xl/_rels/workbook.xml.rels": _part("worksheet", "a.xml"),
        "xl/a.xml": f'<worksheet xmlns="{_MAIN.format("spreadsheetml")}"><sheetData><row r="1"><c r="A1" t="inlineStr">'
        f"<is><t>{_TEXT}</t></is></c></row></sheetData></worksheet>",
    },
    ".pptx": {
        "[Content_Types].xml": f'<Types xmlns="{_PACKAGE}/content-types"><Default Extension="rels" ContentType='
        '"application/vnd.openxmlformats-package.relationships+xml"/><Override PartName="/ppt/a.xml" ContentType='
        f'"{_SHOWN}.presentation.main+xml"/><Override PartName="/ppt/b.xml" ContentType="{_SHOWN}.slide+xml"/></Types>',
        "_rels/.rels": _part("officeDocument", "ppt/a.xml"),
        "ppt/a.xml": f'<p:presentation xmlns:p="{_MAIN.format("presentationml")}" xmlns:r="{_OFFICE}"><p:sldIdLst>'
        '<p:sldId id="256" r:id="r"/></p:sldIdLst></p:presentation>',
        "ppt/_rels/a.xml.rels": _part("slide", "b.xml"),
        "ppt/b.xml": f'<p:sld xmlns:p="{_MAIN.format("presentationml")}" xmlns:a="{_MAIN.format("drawingml")}"><p:cSld>'
        '<p:spTree><p:nvGrpSpPr/><p:grpSpPr/><p:sp><p:nvSpPr><p:cNvPr id="2" name="b"/><p:cNvSpPr/><p:nvPr/>'
        f"</p:nvSpPr><p:spPr/><p:txBody><a:bodyPr/><a:p><a:r><a:t>{_TEXT}</a:t></a:r></a:p></p:txBody></p:sp>"
        "</p:spTree></p:cSld></p:sld>",
    },
    ".odt": {
        "mimetype": "application/vnd.oasis.opendocument.text",
        "content.xml": f'<o:document-content xmlns:o="{_ODF}:office:1.0" xmlns:t="{_ODF}:text:1.0"><o:body><o:text>'
        f"<t:p>{_TEXT}</t:p></o:text></o:body></o:document-content>",
    },
    ".epub": {
        "mimetype": "application/epub+zip",
        "META-INF/container.xml": '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
        '<rootfile full-path="a.opf"/></rootfiles></container>',
        "a.opf": '<package xmlns="http://www.idpf.org/2007/opf"><manifest>'
        '<item id="a" href="a.xhtml" media-type="application/xhtml+xml"/></manifest>'
        '<spine><itemref idref="a"/></spine></package>',
        "a.xhtml": f'<html xmlns="http://www.w3.org/1999/xhtml"><body><p>{_TEXT}</p></body></html>',
    },
}
"""Suffix -> name -> what the smallest archive that its reader takes has in it."""


def _packed(parts: Mapping[str, str]) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return made.getvalue()


def small_files() -> Mapping[str, bytes]:
    """Return suffix -> a file of that format, one for each reader of the program's own and for what needs none."""
    plain = {suffix: text.encode() for suffix, text in _PLAIN.items()}
    return plain | {suffix: _packed(parts) for suffix, parts in _PACKED.items()}


def read_each_format() -> str:
    """Read a small file of each format, and return the formats.

    Raises:
        ChatbotError: one of them was not read.
    """

    def read(file: tuple[str, bytes]) -> str:
        suffix, content = file
        text = parse_upload(f"trial{suffix}", content, 1_000, 1).text
        if _TEXT not in text:
            raise ReaderFailed(name=f"trial{suffix}", kind=suffix, reason=f"it read {text!r} for {_TEXT!r}")
        return suffix

    with ThreadPoolExecutor() as pool:
        return " ".join(pool.map(read, small_files().items()))
