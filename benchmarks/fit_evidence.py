"""Fits the weights of ``chatbot_mvp/retrieval/evidence.py`` on a knowledge base with questions that it cannot answer.

python benchmarks/fit_evidence.py ../shared/datasets/xquad_es            # writes evidence_weights.json
python benchmarks/fit_evidence.py ../shared/datasets/xquad_es --dry-run  # prints the cross-fitted figures alone

Cross-fitting: the questions of an article are in one fold together. The article of a question that is not answered is
that of its best hit (near), or the neighbourhood of its id (far), for want of a heading in the file.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from chatbot_mvp.app import build_app
from chatbot_mvp.benchmark.kb_evaluation import KbQuestion, auroc, load_questions
from chatbot_mvp.retrieval.evidence import DENSE_FEATURES, LEXICAL_FEATURES, WEIGHTS_PATH, evidence_features
from chatbot_mvp.retrieval.trace import RetrievalTrace
from chatbot_mvp.settings import load_settings

Array = npt.NDArray[np.float64]
FOLDS = 8
RIDGE = 10.0
"""L2 penalty on standardised weights: features that tell the same share the weight."""
ACCEPT = 0.955
"""Share of the answerable of the data that score 0.5 and more, cross-fitted: 0.95 with a margin for other articles."""


def fit(x: Array, y: Array, weight: Array) -> Array:
    """(1 + features,) of a ridge logistic regression by Newton's method, the intercept first and unpenalised."""
    design = np.column_stack([np.ones(len(x)), x])
    penalty = np.diag([0.0, *[RIDGE] * x.shape[1]])
    w = np.zeros(design.shape[1])
    for _ in range(50):
        p = 1 / (1 + np.exp(-design @ w))
        gradient = design.T @ (weight * (p - y)) + penalty @ w
        step = np.linalg.solve(design.T @ (design * (weight * p * (1 - p))[:, None]) + penalty, gradient)
        w = w - step
        if np.abs(step).max() < 1e-9:
            break
    return w


def groups(questions: list[KbQuestion], traces: list[RetrievalTrace]) -> list[str]:
    found = []
    for question, trace in zip(questions, traces, strict=True):
        near = trace.chunks_final[0].chunk.section if trace.chunks_final else "-"
        found.append(f"far {question.question_id[:5]}" if question.kind == "far" else question.heading or near)
    return found


def sample_weights(kinds: list[str]) -> Array:
    """In all 3 : 2 : 1 for answerable, near and far: else the few ``near``, the hard ones, would hardly count."""
    share = {"answerable": 1.5, "near": 1.0, "far": 0.5}
    return np.array([share[kind] / kinds.count(kind) for kind in kinds]) * len(kinds) / 3


def cross_fit(x: Array, y: Array, weight: Array, group: list[str]) -> Array:
    """Log odds of each question by a model that has seen no question of its article."""
    names = sorted(set(group), key=lambda name: (-group.count(name), name))
    fold = np.array([names.index(name) % FOLDS for name in group])
    scores = np.zeros(len(y))
    for number in range(FOLDS):
        test = fold == number
        w = fit(x[~test], y[~test], weight[~test])
        scores[test] = w[0] + x[test] @ w[1:]
    return scores


def report(label: str, scores: Array, kinds: list[str]) -> float:
    """Prints the figures at the cut that accepts 95 % and ACCEPT of the answerable; the latter's cut."""
    by = {kind: np.array([s for s, k in zip(scores, kinds, strict=True) if k == kind]) for kind in set(kinds)}
    for share in (0.95, ACCEPT):
        cut = float(np.quantile(by["answerable"], 1 - share, method="lower"))
        accepted = "  ".join(f"{kind} {float((by[kind] >= cut).mean()):.3f}" for kind in ("answerable", "near", "far"))
        print(f"{label:8} cross-fitted, accepted: {accepted}")
    areas = "  ".join(f"{kind} {auroc(list(by['answerable']), list(by[kind])):.4f}" for kind in ("near", "far"))
    print(f"{label:8} cross-fitted, AUROC:    {areas}")
    return cut


def model(name: str, features: tuple[str, ...], folder: Path, data: Path) -> dict[str, Any]:
    strategy = "HYBRID" if name == "hybrid" else "LEXICAL"
    app = build_app(load_settings(data_dir=data, retrieval_strategy=strategy))
    document = next(folder.glob("*.md"))
    record = app.add_kb(document.name, document.read_bytes())
    pipeline = app.kb_pipeline(record.kb_id)
    questions = [question for question in load_questions(folder / "questions.jsonl") if question.kind]
    traces = pipeline.retrieve([question.question for question in questions])
    usable = [row for row, trace in enumerate(traces) if trace.chunks_final and trace.evidence]
    questions, traces = [questions[row] for row in usable], [traces[row] for row in usable]
    kinds = [str(question.kind) for question in questions]
    rows = [evidence_features(trace, pipeline.index) for trace in traces]
    raw = np.array([[row[feature] for feature in features] for row in rows])
    mean, scale = raw.mean(0), np.maximum(raw.std(0), 1e-9)
    x, y = (raw - mean) / scale, np.array([float(kind == "answerable") for kind in kinds])
    weight = sample_weights(kinds)
    cut = report(name, cross_fit(x, y, weight, groups(questions, traces)), kinds)
    w = fit(x, y, weight)
    dense = pipeline.index.dense
    return {
        "embedder": dense.embedder.model_id if dense else "",
        "intercept": round(float(w[0]) - cut, 4),
        "features": {
            feature: [round(float(value), 4) for value in (w[column + 1], mean[column], scale[column])]
            for column, feature in enumerate(features)
        },
    }


def main() -> int:
    if len(sys.argv) < 2:
        print(__doc__)
        return 2
    folder = Path(sys.argv[1])
    data = load_settings().data_dir if "--keep" in sys.argv else Path(tempfile.mkdtemp())
    weights = {
        "about": "feature: [weight, mean, scale]; written by benchmarks/fit_evidence.py; 0.5 is the default threshold",
        "fitted_on": folder.name,
        "lexical": model("lexical", LEXICAL_FEATURES, folder, data),
        "hybrid": model("hybrid", LEXICAL_FEATURES + DENSE_FEATURES, folder, data),
    }
    if "--dry-run" not in sys.argv:
        WEIGHTS_PATH.write_text(json.dumps(weights, indent=1, ensure_ascii=False) + "\n", "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
