"""Without Tantivy: the same rows in the same order, in memory and from a folder, and a program that works."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from chatbot_mvp.app import App
from chatbot_mvp.documents.chunking import passage_chunk
from chatbot_mvp.retrieval.indexes.array_bm25 import ArrayIndex
from chatbot_mvp.retrieval.indexes.lexical import LexicalIndex, LexicalSearch
from chatbot_mvp.settings.model import PROJECT_ROOT
from chatbot_mvp.text import Analyzer
from chatbot_mvp.types import Chunk
from tests.fakes import chunks_of

ANALYZER = Analyzer("en")
WORDS = [f"word{number}" for number in range(60)]


def texts(seed: int, count: int) -> list[Chunk]:
    """Chunks of 0 to 120 words; few words are frequent and many rare. Some chunks are equal, so that there are ties."""
    rng = random.Random(seed)
    weights = [1 / (rank + 1) for rank in range(len(WORDS))]
    made = [" ".join(rng.choices(WORDS, weights, k=rng.randrange(120))) for _ in range(count)]
    return chunks_of(*made, *made[: count // 10])


def same(one: LexicalSearch, other: LexicalSearch, query: str, limit: int) -> None:
    expected, found = one.search(query, limit), other.search(query, limit)
    assert [row for row, _ in found] == [row for row, _ in expected], query
    np.testing.assert_allclose([score for _, score in found], [score for _, score in expected], rtol=1e-5)


@pytest.mark.sampled(8)
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("limit", [1, 7, 20, 1_000])
def test_rows_order_and_scores_are_those_of_tantivy(seed: int, limit: int) -> None:
    chunks = texts(seed, 400)
    tantivy, arrays = LexicalIndex.build(chunks, ANALYZER), ArrayIndex.build(chunks, ANALYZER)
    for query in ["word0", "word3 word17", "word59 word2 word2", "word1 word5 word40", "unknown", "unknown word7", ""]:
        same(tantivy, arrays, query, limit)
    for term in [*WORDS, "unknown", ""]:
        assert arrays.document_frequency(term) == tantivy.document_frequency(term)


def test_rankings_of_the_bundled_questions_are_those_of_tantivy(app: App) -> None:
    dataset = app.datasets.load("valle_multihop")
    chunks, analyzer = [passage_chunk(document) for document in dataset.documents], Analyzer("es")
    tantivy, arrays = LexicalIndex.build(chunks, analyzer), ArrayIndex.build(chunks, analyzer)
    for query in dataset.queries:
        same(tantivy, arrays, query.text, 150)


def test_an_index_from_a_folder_answers_as_the_one_that_was_built(tmp_path: Path) -> None:
    chunks, folder = texts(9, 100), tmp_path / "index"
    assert ArrayIndex.open(folder, ANALYZER) is None
    built = ArrayIndex.build(chunks, ANALYZER, folder)
    opened = ArrayIndex.open(folder, ANALYZER)
    assert opened is not None
    assert opened.search("word1 word9", 50) == built.search("word1 word9", 50)
    assert opened.count == built.count == 110
    assert LexicalIndex.open(folder, ANALYZER) is None, "Tantivy does not read the files of this engine"


def test_a_damaged_index_is_none_and_can_be_built_again(tmp_path: Path) -> None:
    ArrayIndex.build(texts(9, 10), ANALYZER, tmp_path / "index")
    [postings] = tmp_path.glob("*/postings.npz")
    postings.write_bytes(b"PK damaged")
    assert ArrayIndex.open(tmp_path / "index", ANALYZER) is None
    assert ArrayIndex.build(texts(9, 10), ANALYZER, tmp_path / "index").search("word0", 3)


@pytest.mark.parametrize("chunks", [[], chunks_of("", " ")], ids=["none", "empty"])
def test_without_words_nothing_is_found(chunks: list[Chunk], tmp_path: Path) -> None:
    index = ArrayIndex.build(chunks, ANALYZER, tmp_path / "index")
    assert index.search("word0", 5) == []
    opened = ArrayIndex.open(tmp_path / "index", ANALYZER)
    assert opened is not None
    assert opened.search("word0", 5) == []


BLOCKED = """
import sys
class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == "tantivy":
            raise ModuleNotFoundError("No module named 'tantivy'", name="tantivy")
sys.meta_path.insert(0, Blocked())
"""
COMMAND = "from chatbot_mvp.cli.main import main; sys.argv = ['chatbot-mvp', *sys.argv[1:]]; main()"


def run(code: str, *arguments: str, folder: Path) -> str:
    """Standard output of a command with its data in ``folder``; it must end with code 0."""
    environment = {**os.environ, "PYTHONPATH": str(PROJECT_ROOT), "DATA_DIR": str(folder), "PROVIDER": "demo"}
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\n{COMMAND}", *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        encoding="utf-8",
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_without_tantivy_a_run_has_the_same_figures_and_doctor_says_what_searches(tmp_path: Path) -> None:
    found = {}
    for name, code in {"tantivy": "import sys", "arrays": BLOCKED}.items():
        folder = tmp_path / name
        folder.mkdir()
        arguments = ("benchmark", "run", "--strategy", "LEXICAL", "--no-generation", "--json")
        found[name] = json.loads(run(code, *arguments, folder=folder))
    assert found["arrays"]["metrics"] == found["tantivy"]["metrics"]
    assert found["arrays"]["fingerprint"] == found["tantivy"]["fingerprint"]
    told = run(BLOCKED, "doctor", folder=tmp_path / "arrays")
    assert "ok  words: BM25 by NumPy" in told
    assert "No module named 'tantivy'" in told
    assert "ok  words: BM25 by Tantivy" in run("import sys", "doctor", folder=tmp_path / "tantivy")
