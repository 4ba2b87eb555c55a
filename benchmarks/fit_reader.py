"""Fit a small reader of spans on questions with and without an answer; measure if it tells near questions apart.

    python -m benchmarks fit_reader ../shared/datasets --only aptitude,debian_reference [--keep FOLDER]
    python -m benchmarks fit_reader ../shared/datasets --together --pairs 800 --only aptitude

The reader gives each token of a passage a score as first and as last token of the answer, and the question a score of
having none (Rajpurkar et al. 2018, arXiv:1806.03822): linear, over states that the local embedding model computes.

- apart (default): the states of late interaction, of question and passage each alone. A token's score is its product
  with a matrix and the question's mean state, and how well its surroundings match the question.
- together: question and passage in one sequence, so that each token has read the question.

It is fitted on three quarters of the articles of translated SQuAD, with impossible questions and with the most similar
other paragraph of the article, and measured on the other quarter and on the collections of ``near``, where the best of
the first three passages counts. It writes no weights: it does not tell near questions apart
(docs/research/evidence.md).
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.near import KINDS, area, by_kind
from benchmarks.near_sets import collections, undecided
from benchmarks.script import add_keep, data_folder, parser, row
from chatbot_mvp.embedding.base import TokenEmbedder, TokenStates, Vectors
from chatbot_mvp.embedding.registry import create_embedder
from chatbot_mvp.retrieval.arrays import Doubles
from chatbot_mvp.retrieval.late.matching import late_weights
from chatbot_mvp.settings.model import load_settings

MOST_TOKENS, SPAN = 256, 16
SURROUNDINGS = (0, 3, 10, 30, 80)
"""Tokens on either side of a token within which the question's tokens are looked for."""
RATE, RIDGE, BATCH, EPOCHS = 2e-3, 3e-4, 32, 5
PASSAGES = 3


@dataclass(frozen=True)
class Pair:
    """A question and a passage as the reader sees them."""

    tokens: Vectors
    """Shape (tokens, dimensions)."""
    match: Vectors
    """Shape (tokens, len(SURROUNDINGS)); zeros for pairs that are read together."""
    question: Vectors
    """Shape (dimensions of the question,)."""
    whole: Vectors
    """What tells whether there is an answer at all, flat."""
    span: tuple[int, int] | None = None
    """First and last token of the answer."""
    kind: str = ""


class Apart:
    """Reads question and passage each alone."""

    def __init__(self, embedder: TokenEmbedder) -> None:
        self.embedder = embedder
        self.weights = late_weights()
        self._known: dict[tuple[str, str], TokenStates] = {}

    def pair(self, question: str, text: str, span: tuple[int, int] | None = None, kind: str = "") -> Pair:
        asked, read = self._of(question, "query"), self._of(text, "passage")
        tokens = self.weights.project(read)[:MOST_TOKENS]
        shares = self.weights.shares(asked)
        cosines = tokens @ self.weights.project(asked).T
        match = np.stack([_widest(cosines, reach) @ shares for reach in SURROUNDINGS], axis=1)
        best = cosines.max(axis=0)
        whole = np.array([best @ shares, shares[best > 0.7].sum(), shares[best < 0.4].sum(), best.min()], np.float32)
        mean = (3 * shares @ (asked.states - self.weights.mean)).astype(np.float32)
        return Pair(tokens, match.astype(np.float32), mean, np.concatenate([whole, 0.1 * mean]), span, kind)

    def similar(self, question: str, texts: Sequence[str]) -> int:
        """Return the row of the text that is most similar to a question."""
        asked = self._of(question, "query")
        shares, own = self.weights.shares(asked), self.weights.project(asked)
        scores = [(self.weights.project(self._of(text, "passage")) @ own.T).max(axis=0) @ shares for text in texts]
        return int(np.argmax(scores))

    def _of(self, text: str, kind: Any) -> TokenStates:
        if (text, kind) not in self._known:
            [self._known[text, kind]] = self.embedder.text_tokens([text], kind)
        return self._known[text, kind]


class Together(Apart):
    """Reads question and passage in one sequence."""

    def pair(self, question: str, text: str, span: tuple[int, int] | None = None, kind: str = "") -> Pair:
        [read] = self.embedder.text_tokens([f"{question}\npassage: {text}"], "query")
        begin, tokens = sum(self.embedder.token_counts([question, "passage:"])), 2 * (read.states - self.weights.mean)
        asked, passage = tokens[:begin].mean(axis=0), tokens[begin : begin + MOST_TOKENS]
        mean = passage.mean(axis=0)
        whole = (0.3 * np.concatenate([asked, mean, asked * mean])).astype(np.float32)
        return Pair(passage, np.zeros((len(passage), 5), np.float32), np.ones(1, np.float32), whole, span, kind)


def _widest(cosines: Vectors, reach: int) -> Vectors:
    """Return the largest value within ``reach`` rows of each row, shape as ``cosines``."""
    padded = np.pad(cosines, ((reach, reach), (0, 0)), constant_values=-1.0)
    size = 1
    while 2 * size <= 2 * reach + 1:
        padded, size = np.maximum(padded[:-size], padded[size:]), 2 * size
    rest = 2 * reach + 1 - size
    found: Vectors = np.maximum(padded[:-rest], padded[rest:]) if rest else padded
    return found


class Head:
    """The weights while they are fitted, and Adam's moments (Kingma & Ba 2015, arXiv:1412.6980)."""

    def __init__(self, like: Pair) -> None:
        tokens, question = like.tokens.shape[1], len(like.question)
        self.of = {
            "matrix": np.zeros((2, tokens, question)),
            "match": np.zeros((2, like.match.shape[1])),
            "whole": np.zeros(len(like.whole)),
            "none": np.zeros(1),
        }
        self._first = {name: np.zeros_like(value) for name, value in self.of.items()}
        self._second = {name: np.zeros_like(value) for name, value in self.of.items()}
        self._steps = 0

    def scores(self, pair: Pair) -> tuple[Doubles, float]:
        """Return (score of each token as first and as last one, shape (2, tokens); score of having no answer)."""
        tokens = (self.of["matrix"] @ pair.question) @ pair.tokens.T + self.of["match"] @ pair.match.T
        return tokens, float(self.of["whole"] @ pair.whole + self.of["none"][0])

    def answer(self, pair: Pair) -> tuple[float, tuple[int, int]]:
        """Return (score of the best span less that of having no answer, the span)."""
        tokens, none = self.scores(pair)
        best = (-np.inf, (0, 0))
        for length in range(min(SPAN, tokens.shape[1])):
            together = tokens[0, : tokens.shape[1] - length] + tokens[1, length:]
            at = int(together.argmax())
            best = max(best, (float(together[at]), (at, at + length)))
        return best[0] - 2 * none, best[1]

    def learn(self, pairs: Sequence[Pair], rate: float) -> None:
        """Take one step of cross entropy over the tokens and "no answer"."""
        slope = {name: RIDGE * value for name, value in self.of.items()}
        for pair in pairs:
            tokens, none = self.scores(pair)
            for side in (0, 1):
                scores = np.append(tokens[side], none)
                wrong = np.exp(scores - scores.max())
                wrong /= wrong.sum() * len(pairs)
                wrong[-1 if pair.span is None else pair.span[side]] -= 1 / len(pairs)
                slope["matrix"][side] += np.outer(wrong[:-1] @ pair.tokens, pair.question)
                slope["match"][side] += wrong[:-1] @ pair.match
                slope["whole"] += wrong[-1] * pair.whole
                slope["none"] += wrong[-1]
        self._steps += 1
        for name, value in slope.items():
            self._first[name] = 0.9 * self._first[name] + 0.1 * value
            self._second[name] = 0.999 * self._second[name] + 0.001 * value**2
            first, second = self._first[name] / (1 - 0.9**self._steps), self._second[name] / (1 - 0.999**self._steps)
            self.of[name] = self.of[name] - rate * first / (np.sqrt(second) + 1e-8)


def pairs_of(path: Path, reader: Apart, count: int) -> Iterator[tuple[str, Pair]]:
    """Yield (article, pair) of so many questions drawn from a file."""
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    texts: dict[str, dict[str, None]] = defaultdict(dict)
    for one in rows:
        texts[one["article"]][one["context"].strip()] = None
    rng = np.random.default_rng(0)
    for at in rng.permutation(len(rows))[:count]:
        one = rows[at]
        question, text, article = one["question"], one["context"].strip(), one["article"]
        if one["is_impossible"]:
            yield article, reader.pair(question, text, kind="impossible")
            continue
        span = _span(reader.embedder, one)
        if span is not None and span[1] < MOST_TOKENS:
            yield article, reader.pair(question, text, span, "answerable")
        others = [other for other in texts[article] if other != text]
        if others and rng.random() < 0.2:
            others = [others[number] for number in rng.permutation(len(others))[:10]]
            yield article, reader.pair(question, others[reader.similar(question, others)], kind="near")


def _span(embedder: TokenEmbedder, one: dict[str, Any]) -> tuple[int, int] | None:
    """Return the first and the last token of the words that have the answer; None if the text lacks it."""
    answer, text = one["answers"][0], one["context"]
    begin, end = answer["start"], answer["start"] + len(answer["text"])
    if text[begin:end] != answer["text"] or not answer["text"].strip():
        return None
    begin = max(text.rfind(" ", 0, begin), text.rfind("\n", 0, begin)) + 1
    end = next((at for at in range(end, len(text)) if text[at].isspace()), len(text))
    before, inside = embedder.token_counts([text[:begin], text[begin:end]])
    return (before, before + inside - 1) if inside else None


def main() -> None:
    options = parser(__doc__)
    options.add_argument("shared", type=Path, help="folder of the data sets")
    options.add_argument("--together", action="store_true")
    options.add_argument("--pairs", type=int, default=3_000, help="questions to fit and to measure on")
    options.add_argument("--only", default="", help="names of collections, with commas")
    add_keep(options)
    given = options.parse_args()
    with data_folder(given.keep) as data:
        settings = load_settings(data_dir=data, vector_store="exact")
        embedder = create_embedder(settings.embedding_model_name, settings)
        assert isinstance(embedder, TokenEmbedder), "the fallback engine gives no states of tokens"
        reader = Together(embedder) if given.together else Apart(embedder)
        found = list(pairs_of(given.shared / "squad_es" / "questions.jsonl", reader, given.pairs))
        unseen = set(sorted({article for article, _ in found})[::4])
        fitting = [pair for article, pair in found if article not in unseen]
        head, rng = Head(fitting[0]), np.random.default_rng(0)
        for epoch in range(EPOCHS):
            order = rng.permutation(len(fitting))
            for begin in range(0, len(order), BATCH):
                head.learn([fitting[at] for at in order[begin : begin + BATCH]], RATE * (1 - epoch / EPOCHS))
        rest = [(pair, *head.answer(pair)) for article, pair in found if article in unseen]
        scores = {kind: [score for pair, score, _ in rest if pair.kind == kind] for kind in (*KINDS, "impossible")}
        hit = [pair.span[0] <= at[1] and at[0] <= pair.span[1] for pair, _, at in rest if pair.span]
        print(f"unseen articles: {len(fitting)} pairs fitted; the best span meets the answer {np.mean(hit):.3f}")
        print(row(["unseen, near", area(scores)]))
        print(row(["unseen, impossible", area({**scores, "near": scores["impossible"]})]), flush=True)
        known = collections(given.shared)
        for name in given.only.split(",") if given.only else known:
            asked = undecided(known[name](), settings, embedder)
            best = [
                max(head.answer(reader.pair(one.question.question, hit.chunk.text))[0] for hit in shown)
                for one in asked
                if (shown := one.trace.chunks_final[:PASSAGES])
            ]
            print(row([name, area(by_kind(asked, best))]), flush=True)
