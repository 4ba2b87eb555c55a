"""A provider on loopback that speaks OpenAI's protocol, answers by rule, and misbehaves as often as it is told to.

What it says is a function of the prompt alone, so that two runs of the same questions must come to the same figures.
"""

from __future__ import annotations

import hashlib
import json
import random
import re
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler
from multiprocessing.connection import Connection
from typing import Any

from chatbot_mvp.evaluation.benchmark.generation import PROMPTS
from tests.loopback import LoopbackServer

GENERATE, JUDGE, OTHER, EMBED = "generate", "judge", "other", "embed"
_DIMENSIONS = 32
_ABSTAINS = 0.1  # of the answers


@dataclass(frozen=True)
class Faults:
    """Shares of all requests, 0-1 each; which ones is decided by a seeded sequence."""

    too_many: float = 0.0
    """429"""
    broken: float = 0.0
    """500"""
    cut: float = 0.0
    """The connection ends without an answer."""
    retry_after: float | None = None
    """Seconds that a 429 asks to wait; None: it does not say."""
    seed: int = 0


@dataclass(frozen=True)
class Asked:
    """One request as the stub saw it."""

    kind: str
    """"generate", "judge", "other" (enrichment and the like) or "embed"."""
    prompt: str
    """All messages, or the texts to embed as JSON."""


Rule = Callable[[Asked], tuple[int, dict[str, Any]] | None]
"""A status and a body in place of the answer; None: the answer."""


class ModelStub(LoopbackServer):
    """Chat completions, embeddings and a list of models."""

    request_queue_size = 256

    def __init__(self, latency: float = 0.0, faults: Faults | None = None, judge_latency: float | None = None) -> None:
        """
        Args:
            latency: seconds that every answer takes, refusals too.
            judge_latency: of judgements, where it differs.
        """
        super().__init__(_Handler)
        self.latency = latency
        self.judge_latency = judge_latency
        self.faults = faults or Faults()
        self.rule: Rule = lambda asked: None
        self.limit: TokenBucket | None = None
        """A provider's own limit of requests per second."""
        self.tokens: tuple[int, int] | None = None
        """(prompt, reply) that every answer states; None: as many as there are words."""
        self.reset()

    def reset(self) -> None:
        """Forget what was counted, and begin the sequence of faults anew."""
        self._random = random.Random(self.faults.seed)
        self._lock = threading.Lock()
        self.attempts: Counter[tuple[str, str]] = Counter()
        """(kind, prompt) -> requests."""
        self.answered: Counter[tuple[str, str]] = Counter()
        """(kind, prompt) -> answers that were sent."""
        self.statuses: Counter[int] = Counter()
        """HTTP status -> how many; 0 for a cut connection."""
        self.by_second: Counter[int] = Counter()
        """Second on the monotonic clock -> requests that began in it."""
        self.arrivals: list[float] = []
        """When each request began to be read, in seconds on the monotonic clock."""
        self.embedded: Counter[str] = Counter()
        """Text -> how often it was embedded."""
        self.last: dict[str, float] = {}
        """Kind -> when its last answer was sent, on the monotonic clock."""
        self.at_once = 0
        """Requests that are being answered."""
        self.most_at_once = 0
        self.working_s = 0.0
        """Seconds that requests were answered in, added up."""

    @property
    def base_url(self) -> str:
        return f"{self.url}/v1"

    @property
    def environment(self) -> dict[str, str]:
        """Makes a run of the command line ask this stub, and remember no reply."""
        return {
            "PROVIDER": "openai",
            "OPENAI_BASE_URL": self.base_url,
            "OPENAI_API_KEY": "stub-key-of-nobody",
            "OPENAI_MODEL_NAME": "stub",
            "LLM_CACHE_ENABLED": "false",
        }

    def asked(self, kind: str) -> int:
        """Requests of a kind."""
        return sum(count for (found, _), count in self.attempts.items() if found == kind)

    def begin(self, asked: Asked) -> str:
        """What is to become of a request: "ok", "429", "500" or "cut"."""
        with self._lock:
            self.at_once += 1
            self.most_at_once = max(self.most_at_once, self.at_once)
            self.attempts[asked.kind, asked.prompt] += 1
            self.by_second[int(time.monotonic())] += 1
            drawn, faults = self._random.random(), self.faults
            if self.limit is not None and not self.limit.take():
                return "429"
        for share, fate in ((faults.too_many, "429"), (faults.broken, "500"), (faults.cut, "cut")):
            if drawn < share:
                return fate
            drawn -= share
        return "ok"

    def end(self, asked: Asked, status: int, seconds: float) -> None:
        with self._lock:
            self.at_once -= 1
            self.working_s += seconds
            self.statuses[status] += 1
            if status == 200:
                self.answered[asked.kind, asked.prompt] += 1
                self.last[asked.kind] = time.monotonic()
                if asked.kind == EMBED:
                    self.embedded.update(json.loads(asked.prompt))


class TokenBucket:
    """So many requests per second, and a burst of a few."""

    def __init__(self, rate: float, burst: float = 4.0) -> None:
        self.rate, self.burst = rate, burst
        self._tokens, self._at = burst, time.monotonic()

    def take(self) -> bool:
        now = time.monotonic()
        self._tokens = min(self.burst, self._tokens + (now - self._at) * self.rate)
        self._at = now
        if self._tokens < 1:
            return False
        self._tokens -= 1
        return True


def draw(prompt: str) -> random.Random:
    """A source of chance that a prompt always gives anew."""
    return random.Random(hashlib.sha256(prompt.encode("utf-8", "replace")).digest())


def reply_to(kind: str, prompt: str) -> str:
    """What the stub's model says."""
    source = draw(prompt)
    if kind == JUDGE:
        return json.dumps({"reason": "de prueba", "score": round(source.random(), 3)})
    if kind == GENERATE and source.random() < _ABSTAINS:
        return str(PROMPTS.texts("es")["abstention"])
    if asked := re.search(r"^Escriba (\d) preguntas", prompt, re.M):
        words = re.findall(r"\w{4,}", re.split(r"</?datos-\w+>", prompt)[-2])
        return "\n".join(f"¿{' '.join(source.sample(words, min(4, len(words))))}?" for _ in range(int(asked[1])))
    words = re.findall(r"\w{4,}", prompt.rpartition("\nuser\n")[2])
    begin = source.randrange(max(1, len(words) - 4))
    return " ".join(words[begin : begin + 4]) or "nada"


def vector_of(text: str) -> list[float]:
    """The direction of a text: the sum of one random direction for each of its words."""
    total = [0.0] * _DIMENSIONS
    for word in re.findall(r"\w+", text.lower()) or ["?"]:
        source = draw(word)
        total = [value + source.gauss(0, 1) for value in total]
    norm = sum(value * value for value in total) ** 0.5
    return [value / norm for value in total]


def serve(pipe: Connection, latency: float, faults: Faults, limit: float) -> None:
    """A stub as the work of a process: sends its address, and at each "tell" what it has counted."""
    with ModelStub(latency, faults) as stub:
        stub.limit = TokenBucket(limit) if limit else None
        pipe.send(stub.base_url)
        while pipe.recv() == "tell":
            statuses = {str(status): count for status, count in stub.statuses.items()}
            most = max(stub.attempts.values(), default=0)
            counts = {"most_attempts": most, "most_at_once": stub.most_at_once, "by_second": dict(stub.by_second)}
            pipe.send({"statuses": statuses, **counts, "working_s": stub.working_s, "arrivals": sorted(stub.arrivals)})


class _Handler(BaseHTTPRequestHandler):
    server: ModelStub
    protocol_version = "HTTP/1.1"
    # One packet per answer: the second of two would wait for the first to be acknowledged.
    wbufsize = -1
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        self._send(200, {"object": "list", "data": [{"id": "stub", "object": "model"}]})

    def do_POST(self) -> None:
        self.server.arrivals.append(time.monotonic())
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))))
        asked = _asked(self.path, body)
        server = self.server
        fate = server.begin(asked)
        status, began = 0, time.monotonic()
        try:
            wait = server.latency
            if asked.kind == JUDGE and server.judge_latency is not None:
                wait = server.judge_latency
            time.sleep(wait)
            if fate == "cut":
                self.close_connection = True
                self.connection.shutdown(socket.SHUT_RDWR)
                return
            status, answer = server.rule(asked) or self._answer(asked, body, fate)
        finally:
            # Before the answer is on its way: whoever got it may look at the counts at once.
            server.end(asked, status, time.monotonic() - began)
        self._send(status, answer)

    def _answer(self, asked: Asked, body: dict[str, Any], fate: str) -> tuple[int, dict[str, Any]]:
        if fate == "429":
            return 429, {"error": {"message": "Too many requests", "code": "rate_limit"}}
        if fate == "500":
            return 500, {"error": {"message": "The server had an error"}}
        if asked.kind == EMBED:
            texts = json.loads(asked.prompt)
            rows = [{"object": "embedding", "index": n, "embedding": vector_of(text)} for n, text in enumerate(texts)]
            return 200, {"object": "list", "model": "stub", "data": rows, "usage": {"prompt_tokens": 1}}
        text = reply_to(asked.kind, asked.prompt)
        prompt_tokens, reply_tokens = self.server.tokens or (len(asked.prompt.split()), len(text.split()))
        return 200, {
            "id": "stub-1",
            "object": "chat.completion",
            "created": 0,
            "model": body["model"],
            "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}],
            "usage": {
                "prompt_tokens": prompt_tokens,
                "completion_tokens": reply_tokens,
                "total_tokens": prompt_tokens + reply_tokens,
            },
        }

    def _send(self, status: int, answer: dict[str, Any]) -> None:
        data = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        if status == 429 and self.server.faults.retry_after is not None:
            self.send_header("Retry-After", f"{self.server.faults.retry_after:g}")
        self.end_headers()
        self.wfile.write(data)
        self.wfile.flush()

    def log_message(self, format: str, *args: object) -> None:
        return


def _asked(path: str, body: dict[str, Any]) -> Asked:
    if path.endswith("/embeddings"):
        texts = body["input"] if isinstance(body["input"], list) else [body["input"]]
        return Asked(EMBED, json.dumps(texts, ensure_ascii=False))
    prompt = "".join(f"\n{message['role']}\n{message['content']}" for message in body["messages"])
    if "response_format" in body:
        return Asked(JUDGE, prompt)
    # Instructions of a run's answers stand apart from the question; what retrieval asks is one message.
    return Asked(GENERATE if body["messages"][0]["role"] == "system" else OTHER, prompt)
