"""The examples of docs/develop/plugins.md: built, installed and used as a reader would do it."""

from __future__ import annotations

import csv
import json
import os
import re
import subprocess
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pypdf import PdfWriter
from pypdf.annotations import FreeText

from chatbot_mvp.plugins.kinds import KINDS
from tests.documents.made import pdf

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "docs" / "develop" / "plugins.md").read_text("utf-8")

# One worker for all of them: building and using them takes half a minute.
pytestmark = [pytest.mark.xdist_group("plugin_examples"), pytest.mark.timeout(600)]

BLOCK = re.compile(r"^`(?P<file>[^`\n]+)`:\n\n```\w+\n(?P<text>.*?)^```$", re.M | re.S)
FILES = {match["file"]: match["text"] for match in BLOCK.finditer(TEXT)}
PACKAGES = sorted({file.partition("/")[0] for file in FILES})
MOST_LINES = 60
CORPUS = {
    "etna": ("Volcano Etna", "A mountain in Sicily whose top is often covered with snow and clouds."),
    "diary": ("Diary", "The volcano height: we asked for the volcano height. A volcano of this height is rare."),
    "river": ("River", "From the bridge over the river one sees a volcano far away."),
    "bread": ("Bread", "Flour, water, salt and time."),
}
# setuptools keeps what it found out about a folder, so each package is built by a process of its own.
BUILD = """
import os, sys
from setuptools import build_meta
for folder in sys.argv[2:]:
    child = os.fork()
    if child == 0:
        os.chdir(folder)
        build_meta.build_wheel(sys.argv[1])
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0, folder
"""


@pytest.mark.parametrize("package", PACKAGES)
def test_an_example_has_two_files_and_few_lines(package: str) -> None:
    files = [file for file in FILES if file.startswith(f"{package}/")]
    assert len(files) == 2
    assert f"{package}/pyproject.toml" in files
    assert sum(FILES[file].count("\n") for file in files) <= MOST_LINES


def test_every_block_of_code_is_a_file_of_an_example() -> None:
    assert len(FILES) == TEXT.count("\n```") / 2


def test_every_kind_has_its_row_in_the_table_or_is_named() -> None:
    assert not [name for name in KINDS if f"`{name}`" not in TEXT]


# --- what the examples do


@dataclass(frozen=True)
class Outcome:
    """What the driver printed."""

    run: dict[str, Any]
    zipped: dict[str, str]
    """Files of the run's zip, by their name without the run's id."""
    contexts: list[str]
    """Ids of the documents after reranking."""
    asked: dict[str, Any]
    said: dict[str, Any]
    scanned: dict[str, Any]
    pages: dict[str, Any]
    fetched: dict[str, Any]
    faq: dict[str, Any]
    tally: str
    key: dict[str, Any]
    plugins: dict[str, Any]
    page: dict[str, Any]


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with all examples, installed."""
    place = tmp_path_factory.mktemp("plugins")
    for file, text in FILES.items():
        (place / "src" / file).parent.mkdir(parents=True, exist_ok=True)
        (place / "src" / file).write_text(text, "utf-8")
    (place / "wheels").mkdir()
    folders = [str(place / "src" / package) for package in PACKAGES]
    python(["-c", BUILD, str(place / "wheels"), *folders], place)
    wheels = [str(path) for path in (place / "wheels").iterdir()]
    options = ["--quiet", "--no-deps", "--no-index", "--disable-pip-version-check", "--target", str(place / "site")]
    python(["-m", "pip", "install", *options, *wheels], place)
    return place / "site"


@pytest.fixture(scope="module")
def outcome(installed: Path, tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    """One process for all commands: each would take seconds to start."""
    place = tmp_path_factory.mktemp("use")
    _write_inputs(place)
    settings = {
        "DATA_DIR": str(place / "data"),
        "MTEB_DATASET_NAME": str(place / "volcanoes"),
        "RETRIEVAL_STRATEGY": "TITLE_FIRST",
        "PROVIDER": "demo",
        "JUDGE_PROVIDER": "canned",
        "CANNED_MODEL_NAME": "judge",
        "CANNED_API_KEY": "sk-canned-secret",
        "JUDGE_METRICS": "brevity",
        "RERANKER_ENABLED": "true",
        "RERANKER_MODEL_NAME": "words",
        "ROOT": str(ROOT),
        "PYTHONPATH": f"{ROOT}{os.pathsep}{installed}",
    }
    lines = python([str(ROOT / "tests" / "docs" / "plugin_driver.py")], place, settings).splitlines()
    run, exported, asked, said, scanned, pages, fetched, faq, tally, key, plugins, page = (
        json.loads(line) if line.startswith("{") else line for line in lines
    )
    [path] = exported["files"]
    with zipfile.ZipFile(place / path) as archive:
        zipped = {name.rpartition(run["run_id"])[2]: archive.read(name).decode() for name in archive.namelist()}
    [row] = csv.DictReader(zipped["_detail.csv"].splitlines())
    contexts = row["generation_doc_ids"].split("|")
    return Outcome(run, zipped, contexts, asked, said, scanned, pages, fetched, faq, tally, key, plugins, page)


def python(arguments: list[str], folder: Path, more: dict[str, str] | None = None) -> str:
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LD_LIBRARY_PATH") if name in os.environ}
    done = subprocess.run(
        [sys.executable, *arguments], cwd=folder, env=kept | (more or {}), capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout[-2_000:] + done.stderr[-4_000:]
    return done.stdout


def _write_inputs(place: Path) -> None:
    (place / "volcanoes" / "qrels").mkdir(parents=True)
    documents = [{"_id": name, "title": title, "text": text} for name, (title, text) in CORPUS.items()]
    (place / "volcanoes" / "corpus.jsonl").write_text("".join(json.dumps(row) + "\n" for row in documents), "utf-8")
    query = {"_id": "q1", "text": "volcano height", "metadata": {"answer": "yes", "answer_type": "label"}}
    (place / "volcanoes" / "queries.jsonl").write_text(json.dumps(query) + "\n", "utf-8")
    judged = "query-id\tcorpus-id\tscore\nq1\tetna\t1\nq1\triver\t1\n"
    (place / "volcanoes" / "qrels" / "test.tsv").write_text(judged, "utf-8")
    (place / "garden").mkdir()
    gate = "The gate of the garden opens at nine o'clock in the morning."
    (place / "garden" / "gate.md").write_text(f"# Gate\n\n{gate}\n", "utf-8")
    (place / "garden" / "roses.md").write_text("# Roses\n\nThe roses are red.\n", "utf-8")
    times = "0:00:01.000,0:00:04.000"
    (place / "talk.sbv").write_text(f"{times}\n{gate}\n\n{times}\nMind the dog.\n", "utf-8")
    writer = PdfWriter()
    lines = [[("The roses of the garden are red and white.", 11.0)], [], [("The dog of the house is old.", 11.0)]]
    (place / "pages.pdf").write_bytes(pdf(lines))
    writer.append(place / "pages.pdf")
    writer.add_annotation(1, FreeText(text=gate, rect=(50, 550, 200, 650)))
    writer.write(place / "scan.pdf")
    (place / "faq.csv").write_text("question,answer\nWho barks?,The dog.\nWhat is red?,The rose.\n", "utf-8")


def test_everything_is_loaded(outcome: Outcome) -> None:
    added = [row for row in outcome.plugins["plugins"] if not row["wing"] and row["source"].startswith("chatbot-")]
    assert {row["source"] for row in added} == {f"chatbot-{name.replace('_', '-')} 1" for name in PACKAGES}
    assert [row["problem"] for row in added if row["problem"]] == []


def test_the_strategy_ranks_the_matching_title_first(outcome: Outcome) -> None:
    """BM25 ranks diary first, which has both words several times; only etna has one in its title."""
    assert [line.split()[2] for line in outcome.zipped[".run"].splitlines()] == ["etna", "diary", "river"]


def test_the_computed_metric_is_as_worked_out_by_hand_and_the_judged_one_as_the_judge_said(outcome: Outcome) -> None:
    """The first half of etna, diary, river is etna, diary: one of the two relevant documents."""
    assert (outcome.run["metrics"]["first_half"], outcome.run["metrics"]["brevity"]) == (0.5, 0.25)


def test_the_metrics_have_columns(outcome: Outcome) -> None:
    assert {"first_half", "brevity"} <= set(outcome.zipped["_summary.csv"].splitlines()[0].split(","))


def test_the_reranker_orders_by_the_share_of_the_words(outcome: Outcome) -> None:
    """diary has both words of "volcano height"; one of them stands in the text of river, none in that of etna."""
    assert outcome.contexts == ["diary", "river", "etna"]


def test_the_export_stands_in_the_zip(outcome: Outcome) -> None:
    assert outcome.zipped["_questions.txt"] == "q1\tvolcano height\n"


def test_the_provider_answers_from_the_documents_of_the_source(outcome: Outcome) -> None:
    assert outcome.asked["answer"] == "The gate of the garden opens at nine [1]."
    assert outcome.asked["model"] == "canned/guide"
    assert [source["file"] for source in outcome.asked["sources"]] == ["gate.md"]


def test_the_reader_leaves_times_out(outcome: Outcome) -> None:
    [source] = outcome.said["sources"]
    assert source["file"] == "talk.sbv"
    assert "nine o'clock" in outcome.said["answer"]
    assert "0:00:" not in json.dumps(outcome.said)


def test_a_page_without_text_is_read_beside_pages_with_text(outcome: Outcome) -> None:
    assert "nine o'clock" in outcome.scanned["answer"]
    assert outcome.scanned["sources"][0]["page"] == 2
    text, starts = outcome.pages["text"], outcome.pages["starts"]
    assert [text[start:].split()[0] for start in starts] == ["The", "Note:", "The"]
    assert outcome.pages["empty"] == 0
    assert outcome.pages["pages"][-1:] == [[1, 1]]


def test_the_source_of_data_sets_gives_one_that_can_be_measured(outcome: Outcome) -> None:
    """Each question has its answer at the first place: no other document has one of its words."""
    assert outcome.fetched["rows"] == outcome.fetched["queries"] == outcome.fetched["documents"] == 2
    assert outcome.faq["queries"] == 2


def test_the_command_and_the_section_count_the_two_runs(outcome: Outcome) -> None:
    assert outcome.tally == "2 runs"
    assert "Finished runs" in outcome.page["tabs"]
    assert outcome.page["metrics"]["Finished runs"] == "2"


def test_a_key_of_a_plugin_is_masked(outcome: Outcome) -> None:
    assert outcome.key["secret"] == ["sk-canned-secret"]
    assert "sk-canned-secret" not in json.dumps([outcome.key["masked"], outcome.run, outcome.zipped])
