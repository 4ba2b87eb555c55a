"""Time the reading of a page by format, in the confined process: a book of 1 page and one of 41, the median of three.

python -m benchmarks pages_read [FORMAT …]

A page has a heading, 300 words and a table of eight rows, by the writers that people use. *start* is the processor's
time of the book of one page, most of which is the start of a process; *page* what each further page adds; *MB* the most
memory of the process that reads the larger one.
"""

from __future__ import annotations

import email.message
import io
import json
import random
import resource
import statistics
import subprocess
from collections.abc import Callable

from benchmarks.script import command, head, parser, row

Page = tuple[str, list[str], list[list[str]]]
"""Heading, paragraphs, rows."""
_LARGE = 41


def pages(count: int) -> list[Page]:
    chance = random.Random(5)
    words = [f"{a}{b}" for a in ("pla", "cos", "ma", "ler", "tiro") for b in ("no", "ta", "dor", "ción", "mente", "s")]

    def said(length: int) -> str:
        return " ".join(chance.choices(words, k=length)).capitalize()

    return [
        (
            f"{said(3)} {number}",
            [said(60) + "." for _ in range(5)],
            [["Nombre", "Lugar", "Euros"], *([said(2), said(1), str(chance.randint(1, 999))] for _ in range(8))],
        )
        for number in range(count)
    ]


def _html(book: list[Page]) -> bytes:
    def table(rows: list[list[str]]) -> str:
        return "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)

    body = "".join(f"<h2>{h}</h2><p>{'</p><p>'.join(ps)}</p><table>{table(rows)}</table>" for h, ps, rows in book)
    return f"<!doctype html><meta charset=utf-8><body>{body}".encode()


def _md(book: list[Page]) -> bytes:
    def table(rows: list[list[str]]) -> str:
        return "\n".join([row(rows[0]), "|---|---|---|", *map(row, rows[1:])])

    # What has a comment has a reader.
    return "\n\n".join(["<!-- x -->", *("\n\n".join([f"# {h}", *ps, table(rows)]) for h, ps, rows in book)]).encode()


def _pdf(book: list[Page]) -> bytes:
    from tests.documents.made import pdf_of

    made = []
    for heading, paragraphs, rows in book:
        words = " ".join(paragraphs).split()
        lines = [" ".join(words[at : at + 12]) for at in range(0, len(words), 12)]
        pieces = [(70.0, 780.0, 16.0, heading), *((70.0, 750.0 - 13 * n, 10.0, line) for n, line in enumerate(lines))]
        cells = [(x, y, cell) for y, line in enumerate(rows) for x, cell in enumerate(line)]
        made.append(pieces + [(70.0 + 150 * x, 380.0 - 16 * y, 10.0, cell) for x, y, cell in cells])
    return pdf_of(made)


def _docx(book: list[Page]) -> bytes:
    from tests.documents.made import docx_with

    parts: list[tuple[str, ...]] = []
    for heading, paragraphs, rows in book:
        parts += [("Heading 1", heading), *(("Normal", one) for one in paragraphs), ("table", *map("|".join, rows))]
    return docx_with(*parts)


def _xlsx(book: list[Page]) -> bytes:
    import xlsxwriter

    out = io.BytesIO()
    with xlsxwriter.Workbook(out) as made:
        for number, (_, paragraphs, rows) in enumerate(book):
            sheet = made.add_worksheet(f"Hoja {number}")
            for r, line in enumerate([*([one] for one in paragraphs), [], *rows]):
                sheet.write_row(r, 0, line)
    return out.getvalue()


def _pptx(book: list[Page]) -> bytes:
    from pptx import Presentation
    from pptx.util import Inches

    made = Presentation()
    for heading, paragraphs, rows in book:
        slide = made.slides.add_slide(made.slide_layouts[1])
        slide.shapes.title.text, slide.placeholders[1].text = heading, "\n".join(paragraphs)
        table = slide.shapes.add_table(len(rows), 3, *map(Inches, (1, 4, 6, 3))).table
        for r, line in enumerate(rows):
            for c, cell in enumerate(line):
                table.cell(r, c).text = cell
    out = io.BytesIO()
    made.save(out)
    return out.getvalue()


def _csv(book: list[Page]) -> bytes:
    # As many words as a page of the others.
    return "\n".join(";".join(line) for _, _, rows in book for line in rows * 9).encode()


def _eml(book: list[Page]) -> bytes:
    message = email.message.EmailMessage()
    message["Subject"] = "x"
    message.set_content(_html(book).decode(), "html")
    return bytes(message)


def _rtf(book: list[Page]) -> bytes:
    body = "\\par ".join(part for heading, paragraphs, _ in book for part in (f"\\b {heading}\\b0", *paragraphs))
    return ("{\\rtf1\\ansi " + "".join(c if c < "\x7f" else f"\\'{ord(c):02x}" for c in body) + "}").encode()


def _srt(book: list[Page]) -> bytes:
    said = [one for _, paragraphs, _ in book for one in paragraphs]
    return "".join(
        f"{n}\n{n // 3600:02}:{n // 60 % 60:02}:{n % 60:02},000 --> {n // 3600:02}:59:59,000\n{one}\n\n"
        for n, one in enumerate(said, 1)
    ).encode()


def _ipynb(book: list[Page]) -> bytes:
    cells = [{"cell_type": "markdown", "source": _md([page]).decode()} for page in book]
    return json.dumps({"metadata": {}, "cells": cells}).encode()


WRITERS: dict[str, Callable[[list[Page]], bytes]] = {
    "pdf": _pdf,
    "docx": _docx,
    "html": _html,
    "md": _md,
    "xlsx": _xlsx,
    "csv": _csv,
    "pptx": _pptx,
    "eml": _eml,
    "rtf": _rtf,
    "srt": _srt,
    "ipynb": _ipynb,
}


def one_reading(suffix: str, count: int) -> None:
    """Read a book in a process whose only child is the confined one, and print its seconds and megabytes."""
    from chatbot_mvp.documents.parsing import parse_upload

    found = parse_upload(f"a.{suffix}", WRITERS[suffix](pages(count)), 10**7, 100)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(json.dumps([used.ru_utime + used.ru_stime, used.ru_maxrss / 1_000, len(found.text)]))


def main() -> None:
    options = parser(__doc__)
    options.add_argument("formats", nargs="*", default=list(WRITERS), metavar="FORMAT")
    options.add_argument("--one", type=int, default=0, help="read one book of so many pages here")
    given = options.parse_args()
    if given.one:
        one_reading(given.formats[0], given.one)
        return
    print(head(["format", "start, s", "page, ms", "MB"]))
    for suffix in given.formats:
        found = {}
        for count in (1, _LARGE):
            call = command("pages_read", suffix, "--one", count)
            made = [json.loads(subprocess.run(call, capture_output=True, check=True).stdout) for _ in range(3)]
            found[count] = [statistics.median(column) for column in zip(*made, strict=True)]
        each = (found[_LARGE][0] - found[1][0]) / (_LARGE - 1)
        print(row([suffix, f"{found[1][0]:.2f}", f"{1_000 * each:.1f}", f"{found[_LARGE][1]:.0f}"]), flush=True)


if __name__ == "__main__":
    main()
