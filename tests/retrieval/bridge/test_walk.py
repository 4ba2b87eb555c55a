"""The walk: it reaches what no word of the question leads to, and the same ranking comes out each time."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from chatbot_mvp.datasets import load_dataset
from chatbot_mvp.metrics.ranking.measures import recall_at
from chatbot_mvp.retrieval.bridge.choice import HOP_STEP_FEATURES, STEP_FEATURES
from chatbot_mvp.retrieval.bridge.features import HOP_FEATURES, LINK_FEATURES, OWN_FEATURES, VECTOR_FEATURES
from chatbot_mvp.retrieval.bridge.walk import PATH, load_weights
from chatbot_mvp.retrieval.pipeline import Pipeline, growing_pipeline
from chatbot_mvp.retrieval.strategies import STRATEGIES
from chatbot_mvp.settings.model import PROJECT_ROOT, Settings
from chatbot_mvp.types import Chunk, last
from tests.fakes import FakeEmbedder
from tests.strategies import OWN_STRATEGIES

WALKING = [name for name in OWN_STRATEGIES if STRATEGIES[name].needs_links]
TEXTS = {
    "Kestrel Bridge": "The Kestrel Bridge was designed by Ada Vidarte. It was opened in 1931.",
    "Ada Vidarte": "Ada Vidarte was an engineer. She was born in Sauceda.",
    "Heron Bridge": "The Heron Bridge was designed by a committee. It was opened in 1950.",
    "Sauceda": "Sauceda is a village known for its bread.",
    "Engineer": "An engineer designs machines and bridges. Many were born in towns.",
}


def pipeline(tmp_path: Path, strategy: str, texts: dict[str, str] = TEXTS) -> Pipeline:
    chunks = [Chunk(title, title, title, text, 0, len(text)) for title, text in texts.items()]
    settings = Settings(_env_file=None, data_dir=tmp_path, retrieval_strategy=strategy)  # type: ignore[call-arg]
    return last(growing_pipeline(chunks, "en", settings, FakeEmbedder))


def titles(made: Pipeline, question: str) -> list[str]:
    return [hit.chunk.section for hit in made.retrieve([question])[0].hits]


@pytest.mark.parametrize("strategy", WALKING)
def test_the_document_that_the_first_one_names_comes_second(tmp_path: Path, strategy: str) -> None:
    """ "Ada Vidarte" shares only "born" with the question, as does "Engineer"; the bridge names her."""
    found = titles(pipeline(tmp_path, strategy), "Where was the designer of the Kestrel Bridge born?")
    assert found[:2] == ["Kestrel Bridge", "Ada Vidarte"]


@pytest.mark.parametrize("strategy", WALKING)
def test_a_comparison_finds_one_document_for_each_side(tmp_path: Path, strategy: str) -> None:
    found = titles(pipeline(tmp_path, strategy), "Which was opened first, the Heron Bridge or the Kestrel Bridge?")
    assert set(found[:2]) == {"Heron Bridge", "Kestrel Bridge"}


@pytest.mark.parametrize("strategy", WALKING)
def test_scores_fall_and_lie_between_0_and_1(tmp_path: Path, strategy: str) -> None:
    [trace] = pipeline(tmp_path, strategy).retrieve(["Who designed the Kestrel Bridge in Sauceda?"])
    scores = [hit.score for hit in trace.hits]
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 for score in scores)
    assert len({hit.chunk.chunk_id for hit in trace.hits}) == len(trace.hits)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("strategy", WALKING)
@hypothesis_settings(max_examples=40, deadline=None)
@given(question=st.one_of(st.text(max_size=200), st.lists(st.sampled_from('bridge "Ada +born :* (? 🙂'.split()))))
def test_any_question_is_answered_without_an_error(
    tmp_path_factory: pytest.TempPathFactory, strategy: str, question: str | list[str]
) -> None:
    made = pipeline(tmp_path_factory.mktemp("walk"), strategy)
    assert len(made.retrieve([question if isinstance(question, str) else " ".join(question)])) == 1


def test_ten_thousand_words_and_none_are_questions_too(tmp_path: Path) -> None:
    made = pipeline(tmp_path, "BRIDGE")
    assert titles(made, "") == []
    assert titles(made, "Kestrel Bridge " * 5_000)[0] == "Kestrel Bridge"


@pytest.mark.parametrize("texts", [{"A": ""}, {"": "one word"}], ids=["no text", "no title"])
def test_a_corpus_of_next_to_nothing_is_walked(tmp_path: Path, texts: dict[str, str]) -> None:
    assert len(titles(pipeline(tmp_path, "BRIDGE", texts), "a word about A")) <= 1


def test_a_ranking_does_not_depend_on_the_other_questions_of_its_batch(tmp_path: Path) -> None:
    """Questions of different lengths, without candidates, and repeated ones share one batch."""
    made = pipeline(tmp_path, "BRIDGE_HYBRID")
    questions = ["Sauceda", "", "Where was the designer of the Kestrel Bridge born?", "Engineer?", "", "Sauceda"]
    together = [[(hit.chunk.doc_id, hit.score, hit.signals) for hit in t.hits] for t in made.retrieve(questions)]
    alone = [[(hit.chunk.doc_id, hit.score, hit.signals) for hit in made.retrieve([q])[0].hits] for q in questions]
    assert together == alone


def test_threads_do_not_disturb_each_other(tmp_path: Path) -> None:
    """The work space of a walk belongs to its thread."""
    made = pipeline(tmp_path, "BRIDGE")
    questions = ["Where was the designer of the Kestrel Bridge born?", "What is Sauceda known for?", "Engineer?"]
    alone = {question: titles(made, question) for question in questions}
    wrong: list[str] = []

    def ask(question: str) -> None:
        wrong.extend(question for _ in range(50) if titles(made, question) != alone[question])

    threads = [threading.Thread(target=ask, args=(question,)) for question in questions * 2]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_the_graph_on_disk_gives_the_ranking_of_the_one_just_built(tmp_path: Path) -> None:
    question = "Where was the designer of the Kestrel Bridge born?"
    assert titles(pipeline(tmp_path, "BRIDGE"), question) == titles(pipeline(tmp_path, "BRIDGE"), question)


@pytest.mark.parametrize("strategy", WALKING)
def test_the_weights_are_of_features_that_exist(strategy: str) -> None:
    weights = load_weights(strategy)
    without_hops = [name for name in STEP_FEATURES if name not in HOP_STEP_FEATURES]
    if not STRATEGIES[strategy].needs_vectors:
        assert list(weights.linear) == [*OWN_FEATURES, *LINK_FEATURES]
        assert list(weights.step) == without_hops
        assert weights.first is None
        return
    assert list(weights.linear) == [*OWN_FEATURES, *LINK_FEATURES, *VECTOR_FEATURES, *HOP_FEATURES]
    assert list(weights.step) == list(STEP_FEATURES)
    assert weights.first is not None
    assert list(weights.first.linear) == [*OWN_FEATURES, *LINK_FEATURES, *VECTOR_FEATURES]
    assert list(weights.first.step) == without_hops


def test_links_help_on_the_bundled_data_set_in_another_language(tmp_path: Path) -> None:
    """Weights fitted on English questions; a Spanish corpus gains at least 0.05 of recall@5 over BM25."""
    dataset = load_dataset(PROJECT_ROOT / "data" / "samples" / "valle_multihop")
    chunks = [Chunk(d.doc_id, d.doc_id, d.title, d.text, 0, len(d.text)) for d in dataset.documents]
    recall = {}
    for strategy in ("LEXICAL", "BRIDGE"):
        settings = Settings(_env_file=None, data_dir=tmp_path, retrieval_strategy=strategy)  # type: ignore[call-arg]
        traces = last(growing_pipeline(chunks, "es", settings, FakeEmbedder)).retrieve(
            [q.text for q in dataset.queries]
        )
        scores = [
            recall_at(5, [hit.chunk.doc_id for hit in trace.hits], dataset.qrels[query.query_id]) or 0.0
            for query, trace in zip(dataset.queries, traces, strict=True)
        ]
        recall[strategy] = sum(scores) / len(scores)
    assert recall["BRIDGE"] >= recall["LEXICAL"] + 0.05, recall


def test_the_weights_file_says_what_it_was_fitted_on_and_how_well_it_does() -> None:
    content = json.loads(PATH.read_text("utf-8"))
    for strategy in WALKING:
        for of in content[strategy]["fitted_on"]:
            assert of["questions"] > 0
            assert any(how.startswith("cross-fitted") for how in content[strategy]["figures"][of["dataset"]])
