"""The same scripted verdicts give the same scores as the ragas package, to 1e-9.

``ragas_cases.json`` holds what the package made of them, written by ``ragas_agreement.py``. With the path of
an interpreter that has ragas in RAGAS_PYTHON, other cases are drawn and held against it as well.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from chatbot_mvp.embedding.base import InputType, Vectors
from chatbot_mvp.wings.ragas.judging import JUDGED, RAGAS_METRICS, JudgeOptions, Prompts, Row, Scored, score_row
from tests.wings.ragas.judging.scripted_judge import ScriptedJudge

TABLE = Path(__file__).parent / "ragas_cases.json"
SCRIPT = Path(__file__).resolve().with_name("ragas_agreement.py")
Case = dict[str, Any]


class TableEmbedder:
    """Gives the vectors of a table, whole numbers, which float32 holds exactly."""

    model_id = "table"
    batch_size = None

    def __init__(self, vectors: dict[str, list[int]]) -> None:
        self._vectors = vectors
        self.dimensions = len(next(iter(vectors.values()), []))

    def embed(self, texts: list[str], input_type: InputType) -> Vectors:
        return np.array([self._vectors[text] for text in texts], dtype=np.float32)


def in_our_format(case: Case) -> dict[tuple[str, str], list[Any]]:
    """The scripted verdicts as replies to our prompts; one without any verdict is refused in every attempt."""
    judge, name = case["judge"], case["metric"]
    if "id_based" in name:
        return {}
    if "precision" in name:
        return {("context_precision", "verdict"): [{"reason": "porque sí", "verdict": one} for one in judge]}
    if name == "ragas_context_recall":
        said = [{"statement": text, "reason": "r", "attributed": one} for text, one in judge]
        return {
            ("context_recall", "classification"): [{"classifications": said}] * (1 if said else JudgeOptions().attempts)
        }
    if name == "ragas_faithfulness":
        verdicts = [{"number": n, "reason": "r", "verdict": one} for n, (_, one) in enumerate(judge, 1)]
        statements = {"statements": [text for text, _ in judge]}
        return {("faithfulness", "statements"): [statements], ("faithfulness", "verdicts"): [{"verdicts": verdicts}]}
    if name == "ragas_answer_relevancy":
        made = [{"question": text, "noncommittal": evades} for text, evades in judge]
        return {("answer_relevancy", "question"): made}
    return {("context_relevance", prompt): judge[row] for row, prompt in enumerate(("first", "second"))}


def ours(case: Case, prompts: Prompts) -> Scored:
    judge = ScriptedJudge(prompts, in_our_format(case))
    row = Row(**case["row"])
    embedder = TableEmbedder(case.get("vectors", {}))
    return score_row(case["metric"], row, judge, embedder, prompts, JudgeOptions())


def lost_by_ragas(case: Case) -> bool:
    """Its ``max(nan, x)`` is NaN, so that the second rating is lost where only the first could not be read."""
    if case["metric"] != "ragas_nv_context_relevance":
        return False
    first, second = case["judge"]
    return bool(first) and not first[-1].isdigit() and second[-1].isdigit()


def asked_of_nobody(case: Case) -> bool:
    """It scores an empty question 0, where for us the column is missing."""
    return not str(case["row"].get("user_input", "x")).strip()


def differences(cases: list[Case], prompts: Prompts) -> list[tuple[Case, float | None]]:
    found = []
    for case in cases:
        value, theirs = ours(case, prompts).value, case["ragas"]
        if lost_by_ragas(case):
            assert theirs is None
            theirs = int(case["judge"][1][-1]) / 2
        elif asked_of_nobody(case):
            assert theirs == 0.0
            theirs = None
        same = value is None if theirs is None else value is not None and abs(value - theirs) <= 1e-9
        if not same:
            found.append((case, value))
    return found


def test_the_scores_are_those_of_the_package(spanish: Prompts) -> None:
    cases = json.loads(TABLE.read_text("utf-8"))["cases"]
    assert differences(cases, spanish) == []


def test_the_table_is_worth_comparing_with() -> None:
    cases = json.loads(TABLE.read_text("utf-8"))["cases"]
    per_metric = Counter(case["metric"] for case in cases)
    from_package = {name for name, metric in RAGAS_METRICS.items() if metric.title}
    assert set(per_metric) == from_package > set(JUDGED)
    assert min(per_metric.values()) >= 30
    for name in from_package:
        values = [case["ragas"] for case in cases if case["metric"] == name and case["ragas"] is not None]
        assert len(set(values)) >= 4, "scores that are all alike would agree with anything"
    assert sum(case["ragas"] is None for case in cases) >= 5


def test_a_wrong_score_would_be_seen(spanish: Prompts) -> None:
    cases = json.loads(TABLE.read_text("utf-8"))["cases"]
    shifted = [{**case, "ragas": case["ragas"] + 2e-9} for case in cases if case["ragas"] not in (None, 0.0)]
    assert len(differences(shifted, spanish)) == len(shifted)


@pytest.mark.skipif("RAGAS_PYTHON" not in os.environ, reason="RAGAS_PYTHON names no interpreter with ragas")
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_scores_are_those_of_the_package_on_other_cases(spanish: Prompts, tmp_path: Path, seed: int) -> None:
    output = tmp_path / "cases.json"
    command = [os.environ["RAGAS_PYTHON"], SCRIPT, "--seed", str(seed), "--cases", "60", "--output", output]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=160)
    assert done.returncode == 0, done.stderr
    assert differences(json.loads(output.read_text("utf-8"))["cases"], spanish) == []
