"""A knowledge base is asked before its vectors are there; what changed is embedded, what is deleted leaves no trace."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from chatbot_mvp.app import App
from chatbot_mvp.embedding.base import InputType, Vectors
from chatbot_mvp.errors import ProviderUnavailable
from chatbot_mvp.llm.demo import DemoModel
from chatbot_mvp.retrieval.pipeline import Pipeline
from chatbot_mvp.settings.model import Settings
from tests.fakes import FakeEmbedder, fake_app
from tests.knowledge_base.uploading import wait
from tests.waiting import wait_until

SECRET = "xilotecnia"
TEXT = "\n\n".join(
    f"# Sección {n}\n\nLa garantía número {n} cubre piezas. También cubre la mano de obra {n}. Dura {n} meses."
    for n in range(1, 41)
)
QUESTION = "¿Qué cubre la garantía número 7?"


class GatedEmbedder(FakeEmbedder):
    """Embeds questions at once, and passages only while its gate is open."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = threading.Event()
        self.passages = 0
        self.allowed = 0
        """Calls for passages that pass the closed gate."""
        self.failure: Exception | None = None

    def embed(self, texts: Sequence[str], input_type: InputType) -> Vectors:
        if input_type == "passage":
            self.passages += 1
            if self.passages > self.allowed:
                assert self.gate.wait(30), "the gate stayed closed"
            if self.failure is not None:
                raise self.failure
        return super().embed(texts, input_type)


@pytest.fixture
def gated() -> Iterator[GatedEmbedder]:
    embedder = GatedEmbedder()
    yield embedder
    embedder.gate.set()


@pytest.fixture
def app(settings: Settings, gated: GatedEmbedder) -> App:
    return fake_app(settings, embedder=lambda _: gated, chat_model=DemoModel)


def share(pipeline: Pipeline) -> float:
    found = pipeline.vectors_share
    assert found is not None
    return found


def test_a_question_is_answered_from_words_and_later_with_vectors(app: App, gated: GatedEmbedder) -> None:
    kb = app.kbs.add("garantía.md", TEXT.encode())
    first = app.answering.ask(kb.kb_id, QUESTION)
    assert (first.vectors_share, first.from_kb) == (0.0, True)
    gated.gate.set()
    app.kbs.pipeline(kb.kb_id)
    later = app.answering.ask(kb.kb_id, QUESTION)
    assert (later.vectors_share, later.from_kb) == (1.0, True)
    assert later.trace.records != first.trace.records


def test_one_window_of_each_paragraph_comes_first(app: App, gated: GatedEmbedder) -> None:
    gated.allowed = 1
    kb = app.kbs.add("garantía.md", TEXT.encode())
    growing = app.kbs.growing(kb.kb_id)
    wait_until(lambda: share(growing.best()) > 0, 10, "the first level of vectors")
    partial = growing.best()
    assert 0 < share(partial) < 1
    assert "vector_norm" in partial.retrieve([QUESTION])[0].hits[0].signals
    matcher = partial.index.kb.matcher  # type: ignore[union-attr]
    firsts = {matcher.window_text(row) for row in matcher.first_window}
    assert set(gated.batches[0][1]) == firsts


def test_what_was_computed_before_a_restart_is_not_computed_again(
    app: App, gated: GatedEmbedder, settings: Settings
) -> None:
    gated.allowed = 1
    kb = app.kbs.add("garantía.md", TEXT.encode())
    growing = app.kbs.growing(kb.kb_id)
    wait_until(lambda: share(growing.best()) > 0, 10, "the first level of vectors")
    before = {text for kind, texts in gated.batches if kind == "passage" for text in texts}
    fresh = FakeEmbedder()
    fake_app(settings, embedder=lambda _: fresh).kbs.pipeline(kb.kb_id)
    assert before
    assert not before & set(fresh.embedded)


def test_the_best_pipeline_is_waited_for_only_while_the_work_is_young(app: App, gated: GatedEmbedder) -> None:
    gated.gate.set()
    kb = app.kbs.add("garantía.md", TEXT.encode())
    assert share(app.kbs.growing(kb.kb_id).best(patience_s=20)) == 1.0


@pytest.mark.slow
def test_an_upload_ends_when_it_can_be_asked_and_the_next_one_does_not_wait_for_its_vectors(
    app: App, gated: GatedEmbedder
) -> None:
    for name in ("garantía.md", "otra.md"):
        upload = wait(app, app.uploads.take([(name, TEXT.replace("garantía", name).encode())]))
        assert upload.job.state == "done"
        assert app.answering.ask(upload.kb_id, "¿Cuántos meses dura?").vectors_share == 0.0
    gated.gate.set()
    assert app.kbs.pipeline(upload.kb_id).vectors_share == 1.0


def test_a_failed_model_leaves_answers_from_words_and_is_tried_again(app: App, gated: GatedEmbedder) -> None:
    gated.failure = ProviderUnavailable(provider="nim", model="m", address="http://x", tries=1, reason="refused")
    gated.gate.set()
    kb = app.kbs.add("garantía.md", TEXT.encode())
    assert app.answering.ask(kb.kb_id, QUESTION).vectors_share == 0.0
    with pytest.raises(ProviderUnavailable):
        app.kbs.pipeline(kb.kb_id)
    under_way = app.kbs.vectors_under_way([kb.kb_id])
    assert under_way is not None
    assert under_way.failure is gated.failure
    gated.failure = None
    assert app.answering.ask(kb.kb_id, QUESTION).vectors_share == 1.0
    assert app.kbs.vectors_under_way([kb.kb_id]) is None


def test_a_strategy_without_words_waits_for_vectors(settings: Settings, gated: GatedEmbedder) -> None:
    gated.gate.set()
    app = fake_app(settings.with_changes(retrieval_strategy="SIMPLE_VECTOR"), embedder=lambda _: gated)
    kb = app.kbs.add("garantía.md", TEXT.encode())
    assert share(app.kbs.growing(kb.kb_id).best()) > 0


# --- only what changed, and no trace


def passages_of(embedder: FakeEmbedder) -> list[str]:
    return [text for kind, texts in embedder.batches if kind == "passage" for text in texts]


def test_only_what_changed_is_embedded_again(settings: Settings) -> None:
    embedder = FakeEmbedder()
    app = fake_app(settings, embedder=lambda _: embedder)
    app.kbs.pipeline(app.kbs.add("garantía.md", TEXT.encode()).kb_id)
    before = len(passages_of(embedder))
    changed = TEXT.replace("Dura 7 meses.", "Dura 700 meses.")
    app.kbs.pipeline(app.kbs.add("garantía.md", changed.encode()).kb_id)
    fresh = passages_of(embedder)[before:]
    assert fresh
    assert all("700" in text for text in fresh)


def test_a_renamed_file_costs_nothing(settings: Settings) -> None:
    embedder = FakeEmbedder()
    app = fake_app(settings, embedder=lambda _: embedder)
    app.kbs.pipeline(app.kbs.add("garantía.md", TEXT.encode()).kb_id)
    before = len(passages_of(embedder))
    app.kbs.pipeline(app.kbs.add("condiciones.md", TEXT.encode()).kb_id)
    assert passages_of(embedder)[before:] == []


def traces(folder: Path, word: str) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file() and word.encode() in path.read_bytes()]


@pytest.mark.parametrize("asked_first", [True, False])
def test_a_deleted_base_leaves_no_searchable_trace(settings: Settings, asked_first: bool) -> None:
    embedder = FakeEmbedder()
    app = fake_app(settings, embedder=lambda _: embedder)
    other = app.kbs.add("otra.md", TEXT.encode())
    app.kbs.pipeline(other.kb_id)
    upload = wait(app, app.uploads.take([("secreto.md", f"# Taller\n\nLa {SECRET} estudia la madera.".encode())]))
    if asked_first:
        assert app.answering.ask(upload.kb_id, f"¿Qué estudia la {SECRET}?").sources
    assert traces(settings.data_dir, SECRET)
    app.kbs.delete(upload.kb_id)
    left = [path for path in traces(settings.data_dir, SECRET) if path != settings.metrics_log_path]
    assert left == []
    assert not (settings.cache_dir / "indexes" / upload.kb_id).exists()
    embedded = len(embedder.embedded)
    app.kbs.pipeline(app.kbs.add("secreto.md", f"# Taller\n\nLa {SECRET} estudia la madera.".encode()).kb_id)
    assert len(embedder.embedded) > embedded, "a vector of the deleted text was still there"
    assert app.answering.ask(other.kb_id, QUESTION).from_kb


def test_deleting_a_base_ends_the_work_on_its_vectors(app: App, gated: GatedEmbedder) -> None:
    kb = app.kbs.add("garantía.md", TEXT.encode())
    growing = app.kbs.growing(kb.kb_id)
    threading.Timer(0.2, gated.gate.set).start()
    app.kbs.delete(kb.kb_id)
    assert not growing.growing
    assert app.kbs.records() == []


# --- memory


def test_the_coldest_pipelines_leave_when_the_bases_grow_too_large(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("chatbot_mvp.knowledge_base.kb_pipelines._CHARS_KEPT", 10_000)
    app = fake_app(settings.with_changes(retrieval_strategy="LEXICAL"))
    kbs = [app.kbs.add(f"base{n}.md", f"{TEXT}\n\nFin {n}.".encode()) for n in range(6)]
    kept = [app.kbs.growing(kb.kb_id) for kb in kbs]
    assert kbs[0].chars > 3_000
    assert app.kbs.growing(kbs[-1].kb_id) is kept[-1]
    assert app.kbs.growing(kbs[0].kb_id) is not kept[0]
