"""A run of another machine or program becomes one of this machine, or nothing at all is written."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import shutil
import stat
import zipfile
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path

import ir_measures
import pytest
from ir_measures import RR

from chatbot_mvp.app import App
from chatbot_mvp.cli.printing import result_lines
from chatbot_mvp.datasets import Dataset, Query
from chatbot_mvp.evaluation.benchmark.trec import known_ids, read_ranking
from chatbot_mvp.llm.demo import DemoModel
from chatbot_mvp.settings.model import Settings
from chatbot_mvp.types import Document
from tests.datasets.test_layouts import FORMS, write
from tests.fakes import FakeEmbedder, FakeLanguageModel, fake_app
from tests.raising import raises

Make = Callable[[str], App]


@pytest.fixture
def machine(settings: Settings, tmp_path: Path) -> Make:
    """An App over a data folder of its own; answers come from demo."""

    def make(name: str) -> App:
        own = settings.with_changes(data_dir=tmp_path / name, retrieval_strategy="LEXICAL", generation_enabled=True)
        return fake_app(own, lambda _: FakeEmbedder(), DemoModel, lambda *_: FakeLanguageModel().model)

    return make


@pytest.fixture
def bundle(machine: Make, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The zip of a run of machine "a" over five queries. The run is made once; each test gets a copy of the machine."""
    kept = tmp_path_factory.getbasetemp() / "machine-with-a-run"
    if not kept.exists():
        app = machine("a")
        run_id = app.runs.run_now(eval_max_queries=5).run_id
        (tmp_path / "bundle.zip").write_bytes(app.archive.export(run_id, "zip").files[f"{run_id}.zip"])
        shutil.copytree(tmp_path, kept)
    else:
        shutil.copytree(kept, tmp_path, dirs_exist_ok=True)
    return tmp_path / "bundle.zip"


def test_an_exported_run_is_the_same_run_on_another_machine(machine: Make, bundle: Path) -> None:
    there, here = machine("a"), machine("b")
    imported = here.archive.import_run(bundle)
    run_id = imported.run_id
    assert (imported.kind, imported.queries) == ("bundle", 5)
    assert replace(here.archive.run(run_id), imported="") == there.archive.run(run_id)
    assert result_lines(here.archive.run(run_id)) == result_lines(there.archive.run(run_id))
    assert here.archive.runs() == there.archive.runs()
    there_files, here_files = ([path.name for path in app.archive.files(run_id)] for app in (there, here))
    assert here_files == there_files
    others = [app.runs.run_now(eval_max_queries=5, kb_top_k=2).run_id for app in (there, here)]
    one, two = (app.archive.compare([run_id, other]) for app, other in zip((there, here), others, strict=True))
    assert [asdict(delta) for delta in one.runs[0].metrics] == [asdict(delta) for delta in two.runs[0].metrics]
    assert (
        one.runs[0].configuration
        == two.runs[0].configuration
        == {
            "kb_top_k": (5, 2),
            "fingerprint": one.runs[0].configuration["fingerprint"],
        }
    )
    # Its data set is here too, so that it can be exported again, and read down to the texts.
    [again] = here.archive.export(run_id, "zip").files.values()
    assert set(zipfile.ZipFile(io.BytesIO(again)).namelist()) == set(zipfile.ZipFile(bundle).namelist())
    row = here.archive.run(run_id).per_query[0]
    assert here.archive.documents(run_id, row.retrieved) == there.archive.documents(run_id, row.retrieved)
    with raises("run_already_finished"):
        here.runs.resume_now(run_id)
    assert here.archive.unfinished() == []


def test_a_run_that_is_here_already_is_not_replaced(machine: Make, bundle: Path) -> None:
    here = machine("a")
    before = here.archive.runs()
    with raises("run_exists"):
        here.archive.import_run(bundle)
    assert here.archive.runs() == before


def rewritten(path: Path, change: Callable[[dict[str, bytes]], None], hashes: bool = True) -> Path:
    """The bundle with other files; their names are those within its folder."""
    with zipfile.ZipFile(path) as archive:
        folder = archive.namelist()[0].split("/")[0]
        files = {name.partition("/")[2]: archive.read(name) for name in archive.namelist()}
    change(files)
    if hashes:
        listed = {name: hashlib.sha256(text).hexdigest() for name, text in files.items() if name != "SHA256SUMS"}
        files["SHA256SUMS"] = "".join(f"{digest}  {name}\n" for name, digest in listed.items()).encode()
    out = path.with_name("changed.zip")
    with zipfile.ZipFile(out, "w") as archive:
        for name, text in files.items():
            archive.writestr(f"{folder}/{name}", text)
    return out


def result_name(files: dict[str, bytes]) -> str:
    return next(name for name in files if name.endswith(".json") and f"{name[:-5]}.run" in files)


def edited(files: dict[str, bytes], **values: object) -> None:
    name = result_name(files)
    files[name] = json.dumps({**json.loads(files[name]), **values}).encode()


def edited_query(files: dict[str, bytes], **values: object) -> None:
    [first, *others] = json.loads(files[result_name(files)])["per_query"]
    edited(files, per_query=[{**first, **values}, *others])


@pytest.mark.parametrize(
    ("change", "hashes", "said"),
    [
        (lambda files: edited(files, queries=6), False, "is not what SHA256SUMS says"),
        (lambda files: files.update({"more.txt": b"x"}), False, "more.txt"),
        (lambda files: files.pop("report.md", files.pop(result_name(files))), False, "is missing"),
        (lambda files: files.pop(result_name(files)), True, ".json' is missing"),
        (lambda files: files.pop("configuration.json"), True, "configuration.json"),
        (lambda files: edited(files, run_id="other"), True, "of 'other'"),
        (lambda files: edited(files, per_query=[{"query_id": 7}]), True, "per_query.0"),
        (lambda files: edited(files, metrics={"mrr": "high"}), True, "metrics.mrr"),
        (lambda files: edited(files, metrics={"recall@10": 7.0}), True, "recall@10 is 7.0; legal: 0"),
        (lambda files: edited_query(files, metrics={"recall@10": -0.5}), True, "recall@10 is -0.5; legal: 0"),
        (lambda files: edited_query(files, metrics={"mrr": float("nan")}), True, "mrr"),
        (lambda files: files.update({"configuration.json": b"[]"}), True, "configuration.json"),
        (lambda files: files.update({result_name(files): b"{"}), True, "Invalid JSON"),
    ],
)
def test_a_damaged_bundle_is_refused_with_what_is_wrong(
    machine: Make, bundle: Path, change: Callable[[dict[str, bytes]], None], hashes: bool, said: str
) -> None:
    here = machine("b")
    with raises("bundle_damaged", match=said):
        here.archive.import_run(rewritten(bundle, change, hashes))
    assert not here.settings.data_dir.exists()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda content: content[: int(len(content) * 0.3)], "not a zip"),
        (lambda content: content[: int(len(content) * 0.9)], "not a zip"),
        (lambda content: content[:200] + bytes([content[200] ^ 0xFF]) + content[201:], None),
    ],
    ids=["cut early", "cut late", "a byte changed"],
)
def test_a_bundle_that_was_damaged_on_the_way_is_refused(
    machine: Make, bundle: Path, change: Callable[[bytes], bytes], said: str | None
) -> None:
    bundle.write_bytes(change(bundle.read_bytes()))
    with raises("bundle_damaged", match=said):
        machine("b").archive.import_run(bundle)


LINK = zipfile.ZipInfo("r/link")
LINK.external_attr = (stat.S_IFLNK | 0o777) << 16
ELSEWHERE = "../evil.txt /etc/evil r/../../evil r/a/b C:\\evil r\\evil evil ../r/x r/.lock r/".split()
UNSAFE: dict[str, list[tuple[str | zipfile.ZipInfo, bytes]]] = {
    **{name: [(name, b"x")] for name in ELSEWHERE},
    "a link": [(LINK, b"/etc/passwd")],
    "two runs": [("r/a", b""), ("s/a", b"")],
    "a double": [("r/a", b"1"), ("r/a", b"2")],
    "too large": [("r/a", b"0" * 2_000)],
    "too many": [(f"r/{number}", b"") for number in range(101)],
}


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize("entries", UNSAFE.values(), ids=UNSAFE)
def test_paths_that_lead_elsewhere_links_two_runs_doubles_and_sizes_are_refused_and_nothing_is_written(
    machine: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, entries: list[tuple[str | zipfile.ZipInfo, bytes]]
) -> None:
    monkeypatch.setattr("chatbot_mvp.exports.bundle._MOST_BYTES", 1_000)
    path = tmp_path / "bad.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in entries:
            archive.writestr(name, content)
    before = sorted(tmp_path.rglob("*"))
    with raises("bundle_unsafe"):
        machine("b").archive.import_run(path)
    assert sorted(tmp_path.rglob("*")) == before


def test_a_disk_that_refuses_leaves_nothing(machine: Make, bundle: Path) -> None:
    here = machine("b")
    here.settings.data_dir.mkdir()
    (here.settings.data_dir / "results").write_text("no folder")
    with raises("import_not_written"):
        here.archive.import_run(bundle)
    assert not here.settings.submissions_path.exists()


def test_our_own_trec_export_is_scored_as_the_run_was(machine: Make, tmp_path: Path) -> None:
    app = machine("a")
    ours = app.runs.run_now(generation_enabled=False)
    [path] = [tmp_path / name for name in app.archive.export(ours.run_id, "trec").files if name.endswith(".run")]
    for name, content in app.archive.export(ours.run_id, "trec").files.items():
        (tmp_path / name).write_bytes(content)
    imported = app.archive.import_run(path, "valle_multihop", "their bm25")
    assert (imported.kind, imported.queries, imported.without_ranking, imported.left_out) == ("trec", 40, 0, 0)
    theirs = app.archive.run(imported.run_id)
    assert theirs.strategy == "their-bm25"
    for name in ("metrics", "scored", "intervals", "splits", "causes", "dataset_sha256"):
        assert getattr(theirs, name) == getattr(ours, name), name
    comparison = app.archive.compare([ours.run_id, imported.run_id])
    assert {delta.delta for delta in comparison.runs[0].metrics} == {0.0}
    assert set(comparison.runs[0].configuration) == {"fingerprint"}
    assert {row.run_id for row in app.archive.runs()[0]} == {ours.run_id, imported.run_id}
    assert "trec" in app.archive.run(imported.run_id).imported
    assert list(app.settings.results_dir.glob(".import-*")) == []
    assert app.archive.export(imported.run_id, "markdown").files


def test_queries_without_a_line_count_as_not_retrieved_and_are_told(app: App, tmp_path: Path) -> None:
    queries = app.runs.run_now(retrieval_strategy="LEXICAL").per_query
    lines = [f"{row.query_id} Q0 {row.gold[0]} 1 3.5 mine" for row in queries[:10]]
    path = tmp_path / "part.run"
    path.write_text("\n".join(lines) + "\n", "utf-8")
    imported = app.archive.import_run(path, "valle_multihop")
    assert (imported.queries, imported.without_ranking) == (40, 30)
    result = app.archive.run(imported.run_id)
    assert (result.strategy, result.metrics["hit@1"], result.scored["hit@1"]) == ("mine", 0.25, (40, 40))
    assert result.per_query[20].retrieved == ()


def test_a_sample_leaves_queries_of_the_file_out(machine: Make, settings: Settings, tmp_path: Path) -> None:
    app = machine("a")
    rows = app.runs.run_now(generation_enabled=False).per_query
    path = tmp_path / "all.run"
    path.write_text("".join(f"{row.query_id} Q0 {row.gold[0]} 1 1 t\n" for row in rows), "utf-8")
    own = app.settings.with_changes(eval_max_queries=5)
    small = fake_app(own, lambda _: FakeEmbedder(), DemoModel)
    imported = small.archive.import_run(path, "valle_multihop")
    assert (imported.queries, imported.left_out) == (5, 35)


@pytest.mark.parametrize(
    ("text", "code", "said"),
    [
        ("", "nothing_to_import", "no line"),
        ("q1 Q0 d1 1 0.5\n", "trec_line_wrong", "line 1: 5 columns"),
        ("\nq1 Q0 d1 one 0.5 t\n", "trec_line_wrong", "line 2: 'one'"),
        ("q1 Q0 d1 1 nan t\n", "trec_line_wrong", "'nan' is no finite"),
        ("q1 Q0 d1 1 1 t\nq1 Q0 d1 2 1 t\n", "trec_line_wrong", "line 2: 'q1' has 'd1' a second time"),
        ("nobody Q0 d1 1 1 t\nnoone Q0 d1 1 1 t\n", "trec_id_unknown", "2 queries .* the first is 'nobody'"),
        ("q-one Q0 nothing 1 1 t\n", "trec_id_unknown", "1 documents .* the first is 'nothing'"),
    ],
)
def test_a_file_that_is_no_run_over_the_data_set_is_refused(
    app: App, tmp_path: Path, text: str, code: str, said: str
) -> None:
    query = app.datasets.load("valle_multihop").queries[0].query_id
    path = tmp_path / "t.run"
    path.write_text(text.replace("q-one", query), "utf-8")
    with raises(code, match=said):
        app.archive.import_run(path, "valle_multihop")
    assert not app.settings.data_dir.exists()


def test_what_is_neither_zip_nor_trec_is_told(app: App, tmp_path: Path, bundle: Path) -> None:
    (tmp_path / "b.run").write_bytes(b"\xff\xfe\x00")
    for path, dataset, said in (
        (tmp_path / "gone.zip", "", "no such file"),
        (tmp_path / "b.run", "", "no data set"),
        (tmp_path / "b.run", "valle_multihop", "as text"),
        (bundle, "valle_multihop", "its own data set"),
    ):
        with raises("nothing_to_import", match=said):
            app.archive.import_run(path, dataset)


def test_ids_of_a_ranking_may_be_percent_encoded(tmp_path: Path) -> None:
    path = tmp_path / "t.run"
    path.write_text("q%201 Q0 b 2 1.0 t\nq%201 Q0 a 1 1.5 t\nq%201 Q0 c%20c 3 7e0 t\nq%251 Q0 100%25 1 1 t\n", "utf-8")
    trec = read_ranking(path)
    assert list(trec.rankings["q%201"]) == ["c%20c", "a", "b"]
    documents = tuple(Document(doc_id, "", "x") for doc_id in ("a", "b", "c c", "100%25"))
    dataset = Dataset("d", documents, (Query("q 1", "?"), Query("q%1", "?")), {}, "0")
    assert known_ids(trec, dataset, dataset) == {
        "q 1": {"c c": 7.0, "a": 1.5, "b": 1.0},
        # An id that stands so in the data set is meant so.
        "q%1": {"100%25": 1.0},
    }
    with raises("trec_id_unknown"):
        known_ids(trec, dataset, replace(dataset, documents=documents[:2]))


TIES = {
    # Equal scores: the later id comes first, whatever the ranks in the file say.
    "equal": {"d1": 1.0, "d3": 1.0, "d2": 1.0},
    # Different as doubles, equal in the single precision of trec_eval.
    "single precision": {"d1": 0.1234567891, "d2": 0.1234567890, "d3": 5.0},
    "negative": {"d1": -2.0, "d2": -1.0, "d3": -1.0},
    "digits are text": {"d10": 1.0, "d9": 1.0, "d1": 2.0},
    "large": {"d1": 1e30, "d2": 1e38, "d3": 1e38},
    "outside ascii": {"é": 1.0, "z": 1.0, "\U00010000": 1.0, "\uffee": 1.0},
}


@pytest.mark.parametrize("scores", TIES.values(), ids=TIES)
@pytest.mark.parametrize("packed", [False, True], ids=["plain", "gz"])
@pytest.mark.parametrize("form", ["trec", "ranx"])
def test_ties_are_broken_as_trec_eval_breaks_them(
    tmp_path: Path, scores: dict[str, float], packed: bool, form: str
) -> None:
    if form == "ranx":
        name, text = "theirs.json", json.dumps({"q": scores})
    else:
        name, text = (
            "theirs.run",
            "".join(f"q Q0 {d} {n} {score!r} t\n" for n, (d, score) in enumerate(scores.items(), 1)),
        )
    path = tmp_path / (f"{name}.gz" if packed else name)
    path.write_bytes(gzip.compress(text.encode()) if packed else text.encode())
    ours = list(read_ranking(path).rankings["q"])
    theirs = {d: ir_measures.pytrec_eval.calc_aggregate([RR], {"q": {d: 1}}, {"q": scores})[RR] for d in scores}
    assert [round(1 / theirs[d]) for d in ours] == [1, 2, 3, 4][: len(scores)]


def test_a_ranx_run_is_scored_like_the_run_it_was_exported_from(machine: Make, tmp_path: Path) -> None:
    app = machine("a")
    ours = app.runs.run_now(generation_enabled=False)
    path = tmp_path / "their_run.json"
    path.write_bytes(app.archive.export(ours.run_id, "json").files[f"{ours.run_id}_run.json"])
    imported = app.archive.import_run(path, "valle_multihop")
    theirs = app.archive.run(imported.run_id)
    assert (theirs.strategy, theirs.metrics, theirs.scored) == ("their_run", ours.metrics, ours.scored)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{}", "it ranks nothing"),
        ("[1]", "is not a JSON object"),
        ('{"q": {"d": "best"}}', "the score 'best' of document 'd' for query 'q' is no finite number"),
        ('{"q": {"d": NaN}}', "the score nan"),
        ('{"q": ', "is not JSON"),
        ("[" * 100_000, "is not JSON"),
    ],
)
def test_json_that_is_no_ranking_is_refused(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "r.json").write_text(text, "utf-8")
    with raises("nothing_to_import") as raised:
        read_ranking(tmp_path / "r.json")
    assert said in str(raised.value)


def test_a_ranking_of_another_split_is_refused_and_its_own_split_can_be_named(app: App, tmp_path: Path) -> None:
    write(app.settings.datasets_dir / "nfcorpus", FORMS["BEIR zip"])
    path = tmp_path / "train.run"
    path.write_text("PLAIN-33 Q0 MED-118 1 2.5 bm25\n", "utf-8")
    with raises("nothing_to_import", match=r"none of its 1 queries .* split 'test'"):
        app.archive.import_run(path, "nfcorpus")
    imported = app.archive.import_run(path, "nfcorpus#train")
    assert (imported.queries, app.archive.run(imported.run_id).metrics["mrr"]) == (1, 1.0)
