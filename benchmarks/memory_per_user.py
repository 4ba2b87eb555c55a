"""Measure the memory of the pages' process with 1, 5 and 20 open sessions that have each asked a question.

    python benchmarks/memory_per_user.py [--sessions 1 5 20] [--kb FILE] [--json]

Starts the pages over an empty data folder, keeps a document as a knowledge base, and opens sessions as browsers do,
over WebSockets that stay open. Each asks its own question in Chat. The resident memory of the process (RSS) is read
from /proc when all answers are there. Linux only.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.sync.client import ClientConnection, connect

ROOT = Path(__file__).resolve().parents[1]
SAMPLE = ROOT / "data" / "samples" / "kb" / "politica_empresa.md"
QUESTIONS = ("¿Cuántos días de vacaciones hay?", "¿Qué equipo informático recibe cada persona?", "¿Cuándo se paga?")
_TIMEOUT_S = 120
_READY_S = 60


@dataclass(frozen=True)
class Measured:
    """The pages' process with some sessions open."""

    sessions: int
    """Open sessions, each with one answered question."""
    mb: float
    """Resident memory in 10^6 bytes."""
    slowest: float
    """Seconds from a question to its answer, the slowest of the sessions opened for this row."""


class Session:
    """One visitor's browser tab."""

    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket
        self._input = ""

    def open_chat(self) -> None:
        """Draw Chat, and find its field for questions."""
        self._run(_chat())
        if not self._input:
            raise RuntimeError("Chat shows no field for questions")

    def ask(self, question: str) -> float:
        """Send a question and wait for the end of its answer; return the seconds."""
        began = time.monotonic()
        message = _chat()
        state = message.rerun_script.widget_states.widgets.add()
        state.id, state.chat_input_value.data = self._input, question
        shown = self._run(message)
        while "Fuentes" not in shown and time.monotonic() - began < _TIMEOUT_S:
            time.sleep(0.3)  # as a browser does while the answer is written
            shown = self._run(_chat())
        if "Fuentes" not in shown:
            raise RuntimeError(f"no answer to {question!r}")
        return time.monotonic() - began

    def _run(self, message: BackMsg) -> str:
        """Run the page and return all texts that it drew."""
        self._socket.send(message.SerializeToString())
        shown: list[str] = []
        while True:
            received = ForwardMsg()
            received.ParseFromString(self._socket.recv(_TIMEOUT_S, decode=False))
            kind = received.WhichOneof("type")
            if kind == "script_finished":
                return "\n".join(shown)
            if kind == "delta" and received.delta.WhichOneof("type") == "new_element":
                element = received.delta.new_element
                if element.WhichOneof("type") == "chat_input":
                    self._input = element.chat_input.id
                shown.append(str(element))


def _chat() -> BackMsg:
    """The message with which a browser has Chat drawn."""
    message = BackMsg()
    message.rerun_script.page_name = "Chat"
    return message


def measure(counts: list[int], document: Path, folder: Path) -> list[Measured]:
    """Open sessions up to each of ``counts`` and measure the process then. The first row has no session."""
    environment = {**os.environ, "DATA_DIR": str(folder), "UI_LANGUAGE": "es"}
    command = [sys.executable, "-m", "chatbot_mvp.cli"]
    asked = subprocess.run(
        [*command, "kb", "ask", str(document), QUESTIONS[0]], env=environment, cwd=ROOT, capture_output=True, check=True
    )
    assert asked.stdout
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = int(free.getsockname()[1])
    log = (folder / "pages.log").open("wb")
    server = subprocess.Popen([*command, "ui", "--port", str(port)], env=environment, cwd=ROOT, stdout=log, stderr=log)
    stack = ExitStack()
    try:
        _wait(port, server)
        rows = [Measured(0, _rss_mb(server.pid), 0.0)]
        sessions: list[Session] = []
        for count in counts:
            slowest = 0.0
            while len(sessions) < count:
                opened = connect(
                    f"ws://127.0.0.1:{port}/_stcore/stream",
                    subprotocols=["streamlit"],  # type: ignore[list-item]  # the server compares plain text
                    max_size=None,
                )
                session = Session(stack.enter_context(opened))
                session.open_chat()
                slowest = max(slowest, session.ask(QUESTIONS[len(sessions) % len(QUESTIONS)]))
                sessions.append(session)
            time.sleep(2)
            rows.append(Measured(count, _rss_mb(server.pid), slowest))
        return rows
    finally:
        stack.close()
        server.terminate()
        server.wait(30)
        log.close()


def _wait(port: int, server: subprocess.Popen[bytes]) -> None:
    began = time.monotonic()
    while time.monotonic() - began < _READY_S and server.poll() is None:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/_stcore/health", timeout=2):  # nosec B310
                return
        except OSError:
            time.sleep(0.2)
    raise RuntimeError("the pages do not answer")


def _rss_mb(process: int) -> float:
    status = Path(f"/proc/{process}/status").read_text()
    [kilobytes] = (line.split()[1] for line in status.splitlines() if line.startswith("VmRSS:"))
    return int(kilobytes) * 1024 / 1e6


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sessions", type=int, nargs="+", default=[1, 5, 20])
    parser.add_argument("--kb", type=Path, default=SAMPLE)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        rows: list[Any] = [vars(row) for row in measure(sorted(arguments.sessions), arguments.kb, Path(folder))]
    if arguments.json:
        print(json.dumps(rows))
        return 0
    print("| open sessions | memory, MB | slowest answer, s |\n|---|--:|--:|")
    for row in rows:
        print(f"| {row['sessions']} | {row['mb']:,.0f} | {row['slowest']:.1f} |")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
