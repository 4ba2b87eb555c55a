"""Measure how many paragraphs are still found if one word of each question is misspelt.

python benchmarks/kb_typos.py ../shared/datasets/xquad_es [STRATEGY] [SEED]

One word of at least five letters, chosen by the seed, has one letter left out, doubled, replaced, or swapped with the
next; the first letter stays.
"""

from __future__ import annotations

import json
import random
import re
import sys
from dataclasses import replace
from pathlib import Path

from kb_measure import evaluate_kb

from chatbot_mvp.app import build_app
from chatbot_mvp.evaluation.kb.questions import load_questions
from chatbot_mvp.settings.model import load_settings

LETTERS = "abcdefghijlmnopqrstuvz"


def misspell(question: str, rng: random.Random) -> str:
    """The question with one word misspelt; itself if it has no long enough word."""
    words = list(re.finditer(r"[^\W\d_]{5,}", question))
    if not words:
        return question
    match = rng.choice(words)
    word, at = match.group(), rng.randrange(1, len(match.group()) - 1)
    changed = rng.choice(
        [
            word[:at] + word[at + 1 :],
            word[:at] + word[at] + word[at:],
            word[:at] + rng.choice(LETTERS.replace(word[at].lower(), "")) + word[at + 1 :],
            word[:at] + word[at + 1] + word[at] + word[at + 2 :],
        ]
    )
    return question[: match.start()] + changed + question[match.end() :]


def main() -> int:
    if len(sys.argv) < 2:
        print(__doc__)
        return 2
    folder = Path(sys.argv[1])
    strategy = sys.argv[2] if len(sys.argv) > 2 else "LEXICAL"
    rng = random.Random(int(sys.argv[3]) if len(sys.argv) > 3 else 0)
    app = build_app(load_settings(retrieval_strategy=strategy))
    document = next(folder.glob("*.md"))
    record = app.kbs.add(document.name, document.read_bytes())
    questions = [question for question in load_questions(folder / "questions.jsonl") if question.paragraph]
    misspelt = [replace(question, question=misspell(question.question, rng)) for question in questions]
    pipeline, source = app.kbs.pipeline(record.kb_id), app.kbs.document(record.kb_id)
    result = {
        name: {key: value for key, value in figures.items() if key in ("hit@1", "hit@3", "scored", "accepted")}
        for name, asked in (("as written", questions), ("misspelt", misspelt))
        for figures in [evaluate_kb(pipeline, source, asked, app.settings.kb_min_evidence)]
    }
    print(json.dumps({"strategy": strategy, **result}, ensure_ascii=False))
    return 0


if __name__ == "__main__":
    sys.exit(main())
