"""Many users ask for a while beside benchmark runs: how long they wait, whether anything fails, whether memory grows.

    python -m benchmarks soak [--minutes 30] [--users 50] [--every 10] [--strategy NAME] [--json]

One process is the App: the server of ``chatbot-mvp serve`` over a knowledge base, and in its job thread one run over
the bundled data set after the other. This process is the users. Each asks a question every ``--every`` seconds on
average, at random moments, half of them as a stream. Everything is on loopback, under a temporary folder, with
``demo``.

Waiting is measured from the request to the last byte of the reply. Memory is the App's resident memory: its median in
the last fifth of the time, relative to its median in the second fifth. The exit code is 1 if the 95th percentile is
over 300 ms, if a request or a run failed, or if memory grew by more than 5 %.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

import httpx

from benchmarks.script import SAMPLES, command, data_folder, parser, print_figures
from chatbot_mvp.app import build_app
from chatbot_mvp.server.run import server_for
from chatbot_mvp.server.warmup import WarmUp
from chatbot_mvp.settings.model import load_settings

TOKEN = "soak"  # nosec B105 - of the script's own server
DOCUMENT = SAMPLES / "kb" / "politica_empresa.md"
QUESTIONS = SAMPLES / "kb" / "preguntas.jsonl"
LONGEST_P95_MS = 300.0
MOST_GROWTH = 0.05
LONGEST_MINUTES = 60.0
MOST_USERS = 200


@dataclass
class Asked:
    """What the users met. Filled by many threads, each with atomic appends."""

    seconds: list[float] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Soaked:
    """What came of it."""

    minutes: float
    users: int
    questions: int
    errors: int
    first_error: str
    p50_ms: float
    p95_ms: float
    p99_ms: float
    runs: int
    """Benchmark runs that ended beside the questions."""
    failed_runs: int
    rss_mb: tuple[float, ...]
    """The App's resident memory in each fifth of the time, as medians."""
    growth: float
    """Of memory, from the second fifth to the last, as a share."""

    @property
    def passed(self) -> bool:
        slow = self.p95_ms > LONGEST_P95_MS
        return not (slow or self.errors or self.failed_runs or self.growth > MOST_GROWTH or not self.questions)


def percentile(values: Sequence[float], share: float) -> float:
    """Return the value below or at which ``share`` of the values are; 0 without values."""
    return sorted(values)[max(0, min(len(values) - 1, int(share * len(values))))] if values else 0.0


def fifths(values: Sequence[float]) -> tuple[float, ...]:
    """Return the medians of five successive parts of equal length; with fewer than five values, one per value."""
    parts = min(5, len(values))
    size = len(values) / parts if parts else 0
    return tuple(median(values[int(row * size) : max(int((row + 1) * size), 1)]) for row in range(parts))


def growth_of(rss: Sequence[float]) -> float:
    """Return the growth from the second fifth to the last, as a share; 0 if there are too few values."""
    return rss[-1] / rss[1] - 1.0 if len(rss) > 1 and rss[1] else 0.0


def ask_all(
    url: str, model: str, questions: Sequence[str], users: int, every: float, seconds: float, seed: int = 1
) -> Asked:
    """Let ``users`` ask at random moments, each every ``every`` seconds on average, for ``seconds``."""
    asked, end = Asked(), time.monotonic() + seconds
    limits = httpx.Limits(max_connections=users, max_keepalive_connections=0)
    with httpx.Client(timeout=300, limits=limits, headers={"Authorization": f"Bearer {TOKEN}"}) as client:

        def user(number: int) -> None:
            rng = random.Random(f"{seed}/{number}")
            due = time.monotonic() + rng.uniform(0, every)
            while due < end:
                time.sleep(max(0.0, due - time.monotonic()))
                due += rng.uniform(0.5, 1.5) * every
                started = time.perf_counter()
                try:
                    _ask(client, url, model, f"{rng.choice(questions)} ({rng.randrange(1_000)})", rng.random() < 0.5)
                except Exception as error:  # noqa: BLE001 - counted, with its text
                    asked.errors.append(f"{type(error).__name__}: {error}")
                else:
                    asked.seconds.append(time.perf_counter() - started)

        threads = [threading.Thread(target=user, args=(number,)) for number in range(users)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    return asked


def _ask(client: httpx.Client, url: str, model: str, question: str, stream: bool) -> None:
    messages = [{"role": "user", "content": question}]
    body = {"model": model, "messages": messages, "stream": stream}
    reply = client.post(f"{url}/v1/chat/completions", json=body)
    reply.raise_for_status()
    text = reply.text
    if '"outcome"' not in text or (stream and "[DONE]" not in text):
        raise ValueError(f"an unexpected reply: {text[:200]}")


def app_process(folder: Path, port: int, strategy: str) -> None:
    """Be the App, until stdin is closed: serve, run after run. Prints one JSON object per run, and one when ready."""
    import logging

    logging.disable(logging.INFO)
    changes: dict[str, Any] = {"retrieval_strategy": strategy} if strategy else {}
    app = build_app(load_settings(data_dir=folder, provider="demo", mteb_dataset_name="valle_multihop", **changes))
    kb_id = app.kbs.add(DOCUMENT.name, DOCUMENT.read_bytes()).kb_id
    warm_up = WarmUp(app)
    warm_up.start()
    server = server_for(app, TOKEN, "127.0.0.1", port, warm_up)
    threading.Thread(target=server.run, daemon=True).start()
    while not (server.started and warm_up.ready):
        time.sleep(0.05)
    print(json.dumps({"ready": kb_id}), flush=True)
    closed = threading.Event()

    def wait_for_the_end() -> None:
        sys.stdin.read()
        closed.set()

    threading.Thread(target=wait_for_the_end, daemon=True).start()
    while not closed.is_set():
        run_id = app.runs.start_run()
        while any(job.job_id == run_id and job.active for job in app.runs.jobs()):
            if closed.wait(0.2):
                app.runs.stop_run(run_id)
                break
        else:
            [job] = [job for job in app.runs.jobs() if job.job_id == run_id]
            print(json.dumps({"run": run_id, "state": job.state}), flush=True)
    server.should_exit = True


def watch_memory(pid: int, rss: list[float], ended: threading.Event, every: float) -> None:
    """Append the resident memory of a process in MB every ``every`` seconds until ``ended``."""
    while not ended.wait(every):
        with suppress(OSError):
            status = Path(f"/proc/{pid}/status").read_text()
            rss.append(int(status.split("VmRSS:")[1].split()[0]) / 1_024)


def soak(minutes: float, users: int, every: float, strategy: str, say: Callable[[str], None]) -> Soaked:
    """Run the whole test and return its figures."""
    from tests.loopback import free_port

    questions = [json.loads(line)["question"] for line in QUESTIONS.read_text("utf-8").splitlines() if line.strip()]
    port = free_port()
    with data_folder(None) as folder:
        app = command("soak", "--app", folder, "--port", port, "--strategy", strategy)
        with subprocess.Popen(app, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            assert process.stdin is not None
            kb_id = json.loads(process.stdout.readline())["ready"]
            say(f"{users} users for {minutes:g} minutes, process {process.pid}")
            states: list[str] = []
            reader = threading.Thread(
                target=lambda lines: states.extend(json.loads(line)["state"] for line in lines), args=[process.stdout]
            )
            reader.start()
            rss: list[float] = []
            ended = threading.Event()
            watcher = threading.Thread(target=watch_memory, args=(process.pid, rss, ended, max(0.2, minutes * 0.6)))
            watcher.start()
            try:
                asked = ask_all(f"http://127.0.0.1:{port}", f"{kb_id}:strict", questions, users, every, minutes * 60)
            finally:
                ended.set()
                process.stdin.close()
            reader.join(60)
            watcher.join(10)
            process.wait(60)
    parts = fifths(rss)
    return Soaked(
        minutes=minutes,
        users=users,
        questions=len(asked.seconds),
        errors=len(asked.errors),
        first_error=asked.errors[0] if asked.errors else "",
        p50_ms=round(1_000 * percentile(asked.seconds, 0.50), 1),
        p95_ms=round(1_000 * percentile(asked.seconds, 0.95), 1),
        p99_ms=round(1_000 * percentile(asked.seconds, 0.99), 1),
        runs=len(states),
        failed_runs=sum(state != "done" for state in states),
        rss_mb=tuple(round(value, 1) for value in parts),
        growth=round(growth_of(parts), 4),
    )


def main() -> int:
    options = parser(__doc__)
    options.add_argument("--minutes", type=float, default=30.0)
    options.add_argument("--users", type=int, default=50)
    options.add_argument("--every", type=float, default=10.0, help="seconds between the questions of one user")
    options.add_argument("--strategy", default="", help="retrieval strategy; empty: the default")
    options.add_argument("--json", action="store_true")
    options.add_argument("--app", type=Path, help=argparse.SUPPRESS)
    options.add_argument("--port", type=int, default=0, help=argparse.SUPPRESS)
    given = options.parse_args()
    if given.app is not None:
        app_process(given.app, given.port, given.strategy)
        return 0
    if not (0 < given.minutes <= LONGEST_MINUTES and 0 < given.users <= MOST_USERS and given.every > 0):
        options.error(f"at most {LONGEST_MINUTES:g} minutes and {MOST_USERS} users")
    result = soak(
        given.minutes, given.users, given.every, given.strategy, lambda text: print(text, file=sys.stderr, flush=True)
    )
    print_figures({**asdict(result), "passed": result.passed}, given.json)
    return 0 if result.passed else 1
