"""Measure how close a Ragas evaluation comes to the throughput that the limit of concurrent requests allows.

    python benchmarks/ragas_scale.py [--rows 1000] [--latency 0.05] [--calls 8] [--profile] [--json]

Scores Spanish rows with six metrics. The judge is a separate process on loopback that replies after a fixed latency.
The limit is NIM_MAX_CONCURRENT_REQUESTS = ``--calls``, so no client can finish before requests × latency / calls.
Vectors are hashed bags of words, so that the figures contain no time of an embedding model.
"""

from __future__ import annotations

import argparse
import asyncio
import cProfile
import json
import os
import pstats
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from chatbot_mvp.evaluation.ragas.rows import InputRow, rows_from  # noqa: E402
from chatbot_mvp.judges.ragas import load_prompts  # noqa: E402
from chatbot_mvp.settings.model import load_settings  # noqa: E402
from tests.fakes import fake_app  # noqa: E402
from tests.judges.judge_stub import JudgeStub  # noqa: E402
from tests.llm.http_stub import Request  # noqa: E402

SAMPLE = ROOT / "data" / "samples" / "ragas_es.jsonl"


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
    cpu: float
    """Of this process while it scored, all threads together."""

    @property
    def ratio(self) -> float:
        return self.seconds / self.floor

    def __str__(self) -> str:
        return "\n".join(
            [
                f"rows × metrics        {self.rows:,} × {self.metrics}, {self.scored:,} scored",
                f"requests              {self.requests:,}, {self.calls} at the same time",
                f"seconds               {self.seconds:.1f}",
                f"allowed by the limit  {self.floor:.1f}",
                f"ratio                 {self.ratio:.3f}",
                f"CPU per request       {1_000 * self.cpu / self.requests:.2f} ms",
            ]
        )


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
        [sys.executable, str(Path(__file__).resolve()), "--serve", "--latency", str(latency)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
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
            began = time.process_time()
            result = app.ragas.run_now("many", given)
            cpu = time.process_time() - began
        requests = result.usage.calls
        scored = sum(count for count, _ in result.scored.values())
        seconds = result.seconds["score"]
        return Figures(
            rows, len(result.metrics), scored, requests, calls, seconds, requests * latency / calls, round(cpu, 2)
        )
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


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000)
    parser.add_argument("--latency", type=float, default=0.05, help="latency of the judge in seconds")
    parser.add_argument("--calls", type=int, default=8, help="number of concurrent requests")
    parser.add_argument("--profile", action="store_true", help="profile all threads, which slows down the run")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.serve:
        _serve(given.latency)
        return 0
    profiles: list[cProfile.Profile] = []
    if given.profile:
        _profile_threads(profiles)
    figures = measure(given.rows, given.latency, given.calls)
    print(json.dumps({**asdict(figures), "ratio": figures.ratio}) if given.json else figures)
    if profiles:
        total = pstats.Stats(profiles[0])
        for profile in profiles[1:]:
            with suppress(TypeError):  # of a thread that did nothing
                total.add(profile)
        total.sort_stats("tottime").print_stats(45)
    return 0 if figures.ratio <= 1.3 else 1


def _profile_threads(profiles: list[cProfile.Profile]) -> None:
    run = threading.Thread.run

    def profiled(thread: threading.Thread) -> None:
        profile = cProfile.Profile(time.thread_time)
        profiles.append(profile)
        profile.enable()
        try:
            run(thread)
        finally:
            profile.disable()

    # There is no hook for threads that start later.
    threading.Thread.run = profiled  # type: ignore[assignment, method-assign]  # replaced in all threads on purpose


if __name__ == "__main__":
    sys.exit(main())
