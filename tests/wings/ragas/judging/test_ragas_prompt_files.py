"""Prompts in the form of the ragas package: read, used, written, and made in another language.

The files of ``tests/wings/ragas/judging/written_by_ragas`` were written by ragas 0.3.9 (``ragas_prompts.py``). With the
path of an interpreter that has ragas 0.3 in RAGAS_PYTHON, the package loads what is written here.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from chatbot_mvp.errors import UnknownChoice
from chatbot_mvp.llm.base import ChatRequest, ChatStream, Completion, FinishedStream
from chatbot_mvp.wings.ragas.judging import (
    JUDGED,
    JudgeOptions,
    Row,
    adapt_prompts,
    language_code,
    load_prompts,
    own_prompts,
    prompt_languages,
    prompts_of,
    score_row,
)
from chatbot_mvp.wings.ragas.judging.package_files import PACKAGE_FILES, package_prompts, read_package_prompt
from chatbot_mvp.wings.ragas.judging.templates import filled, rating_of
from tests.fakes import FakeEmbedder
from tests.raising import raises

WRITTEN_BY_RAGAS = Path(__file__).parent / "written_by_ragas"
SCRIPT = Path(__file__).with_name("ragas_prompts.py")
STATEMENTS = "faithfulness_statement_generator_prompt"
VERDICTS = "faithfulness_n_l_i_statement_prompt"
ROW = Row("¿Abre el museo?", "Sí, los martes.", ["El museo abre los martes."], "Los martes.")
USEFUL = {"reason": "r", "verdict": 1}


class Judge:
    """Gives the next of some replies; to a translation it replies by itself unless ``lost`` texts are to be missing."""

    name = "scripted/judge"
    needs_evidence = False

    def __init__(self, *replies: Any, lost: int = 0) -> None:
        self.replies = list(replies)
        self.lost = lost
        self.requests: list[ChatRequest] = []

    def complete(self, request: ChatRequest) -> Completion:
        self.requests.append(request)
        first = request.messages[1].content if len(request.messages) > 1 else ""
        if '\n{"language"' in first:
            texts = [f"«{text}»" for text in json.loads(first.splitlines()[1])["texts"]]  # between the fence's markers
            return Completion(json.dumps({"texts": texts[self.lost :]}), self.name, 0.0)
        said = self.replies.pop(0)
        return Completion(said if isinstance(said, str) else json.dumps(said), self.name, 0.0)

    def stream(self, request: ChatRequest) -> ChatStream:
        return FinishedStream(self.complete(request))


def score(metric: str, judge: Judge, folder: Path, row: Row = ROW) -> Any:
    return score_row(metric, row, judge, FakeEmbedder(), load_prompts("spanish", folder), JudgeOptions())


@pytest.mark.parametrize("file", PACKAGE_FILES, ids=lambda file: file.stem)
def test_a_file_that_the_package_wrote_is_read_whole_and_has_its_hash(file: Any) -> None:
    path = file.path(WRITTEN_BY_RAGAS, "spanish")
    written = json.loads(path.read_text("utf-8"))
    prompt = read_package_prompt(path, file)
    assert prompt.hash == written["original_hash"]
    assert (prompt.language, prompt.instruction) == ("spanish", written["instruction"])
    assert [{"input": given, "output": reply} for given, reply in prompt.examples] == written["examples"]
    assert (prompt.made_by, prompt.reviewed) == ("", True)


def test_a_judge_reads_the_instruction_the_examples_and_the_row_of_a_file() -> None:
    judge = Judge(USEFUL)
    assert score("ragas_llm_context_precision_with_reference", judge, WRITTEN_BY_RAGAS).value == 1.0
    system, example, reply, row = [message.content for message in judge.requests[0].messages]
    assert system.startswith("Di si el contexto sirve para la respuesta: 1 o 0.\n")
    assert json.loads(example)["question"] == "¿Cuándo abre la piscina?"
    assert json.loads(reply) == {"reason": "El contexto da el mes.", "verdict": 1}
    assert json.loads(row) == {
        "question": "¿Abre el museo?",
        "context": "El museo abre los martes.",
        "answer": "Los martes.",
    }


def test_every_judged_metric_is_scored_with_files_of_the_package() -> None:
    replies: dict[str, list[Any]] = {
        "ragas_llm_context_precision_without_reference": [USEFUL],
        "ragas_llm_context_precision_with_reference": [USEFUL],
        "ragas_context_recall": [{"classifications": [{"statement": "s", "reason": "r", "attributed": 1}]}],
        "ragas_faithfulness": [
            {"statements": ["Uno.", "Dos."]},
            {"statements": [{"statement": s, "reason": "r", "verdict": v} for s, v in (("Uno.", 1), ("Dos.", 0))]},
        ],
        "ragas_answer_relevancy": [{"question": "¿Abre el museo?", "noncommittal": 0}] * 3,
        "ragas_nv_context_relevance": [{"rating": 2}, {"rating": 1}],
    }
    values = {}
    for name in JUDGED:
        judge = Judge(*replies[name])
        values[name] = score(name, judge, WRITTEN_BY_RAGAS).value
        assert not judge.replies
    assert values.pop("ragas_answer_relevancy") == pytest.approx(1.0)
    assert list(values.values()) == [1.0, 1.0, 1.0, 0.5, 0.75]


def test_verdicts_without_one_for_each_statement_are_asked_for_again() -> None:
    one = {"statement": "Uno.", "reason": "r", "verdict": 1}
    judge = Judge({"statements": ["Uno.", "Dos."]}, {"statements": [one]}, {"statements": [one, one]})
    assert score("ragas_faithfulness", judge, WRITTEN_BY_RAGAS).value == 1.0
    assert "one verdict for each of the 2 statements" in judge.requests[2].messages[-1].content


def test_both_precisions_may_have_files_of_their_own(tmp_path: Path) -> None:
    name = "llm_context_precision_with_reference_context_precision_prompt_spanish.json"
    shutil.copy(WRITTEN_BY_RAGAS / name, tmp_path)
    systems = []
    for variant in ("with", "without"):
        judge = Judge(USEFUL)
        score(f"ragas_llm_context_precision_{variant}_reference", judge, tmp_path)
        systems.append(judge.requests[0].messages[0].content)
    assert systems[0].startswith("Di si el contexto sirve")
    assert systems[1].startswith("Evalúas el buscador")


def test_a_review_leaves_the_key_and_another_text_changes_it(tmp_path: Path) -> None:
    shutil.copytree(WRITTEN_BY_RAGAS, tmp_path, dirs_exist_ok=True)
    path = tmp_path / f"{VERDICTS}_spanish.json"
    written = json.loads(path.read_text("utf-8"))
    before = load_prompts("es", tmp_path)
    path.write_text(json.dumps({**written, "made_by": "m", "reviewed": False}), "utf-8")
    unreviewed = load_prompts("es", tmp_path)
    assert (unreviewed.key, unreviewed.unreviewed) == (before.key, (path.name,))
    path.write_text(json.dumps({**written, "instruction": "Otra."}), "utf-8")
    assert load_prompts("es", tmp_path).key != before.key != load_prompts("es").key


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ("{", "no JSON"),
        ({"examples": None}, "None"),
        ({"instruction": None}, "instruction"),
        ({"examples": [{"input": {}, "output": {"statements": []}}]}, "examples[].input."),
        (
            {"examples": [{"input": {"question": "q", "answer": "a"}, "output": {"statements": [1]}}]},
            "not what is asked",
        ),
    ],
)
def test_a_file_in_another_form_is_told_with_its_path(tmp_path: Path, change: Any, told: str) -> None:
    path = tmp_path / f"{STATEMENTS}_spanish.json"
    written = json.loads((WRITTEN_BY_RAGAS / path.name).read_text("utf-8"))
    if isinstance(change, dict):
        written |= change
        written = {name: value for name, value in written.items() if value is not None or name == "examples"}
        change = json.dumps(written)
    path.write_text(change, "utf-8")
    with raises("prompts_unreadable") as raised:
        load_prompts("es", tmp_path)
    assert str(path) in str(raised.value)
    if told != "no JSON":
        assert told in str(raised.value)


def test_what_is_saved_is_read_again_and_never_overwritten(tmp_path: Path) -> None:
    paths = [prompt.save(tmp_path / "new") for prompt in own_prompts("es")]
    assert [path.name for path in paths] == [f"{file.stem}spanish.json" for file in PACKAGE_FILES]
    read = package_prompts(tmp_path / "new", "es")
    assert list(read.values()) == own_prompts("es")
    with raises("prompts_not_written", match="exists already"):
        own_prompts("es")[0].save(tmp_path / "new")


@pytest.mark.parametrize("language", ["en", "es"])
def test_a_saved_instruction_does_not_ask_for_this_projects_form(tmp_path: Path, language: str) -> None:
    for prompt in own_prompts(language):
        assert "JSON" not in prompt.instruction
        assert prompt.examples


def test_a_language_is_made_by_the_judge_and_marked(tmp_path: Path) -> None:
    judge = Judge()
    paths = adapt_prompts("fr", tmp_path, judge)
    assert [path.name for path in paths] == [f"{file.stem}french.json" for file in PACKAGE_FILES]
    assert len(judge.requests) == len(PACKAGE_FILES)
    for path in paths:
        made = json.loads(path.read_text("utf-8"))
        assert (made["language"], made["made_by"], made["reviewed"]) == ("french", "scripted/judge", False)
    verdicts = json.loads((tmp_path / f"{VERDICTS}_french.json").read_text("utf-8"))
    [english] = [prompt for prompt in own_prompts("en") if prompt.file.key == ("faithfulness", "verdicts")]
    assert verdicts["instruction"] == english.instruction
    [example] = verdicts["examples"]
    assert example["input"]["statements"] == [one["statement"] for one in example["output"]["statements"]]
    assert example["input"]["statements"][0] == "«Julian studies Medicine.»"
    assert [one["verdict"] for one in example["output"]["statements"]] == [0, 1, 0]
    assert prompt_languages(tmp_path) == ["en", "es", "fr"]
    loaded = load_prompts("french", tmp_path)
    assert loaded.language == "fr"
    assert len(loaded.unreviewed) == len(PACKAGE_FILES)


def test_what_is_there_is_not_made_again_and_english_files_of_the_folder_are_what_is_translated(tmp_path: Path) -> None:
    source = json.loads((WRITTEN_BY_RAGAS / f"{STATEMENTS}_spanish.json").read_text("utf-8"))
    (tmp_path / f"{STATEMENTS}_english.json").write_text(json.dumps({**source, "language": "english"}), "utf-8")
    judge = Judge()
    [path] = adapt_prompts("quechua", tmp_path, judge, needed={("faithfulness", "statements")}, instructions=True)
    made = json.loads(path.read_text("utf-8"))
    assert path.name == f"{STATEMENTS}_quechua.json"
    assert made["instruction"] == "«Separa la respuesta en afirmaciones.»"
    assert made["examples"][0]["input"]["question"] == "«¿Abre el museo?»"
    assert adapt_prompts("quechua", tmp_path, judge, needed={("faithfulness", "statements")}) == []
    assert len(judge.requests) == 1


def test_a_judge_that_loses_texts_makes_nothing(tmp_path: Path) -> None:
    judge = Judge(lost=1)
    with raises("prompts_not_made", match=r"french.*scripted/judge.*translations, one for each text"):
        adapt_prompts("fr", tmp_path, judge)
    assert not list(tmp_path.iterdir())
    assert len(judge.requests) == 4


def test_a_language_needs_only_the_prompts_of_its_metrics(tmp_path: Path) -> None:
    adapt_prompts("fr", tmp_path, Judge(), needed=prompts_of(["ragas_faithfulness"]))
    assert ("faithfulness", "verdicts") in load_prompts("fr", tmp_path, prompts_of(["ragas_faithfulness"])).of
    with raises("prompts_unreadable", match="context_recall"):
        load_prompts("fr", tmp_path, prompts_of(["ragas_context_recall"]))
    english = load_prompts("it", tmp_path, prompts_of(["ragas_nv_context_relevance"]))
    assert english.of[("context_relevance", "first")] == load_prompts("en").of[("context_relevance", "first")]
    with pytest.raises(UnknownChoice, match="en, es, fr"):
        load_prompts("it", tmp_path)


def test_the_texts_of_context_relevance_are_replaced_one_by_one_and_any_number_counts(tmp_path: Path) -> None:
    (tmp_path / "template_relevance1.txt").write_text("Nota de 0 a 2.\nP: {query}\nC: {context}\nNota: ", "utf-8")
    judge = Judge("ninguna", "Un 2, no un 1", {"rating": 1})
    two = Row("¿Abre {context}?", retrieved_contexts=["El museo abre.", "Los {query} también."])
    assert score("ragas_nv_context_relevance", judge, tmp_path, two).value == 0.75
    [message] = judge.requests[0].messages
    assert message.content == "Nota de 0 a 2.\nP: ¿Abre {context}?\nC: El museo abre.\nLos {query} también.\nNota: "
    assert (message.role, judge.requests[0].options.json_schema) == ("user", None)
    seeds = [request.options.seed for request in judge.requests[:2]]
    assert len(set(seeds)) == 2
    assert len(judge.requests[2].messages) > 1
    assert load_prompts("es", tmp_path).key != load_prompts("es").key


def test_a_text_of_the_language_is_taken_before_one_for_all_and_must_have_its_gaps(tmp_path: Path) -> None:
    (tmp_path / "template_relevance2.txt").write_text("all {query} {context}", "utf-8")
    (tmp_path / "template_relevance2_spanish.txt").write_text("es {query} {context}", "utf-8")
    assert load_prompts("es", tmp_path).templates == {"second": "es {query} {context}"}
    assert load_prompts("en", tmp_path).templates == {"second": "all {query} {context}"}
    (tmp_path / "template_relevance2_spanish.txt").write_text("es {query}", "utf-8")
    with raises("prompts_unreadable", match=r"template_relevance2_spanish.txt.*\{context\}"):
        load_prompts("es", tmp_path)


def test_a_rating_that_never_comes_leaves_the_row_without_a_score_after_five_attempts(tmp_path: Path) -> None:
    for number in (1, 2):
        (tmp_path / f"template_relevance{number}.txt").write_text("{query} {context}", "utf-8")
    judge = Judge(*["no"] * 10)
    scored = score("ragas_nv_context_relevance", judge, tmp_path)
    assert (scored.value, scored.reason, scored.raw, scored.requests) == (None, "unusable_reply", "no", 10)


@pytest.mark.parametrize(
    ("reply", "rating"), [("2", 2), ("[1]", 1), ("0.", 0), ("1 or 2", 2), ("10", 1), ("three", None)]
)
def test_a_rating_is_read_as_the_package_reads_it(reply: str, rating: int | None) -> None:
    assert rating_of(reply) == rating


def test_gaps_are_filled_in_one_pass() -> None:
    assert filled("{query}|{context}|{query}", "{context}", "{query}") == "{context}|{query}|{context}"


@pytest.mark.parametrize(
    ("given", "code"), [("Spanish", "es"), ("es", "es"), (" french ", "fr"), ("quechua", "quechua"), ("zh", "zh")]
)
def test_a_language_has_one_code(given: str, code: str) -> None:
    assert language_code(given) == code


@pytest.mark.parametrize("given", ["", "../es", "a/b", "x" * 50])
def test_a_language_that_is_no_file_name_is_refused(given: str) -> None:
    with pytest.raises(ValueError, match="letters"):
        language_code(given)


def _ragas(*arguments: str) -> str:
    interpreter = os.environ.get("RAGAS_PYTHON", "")
    if not interpreter:
        pytest.skip("RAGAS_PYTHON names no interpreter with ragas")
    done = subprocess.run([interpreter, str(SCRIPT), *arguments], capture_output=True, text=True, check=True)
    return done.stdout


@pytest.mark.slow
def test_the_package_loads_what_is_saved_and_made_and_finds_its_own_hash(tmp_path: Path) -> None:
    for prompt in own_prompts("es"):
        prompt.save(tmp_path)
    adapt_prompts("fr", tmp_path, Judge())
    for language in ("spanish", "french"):
        told = json.loads(_ragas("load", str(tmp_path), language))
        assert told["warnings"] == []
        for prompt in package_prompts(tmp_path, language_code(language)).values():
            loaded = told["loaded"][prompt.file.path(tmp_path, language).name]
            assert loaded["hash"] == prompt.hash
            assert loaded["instruction"] == prompt.instruction
            assert loaded["examples"] == [[dict(given), dict(reply)] for given, reply in prompt.examples]


@pytest.mark.slow
def test_the_package_still_writes_the_files_of_the_fixture(tmp_path: Path) -> None:
    _ragas("write", str(tmp_path))
    for path in sorted(WRITTEN_BY_RAGAS.glob("*.json")):
        theirs = json.loads((tmp_path / path.name).read_text("utf-8"))
        ours = json.loads(path.read_text("utf-8"))
        assert {**theirs, "ragas_version": ""} == {**ours, "ragas_version": ""}
