"""Requests to the endpoint of ``serve`` and to the tools of MCP, on loopback, as requests.txt has them."""

from __future__ import annotations

import json
import re
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from benchmarks.recorder.facts import JSON, Fact
from benchmarks.recorder.folder import holds
from benchmarks.recorder.stable import Stable
from chatbot_mvp.app import App, build_app
from chatbot_mvp.knowledge_base.gathering import given_contents
from chatbot_mvp.server.openai import build_server
from chatbot_mvp.server.run import bounded_server
from chatbot_mvp.settings.model import load_settings
from chatbot_mvp.wings.mcp.cli import http_application
from tests.loopback import free_port
from tests.waiting import wait_until

FILES = {
    "gastos.md": "# Gastos\n\nLos gastos de viaje se pagan en 30 días.\n\nEl hotel cuesta 90 euros como máximo.\n",
    "gastos-45.md": "# Gastos\n\nLos gastos de viaje se pagan en 45 días.\n\nEl hotel cuesta 90 euros como máximo.\n",
    "rrhh/vacaciones.md": "# Vacaciones\n\nCada persona dispone de 23 días laborables de vacaciones.\n",
    "plazas.md": "# Aparcamiento\n\nHay 40 plazas de aparcamiento.\n",
    "rota.pdf": "%PDF-1.4 nada",
}
_TOKEN = "token-of-the-recorder"  # nosec B105 - of a server on loopback that ends with the part
_CHANGING = tuple(f"{method} /v1/k" for method in ("POST", "PUT", "PATCH", "DELETE"))
_REQUESTS = Path(__file__).with_name("requests.txt")


def facts(work: Path) -> Iterator[Fact]:
    """Yield the reply to each request, and the routes with those that no request asks."""
    data = work / "served"
    app = build_app(load_settings(data_dir=data, retrieval_strategy="LEXICAL", provider="demo"))
    made = app.kb_filing.create("Manual", given_contents([_file("gastos.md"), _file("rrhh/vacaciones.md")])).record
    stable, before = Stable({"work": work}), holds(data, ["hotel"])
    application = build_server(app, _TOKEN)
    with _served(app, application) as url, _served(app, http_application(app, _TOKEN, "127.0.0.1")) as tools:
        client = _Client(url, tools, made.kb_id)
        seen: Counter[str] = Counter()
        for request in _requests():
            seen[request] += 1
            value = stable.value(client.reply(request))
            if request.startswith(_CHANGING) and (after := holds(data, ["hotel"])) != before:
                before, value["holds"] = after, stable.value(after)
            yield Fact(f"surfaces/http/{request[:160]}" + f" ({seen[request]})" * (seen[request] > 1), value)
    yield Fact("surfaces/http routes", routes(application))


def _requests() -> list[str]:
    return [line for line in _REQUESTS.read_text("utf-8").splitlines() if line and line[0] != "#"]


def routes(application: Any) -> dict[str, bool]:
    """Return each method and path of the endpoint, and whether requests.txt has a request to it."""
    rows = [(method, route.path) for route in application.routes for method in sorted(route.methods or ["GET"])]
    # Whatever is asked by GET, is by HEAD as well.
    return {f"{method} {path}": _has_request(method.replace("HEAD", "GET"), path) for method, path in rows}


def _has_request(method: str, path: str) -> bool:
    shape = re.sub(r"\\{[^}]+\\}", "[^ ?]+", re.escape(path))
    return any(re.match(rf"{method} {shape}([ ?]|$)", request) for request in _requests())


def _file(name: str, path: str = "") -> tuple[str, bytes]:
    return path or name, FILES[name].encode()


@contextmanager
def _served(app: App, application: Any) -> Iterator[str]:
    port = free_port()
    server = bounded_server(application, app.settings, "127.0.0.1", port)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    wait_until(lambda: server.started, 60, "the server")
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join(30)


class _Client:
    """Sends the requests of requests.txt; ``tools`` is the address of the server of MCP."""

    def __init__(self, url: str, tools: str, kb_id: str) -> None:
        self._tools, self._kb_id = tools, kb_id
        self._http = httpx.Client(base_url=url, timeout=60)

    def reply(self, request: str) -> dict[str, JSON]:
        """Return the status of a reply, its headers that say something, and what it has."""
        method, path, rest = [*request.replace("{kb}", self._kb_id).split(" ", 2), ""][:3]
        headers = {} if rest.endswith("anonymous") else {"Authorization": f"Bearer {_TOKEN}"}
        if rest.endswith("mistaken"):
            headers["Authorization"] += "-of-another"
        rest = rest.removesuffix("anonymous").removesuffix("mistaken").strip().replace("<long>", "largo " * 200_000)
        if method == "mcp":
            body = {"jsonrpc": "2.0", "id": 1, "method": path, "params": json.loads(rest)}
            headers["Accept"] = "application/json, text/event-stream"
            return self._told(self._http.post(f"{self._tools}/mcp", json=body, headers=headers))
        if rest[:1] in ("{", "["):
            return self._told(self._http.request(method, path, json=json.loads(rest), headers=headers))
        form = self._form(rest) if rest else {}
        return self._told(self._http.request(method, path, headers=headers, **form))

    def _form(self, fields: str) -> dict[str, Any]:
        pairs = [field.split("=", 1) for field in fields.split()]
        files = [("file", _file(*value.split(">"))) for name, value in pairs if name == "file"]
        return {"data": {name: value for name, value in pairs if name != "file"}, "files": files}

    def _told(self, response: httpx.Response) -> dict[str, JSON]:
        kind = response.headers.get("content-type", "")
        names = ("cache-control", "content-disposition", "retry-after", "www-authenticate", "allow")
        value: dict[str, JSON] = {"status": response.status_code, "type": kind}
        value |= {name: response.headers[name] for name in names if name in response.headers}
        if kind.startswith("application/json"):
            value["body"] = _parsed(response.json())
        elif kind.startswith("text/event-stream"):
            value["body"] = _stream(response.text)
        else:
            value["body"] = response.text
        return value


def _parsed(body: JSON) -> JSON:
    """Return a reply in which the texts of a tool that are JSON are read."""
    for part in body.get("result", {}).get("content", []) if isinstance(body, dict) else []:
        if part.get("text", "")[:1] in ("{", "["):
            part["text"] = json.loads(part["text"])
    return body


def _stream(text: str) -> JSON:
    """Return a stream without the places at which its text is cut, which are the clock's."""
    lines = [line.removeprefix("data: ") for line in text.splitlines() if line]
    chunks = [json.loads(line) for line in lines if line != "[DONE]"]
    pieces = [choice["delta"].get("content") or "" for chunk in chunks for choice in chunk["choices"]]
    others = [chunk for chunk in chunks if not any(choice["delta"].get("content") for choice in chunk["choices"])]
    return {"text": "".join(pieces), "chunks": others, "end": lines[-1]}
