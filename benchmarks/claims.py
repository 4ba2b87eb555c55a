"""Measure how well a sentence is held against its passage, on 500 statements, 250 of them with one fault.

python -m benchmarks claims ../shared/datasets                 AUROC by part and by kind of fault
python -m benchmarks claims ../shared/datasets --shown negation    what was found in the statements with that fault
python -m benchmarks claims ../shared/datasets --fit           fit the weights of the signs again, and write them
python -m benchmarks claims --spans FILE.jsonl                 a file in the form of RAGTruth

About 400 are made by rules from other people's texts (``claims_made``); ``claims/hand.jsonl`` has 100 about texts of
this project, written by hand before the check. Each part has two halves, by document. The weights are fitted on the
first half of the encyclopaedias, of those by hand, and on the 60 statements about the handbook
(``tests/chat/support_cases.json``). The other halves, and all that is from manuals, are tests.

AUROC is of the support (0-1) of supported statements against those with a fault; words alone, without vectors. *kept*
and *marked* are the shares of supported statements at or above ``MIN_SUPPORT``, and of the others below it.
"""

from __future__ import annotations

import json
import math
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.claims_made import Case, made
from benchmarks.claims_spans import print_spans
from benchmarks.script import ROOT, SAMPLES, head, parser, row
from chatbot_mvp.chat.claims.alignment import align, source_of
from chatbot_mvp.chat.claims.comparison import USUAL, WEIGHTS_PATH, doubt, features, less
from chatbot_mvp.chat.claims.reading import read
from chatbot_mvp.chat.claims.signs import Sign, signs
from chatbot_mvp.chat.verification import MIN_SUPPORT
from chatbot_mvp.evaluation.kb.questions import auroc
from chatbot_mvp.text import Analyzer

FOLDER = ROOT / "benchmarks"
KINDS = ("negation", "name", "figure", "date", "unit", "quantifier", "comparative", "role")
_ENCYCLOPAEDIAS = ("xquad_es", "hotpotqa")
FITTED_ON = ("encyclopaedias, tune", "by hand, tune", "by hand, more", "handbook")
_MORE_SEEDS = (2, 3, 4)
"""For the fit, the first half of the encyclopaedias gives more statements, by other draws of the rules."""
_RIDGE = 1.0

Idf = Callable[[str], float]


@dataclass(frozen=True)
class Held:
    """A statement that was held against its passage."""

    case: Case
    part: str
    share: float
    signs: list[Sign]

    @property
    def support(self) -> float:
        return less(self.share, doubt(self.share, features(self.signs)), MIN_SUPPORT)


def by_hand(name: str = "hand") -> Iterator[Case]:
    """Yield the statements of ``claims/hand.jsonl``, or of another file there."""
    for line in (FOLDER / "claims" / f"{name}.jsonl").read_text("utf-8").splitlines():
        found = json.loads(line)
        text = section(FOLDER / found["file"], found["heading"])
        yield Case(found["text"], text, found["supported"], found["kind"], found["language"], "by hand", found["half"])


def of_handbook() -> Iterator[Case]:
    """Yield the statements that the check was first chosen on."""
    cases = json.loads((ROOT / "tests" / "chat" / "support_cases.json").read_text("utf-8"))
    for label in ("supported", "unsupported"):
        for heading, text in cases[label]:
            passage = section(SAMPLES / "kb" / "politica_empresa.md", heading)
            kind = "paraphrase" if label == "supported" else "other"
            yield Case(text, passage, label == "supported", kind, "es", "handbook", "tune")


def section(path: Path, heading: str) -> str:
    """Return a heading of a Markdown file, and the text below it until the next one."""
    found, inside = [], False
    for line in path.read_text("utf-8").splitlines():
        if line.startswith("#"):
            inside = line.lstrip("#").strip() == heading
        elif inside:
            found.append(line)
    if not found:
        raise ValueError(f"{path.name} has no heading {heading!r}")
    return f"{heading}\n\n" + "\n".join(found).strip()


def held(cases: Sequence[Case]) -> list[Held]:
    """Hold each statement against its passage; words weigh what they do in the collection that it is from."""
    analyzers = {language: Analyzer(language) for language in ("es", "en")}
    weights = {origin: _idf([case for case in cases if case.origin == origin]) for origin in {c.origin for c in cases}}
    found = []
    for case in cases:
        analyzer = analyzers[case.language]
        aligned = align(read(case.text, analyzer), source_of("", case.passage, analyzer), weights[case.origin])
        part = "encyclopaedias" if case.origin in _ENCYCLOPAEDIAS else "manuals"
        if case.origin in ("by hand", "handbook"):
            part = case.origin
        name = part if part == "handbook" else f"{part}, {case.half}"
        found.append(Held(case, name, aligned.share, signs(aligned)))
    return found


def _idf(cases: Sequence[Case]) -> Idf:
    passages = {case.passage: case.language for case in cases}
    seen = Counter(term for text, language in passages.items() for term in set(Analyzer(language).terms(text)))
    total = len(passages)
    return lambda term: math.log(1 + (total - seen[term] + 0.5) / (seen[term] + 0.5))


def fit(rows: Sequence[Held]) -> dict[str, Any]:
    """Return a logistic regression that tells supported statements apart, as ``comparison.fitted`` describes it."""
    names = sorted({sign.name for one in rows for sign in one.signs})
    found = [(one.share, features(one.signs)) for one in rows]
    weight = regression(found, [one.case.supported for one in rows], names)
    # Signs never speak for a statement.
    against = {name: round(max(0.0, float(-one)), 3) for name, one in zip(names, weight[2:], strict=True)}
    return {"intercept": round(float(weight[0]), 3), "share": round(float(weight[1]), 3), "signs": against}


def regression(
    found: Sequence[tuple[float, Mapping[str, float]]], true: Sequence[bool], names: Sequence[str]
) -> npt.NDArray[np.float64]:
    """Fit the weights of a constant, of the share of words, and of each sign of ``names``."""
    x = np.array([[1.0, share, *(values.get(name, 0.0) for name in names)] for share, values in found])
    y = np.array(true, float)
    usual = np.array([0.0, USUAL, *[-USUAL] * len(names)])
    ridge = np.array([1e-4, *[_RIDGE] * (len(names) + 1)])
    weight = usual.copy()
    for _ in range(100):
        p = 1 / (1 + np.exp(-x @ weight))
        slope = x.T @ (y - p) - ridge * (weight - usual)
        curve = (x * (p * (1 - p))[:, None]).T @ x + np.diag(ridge)
        weight = weight + np.linalg.solve(curve, slope)
    return weight


def print_parts(rows: Sequence[Held]) -> None:
    """Print a table with the parts, and AUROC by kind of fault."""
    parts: dict[str, list[Held]] = defaultdict(list)
    for one in rows:
        parts[one.part].append(one)
    shown = {name: parts[name] for name in sorted(parts)}
    five = [one for one in rows if one.part not in ("handbook", "by hand, more")]
    shown["the 500: all"] = five
    shown["the 500: not fitted on"] = [one for one in five if one.part not in FITTED_ON]
    shown["the 500: in Spanish"] = [one for one in five if one.case.language == "es"]
    shown["the 500: in English"] = [one for one in five if one.case.language == "en"]
    print(head(["part", "statements", "kept", "marked", "AUROC", *KINDS]))
    for name, members in shown.items():
        true = [one.support for one in members if one.case.supported]
        false = [one.support for one in members if not one.case.supported]
        kept = sum(value >= MIN_SUPPORT for value in true) / max(1, len(true))
        marked = sum(value < MIN_SUPPORT for value in false) / max(1, len(false))
        cells: list[object] = [name, len(members), f"{kept:.2f}", f"{marked:.2f}", _auroc(true, false)]
        for kind in KINDS:
            cells.append(_auroc(true, [one.support for one in members if one.case.kind == kind]))
        print(row(cells))


def _auroc(true: Sequence[float], false: Sequence[float]) -> str:
    value = auroc(list(true), list(false))
    return "–" if value is None else f"{value:.3f} ({len(false)})"


def main() -> None:
    options = parser(__doc__)
    options.add_argument("datasets", type=Path, nargs="?", help="folder of the data sets")
    options.add_argument("--fit", action="store_true", help="fit the weights, and write them")
    options.add_argument("--shown", choices=("paraphrase", *KINDS), help="print what was found in these")
    options.add_argument("--spans", type=Path, help="lines with response, source and labels")
    given = options.parse_args()
    if given.spans:
        print_spans(given.spans)
        return
    if given.datasets is None:
        options.error("name the folder of the data sets, or a file with --spans")
    cases = [*made(given.datasets), *by_hand(), *by_hand("more"), *of_handbook()]
    started = time.process_time()
    rows = held(cases)
    spent = time.process_time() - started
    if given.fit:
        more = [case for seed in _MORE_SEEDS for case in made(given.datasets, seed)]
        more = [case for case in more if case.half == "tune" and case.origin in _ENCYCLOPAEDIAS]
        texts = {case.text for case in cases}
        more = [case for case in {case.text: case for case in more}.values() if case.text not in texts]
        weights = fit([one for one in [*rows, *held(more)] if one.part in FITTED_ON])
        WEIGHTS_PATH.write_text(json.dumps(weights, indent=1) + "\n", "utf-8")
        print(f"wrote {WEIGHTS_PATH.name}; run this again without --fit")
        return
    if given.shown:
        for one in rows:
            if one.case.kind == given.shown:
                print(f"{one.support:.2f} [{one.part}] {one.case.text}")
                for sign in one.signs:
                    print(f"     {sign.name} {sign.value:.2f}: {sign.said!r} / {sign.source!r}")
        return
    print_parts(rows)
    print(f"{1000 * spent / len(cases):.2f} ms of a processor for a statement with its passage")
