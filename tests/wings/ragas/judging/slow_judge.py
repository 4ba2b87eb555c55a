"""How close a Ragas evaluation comes to the throughput that the limit of concurrent requests allows.

Scores Spanish rows with six metrics. The judge is a separate process on loopback that replies after a fixed latency.
The limit is NIM_MAX_CONCURRENT_REQUESTS = ``calls``, so no client can finish before requests × latency / calls.
Vectors are hashed bags of words, so that the figures contain no time of an embedding model.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from chatbot_mvp.settings.model import PROJECT_ROOT, load_settings
from chatbot_mvp.wings.ragas.judging import load_prompts
from chatbot_mvp.wings.ragas.rows import InputRow, rows_from
from chatbot_mvp.wings.ragas.service import RagasService
from tests.fakes import fake_app
from tests.llm.http_stub import Request
from tests.wings.ragas.judging.judge_stub import JudgeStub

SAMPLE = PROJECT_ROOT / "data" / "samples" / "ragas_es.jsonl"


@dataclass(frozen=True)
class Figures:
    """Of one evaluation; times in seconds."""

    rows: int
    metrics: int
    scored: int
    """Of rows × metrics."""
    requests: int
    calls: int
    """Requests at the same time."""
    seconds: float
    """Of all scores, from the first request to the last record."""
    floor: float
    """What ``calls`` allows: requests × latency / calls."""

    @property
    def ratio(self) -> float:
        return self.seconds / self.floor


def many_rows(count: int) -> list[InputRow]:
    """The sample over and over, each row a little different, so that no two requests are equal."""
    sample = [json.loads(line) for line in SAMPLE.read_text("utf-8").splitlines()]
    rows = []
    for number in range(count):
        row = dict(sample[number % len(sample)])
        for name in ("user_input", "response", "reference"):
            row[name] = f"{row[name]} (caso {number})"
        rows.append(row)
    return rows_from(rows, "many")


def measure(rows: int, latency: float, calls: int) -> Figures:
    """Score so many rows over HTTP."""
    stub = subprocess.Popen(
        [sys.executable, "-m", "tests.wings.ragas.judging.slow_judge", str(latency)],
        cwd=PROJECT_ROOT,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert stub.stdout is not None
        url = stub.stdout.readline().strip()
        with tempfile.TemporaryDirectory() as folder:
            settings = load_settings(
                data_dir=Path(folder),
                provider="openai",
                openai_base_url=url,
                openai_api_key="stub-key-of-nobody",
                openai_model_name="stub",
                llm_cache_enabled=False,
                nim_max_concurrent_requests=calls,
            )
            app = fake_app(settings)
            given = many_rows(rows)
            result = app.get(RagasService).run_now("many", given)
        requests = result.usage.calls
        scored = sum(count for count, _ in result.scored.values())
        seconds = result.seconds["score"]
        return Figures(rows, len(result.metrics), scored, requests, calls, seconds, requests * latency / calls)
    finally:
        stub.terminate()
        stub.wait(5)


def _serve(latency: float) -> None:
    """The stub's process, which prints its address.

    One thread and no work but parsing, so that it leaves the machine to the client.
    """
    judge = JudgeStub(load_prompts("es"), 0.0)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).lower()
                came = asyncio.get_running_loop().time()
                length = int(head.partition(b"content-length:")[2].partition(b"\r\n")[0])
                body = await reader.readexactly(length)
                content = b"".join(judge.answer(Request("POST", "/chat/completions", {}, body)).pieces)
                # What the stub itself takes is part of its latency.
                await asyncio.sleep(latency - (asyncio.get_running_loop().time() - came))
                kind = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
                writer.write(kind + b"Content-Length: %d\r\n\r\n%s" % (len(content), content))
                await writer.drain()
        writer.close()

    async def main() -> None:
        server = await asyncio.start_server(serve, "127.0.0.1", 0, limit=1 << 22)
        print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1", flush=True)
        await server.serve_forever()

    asyncio.run(main())


if __name__ == "__main__":
    _serve(float(sys.argv[1]))
