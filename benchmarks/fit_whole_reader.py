"""Fit all weights of the local embedding model as a reader of spans; measure if it tells near questions apart.

    pip install torch
    python -m benchmarks fit_whole_reader ../shared/datasets [--epochs 2] [--only handbook,aptitude] [--keep FOLDER]

``fit_reader`` fits a linear layer over states that stay as they are. Here the twelve layers themselves learn: question
and passage are one sequence, as in BERT (Devlin et al. 2019, arXiv:1810.04805), each token has a score as first and as
last token of the answer, and the first token has one for being answered at all (Rajpurkar et al. 2018,
arXiv:1806.03822). Data and held-out articles are those of ``fit_reader``, with a most similar other paragraph of the
article for every answerable question. Only the embeddings of the tokens stay.

On the collections the best of the first three passages counts. No weights are written: it does not tell near questions
apart (docs/research/evidence.md). Two epochs take 25 minutes on two cores that multiply in bfloat16, hours on others.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.near import KINDS, area, by_kind
from benchmarks.near_sets import collections, undecided
from benchmarks.script import add_keep, data_folder, parser, row
from chatbot_mvp.embedding.base import Embedder
from chatbot_mvp.embedding.e5.embedder import E5Tokens
from chatbot_mvp.embedding.e5.weights import E5File, model_file
from chatbot_mvp.embedding.registry import create_embedder
from chatbot_mvp.settings.model import load_settings

MOST_TOKENS, QUESTION_TOKENS, SPAN = 256, 64, 30
PASSAGES, WINDOW, STEP = 3, 220, 150
BATCH, RATE, HEAD_RATE, DECAY, DROPPED, WARM = 16, 1e-4, 5e-4, 0.01, 0.1, 0.06
ALIKE = 3
"""The other paragraph is drawn from so many that are most similar to the question."""
_WORD = re.compile(r"\S+")


@dataclass(frozen=True)
class Pair:
    """A question and a passage as token ids, without special tokens."""

    question: list[int]
    passage: list[int]
    kind: str = ""
    span: tuple[int, int] | None = None
    """First and last token of the answer in ``passage``; None if there is no answer."""
    article: str = ""


class Told(NamedTuple):
    """What the reader says of a pair."""

    span: float
    """Score of the best span less that of none."""
    answered: float
    """Score of being answered."""
    at: tuple[int, int]
    """First and last token of the best span."""


SCORES = ("span", "answered")


class Tokens:
    """Sequences of question and passage, by the tokenizer of the local model."""

    def __init__(self, file: E5File) -> None:
        self.ids = E5Tokens(file).ids
        self._special = file.special
        self._query, self._passage = self.ids("query:"), self.ids("passage:")

    def sequence(self, pair: Pair) -> tuple[list[int], int]:
        """Return (token ids of question and passage together, where the passage begins)."""
        begin, end = self._special.begin, self._special.end
        head = [begin, *self._query, *pair.question[:QUESTION_TOKENS], end, end, *self._passage]
        return [*head, *pair.passage[: MOST_TOKENS - len(head) - 1], end], len(head)

    def padding(self) -> int:
        return self._special.padding


def pairs_of(path: Path, tokens: Tokens, embedder: Embedder) -> Iterator[Pair]:
    """Yield each question of a file with its paragraph, and an answerable one with a similar paragraph, too."""
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    texts = list(dict.fromkeys(one["context"] for one in rows))
    place = {text: at for at, text in enumerate(texts)}
    of_article: dict[str, dict[str, None]] = defaultdict(dict)
    for one in rows:
        of_article[one["article"]][one["context"]] = None
    vectors, asked = embedder.embed(texts, "passage"), embedder.embed([one["question"] for one in rows], "query")
    words = [[(found.start(), found.end(), tokens.ids(found[0])) for found in _WORD.finditer(text)] for text in texts]
    ids = [[token for *_, of_word in of_text for token in of_word] for of_text in words]
    rng = np.random.default_rng(0)
    for one, vector in zip(rows, asked, strict=True):
        question, article, at = tokens.ids(one["question"]), one["article"], place[one["context"]]
        if one["is_impossible"]:
            yield Pair(question, ids[at], "impossible", article=article)
            continue
        answer = one["answers"][0]
        begin, end = answer["start"], answer["start"] + len(answer["text"])
        inside = [n for n, (first, last, _) in enumerate(words[at]) if first < end and last > begin]
        if one["context"][begin:end] != answer["text"] or not inside:
            continue
        before = sum(len(of_word) for *_, of_word in words[at][: inside[0]])
        length = sum(len(words[at][n][2]) for n in inside)
        yield Pair(question, ids[at], "answerable", (before, before + length - 1), article)
        others = [t for t in of_article[article] if t != one["context"] and answer["text"].lower() not in t.lower()]
        if others:
            alike = sorted(others, key=lambda text: -float(vectors[place[text]] @ vector))[:ALIKE]
            yield Pair(question, ids[place[alike[rng.integers(len(alike))]]], "near", article=article)


class Encoder:
    """The weights as tensors, and what they make of sequences."""

    def __init__(self, file: E5File, tokens: Tokens) -> None:
        import torch

        self._torch, self._tokens, self._sizes = torch, tokens, file.sizes
        width, inner = file.sizes.dimensions, file.sizes.inner_dimensions
        self._words = torch.tensor(file.matrix("emb.word", file.sizes.vocabulary, width))
        kind = file.floats("emb.type").reshape(-1, width)[0]
        self._places = torch.tensor(file.floats("emb.pos").reshape(-1, width) + kind)
        self.of: dict[str, Any] = {name: torch.tensor(file.floats(f"emb.ln.{name}")) for name in "wb"}
        shapes = {"q": (width, width), "k": (width, width), "v": (width, width), "ao": (width, width)}
        shapes |= {"fi": (inner, width), "fo": (width, inner)}
        for layer in range(file.sizes.layers):
            for name, shape in shapes.items():
                self.of[f"{layer}.{name}.w"] = torch.tensor(file.matrix(f"l{layer}.{name}.w", *shape))
                self.of[f"{layer}.{name}.b"] = torch.tensor(file.floats(f"l{layer}.{name}.b"))
            for name in ("aln.w", "aln.b", "oln.w", "oln.b"):
                self.of[f"{layer}.{name}"] = torch.tensor(file.floats(f"l{layer}.{name}"))
        torch.manual_seed(0)
        self.of |= {"head.w": 0.02 * torch.randn(3, width), "head.b": torch.zeros(3)}
        for tensor in self.of.values():
            tensor.requires_grad_()

    def scores(self, pairs: Sequence[Pair], learns: bool = False) -> tuple[Any, Any, list[int], list[int]]:
        """Return (scores of the tokens as first and last one, shape (pairs, tokens, 2); scores of being answered, shape
        (pairs,); where each passage begins; how long each sequence is)."""
        torch, of = self._torch, self.of
        function = torch.nn.functional
        read = [self._tokens.sequence(pair) for pair in pairs]
        lengths = [len(ids) for ids, _ in read]
        ids = torch.full((len(read), max(lengths)), self._tokens.padding())
        for at, (one, _) in enumerate(read):
            ids[at, : len(one)] = torch.tensor(one)
        outside = torch.arange(ids.shape[1])[None] >= torch.tensor(lengths)[:, None]
        width, heads, epsilon = self._sizes.dimensions, self._sizes.heads, self._sizes.layer_norm_epsilon

        def normed(x: Any, name: str) -> Any:
            return function.layer_norm(x, (width,), of[f"{name}w"], of[f"{name}b"], epsilon)

        def dropped(x: Any) -> Any:
            """Leave out a share of the dimensions of each sequence while it learns."""
            return x * (torch.rand(len(x), 1, x.shape[2]) > DROPPED).to(x.dtype) / (1 - DROPPED) if learns else x

        def linear(x: Any, name: str) -> Any:
            return function.linear(x, of[f"{name}.w"], of[f"{name}.b"])

        with torch.autocast("cpu", torch.bfloat16):
            mask = torch.zeros(outside.shape, dtype=torch.bfloat16).masked_fill(outside, -1e4)[:, None, None]
            x = normed(self._words[ids] + self._places[: ids.shape[1]], "")
            for layer in range(self._sizes.layers):
                q, k, v = (
                    linear(x, f"{layer}.{name}").unflatten(-1, (heads, -1)).transpose(1, 2) for name in ("q", "k", "v")
                )
                share = torch.softmax(q @ k.transpose(-1, -2) / (width // heads) ** 0.5 + mask, -1).to(v.dtype)
                x = normed(x + dropped(linear((share @ v).transpose(1, 2).flatten(2), f"{layer}.ao")), f"{layer}.aln.")
                inner = linear(function.gelu(linear(x, f"{layer}.fi")), f"{layer}.fo")
                x = normed(x + dropped(inner), f"{layer}.oln.")
            told = linear(x, "head").float()
        spans = told[..., :2].masked_fill(outside[..., None], -1e4)
        return spans, told[:, 0, 2], [begin for _, begin in read], lengths

    def answers(self, pairs: Sequence[Pair]) -> list[Told]:
        """Return what it says of each pair."""
        found = [Told(0.0, 0.0, (0, 0))] * len(pairs)
        order = sorted(range(len(pairs)), key=lambda at: len(pairs[at].passage))
        for first in range(0, len(order), 2 * BATCH):
            rows = order[first : first + 2 * BATCH]
            with self._torch.no_grad():
                spans, answered, begins, lengths = self.scores([pairs[at] for at in rows])
            for number, at in enumerate(rows):
                starts, ends = spans[number].numpy().T
                inside = slice(begins[number], lengths[number] - 1)
                best, where = -np.inf, (0, 0)
                for more in range(min(SPAN, inside.stop - inside.start)):
                    together = starts[inside][: inside.stop - inside.start - more] + ends[inside][more:]
                    if together.max() > best:
                        best, where = float(together.max()), (int(together.argmax()), int(together.argmax()) + more)
                found[at] = Told(best - float(starts[0] + ends[0]), float(answered[number]), where)
        return found

    def fit(self, pairs: Sequence[Pair], epochs: int) -> None:
        """Fit all weights by AdamW (Loshchilov & Hutter 2019, arXiv:1711.05101)."""
        torch = self._torch
        heads = [self.of["head.w"], self.of["head.b"]]
        others = [tensor for name, tensor in self.of.items() if not name.startswith("head")]
        groups = [{"params": others, "lr": RATE}, {"params": heads, "lr": HEAD_RATE}]
        steps = torch.optim.AdamW(groups, betas=(0.9, 0.98), weight_decay=DECAY, fused=True)
        total, rng, done = epochs * (len(pairs) // BATCH), np.random.default_rng(0), 0
        rates = torch.optim.lr_scheduler.LambdaLR(
            steps, lambda step: min((step + 1) / (WARM * total), max(0.02, 1 - step / total))
        )
        for _ in range(epochs):
            order = sorted(rng.permutation(len(pairs)).tolist(), key=lambda at: len(pairs[at].passage) // 40)
            batches = [order[first : first + BATCH] for first in range(0, len(order) - BATCH + 1, BATCH)]
            for number in rng.permutation(len(batches)):
                self._loss([pairs[at] for at in batches[number]]).backward()
                torch.nn.utils.clip_grad_norm_(list(self.of.values()), 1.0)
                steps.step()
                rates.step()
                steps.zero_grad()
                done += 1
                if done % 100 == 0:
                    print(f"  step {done} of {total}", flush=True)

    def _loss(self, pairs: Sequence[Pair]) -> Any:
        function, tensor = self._torch.nn.functional, self._torch.tensor
        spans, answered, begins, lengths = self.scores(pairs, learns=True)
        wanted = [
            (begin + pair.span[0], begin + pair.span[1])
            if pair.span is not None and begin + pair.span[1] < length - 1
            else (0, 0)
            for pair, begin, length in zip(pairs, begins, lengths, strict=True)
        ]
        ends = [function.cross_entropy(spans[..., side], tensor([at[side] for at in wanted])) for side in (0, 1)]
        has = tensor([float(at != (0, 0)) for at in wanted])
        return function.binary_cross_entropy_with_logits(answered, has) + 0.5 * sum(ends)


def windows(question: list[int], passage: list[int]) -> list[Pair]:
    """Return the pairs of a question and all parts of a passage that is longer than the model reads here."""
    starts = range(0, max(1, len(passage) - WINDOW + STEP), STEP)
    return [Pair(question, passage[start : start + WINDOW]) for start in starts]


def main() -> None:
    options = parser(__doc__)
    options.add_argument("shared", type=Path, help="folder of the data sets")
    options.add_argument("--epochs", type=int, default=2)
    options.add_argument("--pairs", type=int, default=100_000, help="pairs to fit on, and to measure on, at most")
    options.add_argument("--only", default="", help="names of collections, with commas")
    add_keep(options)
    given = options.parse_args()
    with data_folder(given.keep) as data:
        settings = load_settings(data_dir=data, vector_store="exact")
        embedder = create_embedder(settings.embedding_model_name, settings)
        file = E5File(model_file())
        tokens = Tokens(file)
        encoder = Encoder(file, tokens)
        pairs = list(pairs_of(given.shared / "squad_es" / "questions.jsonl", tokens, embedder))
        unseen = set(sorted({pair.article for pair in pairs})[::4])
        drawn = [pairs[at] for at in np.random.default_rng(0).permutation(len(pairs))]
        fitting = [pair for pair in drawn if pair.article not in unseen][: given.pairs]
        encoder.fit(fitting, given.epochs)
        rest = [pair for pair in drawn if pair.article in unseen][: given.pairs]
        found = encoder.answers(rest)
        hit = [p.span[0] <= at[1] and at[0] <= p.span[1] for p, (*_, at) in zip(rest, found, strict=True) if p.span]
        print(f"unseen articles: {len(fitting)} pairs fitted; the best span meets the answer {np.mean(hit):.3f}")
        for score in SCORES:
            by = {
                kind: [getattr(one, score) for pair, one in zip(rest, found, strict=True) if pair.kind == kind]
                for kind in (*KINDS, "impossible")
            }
            print(row([f"unseen, near, {score}", area(by)]))
            print(row([f"unseen, impossible, {score}", area({**by, "near": by["impossible"]})]), flush=True)
        known = collections(given.shared)
        for name in given.only.split(",") if given.only else known:
            asked = undecided(known[name](), settings, embedder)
            told = []
            for one in asked:
                question = tokens.ids(one.question.question)
                texts = [tokens.ids(hit.chunk.text) for hit in one.trace.chunks_final[:PASSAGES]]
                told.append(encoder.answers([part for text in texts for part in windows(question, text)]))
            for score in SCORES:
                best = [max(getattr(part, score) for part in parts) for parts in told]
                print(row([name, score, area(by_kind(asked, best))]), flush=True)
