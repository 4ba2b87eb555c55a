"""A knowledge base is a data set: its questions are a run like every other, with the figures of ``kb evaluate``."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from chatbot_mvp.app import App, build_app
from chatbot_mvp.errors import KbNotFound
from chatbot_mvp.evaluation.kb.questions import KbQuestion, auroc, load_questions, places_of, unique_ids
from chatbot_mvp.evaluation.kb.sets import QuestionSet, SetQuestion
from chatbot_mvp.exports.base import write_files
from chatbot_mvp.exports.formats import FORMATS
from chatbot_mvp.llm.base import Completion, ignore_reply
from chatbot_mvp.llm.demo import DemoModel
from chatbot_mvp.llm.language_model import LanguageModel
from chatbot_mvp.retrieval.factory import PipelineFactory
from chatbot_mvp.runs.kinds import KB
from chatbot_mvp.runs.lists import run_groups
from chatbot_mvp.runs.result import RunResult
from chatbot_mvp.settings.model import Settings, load_settings
from chatbot_mvp.types import ignore_progress
from tests.conftest import Command
from tests.fakes import FakeEmbedder, fake_app
from tests.raising import raises
from tests.stopping import at, stopped_run

TEXT = "# Vacaciones\n\nCada persona dispone de 23 días.\n\n# Dietas\n\nLa dieta completa es de 48 euros.\n"
QUESTIONS = (
    KbQuestion("a", "¿De cuánto es la dieta completa?", "answerable", "La dieta completa es de 48 euros."),
    KbQuestion("b", "¿De cuántos días dispone cada persona?", "answerable", "No está en el texto."),
    KbQuestion("c", "¿Qué altura tiene la torre Eiffel?", "far"),
    KbQuestion("d", "¿Quién inventó la dieta?", "near"),
    KbQuestion("e", "¿Y los viernes?"),
)


def saved(app: App, kb_id: str, questions: tuple[KbQuestion, ...] = QUESTIONS) -> QuestionSet:
    empty = app.question_sets.empty_set(kb_id, "mías")
    return app.question_sets.save(replace(empty, questions=tuple(SetQuestion(one) for one in questions)))


def reference(app: App, kb_id: str, questions: tuple[KbQuestion, ...] = QUESTIONS) -> str:
    return f"kb:{kb_id}/{saved(app, kb_id, questions).set_id}"


def run(app: App, asked: str, **changes: Any) -> RunResult:
    return app.runs.run_now(mteb_dataset_name=asked, generation_enabled=False, **changes)


def small(app: App) -> str:
    return app.kbs.add("normas.md", TEXT.encode()).kb_id


def expected_figures(app: App, kb_id: str, questions: list[KbQuestion]) -> dict[str, Any]:
    """The figures as ``kb evaluate`` computed them before it was a run: from the pipeline, question by question."""
    pipeline, text = app.kbs.pipeline(kb_id), app.kbs.document(kb_id).text
    ranks: list[int | None] = []
    evidence: dict[str, list[float]] = {"answerable": [], "near": [], "far": []}
    for question in questions:
        [trace] = pipeline.retrieve([question.question])
        if question.kind:
            evidence[question.kind].append((trace.evidence or 0.0) if trace.chunks_final else 0.0)
        if question.kind in (None, "answerable") and (places := places_of(text, question.paragraph)):
            chunks = [hit.chunk for hit in trace.chunks_final]
            covers = [
                rank
                for rank, chunk in enumerate(chunks, 1)
                if any(2 * (min(e, chunk.end) - max(s, chunk.start)) >= e - s for s, e in places)
            ]
            ranks.append(covers[0] if covers else None)
    threshold = app.settings.kb_min_evidence
    return {
        "hit@1": sum(rank == 1 for rank in ranks) / len(ranks),
        "hit@3": sum(rank is not None and rank <= 3 for rank in ranks) / len(ranks),
        "mrr": sum(1 / rank if rank else 0.0 for rank in ranks) / len(ranks),
        "scored": len(ranks),
        "accepted": {kind: sum(v >= threshold for v in vs) / len(vs) for kind, vs in evidence.items()},
        "auroc": {kind: auroc(evidence["answerable"], evidence[kind]) for kind in ("near", "far")},
    }


@pytest.mark.sampled(2)
@pytest.mark.parametrize("changes", [{}, {"kb_top_k": 2}, {"kb_min_score": 0.6, "kb_max_context_chars": 1_500}])
def test_a_runs_figures_are_those_of_the_pipeline_that_the_chat_answers_with(
    settings: Settings, changes: dict[str, Any], tmp_path: Path
) -> None:
    made = load_settings(data_dir=settings.data_dir, retrieval_strategy="LEXICAL", provider="demo", **changes)
    app = build_app(made)
    kb_id = app.kbs.add_sample().kb_id
    path = tmp_path / "q.jsonl"
    questions = app.kb_evaluation.propose_now(kb_id, 40, use_model=False)
    text = app.kbs.document(kb_id).text
    links = (Path(__file__).parents[3] / "benchmarks" / "kb_links_es.jsonl").read_text("utf-8")
    long = KbQuestion("long", "¿Qué dice el manual?", "answerable", text[:6_000])
    path.write_text(f"{app.question_sets.export(questions)}{links}{long.as_line()}", "utf-8")
    figures = app.kb_evaluation.evaluate(kb_id, path)
    expected = expected_figures(app, kb_id, load_questions(path))
    for name, value in expected.items():
        assert figures[name] == (pytest.approx(value) if not isinstance(value, dict) else value), name
    assert 0 < figures["mrr"] < 1


@pytest.mark.parametrize("strategy", ["SIMPLE_VECTOR", "HYBRID", "BRIDGE_HYBRID", "KB_CHAT"])
def test_the_pipeline_of_a_run_is_the_object_that_answers_in_the_chat(settings: Settings, strategy: str) -> None:
    changed = settings.with_changes(retrieval_strategy=strategy, retrieval_bm25_language="en")
    app = fake_app(changed, lambda _: FakeEmbedder(), DemoModel)
    kb_id = small(app)
    measured = app.runs.prepare({"mteb_dataset_name": reference(app, kb_id), "generation_enabled": False})
    factory = PipelineFactory(app.embedders, app.providers)
    pipeline = measured.corpus.pipeline(factory, measured.settings, ignore_progress, ignore_reply)
    assert pipeline is app.kbs.pipeline(kb_id)
    result = app.runs.execute(measured, ignore_progress)
    expected = expected_figures(app, kb_id, list(QUESTIONS))
    assert {name: result.metrics[name] for name in ("hit@1", "hit@3", "mrr")} == pytest.approx(
        {name: expected[name] for name in ("hit@1", "hit@3", "mrr")}
    )


def test_questions_without_a_paragraph_are_not_scored_and_their_decision_is(app: App) -> None:
    kb_id = small(app)
    result = run(app, reference(app, kb_id))
    rows = {row.query_id: row for row in result.per_query}
    assert (result.kind, result.queries, result.dataset) == (KB, 5, f"{kb_id}/mías")
    assert result.scored["hit@1"] == result.scored["mrr"] == (1, 5)
    assert {name: rows["c"].metrics[name] for name in ("hit@1", "mrr", "refused")} == {
        "hit@1": None,
        "mrr": None,
        "refused": 1.0,
    }
    assert [row.metrics.get("accepted") for row in result.per_query] == [1.0, 1.0, None, None, None]
    assert [row.question_type for row in result.per_query] == ["answerable", "answerable", "far", "near", ""]
    assert set(result.splits["question_type"]) == {"answerable", "near", "far"}
    assert result.auroc["far"] == 1.0
    assert all(row.evidence is not None for row in result.per_query)
    assert [row.cause for row in result.per_query] == ["ok", "not_scored", "ok", rows["d"].cause, "not_scored"]
    assert rows["d"].cause == ("ok" if rows["d"].metrics["refused"] else "accepted_wrongly")
    assert not {"recall@5", "map", "generation_hit"} & result.metrics.keys(), "one relevant chunk is enough"


def test_a_run_that_is_stopped_and_resumed_gives_the_result_of_one_in_one_go(app: App) -> None:
    kb_id = small(app)
    asked = reference(app, kb_id)
    whole = run(app, asked)
    run_id = stopped_run(app, at("retrieve", 2), mteb_dataset_name=asked, generation_enabled=False)
    [begun] = app.archive.unfinished()
    assert (begun.run_id, begun.recorded, begun.queries) == (run_id, 2, 5)
    # Meanwhile the set is emptied and the strategy changed: the run goes on with what it started with.
    made = app.question_sets.question_set(kb_id, asked.rpartition("/")[2])
    app.question_sets.save(replace(made, questions=()))
    again = build_app(load_settings(data_dir=app.settings.data_dir, retrieval_strategy="BRIDGE", kb_min_evidence=0.9))
    resumed = again.runs.resume_now(run_id)
    assert (resumed.metrics, resumed.per_query) == (whole.metrics, whole.per_query)
    assert (resumed.fingerprint, resumed.auroc) == (whole.fingerprint, whole.auroc)
    assert again.archive.unfinished() == []


def test_a_run_whose_knowledge_base_is_gone_keeps_its_records(app: App) -> None:
    kb_id = small(app)
    run_id = stopped_run(app, at("retrieve", 2), mteb_dataset_name=reference(app, kb_id), generation_enabled=False)
    app.kbs.delete(kb_id)
    with pytest.raises(KbNotFound):
        app.runs.resume_now(run_id)
    app.kbs.add("normas.md", TEXT.encode())
    assert app.runs.resume_now(run_id).queries == 5


def test_an_edited_question_of_the_run_is_not_mixed_with_the_others(app: App) -> None:
    run_id = stopped_run(app, at("retrieve", 2), mteb_dataset_name=reference(app, small(app)), generation_enabled=False)
    kept = app.settings.results_dir / run_id / "questions.jsonl"
    kept.write_text(kept.read_text("utf-8").replace("viernes", "lunes"), "utf-8")
    with raises("run_mismatch", match="dataset_sha256 was"):
        app.runs.resume_now(run_id)


def test_two_runs_over_the_same_questions_are_compared_listed_and_exported(app: App, tmp_path: Path) -> None:
    kb_id = small(app)
    asked = reference(app, kb_id)
    one = run(app, asked)
    other = run(app, asked, kb_min_evidence=1.0, kb_top_k=1)
    comparison = app.archive.compare([one.run_id, other.run_id])
    deltas = {delta.metric: delta for delta in comparison.runs[0].metrics}
    assert list(deltas) == ["hit@1", "mrr", "solved", "accepted", "refused", "useful"]
    assert [change.query_id for change in deltas["accepted"].worsened] == ["a", "b"]
    [field] = run_groups(app.archive.runs()[0])
    assert (field.kind, len(field.runs)) == (KB, 2)
    for name, form in FORMATS.items():
        if not form.needs_answers:
            assert write_files(app.archive.export(one.run_id, name), tmp_path / name), name
    trec = next((tmp_path / "trec").glob("*qrels*")).read_text("utf-8")
    assert trec.split()[0] == "a"
    third = run(app, reference(app, kb_id, QUESTIONS[:2]))
    with raises("corpora_differ"):
        app.archive.compare([one.run_id, third.run_id])


def test_the_run_and_the_chat_have_the_same_retrieval_fingerprint(app: App) -> None:
    kb_id = small(app)
    result = run(app, reference(app, kb_id))
    answer = app.answering.ask(kb_id, "¿De cuánto es la dieta completa?")
    assert answer.fingerprint.partition("-")[0] == result.fingerprint
    other = app.runs.run_now(
        generation_enabled=False, mteb_dataset_name=reference(app, kb_id), retrieval_rrf_k=7, embedding_model_name="x/y"
    )
    assert other.fingerprint == result.fingerprint


def test_a_reference_that_is_not_there_is_told_before_anything_is_written(app: App, tmp_path: Path) -> None:
    kb_id = small(app)
    bad = tmp_path / "mal.jsonl"
    bad.write_text("{", "utf-8")
    wrong = {
        "kb:otra-00000000/x": "kb_not_found",
        f"kb:{kb_id}": "dataset_not_found",
        f"kb:{kb_id}/nada": "question_set_not_found",
        f"kb:{kb_id}/{bad}": "dataset_file_unreadable",
        reference(app, kb_id, ()): "no_questions_kept",
    }
    for name, code in wrong.items():
        with raises(code):
            run(app, name)
    assert not list(app.settings.results_dir.glob("*/manifest.json"))


def test_a_run_names_the_knowledge_base_by_its_name_too(app: App) -> None:
    kb_id = app.kbs.rename(small(app), "Normas de la casa").kb_id
    set_id = reference(app, kb_id).rpartition("/")[2]
    made = run(app, f"kb:normas de la casa/{set_id}")
    manifest = json.loads((app.settings.results_dir / made.run_id / "manifest.json").read_text("utf-8"))
    assert manifest["dataset_ref"] == f"kb:{kb_id}/{set_id}"
    app.kbs.add("otras.md", f"{TEXT}# Otras\n\nLa sala cierra a las ocho.\n".encode())
    app.kbs.store.rename(app.kbs.records()[0].kb_id, "NORMAS de la casa")
    with raises("kb_name_ambiguous"):
        run(app, f"kb:Normas De La Casa/{set_id}")


def test_repeated_ids_of_a_file_are_told_apart(app: App, tmp_path: Path) -> None:
    assert unique_ids(["a", "a", "a-2", "b"]) == ["a", "a-2", "a-2-2", "b"]
    path = tmp_path / "q.jsonl"
    path.write_text('{"id": "x", "question": "¿Dieta?"}\n{"id": "x", "question": "¿Días?"}\n', "utf-8")
    assert app.kb_evaluation.evaluate(small(app), path)["questions"] == {"unknown": 2}


def test_the_commands_evaluate_resume_show_list_and_plan_such_a_run(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RETRIEVAL_STRATEGY", "LEXICAL")
    document, questions = tmp_path / "normas.md", tmp_path / "q.jsonl"
    document.write_text(TEXT, "utf-8")
    questions.write_text("".join(f"{one.as_line()}\n" for one in QUESTIONS), "utf-8")
    code, said, _ = command("kb", "evaluate", str(document), str(questions), "--json")
    told = json.loads(said)
    assert (code, told["hit@1"], told["accepted"]["far"], told["scored"]) == (0, 1.0, 0.0, 1)
    code, said, _ = command("benchmark", "show", told["run_id"], "--json")
    shown = json.loads(said)
    assert (code, shown["metrics"]["hit@1"], shown["auroc"]) == (0, 1.0, told["auroc"])
    assert told["run_id"] in command("benchmark", "list")[1]
    code, _, problem = command("benchmark", "resume", told["run_id"])
    assert (code, "nothing to resume" in problem) == (1, True)
    kb_id = shown["dataset"].partition("/")[0]
    again = json.loads(command("kb", "evaluate", kb_id, str(questions), "--json")[1])
    assert again["run_id"] != told["run_id"]
    assert "hit@1" in command("benchmark", "compare", told["run_id"], again["run_id"])[1]
    code, _, problem = command("kb", "evaluate", "nope.md", str(questions))
    assert (code, "nope.md" in problem) == (2, True)
    name = f"kb:{kb_id}/{questions}"
    code, said, _ = command("benchmark", "run", "--dataset", name, "--no-generation", "--dry-run", "--json")
    assert (code, json.loads(said)["fingerprint"], json.loads(said)["queries"]) == (0, shown["fingerprint"], 5)


def test_a_lone_surrogate_in_a_question_file_does_not_end_the_run(app: App, tmp_path: Path) -> None:
    path = tmp_path / "q.jsonl"
    path.write_text('{"question": "¿De cuánto es la dieta \\ud83d completa?", "kind": "answerable"}\n', "utf-8")
    figures = app.kb_evaluation.evaluate(small(app), path)
    assert app.kb_evaluation.results(small(app))[0].result_id == figures["run_id"]


def test_a_run_from_another_machine_is_shown_and_says_that_its_texts_are_not_here(app: App, tmp_path: Path) -> None:
    result = run(app, reference(app, small(app)))
    [path] = write_files(app.archive.export(result.run_id, "zip"), tmp_path)
    other = build_app(load_settings(data_dir=tmp_path / "other", provider="demo"))
    other.archive.import_run(path)
    imported = other.archive.run(result.run_id)
    assert (imported.kind, imported.metrics, imported.auroc) == (KB, result.metrics, result.auroc)
    with raises("dataset_not_found"):
        other.archive.export(result.run_id, "beir")
    kb_id = other.kbs.add("normas.md", TEXT.encode()).kb_id
    assert other.kb_evaluation.results(kb_id) == [], "its questions are not here"


def test_a_run_that_needs_a_language_model_counts_its_requests(settings: Settings) -> None:
    def model(_: Settings, seen: Callable[[Completion], None]) -> LanguageModel:
        def ask(prompt: str) -> str:
            seen(Completion("descanso", "fake", seconds=0.1))
            return "descanso"

        return LanguageModel("fake", ask)

    changed = settings.with_changes(retrieval_strategy="LEXICAL", query_expansion_llm=True)
    app = fake_app(changed, lambda _: FakeEmbedder(), DemoModel, model)
    result = run(app, reference(app, small(app)))
    assert result.usage.phases["retrieval"].calls > 0


def test_a_paragraph_that_is_longer_than_a_chunk_is_found(app: App) -> None:
    """The pieces of such a paragraph are one chunk in a search, whose id no piece has."""
    sentences = " ".join(f"En el tramo {number} del canal hay una compuerta de hierro." for number in range(60))
    filler = "\n\n".join(f"## Sala {number}\n\nEl museo guarda relojes de la sala {number}." for number in range(5))
    kb_id = app.kbs.add("canal.md", f"# Guía\n\n## Canal\n\n{sentences}\n\n{filler}".encode()).kb_id
    asked = reference(app, kb_id, (KbQuestion("q", "¿Qué compuerta hay en el canal?", "answerable", sentences),))
    assert run(app, asked).metrics["hit@1"] == 1.0
