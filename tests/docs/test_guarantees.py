"""Each row of the page of guarantees names a proof that exists."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "operate" / "guarantees.md"


def _rows() -> Iterator[list[str]]:
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        if line.startswith("|") and cells[0] != "promise" and not line.startswith("|---"):
            yield cells


@pytest.mark.parametrize("row", [pytest.param(row, id=row[0][:60]) for row in _rows()])
def test_proof_of_a_guarantee_exists(row: list[str]) -> None:
    assert len(row) == 3, f"a row has three cells, this one {len(row)}: {row}"
    proofs = re.findall(r"`(?:python )?((?:tests|benchmarks)/[\w/.-]+)((?:::\w+)*)", row[1])
    assert proofs, f"no test or script is named: {row[1]}"
    for path, names in proofs:
        assert (ROOT / path).exists(), path
        text = (ROOT / path).read_text(encoding="utf-8") if (ROOT / path).is_file() else ""
        for name in names.split("::")[1:]:
            assert re.search(rf"(def|class) {name}\b", text), f"{path} has no {name}"
