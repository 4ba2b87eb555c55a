"""Fit the weights of BRIDGE and BRIDGE_HYBRID, and measure them on questions that they were not fitted on.

    python -m benchmarks fit_bridge DATASET_DIR ... [--write] [--other DIR ...] [--data-dir DIR] [--only STRATEGY]

Loss: listwise softmax, each gold document against all candidates that are not gold (Cao et al. 2007, ListNet's family).
Features are standardised, the ridge penalty is 30, and signs that are known in advance are imposed; the hand-set score
is not penalised. The step weights are then fitted on the steps of the walk itself. With vectors there are two rounds:
the weights of the first decide which second queries are asked, so every fold fits both. Of several data sets the first
one is fitted alone, then all together, each question counting alike, and ``--share`` mixes the two. Prints recall and
nDCG of each: with the hand-set score alone, cross-fitted by question, with the weights of all questions, and for the
other data sets with the same weights. Needs scipy (extra ``dev``). Takes some minutes of the processor.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.listwise import listwise
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

FREE_SIGN = {"named_exact", "length", "link_count", "alone_new", "links"}
NEGATIVE = {"hub", "dup"}

Array = np.ndarray[Any, Any]
SHARES = (0, 0.5, 0.75, 1)
"""What is printed beside the share that is asked for."""
Model = dict[str, Any]
"""Weights of "linear" and "step", each by the name of the feature; under "first" those of a first round."""
Chosen = Sequence[Sequence[int]]
"""The questions of each data set that are fitted on or ranked."""


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


def fit_rounds(sets: Sequence[Questions], chosen: Chosen, names: Sequence[str]) -> tuple[list[Questions], list[Model]]:
    """Fit all rounds. The first round is fitted on the first data set alone, with or without vectors.

    Returns:
        (the data sets of the last round, its models: fitted on the first data set, and on all of them together). With
        vectors a model has that of the first round under "first".
    """
    first = fit(sets[:1], chosen[:1], names)
    if "cosine" not in names:
        return list(sets), [first, fit(sets, chosen, names) if len(sets) > 1 else first]
    again = [second_round(data, first) for data in sets]
    alone, joint = (fit(again[:n], chosen[:n], [*names, *HOP_FEATURES]) for n in (1, len(sets)))
    return again, [{**alone, "first": first}, {**joint, "first": first}]


def blended(models: Sequence[Model], share: float) -> Model:
    """Mix the weights of the last round: ``share`` of those fitted on all data sets, the rest of the first one's."""
    alone, joint = models
    mixed = {
        part: {name: (1 - share) * weight + share * joint[part][name] for name, weight in alone[part].items()}
        for part in ("linear", "step")
    }
    return {**alone, **mixed}


def dense_side(index: CorpusIndex, text: str) -> tuple[Array, Cosine]:
    side = index.dense
    assert side is not None
    vector = side.cache.embed(side.embedder, [text], "query")
    nearest = np.array([row for row, _ in side.vectors.search(vector, VECTOR_CANDIDATES)[0]], np.int64)
    return nearest, lambda rows: side.vectors.similarities(vector[0], rows)


def fit(sets: Sequence[Questions], chosen: Chosen, names: Sequence[str]) -> Model:
    """Fit the weights of one round on the chosen questions of all data sets together."""
    ids = [(data, i) for data, some in zip(sets, chosen, strict=True) for i in some if data.gold[i].any()]
    rows_of_names = [FEATURES.index(name) for name in names]
    matrices = [data.states[i].features[rows_of_names].T for data, i in ids]
    linear = listwise(matrices, [data.gold[i] for data, i in ids], [sign(name) for name in names])
    step = np.zeros(len(STEP_FEATURES))
    step[:2] = 1
    rows: list[Array] = []
    labels: list[Array] = []
    for _ in range(3):
        for (data, i), matrix in zip(ids, matrices, strict=True):
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


def cross_fitted(
    sets: Sequence[Questions], names: Sequence[str], folds: int, seeds: int, shares: Sequence[float] = (1,)
) -> list[list[dict[str, float]]]:
    """Rank every question by weights fitted without its fold, once per seed.

    Returns:
        For each data set the figures of each of the ``shares`` (see ``blended``).
    """
    rankings: list[list[dict[int, list[list[str]]]]] = [[{} for _ in shares] for _ in sets]
    for seed in range(seeds):
        fold_of = [np.random.default_rng(seed).permutation(len(data.states)) % folds for data in sets]
        for k in range(folds):
            again, models = fit_rounds(sets, [np.flatnonzero(fold != k).tolist() for fold in fold_of], names)
            for data, fold, of_shares in zip(again, fold_of, rankings, strict=True):
                for share, of_share in zip(shares, of_shares, strict=True):
                    model = blended(models, share)
                    for i in np.flatnonzero(fold == k).tolist():
                        of_share.setdefault(i, []).append(ranked(data, i, model))
    return [[figures(data, of_share) for of_share in of_shares] for data, of_shares in zip(sets, rankings, strict=True)]


def hand_only(data: Questions) -> dict[str, float]:
    documents = data.dataset.documents
    rankings = {}
    for i, state in enumerate(data.states):
        order = best_first(state.features[HAND])[:20]
        rankings[i] = [[documents[row].doc_id for row in state.candidates.rows[order]]]
    return figures(data, rankings)


def fitted(
    sets: Sequence[Questions], other: Sequence[Questions], names: Sequence[str], share: float, seeds: int
) -> dict[str, Any]:
    """Return the weights of all questions of the data sets, with what they were fitted on and the figures."""
    shares = sorted({share, *SHARES}) if len(sets) > 1 else [share]
    report: dict[str, Any] = {data.dataset.name: {"hand-set score alone": hand_only(data)} for data in sets}
    for data, crossed in zip(sets, cross_fitted(sets, names, 5, seeds, shares), strict=True):
        for one, values in zip(shares, crossed, strict=True):
            how = f", share {one}" if len(sets) > 1 else ""
            report[data.dataset.name][f"cross-fitted, 5 folds, {seeds} seeds{how}"] = values
    again, models = fit_rounds(sets, [range(len(data.states)) for data in sets], names)
    model = blended(models, share)
    for data in again:
        report[data.dataset.name]["fitted on all (not a test)"] = figures(
            data, {i: [ranked(data, i, model)] for i in range(len(data.states))}
        )
    for data in other:
        asked = second_round(data, model["first"]) if "first" in model else data
        report[data.dataset.name] = {
            "nothing fitted on it": figures(asked, {i: [ranked(asked, i, model)] for i in range(len(asked.states))})
        }
    of_sets = [
        {"dataset": data.dataset.name, "sha256": data.dataset.sha256, "questions": len(data.states)} for data in sets
    ]
    return {"fitted_on": of_sets, "share": share, **model, "figures": report}


def main() -> None:
    options = parser(__doc__)
    options.add_argument("datasets", type=Path, nargs="+", metavar="DATASET_DIR", help="data sets to fit on together")
    options.add_argument("--other", type=Path, nargs="*", default=[], help="data sets to test on, never fitted on")
    options.add_argument("--write", action="store_true", help=f"write {PATH.name}")
    options.add_argument("--data-dir", type=Path, default=load_settings().data_dir, help="folder of the caches")
    options.add_argument("--share", type=float, default=1.0, help="0-1: how much the joint fit counts")
    options.add_argument("--seeds", type=int, default=3, help="number of ways to divide the questions in five")
    options.add_argument("--only", choices=["BRIDGE", "BRIDGE_HYBRID"])
    given = options.parse_args()
    written: dict[str, Any] = {}
    for strategy, vectors in (("BRIDGE", False), ("BRIDGE_HYBRID", True)):
        if given.only not in (None, strategy):
            continue
        names = [*OWN_FEATURES, *LINK_FEATURES, *(VECTOR_FEATURES if vectors else ())]
        sets, other = (
            [prepare(folder, given.data_dir / "cache", vectors) for folder in folders]
            for folders in (given.datasets, given.other)
        )
        written[strategy] = fitted(sets, other, names, given.share, given.seeds)
        for name, of_set in written[strategy]["figures"].items():
            for how, values in of_set.items():
                print(f"{strategy:<14} {name:<10} {how:<42} {json.dumps(values)}", flush=True)
    if given.write:
        known = json.loads(PATH.read_text("utf-8")) if PATH.is_file() else {}
        PATH.write_text(json.dumps({**known, **written}, indent=2) + "\n", "utf-8")
