"""Fit the weights of BRIDGE and BRIDGE_HYBRID, and measure them on questions that they were not fitted on.

    python -m benchmarks fit_bridge DATASET_DIR [--write] [--other DIR ...] [--data-dir DIR]

Loss: listwise softmax, each gold document against all candidates that are not gold (Cao et al. 2007, ListNet's family).
Features are standardised, the ridge penalty is 30, and signs that are known in advance are imposed; the hand-set score
is not penalised. The step weights are then fitted on the steps of the walk itself. Prints recall and nDCG: cross-fitted
by question (5 folds, 3 seeds), fitted on one half and tested on the other, with the hand-set score alone, and for the
other data sets with the weights of all questions. With vectors there are two rounds: the weights of the first decide
which second queries are asked, so every fold fits both. Needs scipy (extra ``dev``). Takes two minutes without vectors.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import minimize

from benchmarks.script import parser
from chatbot_mvp.app import build_app
from chatbot_mvp.datasets import Dataset, load_dataset
from chatbot_mvp.documents.chunking import passage_chunk
from chatbot_mvp.metrics.ranking.ndcg import ndcg_at
from chatbot_mvp.metrics.ranking.recall import recall_at
from chatbot_mvp.retrieval.arrays import best_first
from chatbot_mvp.retrieval.bridge.choice import HOP_STEP_FEATURES, POOL, STEP_FEATURES
from chatbot_mvp.retrieval.bridge.features import (
    FEATURES,
    HAND,
    HOP_FEATURES,
    LINK_FEATURES,
    OWN_FEATURES,
    VECTOR_FEATURES,
)
from chatbot_mvp.retrieval.bridge.second import SecondRound
from chatbot_mvp.retrieval.bridge.walk import (
    PATH,
    VECTOR_CANDIDATES,
    BridgeWalk,
    Cosine,
    Prepared,
    Question,
    Weights,
    vector_of,
)
from chatbot_mvp.retrieval.indexes.corpus import CorpusIndex, growing_index
from chatbot_mvp.settings.model import load_settings
from chatbot_mvp.types import last

RIDGE = 30.0
FREE_SIGN = {"named_exact", "length", "link_count", "alone_new", "links"}
NEGATIVE = {"hub", "dup"}
BOUNDS = {1: (0, None), -1: (None, 0), 0: (None, None)}

Array = np.ndarray[Any, Any]
Model = dict[str, dict[str, float]]
"""Weights of "linear" and "step", each by the name of the feature."""


def sign(name: str) -> int:
    return 0 if name in FREE_SIGN else -1 if name in NEGATIVE else 1


@dataclass
class Questions:
    """The questions of a data set with everything that does not depend on weights."""

    dataset: Dataset
    index: CorpusIndex
    walk: BridgeWalk
    questions: list[Question]
    states: list[Prepared]
    gold: list[Array]


def prepare(folder: Path, cache_dir: Path, vectors: bool) -> Questions:
    dataset = load_dataset(folder)
    chunks = [passage_chunk(document) for document in dataset.documents]
    app = build_app(load_settings(data_dir=cache_dir.parent))
    index = last(
        growing_index(
            chunks,
            dataset.language,
            cache_dir,
            (lambda: app.embedders.get(app.settings.embedding_model_name)) if vectors else None,
            with_links=True,
        )
    )
    assert index.graph is not None
    walk = BridgeWalk(index.graph, index.analyzer, None)
    questions = [
        Question(query.text, *dense_side(index, query.text)) if vectors else Question(query.text)
        for query in dataset.queries
    ]
    return with_states(Questions(dataset, index, walk, questions, [], []))


def with_states(data: Questions) -> Questions:
    """Compute ``states`` and ``gold`` of ``questions``."""
    row_of = {document.doc_id: row for row, document in enumerate(data.dataset.documents)}
    states, gold = [], []
    for query, question in zip(data.dataset.queries, data.questions, strict=True):
        [prepared] = data.walk.prepare([question])
        assert prepared is not None, f"question {query.query_id!r} has no candidates"
        states.append(prepared)
        wanted = [row_of[doc_id] for doc_id, score in data.dataset.qrels.get(query.query_id, {}).items() if score > 0]
        gold.append(np.isin(prepared.candidates.rows, wanted))
    return replace(data, states=states, gold=gold)


def second_round(data: Questions, first: Model) -> Questions:
    """Return the questions with the results of the second queries that the weights of a first round lead to."""
    graph, analyzer, side = data.index.graph, data.index.analyzer, data.index.dense
    assert graph is not None and side is not None

    def embed(texts: Sequence[str]) -> Array:
        assert side is not None
        return side.cache.embed(side.embedder, texts, "query")

    second = SecondRound(graph, analyzer, data.index.chunks, embed, side.vectors)
    walk = BridgeWalk(graph, analyzer, Weights(first["linear"], first["step"]))
    return with_states(replace(data, questions=second.asked(walk, data.questions)))


def fit_rounds(data: Questions, questions: Sequence[int], names: Sequence[str]) -> tuple[Questions, dict[str, Any]]:
    """Fit all rounds. Return the questions of the last round, and its model, with that of the first under "first"."""
    first = fit(data, questions, names)
    if "cosine" not in names:
        return data, first
    again = second_round(data, first)
    return again, {**fit(again, questions, [*names, *HOP_FEATURES]), "first": first}


def dense_side(index: CorpusIndex, text: str) -> tuple[Array, Cosine]:
    side = index.dense
    assert side is not None
    vector = side.cache.embed(side.embedder, [text], "query")
    nearest = np.array([row for row, _ in side.vectors.search(vector, VECTOR_CANDIDATES)[0]], np.int64)
    return nearest, lambda rows: side.vectors.similarities(vector[0], rows)


def listwise(features: Sequence[Array], gold: Sequence[Array], signs: Sequence[int]) -> Array:
    """Weights on raw features; the first one is not penalised."""
    stacked, is_gold = np.concatenate(features).astype(np.float64), np.concatenate(gold)
    scale = stacked.std(0)
    scale = np.where(scale < 1e-6, 1e9, scale)
    x = (stacked - stacked.mean(0)) / scale
    lengths = np.array([len(labels) for labels in gold])
    begin = np.concatenate(([0], np.cumsum(lengths)[:-1]))
    question = np.repeat(np.arange(len(gold)), lengths)
    at = np.flatnonzero(is_gold)
    of = question[at]
    share = 1 / np.bincount(of, minlength=len(gold))[of]
    ridge = np.full(x.shape[1], RIDGE)
    ridge[0] = 0.01

    def loss(weights: Array) -> tuple[float, Array]:
        score = x @ weights
        exponent = np.exp(score - np.maximum.reduceat(score, begin)[question])
        others = np.add.reduceat(np.where(is_gold, 0, exponent), begin) + 1e-12
        mine = exponent[at] + 1e-30
        total = others[of] + mine
        slope = np.where(is_gold, 0, exponent * np.bincount(of, share / total, len(gold))[question])
        slope[at] += share * (mine / total - 1)
        value = ((np.log(total) - np.log(mine)) * share).sum() + 0.5 * (ridge * weights) @ weights
        return float(value), x.T @ slope + ridge * weights

    start = np.zeros(x.shape[1])
    start[0] = 1
    bounds = [BOUNDS[value] for value in signs]
    found = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": 300})
    weights: Array = found.x / scale
    return weights


def fit(data: Questions, questions: Iterable[int], names: Sequence[str]) -> Model:
    ids = [i for i in questions if data.gold[i].any()]
    rows_of_names = [FEATURES.index(name) for name in names]
    matrices = [data.states[i].features[rows_of_names].T for i in ids]
    linear = listwise(matrices, [data.gold[i] for i in ids], [sign(name) for name in names])
    step = np.zeros(len(STEP_FEATURES))
    step[:2] = 1
    rows: list[Array] = []
    labels: list[Array] = []
    for _ in range(3):
        for i, matrix in zip(ids, matrices, strict=True):
            score = matrix @ linear
            [(order, steps)] = data.walk.choose([data.states[i]], [score.astype(np.float32)], step.astype(np.float32))
            pool = best_first(score.astype(np.float32))[:POOL]
            gold = data.gold[i][pool]
            for taken, values in enumerate(steps[:5], 1):
                free = ~np.isin(pool, order[:taken])
                if (gold & free).any():
                    rows.append(values.T[free])
                    labels.append((gold & free)[free])
        step = listwise(rows, labels, [sign(name) for name in STEP_FEATURES])
    return {
        "linear": dict(zip(names, map(float, linear), strict=True)),
        "step": {
            name: weight
            for name, weight in zip(STEP_FEATURES, map(float, step), strict=True)
            if HOP_FEATURES[0] in names or name not in HOP_STEP_FEATURES
        },
    }


def ranked(data: Questions, i: int, model: Model) -> list[str]:
    state = data.states[i]
    score = vector_of(model["linear"], FEATURES) @ state.features
    [(order, _)] = data.walk.choose([state], [score], vector_of(model["step"], STEP_FEATURES))
    return [data.dataset.documents[row].doc_id for row in state.candidates.rows[order][:20]]


def figures(data: Questions, rankings: dict[int, list[list[str]]]) -> dict[str, float]:
    """Means over all rankings given."""
    scores: dict[str, list[float]] = {"recall@2": [], "recall@5": [], "ndcg@10": []}
    for i, several in rankings.items():
        qrels = data.dataset.qrels.get(data.dataset.queries[i].query_id, {})
        for ranking in several:
            for name, value in (
                ("recall@2", recall_at(2, ranking, qrels)),
                ("recall@5", recall_at(5, ranking, qrels)),
                ("ndcg@10", ndcg_at(10, ranking, qrels)),
            ):
                if value is not None:
                    scores[name].append(value)
    return {name: round(float(np.mean(values)), 4) for name, values in scores.items()}


def cross_fitted(data: Questions, names: Sequence[str], folds: int, seeds: int) -> dict[str, float]:
    """Every question ranked by weights fitted without its fold, once per seed."""
    count = len(data.states)
    rankings: dict[int, list[list[str]]] = {}
    for seed in range(seeds):
        fold = np.random.default_rng(seed).permutation(count) % folds
        for k in range(folds):
            last, model = fit_rounds(data, np.flatnonzero(fold != k).tolist(), names)
            for i in np.flatnonzero(fold == k).tolist():
                rankings.setdefault(i, []).append(ranked(last, i, model))
    return figures(data, rankings)


def hand_only(data: Questions) -> dict[str, float]:
    documents = data.dataset.documents
    rankings = {}
    for i, state in enumerate(data.states):
        order = best_first(state.features[HAND])[:20]
        rankings[i] = [[documents[row].doc_id for row in state.candidates.rows[order]]]
    return figures(data, rankings)


def main() -> None:
    options = parser(__doc__)
    options.add_argument("dataset", type=Path)
    options.add_argument("--other", type=Path, nargs="*", default=[], help="data sets to test on, never fitted on")
    options.add_argument("--write", action="store_true", help=f"write {PATH.name}")
    options.add_argument("--data-dir", type=Path, default=load_settings().data_dir, help="folder of the caches")
    options.add_argument("--only", choices=["BRIDGE", "BRIDGE_HYBRID"])
    given = options.parse_args()
    written: dict[str, Any] = {}
    for strategy, vectors in (("BRIDGE", False), ("BRIDGE_HYBRID", True)):
        if given.only not in (None, strategy):
            continue
        names = [*OWN_FEATURES, *LINK_FEATURES, *(VECTOR_FEATURES if vectors else ())]
        data = prepare(given.dataset, given.data_dir / "cache", vectors)
        report = {
            "hand-set score alone": hand_only(data),
            "cross-fitted, 5 folds, 3 seeds": cross_fitted(data, names, 5, 3),
            "other half, 5 seeds": cross_fitted(data, names, 2, 5),
        }
        last, model = fit_rounds(data, range(len(data.states)), names)
        report["fitted on all (not a test)"] = figures(
            last, {i: [ranked(last, i, model)] for i in range(len(last.states))}
        )
        for folder in given.other:
            other = prepare(folder, given.data_dir / "cache", vectors)
            if "first" in model:
                other = second_round(other, model["first"])
            report[f"{other.dataset.name}, nothing fitted on it"] = figures(
                other, {i: [ranked(other, i, model)] for i in range(len(other.states))}
            )
        written[strategy] = {
            "fitted_on": {"dataset": data.dataset.name, "sha256": data.dataset.sha256, "questions": len(data.states)},
            **model,
            "figures": report,
        }
        for name, values in report.items():
            print(f"{strategy:<14} {name:<36} {json.dumps(values)}", flush=True)
    if given.write:
        known = json.loads(PATH.read_text("utf-8")) if PATH.is_file() else {}
        PATH.write_text(json.dumps({**known, **written}, indent=2) + "\n", "utf-8")
