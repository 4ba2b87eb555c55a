"""Measure whether the evidence tells questions that a knowledge base answers from near ones, on seven kinds of text.

python -m benchmarks near ../shared/datasets                    all collections
python -m benchmarks near ../shared/datasets --only aptitude,handbook
python -m benchmarks near ../shared/datasets --model FILE.gguf  a local model's likelihoods, too (see ``near_model``)
python -m benchmarks near ../shared/datasets --model FILE.gguf --chat    the same of one that follows instructions
python -m benchmarks near ../shared/datasets --labels           thresholds from a knowledge base's own labels

AUROC is that of answerable questions against near ones, with the 95 % interval of 1,000 resamples of both. *answered*
are the questions with an evidence of at least 0.5. *useful* are answerable questions that are answered or have their
paragraph among the first three passages.

With ``--labels``, so many questions are drawn as labels, 200 times. They choose a threshold for at most a tenth of the
near and of the far questions; the others are judged. *alone* is the threshold of the labels alone, *own* that of
``own_threshold``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from benchmarks.near_model import Reader
from benchmarks.near_sets import Asked, ask, collections
from benchmarks.script import add_keep, data_folder, head, parser, row
from chatbot_mvp.embedding.registry import create_embedder
from chatbot_mvp.evaluation.kb.own_threshold import own_threshold
from chatbot_mvp.evaluation.kb.questions import auroc
from chatbot_mvp.settings.model import load_settings

THRESHOLD = 0.5
RESAMPLES, DRAWS = 1_000, 200
LABELS = (10, 20, 40)
TOLERANCE = 0.1
KINDS = ("answerable", "near", "far")

Scores = Mapping[str, Sequence[float]]
"""Kind -> scores of its questions."""


def area(scores: Scores) -> str:
    """Return the AUROC of answerable questions against near ones, with its interval."""
    sides = [np.array(scores.get(kind, ())) for kind in KINDS[:2]]
    found = auroc(*(side.tolist() for side in sides))
    if found is None:
        return "-"
    rng = np.random.default_rng(0)
    drawn = [auroc(*(rng.choice(side, len(side)).tolist() for side in sides)) or 0.0 for _ in range(RESAMPLES)]
    low, high = np.quantile(drawn, [0.025, 0.975])
    return f"{found:.3f} ({low:.2f}-{high:.2f})"


def answered(scores: Scores, kind: str, threshold: float = THRESHOLD) -> float | None:
    values = scores.get(kind, ())
    return float(np.mean([value >= threshold for value in values])) if len(values) else None


def by_kind(asked: Sequence[Asked], values: Sequence[float]) -> Scores:
    found: dict[str, list[float]] = defaultdict(list)
    for one, value in zip(asked, values, strict=True):
        found[one.question.kind or ""].append(value)
    return found


def share(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def labels_rows(name: str, scores: Scores) -> list[str]:
    """Return what thresholds from so many labels do on the other questions: means over the draws."""
    rng = np.random.default_rng(0)
    every = [(kind, value) for kind in KINDS for value in scores.get(kind, ())]
    rows = []
    for count in LABELS:
        shares: dict[str, list[float]] = defaultdict(list)
        for _ in range(DRAWS if 2 * count <= len(every) else 0):
            order = rng.permutation(len(every))
            labelled, rest = (
                {kind: [every[at][1] for at in part if every[at][0] == kind] for kind in KINDS}
                for part in (order[:count], order[count:])
            )
            if (found := own_threshold(labelled, TOLERANCE, THRESHOLD)) is None:
                continue
            for how, threshold in (("0.5", THRESHOLD), ("alone", found.of_labels), ("own", found.threshold)):
                for kind in KINDS:
                    if (value := answered(rest, kind, threshold)) is not None:
                        shares[f"{how} {kind}"].append(value)
        cells = [
            share(float(np.mean(shares[f"{how} {kind}"])) if shares[f"{how} {kind}"] else None)
            for how in ("0.5", "alone", "own")
            for kind in KINDS
        ]
        rows.append(row([name, count, *cells]))
    return rows


def main() -> None:
    options = parser(__doc__)
    options.add_argument("shared", type=Path, help="folder of the data sets")
    options.add_argument("--only", default="", help="names of collections, with commas")
    options.add_argument("--model", type=Path, metavar="FILE.gguf")
    options.add_argument("--chat", action="store_true", help="ask --model in the template of its chat")
    options.add_argument("--labels", action="store_true")
    add_keep(options)
    given = options.parse_args()
    reader = Reader(given.model, given.chat) if given.model else None
    known = collections(given.shared)
    with data_folder(given.keep) as data:
        settings = load_settings(data_dir=data, vector_store="exact")
        embedder = create_embedder(settings.embedding_model_name, settings)
        print(head(["collection", "score", "AUROC near", *(f"answered {kind}" for kind in KINDS), "useful"], 2))
        chosen: list[str] = []
        for name in given.only.split(",") if given.only else known:
            kbs = [(kb, list(ask(kb, settings, embedder))) for kb in known[name]()]
            asked = [one for _, of_kb in kbs for one in of_kb]
            scores = by_kind(asked, [one.evidence for one in asked])
            shown = [one.useful or one.evidence >= THRESHOLD for one in asked if one.useful is not None]
            cells = [share(answered(scores, kind)) for kind in KINDS]
            print(
                row([name, "evidence", area(scores), *cells, share(float(np.mean(shown)) if shown else None)]),
                flush=True,
            )
            if given.labels:
                chosen += labels_rows(name, scores)
            if reader is not None:
                told = [
                    (
                        one,
                        reader.forms(one.question.question, [hit.chunk for hit in one.trace.chunks_final], kb.language),
                    )
                    for kb, of_kb in kbs
                    for one in of_kb
                    if one.question.kind in KINDS[:2] and one.trace.chunks_final
                ]
                for form in told[0][1] if told else ():
                    values = by_kind([one for one, _ in told], [forms[form] for _, forms in told])
                    print(row([name, form, area(values), "-", "-", "-", "-"]), flush=True)
        if given.labels:
            names = [f"{how} {kind}" for how in ("0.5", "alone", "own") for kind in KINDS]
            print("\n" + head(["collection", "labels", *names]))
            print("\n".join(chosen))
