"""The official client uses the tools, over stdio and over HTTP, of a real process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from chatbot_mvp.settings.model import Settings
from tests.conftest import Command
from tests.fakes import fake_app
from tests.loopback import free_port
from tests.waiting import wait_until

mcp = pytest.importorskip("mcp", reason="needs mcp: pip install -e '.[mcp]'")
anyio = pytest.importorskip("anyio")
httpx2 = pytest.importorskip("httpx2")  # the SDK's own HTTP client

TEXT = (
    "# Vacaciones\n\nCada persona dispone de 23 días de vacaciones al año.\n\n"
    "# Dietas\n\nLa dieta completa es de 48 euros.\n\n# Horario\n\nSe trabaja de 9 a 17 horas.\n"
)
TOKEN = "un-secreto-de-pruebas-largo"
PROGRAM = [sys.executable, "-m", "chatbot_mvp.cli", "mcp"]


@pytest.fixture
def environment(tmp_path: Path, settings: Settings) -> dict[str, str]:
    """The variables of a server with one knowledge base."""
    fake_app(settings).kbs.add("normas.md", TEXT.encode())
    given = {"DATA_DIR": str(settings.data_dir), "PROVIDER": "demo", "RETRIEVAL_STRATEGY": "LEXICAL"}
    return given | {"SERVE_TOKEN": TOKEN, "PATH": os.environ["PATH"], "HOME": str(tmp_path)}


def in_a_thread(run: Callable[[], Any]) -> Any:
    """Run a coroutine in a thread of its own: the browser of other tests has a running loop in this one."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(anyio.run, run).result()


def use(server: Any, work: Callable[[Any], Any]) -> Any:
    """Run ``work`` with a client of a server."""

    async def run() -> Any:
        async with mcp.Client(server) as client:
            return await work(client)

    return in_a_thread(run)


def over_stdio(environment: dict[str, str], tmp_path: Path) -> Any:
    from mcp import StdioServerParameters

    return StdioServerParameters(command=PROGRAM[0], args=PROGRAM[1:], env=environment, cwd=tmp_path)


@contextmanager
def over_http(environment: dict[str, str], tmp_path: Path) -> Iterator[str]:
    """Start the server; the address of its tools."""
    port = free_port()
    with subprocess.Popen([*PROGRAM, "--http", "--port", str(port)], env=environment, cwd=tmp_path) as process:
        try:
            wait_until(lambda: answers(f"http://127.0.0.1:{port}/mcp"))
            yield f"http://127.0.0.1:{port}/mcp"
        finally:
            process.terminate()


def answers(address: str) -> bool:
    try:
        return httpx.get(address).status_code == 401
    except httpx.TransportError:
        return False


async def everything(client: Any) -> dict[str, Any]:
    """What each tool returns."""
    found = {"tools": sorted(tool.name for tool in (await client.list_tools()).tools)}
    results = await client.call_tool("search", {"query": "¿Cuántos días de vacaciones hay?"})
    assert not results.is_error, results.content[0].text
    found["search"] = results.structured_content
    found["text"] = json.loads(results.content[0].text)
    [first, *_] = found["search"]["results"]
    found["fetch"] = (await client.call_tool("fetch", {"id": first["id"]})).structured_content
    asked = await client.call_tool("ask", {"question": "¿De cuánto es la dieta completa?"})
    found["ask"] = json.loads(asked.content[0].text)
    far = await client.call_tool(
        "ask", {"question": "¿Qué altura tiene la torre Eiffel?", "knowledge_base": "normas.md"}
    )
    found["far"] = json.loads(far.content[0].text)
    wrong = await client.call_tool("ask", {"question": "¿?", "knowledge_base": "no hay"})
    found["wrong"] = (wrong.is_error, wrong.content[0].text)
    listed = await client.call_tool("list_knowledge_bases", {})
    found["listed"] = [json.loads(part.text) for part in listed.content]
    lost = await client.call_tool("fetch", {"id": "../../etc/passwd"})
    found["lost"] = (lost.is_error, lost.content[0].text)
    return found


def check(found: dict[str, Any]) -> None:
    assert found["tools"] == ["ask", "fetch", "list_knowledge_bases", "search"]
    assert found["text"] == found["search"]
    for kb in found["listed"]:
        assert (kb["version"], [one["path"] for one in kb["documents"]]) == (1, kb["files"])
    assert "normas.md" in [kb["name"] for kb in found["listed"]]
    [first, *_] = found["search"]["results"]
    assert set(first) == {"id", "title", "url"}
    assert "Vacaciones" in first["title"]
    assert set(found["fetch"]) == {"id", "title", "text", "url", "metadata"}
    assert "23 días" in found["fetch"]["metadata"]["passage"]
    assert "48 euros" in found["fetch"]["text"]
    assert found["fetch"]["metadata"]["file"] == "normas.md"
    assert found["ask"]["outcome"] == "answered"
    assert "48 euros" in found["ask"]["answer"]
    assert found["ask"]["sources"][0]["file"] == "normas.md"
    assert found["far"]["outcome"] != "answered"
    assert found["wrong"][0] and "'no hay'" in found["wrong"][1]
    assert found["lost"][0]


def test_the_official_client_uses_every_tool_over_stdio(environment: dict[str, str], tmp_path: Path) -> None:
    check(use(over_stdio(environment, tmp_path), everything))


@pytest.mark.slow
def test_the_official_client_uses_every_tool_over_http_with_the_token(
    environment: dict[str, str], tmp_path: Path
) -> None:
    from mcp.client.streamable_http import streamable_http_client

    with over_http(environment, tmp_path) as address:

        async def run() -> dict[str, Any]:
            headers = {"Authorization": f"Bearer {TOKEN}"}
            async with (
                httpx2.AsyncClient(headers=headers) as http,
                mcp.Client(streamable_http_client(address, http_client=http)) as client,
            ):
                return await everything(client)

        check(in_a_thread(run))
        request = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
        assert httpx.post(address, json=request).status_code == 401
        assert httpx.post(address, json=request, headers={"Authorization": "Bearer no"}).status_code == 401
        other = {"Authorization": f"Bearer {TOKEN}", "Host": "elsewhere.example"}
        assert httpx.post(address, json=request, headers=other).status_code == 403
        page = {"Authorization": f"Bearer {TOKEN}", "Origin": "https://elsewhere.example"}
        assert httpx.post(address, json=request, headers=page).status_code == 403


def test_without_the_package_the_command_says_what_to_install(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "mcp.server", None)
    code, _, stderr = command("mcp")
    assert code == 2
    assert "pip install 'chatbot-mvp[mcp]'" in stderr
