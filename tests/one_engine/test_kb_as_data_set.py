"""Chat and benchmark are one engine: documents give one ranking, whether they are a data set or a knowledge base."""

from __future__ import annotations

import pytest

from chatbot_mvp.app import App, build_app
from chatbot_mvp.datasets import load_dataset
from chatbot_mvp.documents.chunking import passage_chunk
from chatbot_mvp.documents.parsing import parse_upload
from chatbot_mvp.retrieval.factory import PipelineFactory
from chatbot_mvp.retrieval.pipeline import fingerprint
from chatbot_mvp.settings.model import Settings
from chatbot_mvp.types import last


def in_kb(app: App, settings: Settings) -> str:
    """Keep the sample data set as a knowledge base of 80 files and return its id."""
    dataset = load_dataset(settings.samples_dir / "valle_multihop")
    files = [
        (name, parse_upload(name, document.text.encode(), 10_000, 1))
        for document in dataset.documents
        for name in [f"{document.title}.md"]
    ]
    return app.kbs.store.keep(files, 1_000_000, "Valle").kb_id


@pytest.mark.sampled(1)
@pytest.mark.usefixtures("models_dir")
@pytest.mark.parametrize("strategy", ["BRIDGE", "BRIDGE_HYBRID"])
def test_a_data_set_uploaded_as_a_knowledge_base_has_the_ranking_of_its_run(settings: Settings, strategy: str) -> None:
    settings = settings.with_changes(retrieval_strategy=strategy)
    app = build_app(settings)
    dataset = load_dataset(settings.samples_dir / "valle_multihop")
    # A knowledge base has its documents in the order of their paths, which decides between equal scores.
    ordered = sorted(dataset.documents, key=lambda document: f"{document.title}.md")
    chunks = [passage_chunk(document) for document in ordered]
    run = last(PipelineFactory(app.embedders, app.providers).grow(chunks, dataset.language, settings))
    chat = app.kbs.pipeline(in_kb(app, settings))
    questions = [query.text for query in dataset.queries]
    in_run = [[hit.chunk.section for hit in trace.hits[:10]] for trace in run.retrieve(questions)]
    in_chat = [[hit.chunk.section for hit in trace.hits[:10]] for trace in chat.retrieve(questions)]
    assert in_chat == in_run
    assert fingerprint(chat.config) == fingerprint(run.config)
