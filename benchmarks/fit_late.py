"""Fit the weights of late interaction (``retrieval/late/weights.npz``) on questions and paragraphs that answer them.

    pip install torch            # only for this script
    python -m benchmarks fit_late ../shared/datasets/squad_es [--epochs 1] [--dry-run]

The data is JSONL of {article, context, question, is_impossible}. The articles are dealt out to four knowledge bases.
The projection begins as the 256 principal components of the states. A low-rank change of it, and the weight of each
token, are then fitted by contrast (InfoNCE, van den Oord et al. 2018, arXiv:1807.03748): the paragraph of a question
against the other paragraphs of its batch, among them those that the unfitted projection confuses with it.

Every fourth article is left out of the fit to report what it gains; the weights that are written are then fitted on all
articles with the same number of epochs. More than one epoch gains on these articles and loses on manuals.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch.nn import functional

from benchmarks.script import data_folder, parser
from chatbot_mvp.embedding.base import TokenEmbedder, TokenStates, Vectors
from chatbot_mvp.embedding.e5.embedder import MODEL_ID, local_e5
from chatbot_mvp.retrieval.late.matching import PATH

KEPT = 256
RANK = 64
RATE = 6e-4
BATCH = 16
NEGATIVES = 3
HARDEST = 10
"""The negatives of a question are drawn from this many paragraphs that score best without being right."""
KNOWLEDGE_BASES = 4
SAMPLE = 8_000


@dataclass
class Kb:
    """Some articles as one knowledge base."""

    passages: list[torch.Tensor]
    """States of each paragraph's tokens, minus the mean state."""
    questions: list[tuple[torch.Tensor, torch.Tensor, int]]
    """(states, rarity, row of the paragraph that answers) of each question."""


class Model:
    """The weights while they are fitted."""

    def __init__(self, components: torch.Tensor) -> None:
        size = components.shape[0]
        self.components = components
        self.left = (torch.randn(size, RANK) * 0.05).requires_grad_()
        self.right = torch.zeros(RANK, size, requires_grad=True)
        self.attention = torch.zeros(size, requires_grad=True)
        self.bias = torch.zeros((), requires_grad=True)
        self.sharpness = torch.tensor(25.0).log().requires_grad_()

    def projection(self) -> torch.Tensor:
        return self.components + self.left @ (self.right @ self.components)

    def project(self, states: torch.Tensor) -> torch.Tensor:
        return functional.normalize(states @ self.projection(), dim=1)

    def scores(
        self, questions: Sequence[tuple[torch.Tensor, torch.Tensor, int]], texts: Sequence[torch.Tensor]
    ) -> torch.Tensor:
        """Return the MaxSim of each question with each text, shape (questions, texts)."""
        similar = (
            self.project(torch.cat([states for states, _, _ in questions])) @ self.project(torch.cat(list(texts))).T
        )
        closest = torch.stack([part.amax(1) for part in similar.split([len(text) for text in texts], 1)], 1)
        rows = []
        for (states, rarity, _), part in zip(questions, closest.split([len(q[0]) for q in questions]), strict=True):
            weight = rarity.clamp(min=1e-3).sqrt() * torch.sigmoid(states @ self.attention + self.bias)
            rows.append((weight[:, None] * part).sum(0) / weight.sum())
        return torch.stack(rows)


def read(path: Path, embedder: TokenEmbedder) -> tuple[list[Kb], Vectors]:
    """Return the knowledge bases and the mean state of a token."""
    articles: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for line in path.read_text("utf-8").splitlines():
        row = json.loads(line)
        questions = articles[row["article"]][row["context"].strip()]
        if not row["is_impossible"]:
            questions.append(row["question"])
    found: list[tuple[list[TokenStates], list[TokenStates], list[int]]] = []
    for number in range(KNOWLEDGE_BASES):
        texts: list[str] = []
        asked: list[str] = []
        right: list[int] = []
        for article in list(articles)[number::KNOWLEDGE_BASES]:
            for context, questions in articles[article].items():
                asked += questions
                right += [len(texts)] * len(questions)
                texts.append(f"{article}\n{context}")
        found.append((embedder.text_tokens(texts, "passage"), embedder.text_tokens(asked, "query"), right))
        print(f"knowledge base {number + 1}: {len(texts)} paragraphs, {len(asked)} questions", flush=True)
    mean: Vectors = np.concatenate([tokens.states for texts, _, _ in found for tokens in texts]).mean(axis=0)

    def moved(states: Vectors) -> torch.Tensor:
        return torch.from_numpy(states - mean)

    return [
        Kb(
            [moved(tokens.states) for tokens in texts],
            [(moved(q.states), torch.from_numpy(q.rarity), row) for q, row in zip(asked, right, strict=True)],
        )
        for texts, asked, right in found
    ], mean


def fit(kbs: Sequence[Kb], epochs: int) -> Model:
    """Return the model fitted on ``kbs``; with 0 epochs the principal components."""
    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    states = torch.cat([torch.cat(kb.passages)[rng.integers(0, sum(map(len, kb.passages)), SAMPLE)] for kb in kbs])
    model = Model(torch.linalg.svd(states, full_matrices=False)[2][:KEPT].T.contiguous())
    fast = [model.attention, model.bias, model.sharpness]
    groups = [
        {"params": [model.left, model.right], "weight_decay": 0.01},
        {"params": fast, "weight_decay": 0.0, "lr": 3 * RATE},
    ]
    optimizer = torch.optim.AdamW(groups, lr=RATE)
    confused = [hardest(model, kb) for kb in kbs] if epochs else []
    for _ in range(epochs):
        batches = []
        for number, kb in enumerate(kbs):
            order = rng.permutation(len(kb.questions))
            batches += [(number, order[begin : begin + BATCH]) for begin in range(0, len(order), BATCH)]
        for at in rng.permutation(len(batches)):
            number, rows = batches[at]
            kb, questions = kbs[number], [kbs[number].questions[row] for row in rows]
            drawn = [rng.permutation(confused[number][row])[:NEGATIVES] for row in rows]
            texts = np.unique(np.concatenate([[row for _, _, row in questions], *drawn]))
            right = torch.from_numpy(np.searchsorted(texts, [row for _, _, row in questions]))
            scores = model.scores(questions, [kb.passages[row] for row in texts]) * model.sharpness.exp()
            loss = functional.cross_entropy(scores, right)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return model


def all_scores(model: Model, kb: Kb) -> torch.Tensor:
    """Return the MaxSim of all questions with all paragraphs."""
    begins = range(0, len(kb.questions), BATCH)
    with torch.no_grad():
        return torch.cat([model.scores(kb.questions[at : at + BATCH], kb.passages) for at in begins])


def hardest(model: Model, kb: Kb) -> torch.Tensor:
    """Return for each question the rows of the wrong paragraphs that score best, shape (questions, HARDEST)."""
    scores = all_scores(model, kb)
    scores[torch.arange(len(kb.questions)), torch.tensor([row for _, _, row in kb.questions])] = -1
    return scores.topk(HARDEST, dim=1).indices


def hits(model: Model, kb: Kb) -> str:
    """Return hit@1, hit@3 and hit@10 of the paragraphs."""
    scores = all_scores(model, kb)
    right = scores[torch.arange(len(kb.questions)), torch.tensor([row for _, _, row in kb.questions])]
    rank = (scores > right[:, None]).sum(1)
    return ", ".join(f"hit@{k} {float((rank < k).float().mean()):.3f}" for k in (1, 3, 10))


def main() -> None:
    options = parser(__doc__)
    options.add_argument("folder", type=Path, help="folder with questions.jsonl")
    options.add_argument("--epochs", type=int, default=1)
    options.add_argument("--dry-run", action="store_true", help="only report; write nothing")
    given = options.parse_args()
    with data_folder(None) as folder:
        embedder = local_e5(folder, 0)
        assert isinstance(embedder, TokenEmbedder), "the fallback engine gives no states of tokens"
        kbs, mean = read(given.folder / "questions.jsonl", embedder)
    *others, unseen = kbs
    print(f"unseen articles, principal components: {hits(fit(others, 0), unseen)}", flush=True)
    print(f"unseen articles, {given.epochs} epochs: {hits(fit(others, given.epochs), unseen)}", flush=True)
    if given.dry_run:
        return
    model = fit(kbs, given.epochs)
    with torch.no_grad():
        np.savez(
            PATH,
            model_id=np.array(MODEL_ID),
            mean=mean.astype(np.float16),
            projection=model.projection().numpy().astype(np.float16),
            attention=model.attention.numpy().astype(np.float16),
            bias=model.bias.numpy(),
        )
    print(f"written: {PATH}")
