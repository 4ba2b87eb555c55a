"""Answers in the form of RAGTruth are read, and each sentence counts by the label that touches it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks.claims_spans import labelled, scored

SOURCE = "The ferry leaves at 7:30. It takes 45 minutes. Dogs are not allowed on the upper deck."
RESPONSE = "The ferry leaves at 7:30. It takes 55 minutes."


def written(folder: Path, *lines: dict[str, Any]) -> Path:
    file = folder / "response.jsonl"
    file.write_text("\n".join(map(json.dumps, lines)) + "\n", "utf-8")
    return file


def test_a_sentence_counts_by_the_label_that_touches_it(tmp_path: Path) -> None:
    label = {"start": 35, "end": 37, "text": "55", "label_type": "Evident Conflict"}
    file = written(tmp_path, {"response": RESPONSE, "source_info": {"passages": SOURCE}, "labels": [label]})
    [(kept, none), (marked, kind)] = scored(next(labelled(file)))
    assert (none, kind) == (None, "Evident Conflict")
    assert marked < 0.56 <= kept


@pytest.mark.parametrize("beside", [True, False])
def test_a_source_may_be_named_by_its_id(tmp_path: Path, beside: bool) -> None:
    source, response = {"source_id": "7", "source_info": [SOURCE]}, {"source_id": "7", "response": RESPONSE}
    if beside:
        (tmp_path / "source_info.jsonl").write_text(json.dumps(source), "utf-8")
    [one] = labelled(written(tmp_path, response) if beside else written(tmp_path, source, response))
    assert (one.source, one.spans) == (SOURCE, ())


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ({"response": RESPONSE, "source_id": "8"}, "line 1 of response.jsonl has neither source_info nor a known"),
        ({"response": RESPONSE, "source": SOURCE, "spans": [{"start": 40, "end": 99}]}, "the label 40-99 is outside"),
    ],
)
def test_a_line_that_cannot_be_read_is_named(tmp_path: Path, line: dict[str, Any], fault: str) -> None:
    with pytest.raises(ValueError, match=fault):
        list(labelled(written(tmp_path, line)))
