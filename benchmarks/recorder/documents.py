"""What each reader makes of files: hash, words and pages of the text, and the chunks that it is cut into."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

from benchmarks.recorder.facts import Fact, Place
from benchmarks.script import ROOT, SAMPLES
from chatbot_mvp.documents.chunking import chunk_document
from chatbot_mvp.documents.parsing import parse_upload
from chatbot_mvp.errors import ChatbotError
from chatbot_mvp.types import Document
from tests.documents.made import docx_with, locked_pdf, pdf

_PROSE = "Cada persona tiene veintitrés días laborables de vacaciones al año, que se piden"
_PAGES = [
    [
        ("Manual", 22.0),
        ("Vacaciones", 16.0),
        (_PROSE, 11.0),
        ("La infor-", 11.0),
        ("mación está en la página de la", 11.0),
    ],
    [("cooperativa agraria, que se actualiza cada lunes.", 11.0), ("Dietas", 16.0), (f"(1) {_PROSE}", 11.0)],
    [],
    [("Fin", 16.0), ("Última página, con “comillas” y 48 €.", 11.0)],
]
_HTML = f"""<!doctype html><html lang="es"><head><meta charset="utf-8"><title>Normas</title><style>p {{}}</style>
<script>document.write("no")</script></head><body><nav><a href="/">Inicio</a></nav><h1>Normas &amp; usos</h1>
<p>{_PROSE}<br>por <b>escrito</b>.</p><h2>Dietas</h2><ul><li>Completa: 48&nbsp;€<li>Media: 21 €<ol><li>sin noche</ol>
</ul><table><tr><th>Zona<th>Euros<tr><td>Norte<td>12,50</table><pre>a  b
  c</pre><p hidden>oculto</p><img alt="plano" src="x.png"><blockquote>Cita</blockquote></body></html>"""
_DOCX = (
    ("Heading 1", "Manual"),
    ("Normal", _PROSE),
    ("Heading 2", "Dietas"),
    ("List Bullet", "Completa: 48 €"),
    ("List Number", "Se pide"),
    ("table", "Zona|Euros", "Norte|12,50", "Sur|9"),
    ("Normal", "Última línea."),
)
_LONG = "\n\n".join(
    f"# Parte {row}\n\n" + f"La frase {row} de muchas, con {row} palabras. " * (5 * row) for row in range(9)
)
_MADE: dict[str, bytes] = {
    "bom.txt": "\ufeffAño nuevo:\r\n¿vacación o educación?\r".encode(),
    "latin.txt": "Año nuevo: ¿vacación o educación?\n".encode("latin-1"),
    "windows.txt": "“Año” – 5 €".encode("cp1252"),
    "accents.txt": "An\u0303o y camio\u0301n".encode(),
    "long.md": _LONG.encode(),
    "headings.md": b"Manual\n======\n\nUno.\n\nDietas\n------\n\n1. dos\n\n```\n# no\n```\n\n## 3.1 Viajes ##\n\nTren.",
    "manual.pdf": pdf(_PAGES, [("Vacaciones", 0), ("Fin", 3)]),
    "empty.pdf": pdf([[], []]),
    "locked.pdf": locked_pdf(pdf(_PAGES), "clave"),
    "open.pdf": locked_pdf(pdf(_PAGES), ""),
    "broken.pdf": b"%PDF-1.4 nada",
    "manual.docx": docx_with(*_DOCX),
    "broken.docx": b"PK\x03\x04 nada",
    "normas.html": _HTML.encode(),
    "latin.html": _HTML.replace('charset="utf-8"', 'charset="iso-8859-1"').replace("48&nbsp;€", "48").encode("cp1252"),
    "page.txt": _HTML.encode(),
    "text.html": b"Solo texto, sin marcas.",
    "empty.md": b" \r\n\t\n",
    "picture.md": bytes.fromhex("89504e470d0a1a0a0000000d49484452") + bytes(range(256)),
    "other.odt": b"texto",
}
_IN_SAMPLE = ("headings.md", "windows.txt", "manual.docx", "normas.html", "manual.pdf")


def facts(place: Place) -> Iterator[Fact]:
    """Yield a fact of each file, of one that is cut, and of the texts that come with the project."""
    files = dict(_MADE)
    for path in (SAMPLES / "kb" / "politica_empresa.md", *sorted((ROOT / "benchmarks").glob("e*/*.md"))):
        files[path.relative_to(ROOT).as_posix()] = path.read_bytes()
    for name, content in files.items():
        if name in _IN_SAMPLE or not place.sample:
            yield Fact(f"documents/{name}", _read(name, content, 200_000))
    yield Fact("documents/cut/long.md", _read("long.md", _MADE["long.md"], 2_500))


def _read(name: str, content: bytes, most: int) -> dict[str, object]:
    try:
        parsed = parse_upload(name.rpartition("/")[2], content, most, 10)
    except ChatbotError as error:
        return {"code": error.code, "message": str(error)}
    chunks = {
        chars: [
            [chunk.start, chunk.end, chunk.section] for chunk in chunk_document(Document("d", "", parsed.text), chars)
        ]
        for chars in (400, 1_000)
    }
    return {
        "sha256": hashlib.sha256(parsed.text.encode()).hexdigest()[:16],
        "begins": parsed.text[:120] if "/" not in name else "",
        "words": len(parsed.text.split()),
        "chars": parsed.original_chars,
        "cut": parsed.kb_truncated,
        "encoding": parsed.encoding,
        "pages": list(parsed.page_starts),
        "empty_pages": parsed.empty_pages,
        "chunks": {str(chars): rows if len(rows) < 40 else [len(rows), *rows[::17]] for chars, rows in chunks.items()},
    }
