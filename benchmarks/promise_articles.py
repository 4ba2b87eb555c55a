"""Promise a share of wrong answers from half of the articles of a data set, and measure the share on the other half.

Questions about one article are alike, so a split by article is harder than a split of single questions, for which the
promise is made. Questions without an article are grouped by the beginning of their id.

    python benchmarks/promise_articles.py KB.md QUESTIONS.jsonl [--level 0.05] [--seeds 20] [--single]
"""

from __future__ import annotations

import argparse
import random
import tempfile
from pathlib import Path

from chatbot_mvp.app import build_app
from chatbot_mvp.evaluation.kb.promise import Basis, LabelledQuestion, make_promise
from chatbot_mvp.evaluation.promises import is_labelled
from chatbot_mvp.settings.model import load_settings

_BASIS = Basis("", "", "", "", "", "", {})


def labelled(kb: Path, questions: Path, data_dir: Path) -> list[LabelledQuestion]:
    """Ask all questions with the chat's default configuration and judge the answers."""
    app = build_app(load_settings(data_dir=data_dir, provider="demo"))
    kb_id = app.kbs.add(kb.name, kb.read_bytes()).kb_id
    result = app.kb_evaluation.result(kb_id, app.kb_evaluation.evaluate_file(kb_id, questions)["run_id"])
    return app.promises.judged(result, [row for row in result.rows if is_labelled(row)])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kb", type=Path)
    parser.add_argument("questions", type=Path)
    parser.add_argument("--level", type=float, default=0.05)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--single", action="store_true", help="split single questions instead of articles")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        asked = labelled(given.kb, given.questions, Path(folder))
    groups: dict[str, list[LabelledQuestion]] = {}
    for number, one in enumerate(asked):
        name = str(number) if given.single else one.question.heading or one.question.question_id[:6]
        groups.setdefault(name, []).append(one)
    print(f"{len(asked)} questions in {len(groups)} groups, {sum(one.wrong for one in asked)} wrong if answered")
    made = broken = answers = wrongs = 0
    for seed in range(given.seeds):
        names = sorted(groups)
        random.Random(seed).shuffle(names)
        half = len(names) // 2
        promise = make_promise([one for name in names[:half] for one in groups[name]], 0, given.level, _BASIS)
        if promise.threshold is None:
            print(f"seed {seed:2}: no promise ({promise.wrong} of {promise.answered} wrong, missing {promise.missing})")
            continue
        others = [one for name in names[half:] for one in groups[name]]
        answered = [one for one in others if one.evidence >= promise.threshold]
        wrong = sum(one.wrong for one in answered)
        refused = sum(one.evidence < promise.threshold for one in others if one.question.kind == "answerable")
        total = sum(one.question.kind == "answerable" for one in others)
        made, answers, wrongs = made + 1, answers + len(answered), wrongs + wrong
        broken += wrong > given.level * len(answered)
        print(
            f"seed {seed:2}: threshold {promise.threshold:.2f}, found {wrong} of {len(answered)} wrong "
            f"({wrong / max(1, len(answered)):.4f}), refused {refused} of {total} answerable"
        )
    share = f"{wrongs / answers:.4f}" if answers else "-"
    print(f"promised {given.level}: made {made} of {given.seeds}, above in {broken}, found {share} over all answers")


if __name__ == "__main__":
    main()
