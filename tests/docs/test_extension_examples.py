"""The examples of docs/develop/add-*.md, carried out on a copy of the package as a reader would carry them out."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = ROOT / "docs" / "develop"

# One worker for all of them: the run takes seconds.
pytestmark = pytest.mark.xdist_group("extension_examples")
CATALOGUES = ("streamlit_app/i18n/en.json", "streamlit_app/i18n/es.json")
PROMPTS = "chatbot_mvp/evaluation/benchmark/prompts"

BLOCK = re.compile(r"^`(?P<file>[^`]+)`, (?P<place>[^\n]+):\n\n```\w+\n(?P<text>.*?)^```$", re.M | re.S)
AFTER = re.compile(r"after the line `(.+)`")


@dataclass(frozen=True)
class Step:
    """One block of code of a document, and where the document says that it belongs."""

    file: str
    place: str
    text: str

    def apply(self, root: Path) -> None:
        path = root / self.file
        if self.place == "a new file":
            assert not path.exists(), f"{self.file} is no new file"
            path.write_text(self.text, "utf-8")
        elif self.place == "at the end":
            path.write_text(f"{path.read_text('utf-8').rstrip()}\n\n{self.text}", "utf-8")
        elif self.place == "new entries":
            entries = json.loads(path.read_text("utf-8"))
            added = json.loads(self.text)
            assert not entries.keys() & added.keys()
            path.write_text(json.dumps(entries | added, ensure_ascii=False, indent=2), "utf-8")
        else:
            found = AFTER.fullmatch(self.place)
            assert found, self.place
            text = path.read_text("utf-8")
            assert text.count(f"\n{found[1]}\n") == 1, f"{self.file} has no single line {found[1]!r}"
            path.write_text(text.replace(f"\n{found[1]}\n", f"\n{found[1]}\n{self.text}"), "utf-8")


def steps_of(text: str) -> list[Step]:
    return [Step(**match.groupdict()) for match in BLOCK.finditer(text)]


def part(document: str, heading: str = "") -> list[Step]:
    """The steps of a document, or of one of its sections."""
    text = (DOCUMENTS / document).read_text("utf-8")
    if heading:
        text = text.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    return steps_of(text)


# Of each example: the code it touches beside the catalogues, which only the export does without.
EXAMPLES = {
    "computed metric": (
        part("add-a-metric.md", "A computed metric"),
        {"chatbot_mvp/metrics/ranking/first_half.py", "chatbot_mvp/metrics/registry.py", *CATALOGUES},
    ),
    "judged metric": (
        part("add-a-metric.md", "A metric that a judge scores"),
        {"chatbot_mvp/metrics/registry.py", f"{PROMPTS}/en.toml", f"{PROMPTS}/es.toml", *CATALOGUES},
    ),
    "strategy": (
        part("add-a-strategy.md"),
        {"chatbot_mvp/retrieval/stages/title_first.py", "chatbot_mvp/retrieval/strategies.py", *CATALOGUES},
    ),
    "export": (part("add-an-export.md"), {"chatbot_mvp/exports/questions.py", "chatbot_mvp/exports/formats.py"}),
    "provider": (
        part("add-a-provider.md"),
        {
            *("chatbot_mvp/llm/canned_wire.py", "chatbot_mvp/llm/registry.py", "chatbot_mvp/settings/fields.py"),
            *CATALOGUES,
        },
    ),
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_extension_touches_the_files_that_its_document_counts(name: str) -> None:
    steps, files = EXAMPLES[name]
    assert {step.file for step in steps} == files


def test_every_block_of_code_belongs_to_a_file() -> None:
    for path in DOCUMENTS.glob("add-*.md"):
        text = path.read_text("utf-8")
        assert len(steps_of(text)) == text.count("\n```") / 2, path.name


# --- what the examples do

CORPUS = {
    "etna": ("Volcano Etna", "A mountain in Sicily whose top is often covered with snow and clouds."),
    "diary": ("Diary", "The volcano height: we asked for the volcano height. A volcano of this height is rare."),
    "river": ("River", "From the bridge over the river one sees a volcano far away."),
    "bread": ("Bread", "Flour, water, salt and time."),
}
DRIVER = """
import json, sys, zipfile, io
from pathlib import Path
from chatbot_mvp.app import build_app
from chatbot_mvp.cli.main import main
from chatbot_mvp.runs.known_metrics import METRICS
from chatbot_mvp.settings.model import load_settings

app = build_app(load_settings())
run = app.runs.run_now()
exported = app.archive.export(run["run_id"], "zip")
[content] = exported.files.values()
with zipfile.ZipFile(io.BytesIO(content)) as archive:
    zipped = {name.partition("/")[2]: archive.read(name).decode() for name in archive.namelist()}
folder = app.settings.results_dir / run["run_id"]
row = run["per_query"][0]
print(json.dumps({
    "metrics": {name: run["metrics"][name] for name in ("first_half", "brevity")},
    "ranking": row["retrieved"],
    "questions": zipped[run["run_id"] + "_questions.txt"],
    "columns": (folder / (run["run_id"] + "_summary.csv")).read_text("utf-8").splitlines()[0].split(","),
    "keys": [key for name in ("first_half", "brevity") for key in (METRICS[name].label_key, METRICS[name].help_key)],
}), flush=True)
sys.argv = ["chatbot-mvp", "kb", "ask", "garden.md", "When does the gate of the garden open?", "--json"]
import os
os.environ.update(PROVIDER="canned", CANNED_MODEL_NAME="guide")
main()
"""


@pytest.fixture(scope="module")
def outcome(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any], dict[str, Any]]:
    """(the changed copy, what a run in it gave, what ``kb ask --json`` printed). One process: each takes seconds."""
    root = tmp_path_factory.mktemp("extended")
    shutil.copytree(ROOT / "chatbot_mvp", root / "chatbot_mvp")
    shutil.copytree(ROOT / "streamlit_app" / "i18n", root / "streamlit_app" / "i18n")
    for steps, _ in EXAMPLES.values():
        for step in steps:
            step.apply(root)
    _write_dataset(root / "volcanoes")
    (root / "garden.md").write_text(
        "# Garden\n\nThe gate of the garden opens at nine o'clock in the morning.\n", "utf-8"
    )
    (root / "driver.py").write_text(DRIVER, "utf-8")
    settings = {
        "DATA_DIR": str(root / "data"),
        "MTEB_DATASET_NAME": str(root / "volcanoes"),
        "RETRIEVAL_STRATEGY": "TITLE_FIRST",
        "PROVIDER": "demo",
        "JUDGE_PROVIDER": "canned",
        "CANNED_MODEL_NAME": "judge",
        "JUDGE_METRICS": "brevity",
    }
    settings["PYTHONPATH"] = str(root)
    done = subprocess.run(
        [sys.executable, "driver.py"], cwd=root, env=_environment() | settings, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr[-3000:]
    run, asked = done.stdout.splitlines()
    return root, json.loads(run), json.loads(asked)


def _environment() -> dict[str, str]:
    return {name: os.environ[name] for name in ("PATH", "HOME", "LD_LIBRARY_PATH") if name in os.environ}


def _write_dataset(folder: Path) -> None:
    (folder / "qrels").mkdir(parents=True)
    documents = [{"_id": name, "title": title, "text": text} for name, (title, text) in CORPUS.items()]
    (folder / "corpus.jsonl").write_text("".join(json.dumps(row) + "\n" for row in documents), "utf-8")
    query = {"_id": "q1", "text": "volcano height", "metadata": {"answer": "yes", "answer_type": "label"}}
    (folder / "queries.jsonl").write_text(json.dumps(query) + "\n", "utf-8")
    (folder / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq1\tetna\t1\nq1\triver\t1\n", "utf-8")


Outcome = tuple[Path, dict[str, Any], dict[str, Any]]


def test_the_strategy_ranks_the_matching_title_first(outcome: Outcome) -> None:
    assert outcome[1]["ranking"] == ["etna", "diary", "river"]


def test_the_computed_metric_has_the_value_worked_out_by_hand(outcome: Outcome) -> None:
    """The first half of etna, diary, river is etna, diary: one of the two relevant documents."""
    assert outcome[1]["metrics"]["first_half"] == 0.5


def test_the_judged_metric_has_the_value_that_the_judge_gave(outcome: Outcome) -> None:
    assert outcome[1]["metrics"]["brevity"] == 0.25


def test_both_metrics_have_a_column_and_texts_in_both_languages(outcome: Outcome) -> None:
    root, run, _ = outcome
    assert {"first_half", "brevity"} <= set(run["columns"])
    for catalogue in CATALOGUES:
        assert set(run["keys"]) <= json.loads((root / catalogue).read_text("utf-8")).keys()


def test_the_export_stands_in_the_zip(outcome: Outcome) -> None:
    assert outcome[1]["questions"] == "q1\tvolcano height\n"


def test_the_provider_answers_a_question_on_the_command_line(outcome: Outcome) -> None:
    asked = outcome[2]
    assert asked["answer"] == "The gate of the garden opens at nine [1]."
    assert asked["model"] == "canned/guide"
    assert [source["n"] for source in asked["sources"]] == [1]
