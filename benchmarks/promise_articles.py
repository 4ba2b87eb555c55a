"""Promise a share of wrong answers from half of the articles of a data set, and measure the share on the other half.

Questions about one article are alike, so a split by article is harder than a split of single questions, for which the
promise is made. Questions without an answer name no article; they are grouped by the beginning of their id, which
also changes the mix of kinds, or split singly, which does not. The split by documents groups all questions by the
article that the promise by document takes them to be about. The share found on the other half has noise of its own.

Promises are made with single questions as draws, and with whole articles. With few articles, the latter can only
promise high levels; ``--level`` may be given several times.

    python benchmarks/promise_articles.py KB.md QUESTIONS.jsonl [--level 0.05] [--seeds 200] [--data-dir DIR] [-v]
"""

from __future__ import annotations

import argparse
import random
import tempfile
from collections.abc import Sequence
from pathlib import Path

from chatbot_mvp.app import build_app
from chatbot_mvp.evaluation.kb.calibration import UNITS, LabelledQuestion, Unit
from chatbot_mvp.evaluation.kb.promise import Basis, make_promise
from chatbot_mvp.evaluation.promises import is_labelled
from chatbot_mvp.settings.model import load_settings

_BASIS = Basis("", "", "", "", "", "", {})


def labelled(kb: Path, questions: Path, data_dir: Path) -> list[LabelledQuestion]:
    """Ask all questions with the chat's default configuration and judge the answers."""
    app = build_app(load_settings(data_dir=data_dir, provider="demo"))
    kb_id = app.kbs.add(kb.name, kb.read_bytes()).kb_id
    result = app.kb_evaluation.result(kb_id, app.kb_evaluation.evaluate_file(kb_id, questions)["run_id"])
    return app.promises.judged(result, [row for row in result.rows if is_labelled(row)])


def groups_of(asked: Sequence[LabelledQuestion], split: str) -> list[list[LabelledQuestion]]:
    """Return the groups of questions that stay together in a split."""
    groups: dict[str, list[LabelledQuestion]] = {}
    for number, one in enumerate(asked):
        if split == "documents":
            groups.setdefault(one.group, []).append(one)
            continue
        alone = split == "questions" or (split == "articles, same mix of kinds" and not one.question.heading)
        name = str(number) if alone else one.question.heading or one.question.question_id[:6]
        groups.setdefault(name, []).append(one)
    return [groups[name] for name in sorted(groups)]


def measure(groups: list[list[LabelledQuestion]], level: float, unit: Unit, seeds: int, verbose: bool) -> str:
    """Promise on one half of the groups and count on the other, ``seeds`` times; return a line of figures."""
    made = above = answers = wrongs = refused = answerable = 0
    for seed in range(seeds):
        mixed = random.Random(seed).sample(groups, len(groups))
        half = len(mixed) // 2
        promise = make_promise([one for group in mixed[:half] for one in group], 0, level, _BASIS, unit)
        if promise.threshold is None:
            if verbose:
                print(f"  {seed}: no promise ({promise.wrong} of {promise.answered} wrong, {promise.missing} missing)")
            continue
        others = [one for group in mixed[half:] for one in group]
        given = [one for one in others if one.evidence >= promise.threshold]
        wrong = sum(one.wrong for one in given)
        of_kind = [one for one in others if one.question.kind == "answerable"]
        made, answers, wrongs = made + 1, answers + len(given), wrongs + wrong
        above += wrong > level * len(given)
        refused += sum(one.evidence < promise.threshold for one in of_kind)
        answerable += len(of_kind)
        if verbose:
            print(f"  {seed}: threshold {promise.threshold:.2f}, found {wrong} of {len(given)} wrong")
    if not made:
        return f"no promise in {seeds} seeds; the last one: {promise.missing} missing, {promise.least:.3f} at best"
    return (
        f"made {made} of {seeds}, found above {level} in {above} ({above / seeds:.3f}), "
        f"found {wrongs / answers:.4f} over all answers, refused {refused / answerable:.3f} of the answerable"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kb", type=Path)
    parser.add_argument("questions", type=Path)
    parser.add_argument("--level", type=float, action="append")
    parser.add_argument("--seeds", type=int, default=200)
    parser.add_argument("--data-dir", type=Path, help="a data folder whose cached vectors are used")
    parser.add_argument("-v", "--verbose", action="store_true", help="print each seed")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        asked = labelled(given.kb, given.questions, given.data_dir or Path(folder))
    documents = len({one.group for one in asked})
    for level in given.level or [0.05]:
        print(f"{len(asked)} questions about {documents} articles, promised: at most {level} of the answers wrong")
        for split in ("questions", "articles, same mix of kinds", "articles", "documents"):
            groups = groups_of(asked, split)
            for unit in UNITS:
                found = measure(groups, level, unit, given.seeds, given.verbose)
                print(f"split by {split}, {len(groups)} groups, by {unit}: {found}")


if __name__ == "__main__":
    main()
