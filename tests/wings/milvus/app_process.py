"""An App in a process of its own. It reads commands from its input and prints one JSON line for each."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

from chatbot_mvp.errors import ChatbotError
from chatbot_mvp.settings.model import PROJECT_ROOT, Settings, load_settings
from tests.fakes import fake_app


class AppProcess:
    """A server of the application with its own data folder."""

    def __init__(self, settings: Settings) -> None:
        changes = {
            "data_dir": str(settings.data_dir),
            "index_engine": settings.index_engine,
            "milvus_address": settings.milvus_address,
            "milvus_token": settings.milvus_token.get_secret_value(),
            "retrieval_strategy": settings.retrieval_strategy,
        }
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.wings.milvus.app_process", json.dumps(changes)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=PROJECT_ROOT,
        )

    def ask(self, command: str, *arguments: str) -> Any:
        """Send one command and return its result."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps([command, *arguments]) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())

    def close(self) -> None:
        self._process.kill()
        self._process.communicate(timeout=20)


def main() -> None:
    app = fake_app(load_settings(**json.loads(sys.argv[1])))
    for line in sys.stdin:
        command, *arguments = json.loads(line)
        try:
            if command == "add":
                reply: Any = app.kbs.add(arguments[0], arguments[1].encode()).kb_id
            else:
                reply = [
                    [hit.chunk.chunk_id for hit in trace.retrieved]
                    for trace in app.kbs.pipeline(arguments[0]).retrieve(arguments[1:])
                ]
        except ChatbotError as error:
            reply = error.code
        print(json.dumps(reply), flush=True)


if __name__ == "__main__":
    main()
