"""Ask 120 questions about the cells of thirty tables, without a model, as the Chat asks them.

python -m benchmarks tables_read                     all, by kind and by format
python -m benchmarks tables_read --half odd          the first, third, … table; ``even`` has the others
python -m benchmarks tables_read --apart             a base for each table, not one of all thirty
python -m benchmarks tables_read --shown             each answer, too

``tables/tables.txt`` was written before anything answered from cells; its head explains it. Its documents are made by
python-docx, XlsxWriter and others, and asked in strict mode with the default strategy and the local embedding model.

*right* is a tick whose text has all that the answer has to say, and of the rows of the table quotes just those that say
it; a number that is computed stands outside of them. *nearest* has no tick, but the first passage has these rows.
*wrong* is any other tick, and each one on a question of kind ``none``.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.everyday import has
from benchmarks.script import ROOT, add_keep, data_folder, head, parser, row
from chatbot_mvp.app import App, build_app
from chatbot_mvp.chat.answer import Answer
from chatbot_mvp.documents.parsing import parse_upload
from chatbot_mvp.knowledge_base.versions import NewDocument
from chatbot_mvp.settings.model import load_settings

FILE = ROOT / "benchmarks" / "tables" / "tables.txt"
OUTCOMES = ("right", "nearest", "declined", "wrong")


@dataclass(frozen=True)
class Question:
    """``kind`` is cell, range, rows or none; ``parts`` is what the answer has to say."""

    kind: str
    text: str
    parts: tuple[str, ...]


@dataclass
class Table:
    """A document: its format, its title, the line above, and cells as they are written, with the marks of spans."""

    format: str
    title: str
    above: str
    rows: list[list[str]] = field(default_factory=list)
    heads: int = 0
    questions: list[Question] = field(default_factory=list)

    def spread(self) -> list[list[str]]:
        """Return all rows with "^" and "<" in the place of what they continue."""
        found: list[list[str]] = []
        for cells in self.rows:
            found.append([])
            for column, cell in enumerate(cells):
                found[-1].append(found[-2][column] if cell == "^" else found[-1][-1] if cell == "<" else cell)
        return found

    def wanted(self, question: Question) -> list[list[str]]:
        """Return the rows that an answer quotes; none if it may quote any."""
        body, parts = self.spread()[self.heads :], {*question.parts}
        if is_sum(question):
            return []
        named = {part for part in parts if not re.fullmatch(r"[\d.]+", part)}
        return [cells for cells in body if parts <= {*cells}] or [cells for cells in body if named & {*cells}]


def is_sum(question: Question) -> bool:
    return question.kind == "rows" and len(question.parts) == 1


def tables() -> list[Table]:
    found: list[Table] = []
    for line in FILE.read_text("utf-8").splitlines():
        parts = [part.strip() for part in line.split("|")]
        if line.startswith("== "):
            found.append(Table(parts[0].removeprefix("== "), parts[1], parts[2]))
        elif line.startswith("? "):
            said = tuple(part.strip() for part in parts[2].split(";;") if part.strip())
            found[-1].questions.append(Question(parts[0].removeprefix("? "), parts[1], said))
        elif line == "--":
            found[-1].heads = len(found[-1].rows)
        elif line and found:
            found[-1].rows.append(parts)
    return found


def spans(table: Table) -> Iterator[tuple[int, int, int, int, str]]:
    """Yield (row, column, rows, columns, text) of each cell."""
    for r, cells in enumerate(table.rows):
        for c, text in enumerate(cells):
            if text not in ("^", "<"):
                across = next((n for n, cell in enumerate(cells[c + 1 :], 1) if cell != "<"), len(cells) - c)
                below = [line[c] for line in table.rows[r + 1 :]]
                yield r, c, next((n for n, cell in enumerate(below, 1) if cell != "^"), len(below) + 1), across, text


def docx(table: Table) -> bytes:
    import docx

    document = docx.Document()
    document.add_heading(table.title, 1)
    document.add_paragraph(table.above)
    made = document.add_table(len(table.rows), len(table.rows[0]), style="Table Grid")
    for r, c, down, across, text in spans(table):
        cell = made.cell(r, c)
        if down > 1 or across > 1:
            cell = cell.merge(made.cell(r + down - 1, c + across - 1))
        cell.paragraphs[0].add_run(text).bold = r < table.heads
    out = io.BytesIO()
    document.save(out)
    return out.getvalue()


def html(table: Table) -> bytes:
    lines = [""] * len(table.rows)
    for r, _, down, across, text in spans(table):
        name = "th" if r < table.heads else "td"
        wide = (f' rowspan="{down}"' if down > 1 else "") + (f' colspan="{across}"' if across > 1 else "")
        lines[r] += f"<{name}{wide}>{text}</{name}>"
    body = "\n".join(f"<tr>{line}</tr>" for line in lines)
    page = f"<h1>{table.title}</h1><p>{table.above}</p><table>{body}</table>"
    return f'<!doctype html><html><head><meta charset="utf-8"></head><body>{page}</body></html>'.encode()


def xlsx(table: Table) -> bytes:
    import xlsxwriter

    out = io.BytesIO()
    with xlsxwriter.Workbook(out) as book:
        sheet, bold = book.add_worksheet(table.title[:31]), book.add_format({"bold": True})
        sheet.write(0, 0, table.above)
        for r, c, _, _, text in spans(table):
            sheet.write(2 + r, c, int(text) if text.isdecimal() else text, bold if r < table.heads else None)
    return out.getvalue()


def comma(table: Table) -> bytes:
    out = io.StringIO()
    csv.writer(out, delimiter=";").writerows(table.rows)
    return out.getvalue().encode("utf-8-sig")


def md(table: Table) -> bytes:
    lines = [row(cells) for cells in table.rows]
    lines.insert(table.heads, f"|{'---|' * len(table.rows[0])}")
    return f"# {table.title}\n\n{table.above}\n\n{chr(10).join(lines)}\n".encode()


def pdf(table: Table) -> bytes:
    from tests.documents.made import pdf_of

    pieces = [(70.0, 760.0, 18.0, table.title), (70.0, 725.0, 10.0, table.above)]
    wide = 450 / len(table.rows[0])
    pieces += [(70 + wide * c, 690.0 - 18 * r, 10.0, text) for r, c, _, _, text in spans(table)]
    return pdf_of([pieces])


WRITERS: dict[str, Callable[[Table], bytes]] = {
    "docx": docx,
    "html": html,
    "xlsx": xlsx,
    "csv": comma,
    "md": md,
    "pdf": pdf,
}


def outcome(table: Table, question: Question, answer: Answer) -> str:
    wanted = table.wanted(question)
    if answer.abstained:
        first = answer.nearest.passages[0].chunk.text if answer.nearest and answer.nearest.passages else ""
        rows = wanted or table.spread()[table.heads :]
        found = question.kind != "none" and all(any(_quotes(line, one) for line in first.split("\n")) for one in rows)
        return "nearest" if found else "declined"
    quoted = [answer.text[one.start : one.end] for one in answer.statements]
    said = answer.text
    for text in quoted if is_sum(question) else ():
        said = said.replace(text, "")
    others = [cells for cells in table.spread()[table.heads :] if wanted and cells not in wanted]
    lines = "\n".join(quoted).split("\n")
    right = all(has(said, part) for part in question.parts) and not any(
        _quotes(line, one) for line in lines for one in others
    )
    return "right" if question.parts and right else "wrong"


def _quotes(line: str, cells: Sequence[str]) -> bool:
    return all(has(line, cell) for cell in cells)


def asked(app: App, found: Sequence[Table], apart: bool) -> Iterator[tuple[Table, Question, Answer]]:
    limits = app.kbs.limits
    documents = []
    for table in found:
        name, content = f"{table.title}.{table.format}", WRITERS[table.format](table)
        documents.append(NewDocument(name, parse_upload(name, content, *limits), content))
    for group in [[one] for one in range(len(found))] if apart else [range(len(found))]:
        kb_id = app.kbs.store.keep([documents[one] for one in group], limits[0]).kb_id
        app.kbs.pipeline(kb_id)  # with all its vectors
        for table in (found[one] for one in group):
            for question in table.questions:
                yield table, question, app.answering.ask(kb_id, question.text)


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--half", choices=("odd", "even"), default="")
    options.add_argument("--apart", action="store_true")
    options.add_argument("--shown", action="store_true")
    add_keep(options)
    arguments = options.parse_args()
    sums: dict[str, Counter[str]] = {}
    with data_folder(arguments.keep) as folder:
        app = build_app(load_settings(data_dir=Path(folder), llm_provider="demo"))
        found = tables()
        halves = {id(table): ("odd", "even")[number % 2] for number, table in enumerate(found)}
        for table, question, answer in asked(app, found, arguments.apart):
            half = halves[id(table)]
            if arguments.half not in ("", half):
                continue
            verdict = outcome(table, question, answer)
            kind = "computed" if is_sum(question) else question.kind
            for name in (f"kind {kind}", f"format {table.format}", f"half {half}", "all"):
                sums.setdefault(name, Counter())[verdict] += 1
                sums[name]["none"] += question.kind == "none"
            if arguments.shown:
                proof = answer.completion.proof if answer.completion else None
                print(row([table.format, kind, verdict, f"{proof or 0:.2f}", answer.why or "", question.text]))
                print("      " + answer.text.replace("\n", "\n      ") if not answer.abstained else "", flush=True)
    print(head(["questions", "asked", "without answer", *OUTCOMES]))
    for name in sorted(sums, key=lambda name: (name == "all", name)):
        count = sums[name]
        print(row([name, sum(count[one] for one in OUTCOMES), count["none"], *(count[one] for one in OUTCOMES)]))
    print(json.dumps({one: sums["all"][one] for one in OUTCOMES}))
