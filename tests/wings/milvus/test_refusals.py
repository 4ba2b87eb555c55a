"""What a Milvus server that refuses makes a command say: *The index* of docs/operate/refusals.md."""

from __future__ import annotations

from pathlib import Path

import pytest

from chatbot_mvp.settings.model import PROJECT_ROOT
from tests.conftest import Command
from tests.refusals import expect, unproven
from tests.wings.milvus.server import TOKEN, MilvusProcess


@pytest.mark.slow
def test_the_index(command: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pytest.importorskip("milvus_lite")
    handbook = next((PROJECT_ROOT / "data" / "samples" / "kb").glob("*.md"))
    monkeypatch.setenv("INDEX_ENGINE", "milvus")

    def ask(address: str, token: str) -> tuple[int, str, str]:
        monkeypatch.setenv("MILVUS_ADDRESS", address)
        monkeypatch.setenv("MILVUS_TOKEN", token)
        return command("kb", "ask", str(handbook), "¿Cuántos días de vacaciones hay?")

    server = MilvusProcess(tmp_path / "milvus", TOKEN)
    peer = {"milvus": server.address, "milvus_peer": f"ipv4:127.0.0.1:{server.port}"}
    expect("nobody listens at MILVUS_ADDRESS", ask(server.address, TOKEN), **peer)
    expect("MILVUS_ADDRESS has no http://", ask("milvus:19530", TOKEN))
    server.start()
    try:
        expect("MILVUS_TOKEN is wrong", ask(server.address, "root:guess"), **peer)
        assert ask(server.address, TOKEN)[0] == 0
    finally:
        server.kill()
    expect("Milvus has died since", ask(server.address, TOKEN), **peer)


def test_every_row_of_the_page_is_proven_here() -> None:
    assert unproven("The index", Path(__file__)) == []
