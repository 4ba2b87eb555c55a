"""Inputs on which readers are known to fail, each made anew with other words, sizes and orders, and what each says.

``python -m tests.documents.test_recipes 80`` tries 80 of every kind and tells those that are wrong.
"""

from __future__ import annotations

import random
import sys
import zlib
from collections.abc import Callable, Iterator, Sequence

import pytest

from tests.documents.made import docx_of, pdf, pdf_of, relationship
from tests.documents.test_small_inputs import AREA, NUMBERING, STYLES, TICK, WIDE, numbered, p, read, table, tc

Case = tuple[str, bytes, Sequence[str], Sequence[str]]
"""Suffix, content, what its text has, what it has not."""

WORDS = (
    "almacén archivo beca billete caja cena comedor compra conserje correo contrato cuota curso despacho dieta entrega "
    "equipo factura fecha gasto hotel huerto jornada ley llave lista mesa nómina oficina pedido plaza pago permiso "
    "plazo portal puesto receta recibo reserva sala sede sello socio sueldo tarjeta tarifa tienda turno viaje visita"
).split()


class Draw:
    """Words and numbers by chance, each word once."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.left = self.chance.sample(WORDS, len(WORDS))

    def word(self) -> str:
        return self.left.pop()

    def title(self) -> str:
        return self.word().capitalize()

    def titles(self, count: int) -> list[str]:
        return [self.title() for _ in range(count)]

    def number(self) -> str:
        return str(self.chance.randint(100, 9_999))

    def between(self, low: int, high: int) -> int:
        return self.chance.randint(low, high)

    def sentence(self, words: int = 9) -> str:
        return " ".join(self.chance.choices(WORDS, k=words)).capitalize() + "."


def of_table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    return ["- " + "; ".join(f"{h}: {c}" for h, c in zip(heads, row, strict=True) if c) for row in rows]


def cells_of(heads: Sequence[str], rows: Sequence[Sequence[str]], draw: Draw, top: float = 700) -> list[tuple]:  # type: ignore[type-arg]
    """Pieces of a page: the cells of a table without rules."""
    wide, high = draw.between(95, 130), draw.between(14, 22)
    return [
        (70 + wide * column, top - high * number, 11.0, cell)
        for number, row in enumerate([heads, *rows])
        for column, cell in enumerate(row)
        if cell
    ]


def rows_by_chance(draw: Draw, heads: Sequence[str], count: int) -> list[list[str]]:
    return [[draw.title(), *(draw.number() for _ in heads[1:])] for _ in range(count)]


def gaps_that_are_distances(draw: Draw) -> Case:
    words = [draw.word() for _ in range(draw.between(4, 9))]
    stream = f"BT /F1 11 Tf 70 700 Td [{f' -{draw.between(230, 330)} '.join(f'({word})' for word in words)}] TJ ET"
    return ".pdf", packed(stream), [" ".join(words)], []


def packed(*streams: str) -> bytes:
    return pdf([], content=[zlib.compress(stream.encode("cp1252")) for stream in streams])


def cells_close_together(draw: Draw) -> Case:
    pieces, said = [], []
    for row in range(draw.between(4, 8)):
        name, value = draw.title(), draw.word().upper()
        said.append((name, value))
        pieces.append((200 - 2 - 6.5 * len(name), 700 - 16 * row, 11.0, name))
        pieces.append((206, 700 - 16 * row, 11.0, value))
    return ".pdf", pdf_of([pieces]), [value for _, value in said], [name + value for name, value in said]


def a_table_with_rules(draw: Draw) -> Case:
    heads = draw.titles(draw.between(3, 4))
    rows = rows_by_chance(draw, heads, draw.between(3, 6))
    pieces = cells_of(heads, rows, draw)
    ys, xs = sorted({y for _, y, _, _ in pieces}), sorted({x for x, _, _, _ in pieces})
    step, end = ys[1] - ys[0], xs[-1] + 90
    lines = [f"{xs[0] - 4} {y - 4} m {end} {y - 4} l S" for y in [*ys, ys[-1] + step]]
    lines += [f"{x - 4} {ys[0] - 4} m {x - 4} {ys[-1] + step - 4} l S" for x in [*xs, end + 4]]
    return ".pdf", pdf_of([pieces], " ".join(lines)), of_table(heads, rows), []


def a_table_with_empty_cells(draw: Draw) -> Case:
    heads = draw.titles(draw.between(3, 4))
    rows = rows_by_chance(draw, heads, draw.between(5, 8))
    for row in draw.chance.sample(range(1, len(rows)), 2):
        rows[row][draw.between(1, len(heads) - 1)] = ""
    return ".pdf", pdf_of([cells_of(heads, rows, draw)]), of_table(heads, rows), []


def a_table_over_pages(draw: Draw) -> Case:
    heads, unit = draw.titles(3), f"[En {draw.word()} de euros]"
    pages, said = [], []
    for _ in range(4):
        rows = [[f"Fila {draw.number()}", draw.number(), draw.number()] for _ in range(draw.between(8, 14))]
        pages.append([(70, 760, 11.0, unit), *cells_of(heads, rows, draw)])
        said += of_table(heads, rows)
    return ".pdf", pdf_of(pages), [unit, *said], []


def a_table_that_goes_on(draw: Draw) -> Case:
    """Its names stand on the first page alone or on each, and what runs through all pages above and below it."""
    names, again, few = draw.titles(3), draw.between(0, 1), draw.between(0, 1)
    wide, high = draw.between(95, 130), draw.between(14, 22)
    company, topic = draw.word(), [draw.word() for _ in range(4)]
    pages, said = [], []
    count = 2 if few else 3
    for page in range(count):
        least = 1 if page == count - 1 else 6
        # Rows of words say less of themselves than rows of numbers.
        values = (lambda: draw.chance.choice(topic)) if few else draw.number
        rows = [[f"Fila {draw.number()}", values(), values()] for _ in range(draw.between(least, 12))]
        above = [(70, 800, 9.0, f"Informe de {company}")] if few else []
        shown = [names, *rows] if again or not page else rows
        cells = [
            (70 + wide * x, 760 - high * y, 11.0, cell) for y, row in enumerate(shown) for x, cell in enumerate(row)
        ]
        pages.append([*above, *cells, (290, 40, 9.0, str(page + 1))])
        said += of_table(names, rows)
    return ".pdf", pdf_of(pages), said, [f"{names[0]}: {names[0]}"]


def a_paragraph_on_each_page(draw: Draw) -> Case:
    lines = [f"{draw.sentence(9)[:-1]} de", f"{draw.sentence(5).lower()}"]
    pages = [
        [(draw.sentence(8), 11.0), *((line, 11.0) for line in lines), *((draw.sentence(10), 11.0) for _ in range(4))]
        for _ in range(3)
    ]
    return ".pdf", pdf(pages), [" ".join(lines)], []


def a_turned_page(draw: Draw) -> Case:
    heads = draw.titles(4)
    rows = rows_by_chance(draw, heads, draw.between(4, 7))
    pieces = cells_of(heads, rows, draw, top=520)
    turned = " ".join(f"BT /F1 11 Tf 0 1 -1 0 {595 - y} {x} Tm ({cell}) Tj ET" for x, y, _, cell in pieces)
    content = packed(turned)
    if draw.between(0, 1):
        content = content.replace(b"/MediaBox", b"/Rotate 90 /MediaBox")
    return ".pdf", content, of_table(heads, rows), []


def a_bullet_in_larger_letters(draw: Draw) -> Case:
    item = draw.sentence(6).lower()
    page = [(draw.sentence(12), 11.0) for _ in range(8)]
    page[4:4] = [(f"• {item}", 13.0)]
    return ".pdf", pdf([page]), [f"- {item}"], ["#"]


def half_a_sentence_in_bold(draw: Draw) -> Case:
    bold = f"{draw.word()} {draw.word()} {draw.word()}"
    stream = f"BT /F1 11 Tf 70 700 Td ({draw.sentence(9)}) Tj /F2 11 Tf 0 -30 Td ({bold}) Tj /F1 11 Tf "
    stream += " ".join(f"0 -14 Td ({draw.sentence(9).lower()}) Tj" for _ in range(5)) + " ET"
    font = b"/F2 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica-Bold /Encoding /WinAnsiEncoding >> /F1"
    return ".pdf", packed(stream).replace(b"/Font << /F1", b"/Font << " + font), [bold], ["#"]


def a_head_over_columns(draw: Draw) -> Case:
    corner, over, *under = draw.titles(5)
    rows = [[draw.title(), *(draw.number() for _ in range(3))] for _ in range(draw.between(3, 6))]
    pieces = [(70.0, 686.0, 11.0, corner), (240 - 2.5 * len(over) + 40, 700.0, 11.0, over)]
    pieces += [(200.0 + 90 * n, 686.0, 11.0, name) for n, name in enumerate(under)]
    pieces += [
        (70.0 + (130 + 90 * (n - 1) if n else 0), 670.0 - 14 * r, 11.0, c)
        for r, row in enumerate(rows)
        for n, c in enumerate(row)
    ]
    wanted = [f"{name}: {value}" for row in rows for name, value in zip(under, row[1:], strict=True)]
    return ".pdf", pdf_of([pieces]), [over, *wanted], []


def an_empty_corner(draw: Draw) -> Case:
    heads = draw.titles(draw.between(2, 4))
    rows = [[draw.title(), *(draw.number() for _ in heads)] for _ in range(draw.between(2, 5))]
    wanted = [f"- {row[0]}; " + "; ".join(f"{h}: {c}" for h, c in zip(heads, row[1:], strict=True)) for row in rows]
    if draw.between(0, 1):
        return ".html", table("|".join(["", *heads]), *("|".join(row) for row in rows)).encode(), wanted, []
    return ".docx", docx_of("<w:p/>" + word_table([["", *heads], *rows])), wanted, []


def word_table(rows: Sequence[Sequence[str]]) -> str:
    lines = ("".join(map(tc, row)) for row in rows)
    return f"<w:tbl>{''.join(f'<w:tr>{line}</w:tr>' for line in lines)}</w:tbl>"


def spans(draw: Draw) -> Case:
    name, over, one, two = draw.titles(4)
    rows = [[draw.title(), draw.number(), draw.number()] for _ in range(draw.between(2, 5))]
    wanted = [f"{over} {head}: {cell}" for row in rows for head, cell in zip((one, two), row[1:], strict=True)]
    if draw.between(0, 1):
        mark = "!" * draw.between(0, 1)
        first = f"{name}{mark}^2|{over}{mark}*2" if mark else f"{name}|{over}*2"
        second = f"{one}{mark}|{two}{mark}" if mark else f"|{one}|{two}"
        return ".html", table(first, second, *("|".join(row) for row in rows)).encode(), wanted, []
    heads = f"<w:tr>{tc(name)}{tc(over, WIDE)}</w:tr><w:tr>{tc('')}{tc(one)}{tc(two)}</w:tr>"
    body = "".join(f"<w:tr>{''.join(map(tc, row))}</w:tr>" for row in rows)
    return ".docx", docx_of(f"<w:p/><w:tbl>{heads}{body}</w:tbl>"), wanted, []


def a_name_beside_several_rows(draw: Draw) -> Case:
    heads = draw.titles(3)
    years = [str(2000 + draw.between(0, 25)) for _ in range(2)]
    groups = [(year, [[draw.title(), draw.number()] for _ in range(draw.between(2, 4))]) for year in years]
    wanted = of_table(heads, [[year, *row] for year, rows in groups for row in rows])
    kind = draw.between(0, 2)
    if kind == 2:
        return ".pdf", _ruled(heads, groups, draw), wanted, []
    if kind:
        lines = [
            "|".join([*([f"{year}^{len(rows)}"] if n == 0 else []), *row])
            for year, rows in groups
            for n, row in enumerate(rows)
        ]
        return ".html", table("|".join(f"{head}!" for head in heads), *lines).encode(), wanted, []
    begin, on = '<w:vMerge w:val="restart"/>', "<w:vMerge/>"
    body = "".join(
        f"<w:tr>{tc('' if n else year, on if n else begin)}{''.join(map(tc, row))}</w:tr>"
        for year, rows in groups
        for n, row in enumerate(rows)
    )
    return ".docx", docx_of(f"<w:p/><w:tbl><w:tr>{''.join(map(tc, heads))}</w:tr>{body}</w:tbl>"), wanted, []


def _ruled(heads: Sequence[str], groups: Sequence[tuple[str, list[list[str]]]], draw: Draw) -> bytes:
    """A page with a table whose cells are framed: names beside several rows stand at their top, middle or bottom."""
    wide, high, at = draw.between(95, 130), draw.between(16, 24), draw.between(0, 2) / 2
    top, end = 700.0, 66 + 3 * wide
    pieces, ruled = [(70.0 + wide * x, top, 11.0, head) for x, head in enumerate(heads)], [(66, top + high - 5)]
    for name, rows in groups:
        pieces.append((70.0, top - high - at * high * (len(rows) - 1), 11.0, name))
        for n, row in enumerate(rows):
            ruled.append((66 + wide * bool(n), top - 5))
            top -= high
            pieces += [(70.0 + wide * x, top, 11.0, cell) for x, cell in enumerate(row, 1)]
    ruled.append((66, top - 5))
    sides = [f"{66 + wide * x} {700 + high - 5} m {66 + wide * x} {top - 5} l S" for x in range(4)]
    return pdf_of([pieces], " ".join([*(f"{x} {y} m {end} {y} l S" for x, y in ruled), *sides]))


def a_table_in_a_cell(draw: Draw) -> Case:
    heads, inner = draw.titles(2), [draw.word() for _ in range(4)]
    name = draw.title()
    said = f"- {heads[0]}: {name}; {heads[1]}: {' '.join(inner)}"
    if draw.between(0, 1):
        nested = table("|".join(inner[:2]), "|".join(inner[2:]))
        return ".html", table("|".join(f"{head}!" for head in heads), f"{name}|{nested}").encode(), [said], []
    cell = f"<w:tc>{word_table([inner[:2], inner[2:]])}<w:p/></w:tc>"
    rows = f"<w:tr>{''.join(map(tc, [*heads, draw.title()]))}</w:tr><w:tr>{tc(name)}{cell}{tc(draw.number())}</w:tr>"
    return ".docx", docx_of(f"<w:p/><w:tbl>{rows}</w:tbl>"), [f"{heads[0]}: {name}; {heads[1]}: {' '.join(inner)}"], []


def a_formula(draw: Draw) -> Case:
    before, after = draw.word(), draw.word()
    inside = f"<w:p><w:r><w:t>{before} </w:t></w:r>{AREA}<w:r><w:t> {after}</w:t></w:r></w:p>".replace(
        "<w:t>", '<w:t xml:space="preserve">'
    )
    said = f"{before} A=πr^2 {after}"
    kind = draw.between(0, 2)
    if kind == 2:
        math = "<math><mi>A</mi><mo>=</mo><mi>π</mi><msup><mi>r</mi><mn>2</mn></msup></math>"
        return ".html", f"<p>{before} {math} {after}</p>".encode(), [said], []
    if kind:
        return ".docx", docx_of(inside), [said], []
    row = f"<w:tr>{tc(draw.title())}<w:tc>{inside}</w:tc></w:tr>"
    return ".docx", docx_of(f"<w:p/><w:tbl>{row}{row}</w:tbl>"), [said], []


def ticks(draw: Draw) -> Case:
    said = [(draw.between(0, 1), draw.title()) for _ in range(draw.between(2, 6))]
    body = "".join(
        f"<w:p>{TICK.format(on, '☒' if on else '☐')}<w:r><w:t> {text}</w:t></w:r></w:p>" for on, text in said
    )
    return ".docx", docx_of(body), [f"[{'x' if on else ' '}] {text}" for on, text in said], []


def a_page_in_an_old_encoding(draw: Draw) -> Case:
    text = f"El {draw.word()} del año que vence mañana: ¿qué {draw.word()} de la nómina?"
    content = f"<p>{draw.sentence()}</p><p>{text}</p>".encode(draw.chance.choice(["latin-1", "cp1252", "cp850"]))
    return ".html", content, [text], ["ń"]


def struck_or_hidden(draw: Draw) -> Case:
    seen, not_seen = [draw.word() for _ in range(3)], [f"{draw.word()}{draw.number()}" for _ in range(3)]
    looks = draw.chance.sample(["<w:strike/>", "<w:dstrike/>", "<w:vanish/>"], 3)
    tags = draw.chance.sample(
        ["<del>{}</del>", "<span hidden>{}</span>", "<i style='display:none'>{}</i>", "<!--{}-->"], 3
    )
    if draw.between(0, 1):
        page = "".join(f"<p>{a} {tag.format(b)}</p>" for a, b, tag in zip(seen, not_seen, tags, strict=True))
        return ".html", f"<meta charset=utf-8>{page}".encode(), seen, not_seen
    return (
        ".docx",
        docx_of("".join(p(a) + p(b, "", look) for a, b, look in zip(seen, not_seen, looks, strict=True))),
        seen,
        not_seen,
    )


def numbered_clauses(draw: Draw) -> Case:
    body, wanted, clause, part = "", [], 3, 0
    for _ in range(draw.between(4, 9)):
        if clause == 3 or draw.between(0, 1):
            clause, part = clause + 1, 0
            label, level = f"{clause}.", 0
        else:
            part += 1
            label, level = f"{clause}.{part}", 1
        title = draw.title()
        body += p(title, numbered(level))
        wanted.append(f"{label} {title}")
    parts = {
        "word__numbering.xml": NUMBERING,
        "word___rels__document.xml.rels": relationship("numbering", "numbering.xml"),
    }
    return ".docx", docx_of(body, **parts), wanted, []


def lines_of_code(draw: Draw) -> Case:
    lines = [" " * draw.between(0, 6) + f"{draw.word()} = {draw.number()}" for _ in range(draw.between(2, 6))]
    body = "".join(p(line, '<w:pStyle w:val="C"/>').replace("<w:t>", '<w:t xml:space="preserve">') for line in lines)
    parts = {"word__styles.xml": STYLES, "word___rels__document.xml.rels": relationship("styles", "styles.xml")}
    text = "\n".join(lines)
    return ".docx", docx_of(p("Así:") + body + p("Y ya."), **parts), [f"```\n{text}\n```"], []


def a_font_without_a_map(draw: Draw) -> Case:
    said = draw.sentence(40)
    rubbish = "".join(chr(ord(char) - 29) if "a" <= char <= "z" else char for char in said)
    lines = [(rubbish[at : at + 80], 11.0) for at in range(0, len(rubbish), 80)]
    return ".pdf", pdf([[("Se lee.", 11.0)], lines]), ["Se lee."], [rubbish[1:9]]


def notes_of_numbers(draw: Draw) -> Case:
    amount, note, unit = draw.number(), str(draw.between(1, 19)), draw.word()
    if draw.between(0, 1):
        content = f"<p>{draw.title()}: {amount}<sup>{note}</sup> {unit}".encode()
        return ".html", content, [amount, unit], [amount + note]
    up = draw.between(4, 6)
    stream = f"BT /F1 11 Tf 70 700 Td (Son {amount}) Tj {up} Ts /F1 7 Tf ({note}) Tj 0 Ts /F1 11 Tf ( {unit}) Tj ET"
    return ".pdf", packed(stream), [amount, unit], [amount + note]


RECIPES: dict[str, Callable[[Draw], Case]] = {
    found.__name__: found
    for found in (
        gaps_that_are_distances,
        cells_close_together,
        a_table_with_rules,
        a_table_with_empty_cells,
        a_table_over_pages,
        a_table_that_goes_on,
        a_paragraph_on_each_page,
        a_turned_page,
        a_bullet_in_larger_letters,
        half_a_sentence_in_bold,
        a_head_over_columns,
        an_empty_corner,
        spans,
        a_name_beside_several_rows,
        a_table_in_a_cell,
        a_formula,
        ticks,
        a_page_in_an_old_encoding,
        struck_or_hidden,
        numbered_clauses,
        lines_of_code,
        a_font_without_a_map,
        notes_of_numbers,
    )
}


def wrong(name: str, seeds: range) -> Iterator[str]:
    """Yield what is wrong: seed, what is lacking or too much, and the text."""
    for seed in seeds:
        suffix, content, wanted, unwanted = RECIPES[name](Draw(seed))
        text = read(suffix, content).text
        lacking = [one for one in wanted if one not in text]
        if lacking or (lacking := [one for one in unwanted if one in text]):
            yield f"{name} {seed}: {lacking[0]!r}\n{text}"


@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_is_read_right_whatever_its_words(name: str) -> None:
    assert list(wrong(name, range(3))) == []


@pytest.mark.parametrize(
    ("name", "seed"), [("a_table_with_empty_cells", 3), ("a_turned_page", 26), ("a_font_without_a_map", 35)]
)
def test_a_seed_that_came_out_wrong_is_read_right(name: str, seed: int) -> None:
    assert list(wrong(name, range(seed, seed + 1))) == []


if __name__ == "__main__":
    for each in RECIPES:
        found = list(wrong(each, range(int(sys.argv[1]))))
        print(f"{each}: {len(found)} of {sys.argv[1]} wrong", *found[:2], sep="\n", flush=True)
