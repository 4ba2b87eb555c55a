"""What varies has a name, the same id the same one, and nothing else is replaced; every command and route is called."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("chatbot_mvp.wings.effects")  # the recorder asks them
pytest.importorskip("chatbot_mvp.wings.links")
pytest.importorskip("chatbot_mvp.wings.mcp")
pytest.importorskip("chatbot_mvp.wings.promise")
pytest.importorskip("chatbot_mvp.wings.review")
pytest.importorskip("chatbot_mvp.wings.tune")

from benchmarks.recorder import serving, surfaces
from benchmarks.recorder.commands import shortened
from benchmarks.recorder.pages import otherwise
from benchmarks.recorder.stable import Stable
from chatbot_mvp.app import App
from chatbot_mvp.server.openai import build_server

WORK = Path("/somewhere/recorder-x1")
RUN = "20261128_172147_valle_multihop_LEXICAL"


@pytest.mark.parametrize(
    ("found", "told"),
    [
        ("2026-11-28T17:21:37.772+00:00", "<time>"),
        ("hecho el 2026-11-28 17:21", "hecho el <time>"),
        (f"results/{RUN}/records.jsonl", "results/<stamp>_valle_multihop_LEXICAL/records.jsonl"),
        (f"{RUN}-2", "<stamp>_valle_multihop_LEXICAL"),  # another one of the same second
        (RUN.replace("_", "\\_"), "<stamp>\\_valle\\_multihop\\_LEXICAL"),
        ("20261128T172147000001-ab12 y 20261128-174156-508-fc1a21", "<id 1> y <id 2>"),
        (f"{WORK}/data/kb", "<work>/data/kb"),
        ("http://127.0.0.1:8600/v1", "http://127.0.0.1:<port>/v1"),
        ("en 12 ms, 0,4 s", "en <seconds>, <seconds>"),
        ("El {today}", "El <day>"),
        ("2026-01-31, 23 días, 48 euros, versión 3", "2026-01-31, 23 días, 48 euros, versión 3"),
        ("a-7070dcd825a817ebb9636cf8:0000", "a-7070dcd825a817ebb9636cf8:0000"),
        ("4d57dfcbf3bcda13b3ea2a59", "<id 1>"),
        ("bf6cf5691c8571ac79bef412f94246535825eb9ba90f8014226f279989cf4eb2",) * 2,
    ],
)
def test_what_varies_is_named_and_nothing_else(found: str, told: str) -> None:
    stable, today = Stable({"work": WORK}), datetime.now(UTC).date().isoformat()
    assert stable.text(found.replace("{today}", today)) == told


def test_durations_have_no_value_ids_are_told_apart_and_values_stay() -> None:
    one, other = "0" * 32, "1" * 32
    found: dict[str, Any] = {
        "seconds": {"load": 1.2, "index": None},
        "peak_rss_mb": 812.5,
        "bytes": 90,
        "evidence": 0.9449,
        "ok": True,
        "ids": [one, other, one],
        "fingerprint": "659cb3d981ec",
        "rows": {one: 1},
    }
    assert Stable({}).value(found) == {
        "seconds": {"load": "<number>", "index": None},
        "peak_rss_mb": "<number>",
        "bytes": 90,
        "evidence": 0.9449,
        "ok": True,
        "ids": ["<id 1>", "<id 2>", "<id 1>"],
        "fingerprint": "<print 1>",
        "rows": {"<id 1>": 1},
    }


def test_a_long_list_is_told_by_three_rows_their_number_and_a_hash_of_all() -> None:
    rows = [{"n": row} for row in range(100)]
    one, other = shortened({"rows": rows}), shortened({"rows": [*rows[:50], {"n": -1}, *rows[51:]]})
    assert one["rows"][:3] == rows[:3] and one["rows"][3].startswith("100 rows")
    assert one != other
    assert shortened(rows[:60]) == rows[:60]


def test_of_a_narrow_window_only_what_is_otherwise_is_told() -> None:
    assert otherwise(["- a", "- b", "- c"], ["- a", "- d", "- c"]) == ["-- b", "+- d"]


def test_every_command_has_a_call_and_every_route_a_request(app: App) -> None:
    assert [path for path, command in surfaces.interfaces() if not command["called"]] == []
    assert [path for path, asked in serving.routes(build_server(app, "x")).items() if not asked] == []
