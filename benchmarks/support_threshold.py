"""How well the support score tells what the sample handbook says from what it does not: ``support_cases.json``.

python benchmarks/support_threshold.py
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from chatbot_mvp.app import build_app
from chatbot_mvp.chat.verification import MIN_SUPPORT, nearness_of, verify
from chatbot_mvp.evaluation.kb.questions import auroc
from chatbot_mvp.settings.model import load_settings

CASES = Path(__file__).with_name("support_cases.json")


def scores(with_vectors: bool) -> dict[str, list[float]]:
    """Label -> the support of each of its statements."""
    cases = json.loads(CASES.read_text("utf-8"))
    with tempfile.TemporaryDirectory() as folder:
        strategy = "BRIDGE_HYBRID" if with_vectors else "LEXICAL"
        app = build_app(load_settings(data_dir=Path(folder), retrieval_strategy=strategy))
        index = app.kbs.pipeline(app.kbs.add_sample().kb_id).index
        found: dict[str, list[float]] = {}
        for label in ("supported", "unsupported"):
            for heading, text in cases[label]:
                passages = [chunk for chunk in index.chunks if chunk.section.split(" > ")[-1] == heading]
                statements = verify(text, passages, "es", index.idf, nearness_of(index))
                found.setdefault(label, []).append(min(statement.score for statement in statements))
    return found


def main() -> None:
    for with_vectors in (True, False):
        found = scores(with_vectors)
        kept = [sum(score >= MIN_SUPPORT for score in found[label]) / len(found[label]) for label in found]
        print(
            f"{'words and vectors' if with_vectors else 'words alone':<18} auroc "
            f"{auroc(found['supported'], found['unsupported']):.3f}  at {MIN_SUPPORT}: supported kept {kept[0]:.3f}, "
            f"unsupported marked {1 - kept[1]:.3f}"
        )


if __name__ == "__main__":
    main()
