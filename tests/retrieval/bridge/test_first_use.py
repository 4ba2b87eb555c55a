"""The first use of links on a machine is fast, because nothing is compiled to machine code."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from chatbot_mvp.settings.model import PROJECT_ROOT
from tests.processor import reference_seconds

FIRST_USE = """
import json, sys, time
from pathlib import Path
from chatbot_mvp.datasets import load_dataset
from chatbot_mvp.documents.chunking import passage_chunk
from chatbot_mvp.retrieval.pipeline import growing_pipeline
from chatbot_mvp.settings.model import PROJECT_ROOT, load_settings
from chatbot_mvp.types import last

dataset = load_dataset(PROJECT_ROOT / "data" / "samples" / "valle_multihop")
chunks = [passage_chunk(document) for document in dataset.documents]
settings = load_settings(data_dir=Path("data").resolve(), retrieval_strategy="BRIDGE")
started = time.process_time()
pipeline = last(growing_pipeline(chunks, dataset.language, settings, lambda: None))
[trace] = pipeline.retrieve([dataset.queries[0].text])
compilers = sorted({"numba", "llvmlite"} & sys.modules.keys())
print(json.dumps({"seconds": time.process_time() - started, "hits": len(trace.hits), "compilers": compilers}))
"""


@pytest.mark.slow
def test_the_first_question_with_links_takes_2_seconds_of_processor_time_at_most(tmp_path: Path) -> None:
    """Counts the index and the first hits of ``valle_multihop``, in a new process without any cached index."""
    environment = {**os.environ, "PYTHONPATH": str(PROJECT_ROOT), "PYTHONPYCACHEPREFIX": str(tmp_path)}
    command = [sys.executable, "-c", FIRST_USE]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
    measured = json.loads(done.stdout)
    assert measured["hits"] > 0
    assert reference_seconds(measured["seconds"]) <= 2.0, measured
    assert measured["compilers"] == []
