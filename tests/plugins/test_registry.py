"""A registry has the program's rows at once, and what is added when it is first read."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from chatbot_mvp.exports.base import ExportFormat
from chatbot_mvp.plugins import registry as module
from chatbot_mvp.plugins.registry import Names, Registry

OWN = ExportFormat("own", lambda run: pytest.fail(), "own")
MORE = ExportFormat("more", lambda run: pytest.fail(), "added")


def test_what_is_added_is_loaded_once_by_whoever_reads_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sixteen threads read at the same moment; the module that is loaded reads the registry, too."""
    loads: list[list[str]] = []

    def added(*_: object) -> dict[str, ExportFormat]:
        loads.append(list(rows))  # as a plugin's module may
        return {"more": MORE}

    monkeypatch.setattr(module, "added", added)
    rows = Registry("export", ExportFormat, (OWN,))
    assert rows["own"] is OWN
    assert loads == []
    start = threading.Barrier(16)

    def read(_: int) -> list[str]:
        start.wait()
        return list(rows)

    with ThreadPoolExecutor(16) as pool:
        assert list(pool.map(read, range(16))) == [["own", "more"]] * 16
    assert loads == [["own"]]


def test_names_are_read_at_each_use() -> None:
    known = ["b", "a"]
    names = Names(lambda: known)
    known.append("c")
    assert (list(names), names[:2], "c" in names, ",".join(names)) == (["b", "a", "c"], ("b", "a"), True, "b,a,c")
