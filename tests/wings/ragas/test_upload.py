"""An uploaded data set of answers is read in a process of its own, whose limits protect the server."""

from __future__ import annotations

import io
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from chatbot_mvp.settings.model import Settings
from chatbot_mvp.wings.ragas.reading_apart import rows_of_content
from chatbot_mvp.wings.ragas.rows import read_rows
from chatbot_mvp.wings.ragas.service import RagasService
from tests.fakes import fake_app
from tests.raising import raises
from tests.wings.ragas.conftest import given


def steep(rows: int = 3_000, chars: int = 1_000_000) -> bytes:
    """Some kilobytes of Parquet whose texts take ``rows`` × ``chars`` bytes."""
    column = pa.DictionaryArray.from_arrays(pa.array([0] * rows, pa.int32()), pa.array(["x" * chars]))
    out = io.BytesIO()
    pq.write_table(pa.table({"user_input": column, "response": column}), out, compression="zstd")
    return out.getvalue()


def peak_mb() -> int:
    """The most memory that this process has had so far."""
    lines = Path("/proc/self/status").read_text("utf-8").splitlines()
    return next(int(line.split()[1]) // 1_000 for line in lines if line.startswith("VmHWM"))


@pytest.mark.slow
def test_a_small_parquet_that_expands_is_refused_and_takes_no_memory_of_the_server(settings: Settings) -> None:
    content, app = steep(), fake_app(settings)
    assert len(content) < 100_000
    before, started = peak_mb(), time.monotonic()
    with raises("dataset_upload_too_demanding", match=r"bomba\.parquet"):
        app.get(RagasService).rows_of_upload("bomba.parquet", content)
    assert peak_mb() - before < 200
    assert time.monotonic() - started < 30


@pytest.mark.slow
def test_what_would_become_too_much_text_is_refused() -> None:
    with raises("dataset_upload_too_demanding"):
        rows_of_content("grande.parquet", steep(200))


@pytest.mark.sampled(2)
@pytest.mark.parametrize("suffix", [".jsonl", ".csv", ".parquet"])
def test_the_rows_are_those_of_the_reader(tmp_path: Path, suffix: str) -> None:
    import pandas as pd

    path = tmp_path / f"rows{suffix}"
    frame = pd.DataFrame(given(count=4))
    if suffix == ".jsonl":
        frame.to_json(path, orient="records", lines=True, force_ascii=False)
    elif suffix == ".csv":
        frame.to_csv(path, index=False)
    else:
        frame.to_parquet(path)
    assert rows_of_content(path.name, path.read_bytes()) == read_rows(path)


@pytest.mark.slow
def test_errors_name_the_uploaded_file() -> None:
    with raises("dataset_file_unreadable", match=r"mío\.parquet"):
        rows_of_content("mío.parquet", b"no Parquet")
    with raises("dataset_file_unreadable", match="xlsx"):
        rows_of_content("mío.xlsx", b"PK")
    with raises("missing_column", match=r"otro\.jsonl"):
        rows_of_content("otro.jsonl", b'{"text": "x"}\n')
