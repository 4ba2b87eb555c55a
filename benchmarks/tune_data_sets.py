"""Tune data sets and print the gain on the untouched half, its interval, the minutes and the configurations tried.

Needs a folder with ``manuales_es`` (two manuals with questions; one searches, the other confirms), ``xquad_es`` (a
knowledge base with questions) and ``hotpotqa`` (a data set). Vectors are cached in DATA_DIR.

    DATA_DIR=… python benchmarks/tune_data_sets.py FOLDER [--only hotpotqa] [--most 200] [--metric mrr] [--today HYBRID]
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from chatbot_mvp.app import App, build_app
from chatbot_mvp.documents.parsing import parse_upload
from chatbot_mvp.evaluation.tune.reports import plan_text, result_text
from chatbot_mvp.evaluation.tune.types import TuneOptions, TunePlan
from chatbot_mvp.settings.model import load_settings

NAMES = ("manuales_es", "xquad_es", "hotpotqa")


def planned(app: App, folder: Path, name: str, options: TuneOptions) -> TunePlan:
    """Plan the tune of one data set; a knowledge base is added first."""
    if name == "hotpotqa":
        return app.tuner.plan(str(folder / name), options=options)
    files = sorted((folder / name).glob("*.md"))
    limits = (app.settings.kb_max_chars, app.settings.kb_max_upload_mb)
    parsed = [(path.name, parse_upload(path.name, path.read_bytes(), *limits)) for path in files]
    with app.kbs.store.keeping(parsed, app.settings.kb_max_chars, name) as record:
        kb_id = record.kb_id
    # The ids of two question files may be equal.
    asked = [
        json.dumps({**json.loads(line), "id": f"{path.name}:{number}"})
        for path in sorted((folder / name).glob("*questions.jsonl"))
        for number, line in enumerate(path.read_text("utf-8").splitlines())
    ]
    questions = Path(tempfile.gettempdir()) / f"{kb_id}.questions.jsonl"
    questions.write_text("\n".join(asked), "utf-8")
    return app.tuner.plan(kb_id, str(questions), options)


def measure(folder: Path, names: Sequence[str], options: TuneOptions, strategy: str, as_json: bool) -> None:
    """Print the plan and the result of each data set.

    Args:
        strategy: of today's configuration; "" for the default.
    """
    today: dict[str, Any] = {"retrieval_strategy": strategy} if strategy else {}
    app = build_app(load_settings(kb_max_chars=1_000_000, generation_enabled=False, **today))
    for name in names:
        plan = planned(app, folder, name, options)
        print(f"== {name}\n{plan_text(plan)}", flush=True)
        result = app.tuner.resume_now(app.tuner.create(plan))
        print(json.dumps(asdict(result)) if as_json else result_text(result), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", action="append", choices=NAMES)
    parser.add_argument("--most", type=int, default=200)
    parser.add_argument("--metric", default="")
    parser.add_argument("--today", default="", metavar="STRATEGY")
    parser.add_argument("--seed", type=int, default=42)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    options = TuneOptions(metric=arguments.metric, most=arguments.most, seed=arguments.seed)
    measure(arguments.folder, arguments.only or NAMES, options, arguments.today, arguments.json)


if __name__ == "__main__":
    main()
