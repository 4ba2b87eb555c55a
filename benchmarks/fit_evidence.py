"""Fit the weights of ``retrieval/stages/evidence.py`` on questions that a knowledge base answers and that it does not.

    python -m benchmarks fit_evidence ../shared/datasets/squad_es            # writes evidence_weights.json
    python -m benchmarks fit_evidence ../shared/datasets/squad_es --dry-run  # only prints figures
    python -m benchmarks fit_evidence … --check FILE.md QUESTIONS.jsonl …    # figures on knowledge bases not fitted on

The data is JSONL of {article, context, question, is_impossible}. Its articles are dealt out to four knowledge bases,
and every fourth paragraph is left out of them. The questions of a missing paragraph are *left out*: their article is
there, their answer is not. *impossible* ones were written to look answerable; *far* ones are about articles of another
knowledge base. ``evidence_es/``, this project's documents with paraphrased questions, is added with a small weight.

Two scores are fitted: evidence (answerable against all others) and topic (all others against far). The thresholds are
cross-fitted: each knowledge base is scored by a model that has not seen it.
"""

from __future__ import annotations

import json
import random
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.script import ROOT, add_keep, data_folder, parser
from chatbot_mvp.documents.chunking import chunk_document
from chatbot_mvp.embedding.base import Embedder
from chatbot_mvp.embedding.registry import create_embedder
from chatbot_mvp.evaluation.kb.questions import auroc, load_questions
from chatbot_mvp.retrieval.pipeline import growing_pipeline
from chatbot_mvp.retrieval.stages.base import Evidence
from chatbot_mvp.retrieval.stages.evidence import MODELS, WEIGHTS_PATH, kb_features, logistic
from chatbot_mvp.retrieval.strategies import get_strategy
from chatbot_mvp.retrieval.trace import RetrievalTrace
from chatbot_mvp.settings.model import Settings, load_settings
from chatbot_mvp.types import Document, last

Array = npt.NDArray[np.float64]
Span = tuple[str, str]
"""(question, kind)."""
RIDGE = 10.0
"""L2 penalty on standardised weights, so that correlated features share their weight."""
ACCEPT = 0.72
"""Share of answerable questions with an evidence of at least 0.5, cross-fitted."""
ON_TOPIC = 0.95
"""Share of the questions that are not far with a topic score of at least 0.5, cross-fitted."""
SHARES = {"answerable": 1.5, "left out": 0.6, "near": 0.6, "impossible": 0.3, "far": 0.5}
"""Kind -> total weight of its questions in the fit of the evidence."""
OWN = ROOT / "benchmarks" / "evidence_es"
OWN_SHARE = {"evidence": 0.02, "topic": 0.2}
"""Score -> weight of this project's documents relative to the data set's."""
MAX_Z = 6.0
"""Features are clipped to this many standard deviations from their mean."""
KNOWLEDGE_BASES = 4
DRAWN = {"answerable": 14, "left out": 11, "impossible": 5, "far": 3}
"""Kind -> questions of each article that are asked, at most."""


@dataclass(frozen=True)
class Row:
    """A question asked of a knowledge base."""

    kb: str
    own: bool
    """True for this project's documents."""
    kind: str
    features: Mapping[str, float]
    """Empty if nothing was found: never accepted."""


def ask(kb: str, text: str, questions: Sequence[Span], settings: Settings, embedder: Embedder) -> Iterator[Row]:
    """Ask every question of a knowledge base."""
    pipeline = last(growing_pipeline(chunk_document(Document("kb", "kb", text)), "es", settings, lambda: embedder))
    traces = [RetrievalTrace(question) for question, _ in questions]
    for stage in get_strategy(settings.retrieval_strategy).stages:
        # Leave out the stage whose weights are fitted, since the weights in the file may belong to other features.
        if stage is not Evidence and stage.serves(pipeline.index):
            traces = stage(pipeline.index, pipeline.config).run_batch(traces)
    for (_, kind), trace in zip(questions, traces, strict=True):
        yield Row(kb, kb.startswith("own"), kind, kb_features(trace, pipeline.index))


def knowledge_bases(path: Path) -> Iterator[tuple[str, list[Span]]]:
    """Yield (text, questions) of each knowledge base."""
    articles: dict[str, dict[str, list[dict[str, Any]]]] = defaultdict(lambda: defaultdict(list))
    for line in path.read_text("utf-8").splitlines():
        row = json.loads(line)
        articles[row["article"]][row["context"].strip()].append(row)
    names, rng = list(articles), random.Random(0)
    for number in range(KNOWLEDGE_BASES):
        parts: list[str] = []
        asked: list[Span] = []
        for name in names[number::KNOWLEDGE_BASES]:
            of_kind: dict[str, list[str]] = defaultdict(list)
            parts.append(f"# {name}")
            for place, (context, rows) in enumerate(articles[name].items()):
                missing = place % 4 == 1
                if not missing:
                    parts.append(context)
                for row in rows:
                    kind = "impossible" if row["is_impossible"] else "left out" if missing else "answerable"
                    if not (missing and row["is_impossible"]):
                        of_kind[kind].append(row["question"])
            asked += [
                (text, kind)
                for kind, texts in of_kind.items()
                for text in rng.sample(texts, min(DRAWN[kind], len(texts)))
            ]
        for name in names[(number + 1) % KNOWLEDGE_BASES :: KNOWLEDGE_BASES]:
            texts = [row["question"] for rows in articles[name].values() for row in rows if not row["is_impossible"]]
            asked += [(text, "far") for text in rng.sample(texts, DRAWN["far"])]
        yield "\n\n".join(parts), asked


def questions_of(path: Path) -> list[Span]:
    """Return the questions of a file whose kind is known."""
    return [(each.question, each.kind) for each in load_questions(path) if each.kind]


class WithoutTokens:
    """The local model as the fallback engine has it: without states of tokens, so that windows are embedded alone."""

    def __init__(self, embedder: Embedder) -> None:
        self.model_id = embedder.model_id
        self.dimensions = embedder.dimensions
        self.batch_size = embedder.batch_size
        self.embed = embedder.embed


def collect(name: str, folder: Path, data: Path) -> list[Row]:
    """Return the rows that a model of ``MODELS`` is fitted on."""
    settings, embedder = settings_of(name, data)
    found: list[Row] = []
    for number, (text, questions) in enumerate(knowledge_bases(folder / "questions.jsonl")):
        found += ask(f"data {number}", text, questions, settings, embedder)
    for path in sorted(OWN.glob("*.md")):
        asked = questions_of(path.with_suffix(".jsonl"))
        found += ask(f"own {path.stem}", path.read_text("utf-8"), asked, settings, embedder)
    return found


def settings_of(name: str, data: Path) -> tuple[Settings, Embedder]:
    """Return the settings and the embedding model with which a model's features are computed."""
    strategy = "LEXICAL" if name == "lexical" else "HYBRID"
    settings = load_settings(data_dir=data, retrieval_strategy=strategy, vector_store="exact")
    embedder = create_embedder(settings.embedding_model_name, settings)
    return settings, WithoutTokens(embedder) if name == "hybrid" else embedder


def fit(x: Array, y: Array, weight: Array) -> Array:
    """Return (1 + features,) of a ridge logistic regression by Newton's method, the unpenalised intercept first."""
    design = np.column_stack([np.ones(len(x)), x])
    penalty = np.diag([0.0, *[RIDGE] * x.shape[1]])
    w = np.zeros(design.shape[1])
    for _ in range(50):
        p = 1 / (1 + np.exp(-np.clip(design @ w, -40, 40)))
        gradient = design.T @ (weight * (p - y)) + penalty @ w
        step = np.linalg.solve(design.T @ (design * (weight * p * (1 - p))[:, None]) + penalty, gradient)
        w = w - step
        if np.abs(step).max() < 1e-9:
            break
    return w


def weights_of(rows: Sequence[Row], score: str) -> Array:
    """Return the weight of each row: SHARES for the evidence, equal sides for the topic."""
    side = [row.kind if score == "evidence" else str(row.kind == "far") for row in rows]
    counts = Counter((row.own, name) for row, name in zip(rows, side, strict=True))
    return np.array(
        [
            SHARES.get(name, 1.5) * (OWN_SHARE[score] if row.own else 1.0) / counts[row.own, name]
            for row, name in zip(rows, side, strict=True)
        ]
    ) * (len(rows) / 3)


def fitted(rows: Sequence[Row], features: Sequence[str], score: str) -> dict[str, Any]:
    """Fit one score. Its threshold is cross-fitted over the knowledge bases and becomes 0.5."""
    used = [row for row in rows if row.features]
    raw = np.array([[row.features[name] for name in features] for row in used])
    mean, scale = raw.mean(0), np.maximum(raw.std(0), 1e-9)
    x = np.clip((raw - mean) / scale, -MAX_Z, MAX_Z)
    y = np.array([float(row.kind == "answerable" if score == "evidence" else row.kind != "far") for row in used])
    weight, kb = weights_of(used, score), np.array([row.kb for row in used])
    unseen = np.zeros(len(used))
    for name in set(kb):
        test = kb == name
        w = fit(x[~test], y[~test], weight[~test])
        unseen[test] = w[0] + x[test] @ w[1:]
    data = np.array([not row.own for row in used]) if score == "evidence" else np.ones(len(used), bool)
    cut = float(np.quantile(unseen[data & (y == 1)], 1 - (ACCEPT if score == "evidence" else ON_TOPIC)))
    kinds = np.array([row.kind for row in used])
    shares = {kind: float((unseen[data & (kinds == kind)] >= cut).mean()) for kind in SHARES if kind != "near"}
    print(f"  {score}, unseen knowledge bases: " + ", ".join(f"{kind} {share:.3f}" for kind, share in shares.items()))
    w = fit(x, y, weight)
    return {
        "intercept": round(float(w[0]) - cut, 4),
        "features": {
            name: [round(float(value), 4) for value in (w[column + 1], mean[column], scale[column])]
            for column, name in enumerate(features)
        },
    }


def model(name: str, rows: Sequence[Row], embedders: Sequence[str]) -> dict[str, Any]:
    """Return the part of a model of ``MODELS`` in the file, and print its figures."""
    print(f"{name}:")
    found: dict[str, Any] = {"embedders": list(embedders)}
    for score, features in (("evidence", MODELS[name].evidence), ("topic", MODELS[name].topic)):
        found[score] = fitted(rows, features, score)
    return found


def check(name: str, found: Mapping[str, Any], text: Path, questions: Path, data: Path) -> None:
    """Print the figures of a model on a knowledge base that it was not fitted on."""
    settings, embedder = settings_of(name, data)
    rows = list(ask(text.stem, text.read_text("utf-8"), questions_of(questions), settings, embedder))
    for score in ("evidence", "topic"):
        by: dict[str, list[float]] = defaultdict(list)
        for row in rows:
            by[row.kind].append(logistic(row.features, found[score], MAX_Z) if row.features else 0.0)
        shares = ", ".join(f"{kind} {np.mean([value >= 0.5 for value in values]):.3f}" for kind, values in by.items())
        areas = {kind: auroc(by["answerable"], by[kind]) for kind in ("near", "far")}
        print(f"  {text.stem}, {score} at least 0.5: {shares}; AUROC {areas}", flush=True)


def main() -> None:
    options = parser(__doc__)
    options.add_argument("folder", type=Path, help="folder with questions.jsonl")
    options.add_argument("--dry-run", action="store_true", help="write nothing")
    add_keep(options)
    options.add_argument("--check", type=Path, nargs="*", default=[], metavar="FILE")
    given = options.parse_args()
    with data_folder(given.keep) as data:
        found: dict[str, Any] = {
            "about": "feature: [weight, mean, scale]; written by benchmarks/fit_evidence.py; 0.5 is the threshold",
            "fitted_on": f"{given.folder.name}, {OWN.name}",
            "max_z": MAX_Z,
        }
        for name, kind in MODELS.items():
            found[name] = model(name, collect(name, given.folder, data), kind.embedders)
            for text, questions in zip(given.check[::2], given.check[1::2], strict=True):
                check(name, found[name], text, questions, data)
    if not given.dry_run:
        WEIGHTS_PATH.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", "utf-8")
