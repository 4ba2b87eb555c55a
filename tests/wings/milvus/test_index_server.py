"""Knowledge bases and data sets whose indexes are on a Milvus server, through the App that pages and commands use."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from chatbot_mvp.errors import InvalidSetting, MissingPackage
from chatbot_mvp.retrieval.pipeline import fingerprint
from chatbot_mvp.settings.model import Settings
from chatbot_mvp.types import ignore_progress
from chatbot_mvp.wings.milvus import client as milvus
from chatbot_mvp.wings.milvus.client import TERMS, connect
from tests.fakes import fake_app
from tests.loopback import free_port
from tests.raising import raises
from tests.wings.milvus.app_process import AppProcess
from tests.wings.milvus.server import TOKEN, MilvusProcess

pytestmark = pytest.mark.xdist_group("indexes")  # one worker, because starting a server takes seconds

HANDBOOK = "\n\n".join(
    f"# Sección {number}\n\nEl equipo {number} revisa la bomba {number % 7} cada {number + 2} días y anota la presión."
    for number in range(30)
)
QUESTIONS = ("¿Cada cuántos días se revisa la bomba 3?", "presión del equipo 12", "¿Quién anota?")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MilvusProcess]:
    pytest.importorskip("milvus_lite")
    process = MilvusProcess(tmp_path_factory.mktemp("milvus"), TOKEN)
    process.start()
    yield process
    process.kill()


@pytest.fixture
def shared(server: MilvusProcess, settings: Settings) -> Settings:
    return settings.with_changes(index_engine="milvus", milvus_address=server.address, milvus_token=TOKEN)


def rows(server: MilvusProcess) -> int:
    client = connect(server.server).client
    if not client.has_collection(TERMS):
        return 0
    return int(client.query(TERMS, filter="row > -9", output_fields=["count(*)"])[0]["count(*)"])


def found(settings: Settings, kb_id: str) -> list[list[str]]:
    traces = fake_app(settings).kbs.pipeline(kb_id).retrieve(QUESTIONS)
    return [[hit.chunk.chunk_id for hit in trace.retrieved] for trace in traces]


@pytest.mark.sampled(1)
@pytest.mark.parametrize("strategy", ["LEXICAL", "HYBRID", "BRIDGE_HYBRID"])
def test_a_knowledge_base_finds_on_the_server_what_it_finds_in_files(
    shared: Settings, tmp_path: Path, strategy: str
) -> None:
    there = shared.with_changes(retrieval_strategy=strategy)
    here = there.with_changes(index_engine="local", data_dir=tmp_path / "local")
    kb_id = fake_app(there).kbs.add("manual.md", HANDBOOK.encode()).kb_id
    assert fake_app(here).kbs.add("manual.md", HANDBOOK.encode()).kb_id == kb_id
    assert found(there, kb_id) == found(here, kb_id)
    assert not list(there.cache_dir.glob("indexes/**/meta.json"))  # Tantivy's files
    fake_app(there).kbs.delete(kb_id)


@pytest.mark.slow  # starts an App in a second process
def test_two_servers_see_each_others_knowledge_bases_and_their_end(
    shared: Settings, server: MilvusProcess, tmp_path: Path
) -> None:
    mine = fake_app(shared)
    other_dir = tmp_path / "other"
    other_dir.mkdir()
    shared.kb_dir.mkdir(parents=True, exist_ok=True)
    (other_dir / "kb").symlink_to(shared.kb_dir)  # the texts are on a shared volume, everything else is its own
    other = AppProcess(shared.with_changes(data_dir=other_dir))
    try:
        kb_id = mine.kbs.add("manual.md", HANDBOOK.encode()).kb_id
        expected = found(shared, kb_id)
        written = rows(server)
        assert other.ask("find", kb_id, *QUESTIONS) == expected
        assert rows(server) == written  # it read what is there
        assert not list((other_dir / "cache").glob("indexes/**/meta.json"))

        theirs = other.ask("add", "otro.md", HANDBOOK.replace("bomba", "válvula"))
        assert other.ask("find", theirs, *QUESTIONS) == found(shared, theirs)

        mine.kbs.delete(kb_id)
        assert other.ask("find", kb_id, *QUESTIONS) == "kb_not_found"
        assert other.ask("find", theirs, *QUESTIONS) == found(shared, theirs)
        mine.kbs.delete(theirs)
        assert rows(server) == 0
    finally:
        other.close()


def test_a_knowledge_base_whose_server_is_away_is_not_deleted(shared: Settings) -> None:
    kb_id = fake_app(shared).kbs.add("manual.md", HANDBOOK.encode()).kb_id
    away = fake_app(shared.with_changes(milvus_address=f"http://127.0.0.1:{free_port()}"))
    with raises("index_engine_unavailable"):
        away.kbs.delete(kb_id)
    with raises("index_engine_unavailable"):
        away.kbs.pipeline(kb_id)
    assert [record.kb_id for record in away.kbs.records()] == [kb_id]
    fake_app(shared).kbs.delete(kb_id)
    assert fake_app(shared).kbs.records() == []


@pytest.mark.sampled(1)
@pytest.mark.parametrize("strategy", ["LEXICAL", "HYBRID", "BRIDGE_HYBRID"])
def test_a_run_over_a_data_set_measures_the_same_on_the_server(
    shared: Settings, server: MilvusProcess, tmp_path: Path, strategy: str
) -> None:
    results = {}
    for engine in ("local", "milvus"):
        settings = shared.with_changes(
            index_engine=engine, retrieval_strategy=strategy, data_dir=tmp_path / engine, eval_max_queries=20
        )
        app = fake_app(settings)
        results[engine] = app.runs.execute(app.runs.prepare({}), ignore_progress)
    local, there = results["local"], results["milvus"]
    assert there.metrics == local.metrics
    assert rows(server) > 0
    assert (there.fingerprint == local.fingerprint) == (strategy == "LEXICAL")


@pytest.mark.parametrize(
    ("changes", "changed"),
    [
        ({"retrieval_strategy": "LEXICAL"}, False),  # equal rankings
        ({"retrieval_strategy": "HYBRID", "vector_store": "exact"}, False),  # the server ranks words only
        ({"retrieval_strategy": "HYBRID"}, True),  # its search for vectors is approximate
    ],
)
def test_the_engine_is_in_the_fingerprint_only_where_it_can_decide_the_ranking(
    settings: Settings, changes: dict[str, str], changed: bool
) -> None:
    local = settings.with_changes(**changes)
    there = local.with_changes(index_engine="milvus", milvus_address="http://host:19530", milvus_token="very-secret")
    elsewhere = there.with_changes(milvus_address="http://other:19530", milvus_database="team")
    prints = [fingerprint(each) for each in (local, there, elsewhere)]
    assert (prints[0] != prints[1]) is changed
    assert prints[1] == prints[2]


@pytest.mark.parametrize("address", ["", "localhost:19530", "milvus.db", "http://", "http://host:port", "ftp://host:1"])
def test_an_illegal_address_is_refused_with_an_example(settings: Settings, address: str) -> None:
    app = fake_app(settings.with_changes(index_engine="milvus", milvus_address=address))
    with pytest.raises(InvalidSetting, match=r"MILVUS_ADDRESS.*http://localhost:19530"):
        app.kbs.pipeline(app.kbs.add("manual.md", HANDBOOK.encode()).kb_id)


def test_without_the_package_the_error_says_how_to_install_it(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pymilvus", None)
    app = fake_app(settings.with_changes(index_engine="milvus", milvus_address="http://127.0.0.1:9"))
    kb_id = app.kbs.add("manual.md", HANDBOOK.encode()).kb_id
    with pytest.raises(MissingPackage, match=r"pip install 'chatbot-mvp\[milvus\]'"):
        app.kbs.pipeline(kb_id)


def test_local_indexes_do_not_import_the_client(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pymilvus", None)
    app = fake_app(settings)
    kb_id = app.kbs.add("manual.md", HANDBOOK.encode()).kb_id
    assert found(settings, kb_id)[0]
    app.kbs.delete(kb_id)


def test_doctor_checks_the_server_and_its_credentials(shared: Settings) -> None:
    def index(settings: Settings) -> tuple[bool, str]:
        [check] = [check for check in fake_app(settings).parts.check() if check.name == "index"]
        return check.ok, check.detail

    ok, detail = index(shared)
    assert ok
    assert shared.milvus_address in detail
    ok, detail = index(shared.with_changes(milvus_token="root:wrong-very-secret"))
    assert not ok
    assert "MILVUS_TOKEN" in detail
    assert "very-secret" not in detail
    assert "index" in [probe.name for probe in fake_app(shared).parts.probes()]
    assert "index" not in [check.name for check in fake_app(shared.with_changes(index_engine="local")).parts.check()]


def test_the_token_is_masked_wherever_settings_are_written(shared: Settings) -> None:
    with raises("index_credentials_refused"):
        connect(milvus.MilvusServer(shared.milvus_address, "root:wrong"))
    assert TOKEN not in json.dumps(shared.model_dump(mode="json"), default=str) + repr(shared)
