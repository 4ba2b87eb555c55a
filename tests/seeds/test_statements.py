"""Every statement of the four systems has a test, or a difference that a page explains.

``statements.toml`` beside this file is the table; docs/research/statements.md is written from it.
"""

from __future__ import annotations

import re

import pytest

from benchmarks.alterations import read_alterations
from benchmarks.seed_mutations import TABLE
from docs.generator.statements import DIFFERENCES, Statement, read_statements
from tests.docs.pages import ROOT

COUNTS = {"card": 33, "kb_chat": 48, "rag_p": 102, "rag_v2": 34, "ragas": 35}
STATEMENTS = read_statements()


def test_the_table_has_all_252_statements_with_ids_in_order() -> None:
    found = {system: [each.id for each in STATEMENTS if each.system == system] for system in COUNTS}
    letters = {"card": "C", "kb_chat": "K", "rag_p": "R", "rag_v2": "V", "ragas": "G"}
    assert found == {
        system: [f"{letters[system]}{number}" for number in range(1, count + 1)] for system, count in COUNTS.items()
    }


@pytest.mark.parametrize("statement", STATEMENTS, ids=lambda each: each.id)
def test_a_statement_names_tests_that_exist_or_a_difference_that_is_explained(statement: Statement) -> None:
    assert statement.says
    assert statement.tests or statement.differences, "nothing shows it"
    for test in statement.tests:
        path, _, name = test.partition("::")
        text = (ROOT / "tests" / path).read_text("utf-8")
        assert re.search(rf"^(async )?def {name}\(", text, re.M), f"tests/{path} has no {name}"
    page = DIFFERENCES.read_text("utf-8")
    for difference in statement.differences:
        assert difference in page, f"{DIFFERENCES.name} does not explain {difference!r}"


def test_every_statement_that_has_a_test_has_an_alteration_that_still_applies() -> None:
    """``python -m benchmarks seed_mutations`` tries them; here the text of each is only looked up."""
    rows = read_alterations(TABLE)
    assert [row.name for row in rows] == [each.id for each in STATEMENTS if each.tests]
    for row in rows:
        row.altered()
