"""The examples of docs/develop/add-*.md, carried out on a copy of the package as a reader would carry them out."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
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
            *(
                "chatbot_mvp/llm/canned_wire.py",
                "chatbot_mvp/llm/registry.py",
                "chatbot_mvp/settings/fields/providers.py",
            ),
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
import json, os, sys
from chatbot_mvp.cli.main import main
from chatbot_mvp.runs.known_metrics import METRICS

def command(*arguments):
    sys.argv = ["chatbot-mvp", *arguments, "--json"]
    try:
        main()
    except SystemExit as ended:
        assert not ended.code, arguments

command("benchmark", "run")
[run_id] = os.listdir(os.path.join(os.environ["DATA_DIR"], "results"))
command("benchmark", "export", run_id, "--format", "zip")
os.environ.update(PROVIDER="canned", CANNED_MODEL_NAME="guide")
command("kb", "ask", "garden.md", "When does the gate of the garden open?")
specs = [METRICS[name] for name in ("first_half", "brevity")]
print(json.dumps([key for spec in specs for key in (spec.label_key, spec.help_key)]))
"""


@dataclass(frozen=True)
class Outcome:
    """What the commands gave in the changed copy."""

    root: Path
    run: dict[str, Any]
    """Of ``benchmark run --json``."""
    zipped: dict[str, str]
    """Name without the run's folder -> content."""
    asked: dict[str, Any]
    """Of ``kb ask --json``."""
    keys: list[str]
    """Of the texts of both metrics."""

    def file(self, suffix: str) -> str:
        return self.zipped[f"{self.run['run_id']}{suffix}"]


@pytest.fixture(scope="module")
def outcome(tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    """One process for all commands: each would take seconds to start."""
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
    run, exported, asked, keys = (json.loads(line) for line in done.stdout.splitlines())
    [path] = exported["files"]
    with zipfile.ZipFile(root / path) as archive:
        zipped = {name.partition("/")[2]: archive.read(name).decode() for name in archive.namelist()}
    return Outcome(root, run, zipped, asked, keys)


def _environment() -> dict[str, str]:
    return {name: os.environ[name] for name in ("PATH", "HOME", "LD_LIBRARY_PATH") if name in os.environ}


def _write_dataset(folder: Path) -> None:
    (folder / "qrels").mkdir(parents=True)
    documents = [{"_id": name, "title": title, "text": text} for name, (title, text) in CORPUS.items()]
    (folder / "corpus.jsonl").write_text("".join(json.dumps(row) + "\n" for row in documents), "utf-8")
    query = {"_id": "q1", "text": "volcano height", "metadata": {"answer": "yes", "answer_type": "label"}}
    (folder / "queries.jsonl").write_text(json.dumps(query) + "\n", "utf-8")
    (folder / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq1\tetna\t1\nq1\triver\t1\n", "utf-8")


def test_the_strategy_ranks_the_matching_title_first(outcome: Outcome) -> None:
    assert [line.split()[2] for line in outcome.file(".run").splitlines()] == ["etna", "diary", "river"]


def test_the_computed_metric_has_the_value_worked_out_by_hand(outcome: Outcome) -> None:
    """The first half of etna, diary, river is etna, diary: one of the two relevant documents."""
    assert outcome.run["metrics"]["first_half"] == 0.5


def test_the_judged_metric_has_the_value_that_the_judge_gave(outcome: Outcome) -> None:
    assert outcome.run["metrics"]["brevity"] == 0.25


def test_both_metrics_have_a_column_and_texts_in_both_languages(outcome: Outcome) -> None:
    assert {"first_half", "brevity"} <= set(outcome.file("_summary.csv").splitlines()[0].split(","))
    for catalogue in CATALOGUES:
        assert set(outcome.keys) <= json.loads((outcome.root / catalogue).read_text("utf-8")).keys()


def test_the_export_stands_in_the_zip(outcome: Outcome) -> None:
    assert outcome.file("_questions.txt") == "q1\tvolcano height\n"


def test_the_provider_answers_a_question_on_the_command_line(outcome: Outcome) -> None:
    assert outcome.asked["answer"] == "The gate of the garden opens at nine [1]."
    assert outcome.asked["model"] == "canned/guide"
    assert [source["n"] for source in outcome.asked["sources"]] == [1]
