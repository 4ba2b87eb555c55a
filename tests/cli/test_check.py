"""Any text is checked, sentence by sentence, against documents, a knowledge base, or the sources of each line."""

from __future__ import annotations

import json
from pathlib import Path

from chatbot_mvp.settings.model import PROJECT_ROOT
from tests.cli.test_main import Cli, cli, one_object

__all__ = ["cli"]

SAMPLE = str(PROJECT_ROOT / "data" / "samples" / "kb" / "politica_empresa.md")
DRAFT = "Las vacaciones son 23 días laborables [7]. Las vacaciones son 40 días laborables. Zarpan veleros amarillos."


def test_a_text_is_found_differs_or_is_nowhere(cli: Cli) -> None:
    found = cli.json("check", DRAFT, "--against", SAMPLE)
    right, differs, nowhere = found["statements"]
    assert right["tick"] and right["found"]["file"] == "politica_empresa.md" and "23 días" in right["found"]["text"]
    assert not differs["supported"] and differs["found"] and "40" in differs["differences"][0]["said"]
    assert not nowhere["supported"] and nowhere["found"] is None
    assert (found["supported"], found["tick"], found["score"]) == (False, False, nowhere["score"])
    assert [line[0] for line in cli("check", DRAFT, "--against", SAMPLE).stdout.splitlines() if line[0] != " "] == [
        "✓",
        "≠",
        "✗",
    ]


def test_a_knowledge_base_gives_what_its_file_gives(cli: Cli) -> None:
    cli("kb", "create", "Manual", SAMPLE, "--no-vectors")
    of_base = cli.json("check", DRAFT, "--base", "Manual")["statements"]
    assert of_base == cli.json("check", DRAFT, "--against", SAMPLE)["statements"]


def test_lines_are_checked_against_their_own_sources_and_bad_ones_are_told(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "pairs.jsonl"
    sources = ["The bridge has 3 arches.", "It was built in 1901 by Ana Ruiz."]
    rows = [
        json.dumps({"id": "a", "text": "The bridge has 3 arches. It was built in 1901.", "sources": sources}),
        "not JSON",
        "",
        json.dumps({"id": 2, "text": "The bridge has 3 arches. It was built in 1933.", "sources": sources}),
        json.dumps({"id": 3, "text": "The bridge.", "sources": "one"}),
        json.dumps({"id": 4, "text": "The bridge has 3 arches.", "sources": []}),
        json.dumps({"id": 5, "text": "…", "sources": sources}),
    ]
    path.write_text("\n".join(rows), "utf-8")
    done = cli("check", "--pairs", str(path), code=6)
    results = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(one["id"], one["supported"], one["tick"]) for one in results] == [
        ("a", True, True),
        (2, False, False),
        (4, False, False),
        (5, False, False),
    ]
    assert [one["found"]["source"] for one in results[0]["statements"]] == [1, 2]
    assert "line 2 is left out" in done.stderr and "line 5 is left out: 'sources'" in done.stderr
    whole = one_object(cli("check", "--pairs", str(path), "--json", code=6).stdout)
    assert whole["pairs"] == results and [one["line"] for one in whole["left_out"]] == [2, 5]


def test_what_to_check_and_against_what_is_named(cli: Cli) -> None:
    for arguments in ((), ("text",), ("text", "--against", SAMPLE, "--base", "x"), ("text", "--pairs", SAMPLE)):
        assert one_object(cli("check", *arguments, "--json", code=2).stdout)["error"]["code"] == "usage"
    told = one_object(cli("check", "text", "--against", "no-file.md", "--json", code=2).stdout)
    assert told["error"]["code"] == "upload_not_found"
