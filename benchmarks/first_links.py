"""Measure the first use of links in this process: imports, the index of a small corpus, and its first question.

    python benchmarks/first_links.py [DATASET_DIR]

Prints the processor seconds of each part as JSON. Indexes are written to a temporary folder, so nothing is cached. Run
the command in a new virtual environment to include the time of compiling Python's modules to bytecode.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path

from chatbot_mvp.datasets import load_dataset
from chatbot_mvp.documents.chunking import passage_chunk
from chatbot_mvp.embedding.base import Embedder
from chatbot_mvp.retrieval.pipeline import growing_pipeline
from chatbot_mvp.settings.model import PROJECT_ROOT, load_settings
from chatbot_mvp.types import last

SAMPLE = PROJECT_ROOT / "data" / "samples" / "valle_multihop"


def no_embedder() -> Embedder:
    raise AssertionError("BRIDGE uses no vectors")


def main() -> None:
    imported = time.process_time()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dataset", type=Path, nargs="?", default=SAMPLE)
    dataset = load_dataset(parser.parse_args().dataset)
    chunks = [passage_chunk(document) for document in dataset.documents]
    with tempfile.TemporaryDirectory() as folder:
        settings = load_settings(data_dir=Path(folder), retrieval_strategy="BRIDGE")
        started = time.process_time()
        pipeline = last(growing_pipeline(chunks, dataset.language, settings, no_embedder))
        indexed = time.process_time()
        [trace] = pipeline.retrieve([dataset.queries[0].text])
        answered = time.process_time()
    report = {
        "imports_s": round(imported, 3),
        "index_s": round(indexed - started, 3),
        "first_question_s": round(answered - indexed, 3),
        "hits": len(trace.hits),
    }
    print(json.dumps(report))


if __name__ == "__main__":
    main()
