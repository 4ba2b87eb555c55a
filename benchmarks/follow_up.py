"""Measure BRIDGE_FOLLOW_UP: what one query of a language model adds to BRIDGE_HYBRID, and the most that it could add.

    python -m benchmarks follow_up DATASET [--queries 200] [--offline]

DATASET is a folder that ``benchmark run --dataset`` takes. "model" asks the provider of the settings in effect, such as
PROVIDER=local LOCAL_MODEL_PATH=FILE.gguf; ``--offline`` leaves it out. "perfect" replaces the model by one that knows
the relevant documents and writes the title of the first that is not among five; it bounds what any model can reach by
one query in one of five places. "changed" counts questions whose five documents differ from those of BRIDGE_HYBRID.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.script import parser
from chatbot_mvp.app import build_app
from chatbot_mvp.datasets import Dataset, load_dataset
from chatbot_mvp.documents.chunking import passage_chunk
from chatbot_mvp.embedding.registry import create_embedder
from chatbot_mvp.llm.language_model import LanguageModel
from chatbot_mvp.metrics.ranking.measures import recall_at
from chatbot_mvp.retrieval.pipeline import Pipeline, growing_pipeline
from chatbot_mvp.settings.model import load_settings
from chatbot_mvp.types import last

FIRST = 5


def recall(found: Mapping[str, Sequence[str]], dataset: Dataset) -> float:
    """Return the mean recall@5 of the questions that have relevant documents."""
    scores = [recall_at(FIRST, ids, dataset.qrels[query_id]) for query_id, ids in found.items()]
    return statistics.mean(score for score in scores if score is not None)


def perfect(dataset: Dataset, first: Mapping[str, Sequence[str]]) -> LanguageModel:
    """Return a model that writes the title of a relevant document that ``first`` lacks."""
    titles = {document.doc_id: document.title for document in dataset.documents}
    texts = {query.query_id: query.text for query in dataset.queries}
    wanted = {}
    for query_id, ids in first.items():
        gold = (doc_id for doc_id, score in dataset.qrels[query_id].items() if score > 0)
        wanted[texts[query_id]] = next((titles[doc_id] for doc_id in gold if doc_id not in ids), "NONE")

    def ask(prompt: str) -> str:
        return next((title for text, title in wanted.items() if f"\n{text}\n" in prompt), "NONE")

    return LanguageModel("perfect", ask)


def main() -> None:
    options = parser(__doc__)
    options.add_argument("dataset", type=Path)
    options.add_argument("--queries", type=int, default=200)
    options.add_argument("--offline", action="store_true")
    given = options.parse_args()
    dataset = load_dataset(given.dataset)
    queries = dataset.queries[: given.queries]
    chunks = [passage_chunk(document) for document in dataset.documents]
    settings = load_settings(retrieval_k=FIRST)
    embedder = create_embedder(settings.embedding_model_name, settings)

    def pipeline(strategy: str, model: LanguageModel | None) -> Pipeline:
        changed = settings.with_changes(retrieval_strategy=strategy)
        return last(growing_pipeline(chunks, "en", changed, lambda: embedder, language_model=model))

    def found(over: Pipeline) -> dict[str, list[str]]:
        traces = over.retrieve([query.text for query in queries])
        return {
            query.query_id: [hit.chunk.chunk_id for hit in trace.hits[:FIRST]]
            for query, trace in zip(queries, traces, strict=True)
        }

    first = found(pipeline("BRIDGE_HYBRID", None))
    models = {"perfect": perfect(dataset, first)}
    if not given.offline:
        asked = build_app(settings).providers.language_model(settings)
        if asked is None:
            raise SystemExit(f"{settings.chosen_provider} has no language model: set PROVIDER, or give --offline")
        models["model"] = asked
    print(f"{len(queries)} questions, {len(chunks)} passages: recall@{FIRST}")
    print(f"BRIDGE_HYBRID        {recall(first, dataset):.3f}")
    for name, model in models.items():
        after = found(pipeline("BRIDGE_FOLLOW_UP", model))
        changed = sum(after[query_id] != ids for query_id, ids in first.items())
        print(f"{name:<20} {recall(after, dataset):.3f}   changed {changed}   ({model.name})")


if __name__ == "__main__":
    main()
