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
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.bridge_questions import Model, Questions, prepare, second_round
from benchmarks.listwise import Array, listwise
from benchmarks.script import parser
from chatbot_mvp.metrics.ranking.measures import ndcg_at, recall_at
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
from chatbot_mvp.retrieval.bridge.walk import PATH, vector_of
from chatbot_mvp.settings.model import load_settings

FREE_SIGN = {"named_exact", "length", "link_count", "alone_new", "links"}
NEGATIVE = {"hub", "dup"}
SHARES = (0, 0.5, 0.75, 1)
"""What is printed beside the share that is asked for."""
Chosen = Sequence[Sequence[int]]
"""The questions of each data set that are fitted on or ranked."""


def sign(name: str) -> int:
    return 0 if name in FREE_SIGN else -1 if name in NEGATIVE else 1


def fit_rounds(sets: Sequence[Questions], chosen: Chosen, names: Sequence[str]) -> tuple[list[Questions], list[Model]]:
    """Fit all rounds, the first one on the first data set alone.

    Args:
        names: features. With HOP_FEATURES among them the data sets are in the second round, and only it is fitted.

    Returns:
        (the data sets of the last round, its models: fitted on the first data set, and on all of them together). With
        vectors a model has that of the first round under "first".
    """
    first = fit(sets[:1], chosen[:1], names)
    if "cosine" not in names or HOP_FEATURES[0] in names:
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
    sets: Sequence[Questions], other: Sequence[Questions], names: Sequence[str], share: float, seeds: int, kept: Model
) -> dict[str, Any]:
    """Return the weights of all questions of the data sets, with what they were fitted on and the figures.

    Args:
        kept: the first round, if it is not to be fitted; else empty.
    """
    if kept:
        sets, names = [second_round(data, kept["first"]) for data in sets], [*names, *HOP_FEATURES]
    shares = sorted({share, *SHARES}) if len(sets) > 1 else [share]
    report: dict[str, Any] = {data.dataset.name: {"hand-set score alone": hand_only(data)} for data in sets}
    for data, crossed in zip(sets, cross_fitted(sets, names, 5, seeds, shares), strict=True):
        for one, values in zip(shares, crossed, strict=True):
            how = f", share {one}" if len(sets) > 1 else ""
            report[data.dataset.name][f"cross-fitted, 5 folds, {seeds} seeds{how}"] = values
    again, models = fit_rounds(sets, [range(len(data.states)) for data in sets], names)
    model = {**blended(models, share), **kept}
    for data in again:
        report[data.dataset.name]["fitted on all (not a test)"] = figures(
            data, {i: [ranked(data, i, model)] for i in range(len(data.states))}
        )
    for data in other:
        asked = second_round(data, model["first"]) if "first" in model else data
        report[data.dataset.name] = {
            "nothing fitted on it": figures(asked, {i: [ranked(asked, i, model)] for i in range(len(asked.states))})
        }
    of_sets = [{"dataset": d.dataset.name, "sha256": d.dataset.sha256, "questions": len(d.states)} for d in sets]
    return {"fitted_on": of_sets, "share": share, **model, "figures": report}


def main() -> None:
    options = parser(__doc__)
    options.add_argument("datasets", type=Path, nargs="+", metavar="DATASET_DIR", help="data sets to fit on together")
    options.add_argument("--other", type=Path, nargs="*", default=[], help="data sets to test on, never fitted on")
    options.add_argument("--write", action="store_true", help=f"write {PATH.name}")
    options.add_argument("--data-dir", type=Path, default=load_settings().data_dir, help="folder of the caches")
    options.add_argument("--share", type=float, default=1.0, help="0-1: how much the joint fit counts")
    options.add_argument("--seeds", type=int, default=3, help="number of ways to divide the questions in five")
    options.add_argument("--keep-first", action="store_true", help="leave the first round as it is in the file")
    options.add_argument("--only", choices=["BRIDGE", "BRIDGE_HYBRID"])
    given = options.parse_args()
    written: dict[str, Any] = {}
    for strategy, vectors in (("BRIDGE", False), ("BRIDGE_HYBRID", True)):
        if given.only not in (None, strategy):
            continue
        names = [*OWN_FEATURES, *LINK_FEATURES, *(VECTOR_FEATURES if vectors else ())]
        known = json.loads(PATH.read_text("utf-8"))[strategy] if given.keep_first else {}
        kept = {"first": known["first"]} if "first" in known else {}
        sets, other = (
            [prepare(folder, given.data_dir / "cache", vectors) for folder in folders]
            for folders in (given.datasets, given.other)
        )
        written[strategy] = fitted(sets, other, names, given.share, given.seeds, kept)
        for name, of_set in written[strategy]["figures"].items():
            for how, values in of_set.items():
                print(f"{strategy:<14} {name:<10} {how:<42} {json.dumps(values)}", flush=True)
    if given.write:
        known = json.loads(PATH.read_text("utf-8")) if PATH.is_file() else {}
        PATH.write_text(json.dumps({**known, **written}, indent=2) + "\n", "utf-8")
