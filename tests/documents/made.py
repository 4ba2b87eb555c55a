"""Real files of every format, made here."""

from __future__ import annotations

import io
import zlib
from collections.abc import Sequence

Line = tuple[str, float]
"""(text, size in points)."""

_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"


def pdf(
    pages: Sequence[Sequence[Line]],
    outline: Sequence[tuple[str, int]] = (),
    content: Sequence[bytes] | None = None,
) -> bytes:
    """A PDF of A4 pages.

    Args:
        pages: the lines of each, from the top, 1.2 times their size apart, a paragraph's gap before a larger one.
        outline: (title, page from 0), all of one level.
        content: the pages' streams, packed already, in place of ``pages``.
    """
    streams = content if content is not None else [zlib.compress(_page(lines)) for lines in pages]
    count = len(streams)
    kids = " ".join(f"{4 + 2 * n} 0 R" for n in range(count))
    first = 4 + 2 * count
    objects = [
        f"<< /Type /Catalog /Pages 2 0 R{f' /Outlines {first} 0 R' if outline else ''} >>".encode(),
        f"<< /Type /Pages /Kids [{kids}] /Count {count} >>".encode(),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
    ]
    for n, stream in enumerate(streams):
        objects.append(
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Resources << /Font << /F1 3 0 R >> >> "
            + f"/Contents {5 + 2 * n} 0 R >>".encode()
        )
        head = f"<< /Length {len(stream)} /Filter /FlateDecode >>\nstream\n".encode()
        objects.append(head + stream + b"\nendstream")
    if outline:
        last = first + len(outline)
        objects.append(f"<< /Type /Outlines /First {first + 1} 0 R /Last {last} 0 R /Count {len(outline)} >>".encode())
        for row, (title, page) in enumerate(outline):
            beside = f" /Prev {first + row} 0 R" if row else ""
            beside += f" /Next {first + row + 2} 0 R" if row + 1 < len(outline) else ""
            objects.append(
                f"<< /Title ({title}) /Parent {first} 0 R /Dest [{4 + 2 * page} 0 R /Fit]{beside} >>".encode("cp1252")
            )
    out = io.BytesIO(b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\n")
    out.seek(0, io.SEEK_END)
    places = []
    for number, body in enumerate(objects, 1):
        places.append(out.tell())
        out.write(f"{number} 0 obj\n".encode() + body + b"\nendobj\n")
    table = out.tell()
    out.write(f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n".encode())
    out.write(b"".join(f"{place:010d} 00000 n \n".encode() for place in places))
    out.write(f"trailer\n<< /Size {len(objects) + 1} /Root 1 0 R >>\nstartxref\n{table}\n%%EOF\n".encode())
    return out.getvalue()


def _page(lines: Sequence[Line]) -> bytes:
    y = 780.0
    last = 0.0
    parts = []
    for text, size in lines:
        y -= 1.2 * size if size == last else 2.5 * size
        last = size
        escaped = text.replace("\\", "\\\\").replace("(", "\\(").replace(")", "\\)")
        parts.append(f"BT /F1 {size} Tf 1 0 0 1 70 {y:.1f} Tm ({escaped}) Tj ET")
    return "\n".join(parts).encode("cp1252")


def pdf_of(pages: Sequence[Sequence[tuple[float, float, float, str]]], before: str = "") -> bytes:
    """A PDF of A4 pages with pieces of text at places: (x, y from below, size, text), after ``before``."""
    streams = []
    for pieces in pages:
        parts = [before]
        for x, y, size, text in pieces:
            escaped = text.replace("\\", "\\\\").replace("(", "\\(").replace(")", "\\)")
            parts.append(f"BT /F1 {size} Tf 1 0 0 1 {x} {y} Tm ({escaped}) Tj ET")
        streams.append(zlib.compress("\n".join(parts).encode("cp1252")))
    return pdf([], content=streams)


def locked_pdf(content: bytes, user_password: str) -> bytes:
    """The same PDF encrypted (AES-256)."""
    from pypdf import PdfReader, PdfWriter

    writer = PdfWriter(clone_from=PdfReader(io.BytesIO(content)))
    writer.encrypt(user_password, "owner", algorithm="AES-256")
    out = io.BytesIO()
    writer.write(out)
    return out.getvalue()


def docx_with(*parts: tuple[str, ...]) -> bytes:
    """A Word document: ("Heading 1", text), ("List Bullet", text), ("Normal", text), or ("table", "a|b", "c|d")."""
    import docx

    document = docx.Document()
    for style, *rest in parts:
        if style != "table":
            document.add_paragraph(rest[0], style=style)
            continue
        rows = [row.split("|") for row in rest]
        table = document.add_table(len(rows), len(rows[0]))
        for r, row in enumerate(rows):
            for c, cell in enumerate(row):
                table.cell(r, c).text = cell
    out = io.BytesIO()
    document.save(out)
    return out.getvalue()


def relationship(kind: str, target: str, name: str = "r1", mode: str = "Internal") -> str:
    """The part of a Word document that relates it to one other part, or to something outside."""
    place = "http://schemas.openxmlformats.org/package/2006/relationships"
    return (
        f'<Relationships xmlns="{place}"><Relationship Id="{name}" Type="{_OFFICE}/{kind}" Target="{target}" '
        f'TargetMode="{mode}"/></Relationships>'
    )


def docx_of(body: str, **parts: str | bytes) -> bytes:
    """A Word document of this XML in its body, with further parts by path ("__" for "/")."""
    import zipfile

    main = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
    types = (
        '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
        '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        '<Default Extension="xml" ContentType="application/xml"/></Types>'
    )
    rels = relationship("officeDocument", "word/document.xml")
    files: dict[str, str | bytes] = {"[Content_Types].xml": types, "_rels/.rels": rels}
    prolog, found, rest = body.partition("<w:p")
    files["word/document.xml"] = (
        f'{prolog}<w:document xmlns:w="{main}" xmlns:r="{_OFFICE}"><w:body>{found}{rest}</w:body></w:document>'
    )
    files |= {name.replace("__", "/"): content for name, content in parts.items()}
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return out.getvalue()
