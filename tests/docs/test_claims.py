"""Each figure that a page promises names its proof."""

from __future__ import annotations

import re

import pytest

from tests.docs.pages import ROOT

PAGE = ROOT / "docs" / "develop" / "claims.md"
FIGURE = re.compile(r"(?<![\w.#/:-])\d+[.,]\d+(?![\d.])|\d+ ?%")


def rows() -> list[list[str]]:
    found = []
    for line in PAGE.read_text("utf-8").splitlines():
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if line.startswith("|") and cells[0] != "page" and not line.startswith("|---"):
            found.append(cells)
    return found


def plain(text: str) -> str:
    """Without marks of code, escapes and line breaks, so that a quote may leave them out."""
    return " ".join(text.replace("`", "").replace("\\|", "|").split())


def quotes(cell: str) -> list[str]:
    return [plain(quote) for quote in re.findall(r"`([^`]+)`", cell)]


ROWS = [pytest.param(row, id=row[1][:60]) for row in rows()]


@pytest.mark.parametrize("row", ROWS)
def test_a_claim_stands_in_its_page_and_its_proof_exists(row: list[str]) -> None:
    page, claim, proof, printed = row
    [quote] = quotes(claim)
    assert quote in plain((ROOT / page).read_text("utf-8")), f"{page} does not say this any more: correct the row"
    assert re.search(r"\d", quote)
    proofs = re.findall(r"`((?:tests|benchmarks)/[\w/.-]+)(?:::(\w+))?`", proof)
    commands = re.findall(r"`(chatbot-mvp [^`]+)`", proof)
    assert proofs or commands or proof.startswith("measured once"), f"no test, script or command is named: {proof}"
    for path, name in proofs:
        assert (ROOT / path).is_file(), path
        assert not name or f"def {name}(" in (ROOT / path).read_text("utf-8"), f"{path} has no {name}"
    # What only a script shows must stand, as it was printed, on a page.
    assert printed or any(path.startswith("tests/") for path, _ in proofs)
    if printed:
        source, _, figures = printed.partition(": ")
        text = plain((ROOT / source).read_text("utf-8"))
        assert [figure for figure in quotes(figures) if figure not in text] == []
        assert quotes(figures)


@pytest.mark.parametrize("page", ["README.md", "README.es.md"])
def test_the_readme_has_no_figure_without_a_proof(page: str) -> None:
    text = plain(re.sub(r"```.*?```|\]\([^)]*\)|https?://\S+", "", (ROOT / page).read_text("utf-8"), flags=re.S))
    for row in rows():
        if row[0] == page:
            text = text.replace(quotes(row[1])[0], "")
    assert FIGURE.findall(re.sub(r"\d+(\.\d+){3}", "", text)) == []
