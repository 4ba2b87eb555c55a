"""Measure the memory of the pages and of the endpoint after one and after two questions about the sample.

    python -m benchmarks resident [--new]

Prints ``VmRSS`` and ``VmHWM`` of each process in MB (10^6 bytes), each once the first has not changed by 2 MB for ten
seconds. Without --new the embedding model was converted, and the sample was embedded, by another process before.
"""

from __future__ import annotations

import json
import secrets
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path

from benchmarks.app_in_browser import chromium, serve_process, wait_painted
from benchmarks.process import load, peak_mb, plain_environment, resident_mb
from benchmarks.script import ROOT, SAMPLES, data_folder, head, parser, row
from tests.loopback import free_port

SAMPLE = SAMPLES / "kb" / "politica_empresa.md"
QUESTIONS = ("¿Cuántos días de vacaciones tengo al año?", "¿De cuánto es la dieta de jornada completa?")
_TOKEN = secrets.token_hex(16)
_PATIENCE_S = 180


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--new", action="store_true", help="each over a folder that nothing was embedded in")
    new: bool = options.parse_args().new
    print(f"load {load()}\n\n{head(['process', 'when', 'VmRSS', 'VmHWM'], 2)}")
    for process in (endpoint, pages):
        with data_folder(None) as folder:
            made = json.loads(_command(folder, "kb", "create", "Sample", str(SAMPLE), "--no-vectors", "--json"))
            if not new:
                _command(folder, "kb", "ask", made["kb_id"], QUESTIONS[0])
            process(folder, made["kb_id"])


def endpoint(folder: Path, kb_id: str) -> None:
    """Measure ``chatbot-mvp serve``."""
    port = free_port()
    command = [sys.executable, "-m", "chatbot_mvp.cli", "serve", "--port", str(port)]
    with subprocess.Popen(command, env=_environment(folder, SERVE_TOKEN=_TOKEN), stderr=subprocess.DEVNULL) as served:
        try:
            _wait(lambda: _sent(port, "/health") is not None)
            _tell("endpoint", "asked nothing", served.pid)
            for count, question in enumerate(QUESTIONS, 1):
                messages = [{"role": "user", "content": question}]
                body = json.dumps({"model": f"{kb_id}:strict", "messages": messages}).encode()
                assert _sent(port, "/v1/chat/completions", body) is not None, "no answer"
                _tell("endpoint", f"questions: {count}", served.pid)
        finally:
            served.terminate()


def pages(folder: Path, kb_id: str) -> None:
    """Measure the pages, with one visitor."""
    with serve_process(folder) as (url, pid), chromium() as browser:
        _tell("pages", "no visitor", pid)
        page = browser.new_page()
        page.set_default_timeout(_PATIENCE_S * 1_000)
        page.goto(f"{url}/Chat?kb={kb_id}")
        wait_painted(page)
        _tell("pages", "the chat is open", pid)
        for count, question in enumerate(QUESTIONS, 1):
            page.locator("[data-testid='stChatInputTextArea']").fill(question)
            page.keyboard.press("Enter")
            page.get_by_label("Respuesta").nth(count - 1).wait_for()
            wait_painted(page)
            _tell("pages", f"questions: {count}", pid)


def _tell(process: str, when: str, pid: int) -> None:
    lowest = highest = resident_mb(pid)
    since, end = time.monotonic(), time.monotonic() + _PATIENCE_S
    while time.monotonic() < min(since + 10, end):
        time.sleep(0.5)
        now = resident_mb(pid)
        lowest, highest = min(lowest, now), max(highest, now)
        if highest - lowest > 2:
            lowest, highest, since = now, now, time.monotonic()
    print(row([process, when, f"{resident_mb(pid):.0f}", f"{peak_mb(pid):.0f}"]), flush=True)


def _command(folder: Path, *words: str) -> str:
    command = [sys.executable, "-m", "chatbot_mvp.cli", *words]
    return subprocess.run(command, env=_environment(folder), stdout=subprocess.PIPE, check=True, text=True).stdout


def _environment(folder: Path, **more: str) -> dict[str, str]:
    return plain_environment(DATA_DIR=str(folder), PROVIDER="demo", PYTHONPATH=str(ROOT), **more)


def _sent(port: int, path: str, body: bytes | None = None) -> bytes | None:
    headers = {"Authorization": f"Bearer {_TOKEN}", "Content-Type": "application/json"}
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", body, headers)
    try:
        with urllib.request.urlopen(request, timeout=_PATIENCE_S) as reply:  # nosec B310 -- loopback
            return bytes(reply.read())
    except OSError:
        return None


def _wait(ready: Callable[[], bool]) -> None:
    end = time.monotonic() + _PATIENCE_S
    while not ready():
        assert time.monotonic() < end, "it did not start"
        time.sleep(0.2)


if __name__ == "__main__":
    main()
