"""Fit the weights of ``retrieval/stages/evidence.py`` on knowledge bases with answerable and unanswerable questions.

python benchmarks/fit_evidence.py ../shared/datasets/xquad_es            # writes evidence_weights.json
python benchmarks/fit_evidence.py ../shared/datasets/xquad_es --dry-run  # only prints the cross-fitted figures
  --keep: use the embeddings under DATA_DIR; --held-out FOLDER: also report a KB that nothing is fitted on

To get more hard negatives, each answerable question is asked again of the KB without its paragraph ("left out").
``evidence_es/``, this project's documents with paraphrased questions, is added with a small weight. For cross-fitting,
all questions of an article are in the same fold. The article of an unanswerable question is that of its best hit
(near) or is derived from its id (far), because the file names none.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from chatbot_mvp.documents.chunking import chunk_document
from chatbot_mvp.embedding.base import Embedder
from chatbot_mvp.embedding.e5.embedder import E5_MODEL_IDS
from chatbot_mvp.embedding.registry import create_embedder
from chatbot_mvp.evaluation.kb.questions import KbQuestion, auroc, load_questions
from chatbot_mvp.retrieval.pipeline import growing_pipeline
from chatbot_mvp.retrieval.stages.base import Evidence
from chatbot_mvp.retrieval.stages.evidence import WEIGHTS_PATH, covered_share
from chatbot_mvp.retrieval.stages.kb_evidence import DENSE_FEATURES, LEXICAL_FEATURES, evidence_features
from chatbot_mvp.retrieval.strategies import get_strategy
from chatbot_mvp.retrieval.trace import RetrievalTrace
from chatbot_mvp.settings.model import Settings, load_settings
from chatbot_mvp.types import Document, last

Array = npt.NDArray[np.float64]
FOLDS = 8
SEEDS = 5
RIDGE = 10.0
"""L2 penalty on standardised weights, so that correlated features share their weight."""
ACCEPT = 0.953
"""Share of answerable questions that score at least 0.5, cross-fitted: 0.95 plus a margin for other articles."""
LEFT_OUT = 0.6
"""Share of the ``near`` questions' weight that goes to the questions whose paragraph was left out."""
OWN = Path(__file__).with_name("evidence_es")
OWN_SHARE = {"lexical": 0.0, "hybrid": 0.05}
"""Model -> weight of this project's documents relative to the data set's. A lexical model cannot use paraphrases."""
MAX_Z = 6.0
"""Features are clipped to this many standard deviations from their mean."""


@dataclass(frozen=True)
class Row:
    """A question asked of a knowledge base."""

    source: str
    """"data" (the data set), "own" or "held out"."""
    kind: str
    """answerable, near, far; "left out" for an answerable one without its paragraph."""
    group: str
    features: dict[str, float] | None
    """None where nothing in common was found: never accepted."""


def rows_of(
    source: str, text: str, questions: Sequence[KbQuestion], settings: Settings, embedder: Embedder
) -> Iterator[Row]:
    """Every question once, the answerable ones once more without their paragraph."""
    of_paragraph: dict[str, list[KbQuestion]] = defaultdict(list)
    for question in questions:
        if question.paragraph and text.count(question.paragraph) == 1:
            of_paragraph[question.paragraph].append(question)
    yield from _asked(source, text, questions, settings, embedder)
    for paragraph, about in of_paragraph.items():
        for row in _asked(
            source, text.replace(f"{paragraph}\n\n", "").replace(paragraph, ""), about, settings, embedder
        ):
            yield Row(source, "left out", row.group, row.features)


def _asked(
    source: str, text: str, questions: Sequence[KbQuestion], settings: Settings, embedder: Embedder
) -> Iterator[Row]:
    pipeline = last(growing_pipeline(chunk_document(Document("kb", "kb", text)), "es", settings, lambda: embedder))
    # Leave out the stage whose weights are fitted, since the weights in the file may belong to other features.
    stages = [stage for stage in get_strategy(settings.retrieval_strategy).stages if stage is not Evidence]
    traces = [RetrievalTrace(question.question) for question in questions]
    for stage in stages:
        traces = stage(pipeline.index, pipeline.config).run_batch(traces)
    for question, trace in zip(questions, traces, strict=True):
        near = trace.chunks_final[0].chunk.section if trace.chunks_final else "-"
        group = f"far {question.question_id[:5]}" if question.kind == "far" else question.heading or near
        if source == "own":
            group = f"own {question.question_id[0]}"
        usable = covered_share(trace.query, trace.chunks_final, pipeline.index)[0] > 0
        yield Row(source, str(question.kind), group, evidence_features(trace, pipeline.index) if usable else None)


def collect(name: str, folder: Path, data: Path, held_out: Path | None = None) -> list[Row]:
    """The rows that a model ("lexical" or "hybrid") is fitted on, those of ``held_out`` behind them."""
    strategy = "HYBRID" if name == "hybrid" else "LEXICAL"
    settings = load_settings(data_dir=data, retrieval_strategy=strategy, vector_store="exact")
    embedder = create_embedder(settings.embedding_model_name, settings)
    sources = [("data", folder)] + ([("held out", held_out)] if held_out else [])
    found: list[Row] = []
    for source, path in sources:
        questions = [q for q in load_questions(next(path.glob("*.jsonl"))) if q.kind]
        found += rows_of(source, next(path.glob("*.md")).read_text("utf-8"), questions, settings, embedder)
    if OWN_SHARE[name]:
        documents = {path: load_questions(path.with_suffix(".jsonl")) for path in sorted(OWN.glob("*.md"))}
        for path, questions in documents.items():
            found += rows_of("own", path.read_text("utf-8"), questions, settings, embedder)
        # Also ask all documents as one knowledge base, so that not every knowledge base is one page long.
        together = "\n\n".join(path.read_text("utf-8") for path in documents)
        of_all = [q for questions in documents.values() for q in questions if q.kind != "far"]
        found += rows_of("own", together, of_all, settings, embedder)
    return found


def fit(x: Array, y: Array, weight: Array) -> Array:
    """(1 + features,) of a ridge logistic regression by Newton's method, the intercept first and unpenalised."""
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


def sample_weights(rows: Sequence[Row], own_share: float) -> Array:
    """In all 3 : 2 : 1 for answerable, near and far: else the few ``near``, the hard ones, would hardly count."""
    share = {"answerable": 1.5, "near": 1 - LEFT_OUT, "left out": LEFT_OUT, "far": 0.5}
    counts = Counter((row.source, row.kind) for row in rows)
    asked = sum(row.source == "data" for row in rows)
    of_source = {"data": 1.0, "own": own_share}
    return np.array([share[row.kind] * of_source[row.source] / counts[row.source, row.kind] for row in rows]) * (
        asked / 3
    )


def cross_fit(x: Array, y: Array, weight: Array, group: Sequence[str], seed: int) -> Array:
    """Log odds of each question by a model that has seen no question of its article. Folds of like size, by seed."""
    rng = np.random.default_rng(seed)
    size = Counter(group)
    names = sorted(sorted(size), key=lambda name: (-size[name], rng.random()))
    fold_of: dict[str, int] = {}
    for begin in range(0, len(names), FOLDS):
        fold_of.update(zip(names[begin : begin + FOLDS], map(int, rng.permutation(FOLDS)), strict=False))
    fold = np.array([fold_of[name] for name in group])
    scores = np.zeros(len(y))
    for number in range(FOLDS):
        test = fold == number
        w = fit(x[~test], y[~test], weight[~test])
        scores[test] = w[0] + x[test] @ w[1:]
    return scores


def accepted(scores: Array, rows: Sequence[Row], source: str, cut: float) -> dict[str, float]:
    """Kind -> share of the source's questions that score at least ``cut``."""
    by: dict[str, list[bool]] = defaultdict(list)
    for score, row in zip(scores, rows, strict=True):
        if row.source == source:
            by[row.kind].append(row.features is not None and bool(score >= cut))
    return {kind: float(np.mean(values)) for kind, values in by.items()}


def standardised(rows: Sequence[Row], features: Sequence[str], mean: Array, scale: Array) -> Array:
    raw = np.array([[row.features[name] for name in features] if row.features else mean for row in rows])
    clipped: Array = np.clip((raw - mean) / scale, -MAX_Z, MAX_Z)
    return clipped


def model(name: str, rows: Sequence[Row], embedders: Sequence[str]) -> dict[str, Any]:
    """The model's part of the file; prints its figures, cross-fitted by article over SEEDS ways to make folds.

    ``figures`` in it: kind -> share accepted, cross-fitted, where 0.95 of the answerable are.
    """
    features = LEXICAL_FEATURES + (DENSE_FEATURES if name == "hybrid" else ())
    used = [row for row in rows if row.source != "held out" and row.features]
    raw = np.array([[row.features[feature] for feature in features] for row in used if row.features])
    mean, scale = raw.mean(0), np.maximum(raw.std(0), 1e-9)
    x, y = standardised(used, features, mean, scale), np.array([float(row.kind == "answerable") for row in used])
    weight = sample_weights(used, OWN_SHARE[name])
    group = [row.group for row in used]
    runs = [cross_fit(x, y, weight, group, seed) for seed in range(SEEDS)]
    is_answerable = np.array([row.source == "data" and row.kind == "answerable" for row in used])
    unscored = [row for row in rows if row.source != "held out" and not row.features]
    cross_fitted: dict[str, float] = {}
    for share in (ACCEPT, 0.95):
        table: dict[str, list[float]] = defaultdict(list)
        for scores in runs:
            cut = float(np.quantile(scores[is_answerable], 1 - share, method="lower"))
            everything = np.concatenate([scores, np.full(len(unscored), -np.inf)])
            for kind, value in accepted(everything, [*used, *unscored], "data", cut).items():
                table[kind].append(value)
        cross_fitted = {kind: round(float(np.mean(values)), 3) for kind, values in table.items()}
        print(f"{name:8} cross-fitted: " + "  ".join(f"{k} {np.mean(v):.3f}±{np.std(v):.3f}" for k, v in table.items()))
    scores = np.mean(runs, axis=0)
    for kind in ("near", "left out", "far"):
        others = [s for s, row in zip(scores, used, strict=True) if (row.source, row.kind) == ("data", kind)]
        print(f"{name:8} cross-fitted, AUROC {kind}: {auroc(list(scores[is_answerable]), others):.4f}")
    cut = float(np.quantile(scores[is_answerable], 1 - ACCEPT, method="lower"))
    w = fit(x, y, weight)
    for source in dict.fromkeys(row.source for row in rows):
        part = [row for row in rows if row.source == source]
        fitted = w[0] + standardised(part, features, mean, scale) @ w[1:]
        figures = accepted(fitted, part, source, cut)
        label = "held out" if source == "held out" else f"in sample, {source}"
        print(f"{name:8} {label}: " + "  ".join(f"{kind} {value:.3f}" for kind, value in figures.items()))
    return {
        "embedders": list(embedders),
        "figures": cross_fitted,
        "intercept": round(float(w[0]) - cut, 4),
        "features": {
            feature: [round(float(value), 4) for value in (w[column + 1], mean[column], scale[column])]
            for column, feature in enumerate(features)
        },
    }


def weights(folder: Path, data: Path, held_out: Path | None = None) -> dict[str, Any]:
    """What evidence_weights.json holds when it is fitted on ``folder``."""
    used = create_embedder(load_settings().embedding_model_name, load_settings()).model_id
    embedders = E5_MODEL_IDS if used in E5_MODEL_IDS else (used,)
    return {
        "about": "feature: [weight, mean, scale]; written by benchmarks/fit_evidence.py; 0.5 is the default threshold",
        "fitted_on": f"{folder.name}, {OWN.name}",
        "max_z": MAX_Z,
        "lexical": model("lexical", collect("lexical", folder, data, held_out), ()),
        "hybrid": model("hybrid", collect("hybrid", folder, data, held_out), embedders),
    }


def main() -> int:
    if len(sys.argv) < 2:
        print(__doc__)
        return 2
    data = load_settings().data_dir if "--keep" in sys.argv else Path(tempfile.mkdtemp())
    held_out = Path(sys.argv[sys.argv.index("--held-out") + 1]) if "--held-out" in sys.argv else None
    found = weights(Path(sys.argv[1]), data, held_out)
    if "--dry-run" not in sys.argv:
        WEIGHTS_PATH.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
