"""Data sets on a real S3 server: found, copied once, trusted only when whole; every refusal in plain words."""

from __future__ import annotations

import itertools
import logging
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from chatbot_mvp.app import build_app
from chatbot_mvp.datasets import load_dataset
from chatbot_mvp.datasets.catalogue import Catalogue
from chatbot_mvp.datasets.counts import Counts
from chatbot_mvp.errors import ChatbotError, RunStopped, StorageFailed, StorageUnreachable
from chatbot_mvp.remote import s3 as storage
from chatbot_mvp.remote.s3 import S3Url, Storage, etag_of, open_storage
from chatbot_mvp.settings.model import Settings
from tests.datasets.test_files import CORPUS, QUERIES, write_beir, write_parquet
from tests.datasets.test_layouts import FORMS, write
from tests.raising import raises
from tests.s3_server import BUCKET, KEY, READER, READER_SECRET, SECRET, S3Server
from tests.stopping import stop_when, stopped_run

# One process starts the server.
pytestmark = pytest.mark.xdist_group("s3")

_numbers = itertools.count()


@pytest.fixture
def prefix() -> str:
    """A place in the bucket that no other test uses."""
    return f"tests/{next(_numbers)}/data sets"


@pytest.fixture
def remote(s3: S3Server, prefix: str, tmp_path: Path) -> Path:
    """The data set "uno", on the server only; gives the folder that it was uploaded from."""
    folder = write_parquet(tmp_path / "uno")
    s3.put(folder, prefix)
    return folder


@pytest.fixture
def settings_of(s3: S3Server, settings: Settings, prefix: str) -> Callable[..., Settings]:
    return lambda **changes: s3.settings(settings, prefix, **changes)


class Spy(Storage):
    """Counts what is read of objects, and may break off."""

    def __init__(self, settings: Settings) -> None:
        real = open_storage(settings)
        assert real is not None
        super().__init__(lambda: real._client, real.endpoint)
        self.settings = settings
        self.read_from: list[tuple[str, int]] = []
        self.breaks_after: list[int] = []

    def read(self, url: S3Url, file: Any, begin: int) -> Any:
        self.read_from.append((file.path, begin))
        if not self.breaks_after:
            yield from super().read(url, file, begin)
            return
        whole = b"".join(super().read(url, file, begin))
        yield whole[: self.breaks_after.pop(0)]
        raise StorageFailed(endpoint=self.endpoint, action="read", place=str(url), reason="the connection broke")


@pytest.fixture
def spy(settings_of: Callable[..., Settings]) -> Spy:
    return Spy(settings_of())


@pytest.fixture
def catalogue(spy: Spy) -> Catalogue:
    return Catalogue(spy.settings, spy)


class Cable:
    """Passes bytes on to a server, under an address of its own, until it is pulled."""

    def __init__(self, endpoint: str) -> None:
        host, _, port = endpoint.removeprefix("http://").partition(":")
        self._target = (host, int(port))
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.endpoint = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self._open: list[socket.socket] = []

    def __enter__(self) -> Cable:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        for each in (self._listener, *self._open):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.create_connection(self._target)
                self._open += [client, server]
                for source, target in ((client, server), (server, client)):
                    threading.Thread(target=self._pass_on, args=(source, target), daemon=True).start()

    @staticmethod
    def _pass_on(source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(65_536):
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)


# --- finding and copying


def test_a_name_under_the_prefix_and_its_address_are_the_same_data_set(
    remote: Path, spy: Spy, catalogue: Catalogue, prefix: str
) -> None:
    for reference in ("uno", f"s3://{BUCKET}/{prefix}/uno", f"s3://{BUCKET}/{prefix}/uno/"):
        found = catalogue.find(reference)
        assert (found.place, found.reference) == ("remote", f"s3://{BUCKET}/{prefix}/uno/")
        loaded = catalogue.load(reference)
        assert (loaded.name, loaded.sha256) == ("uno", load_dataset(remote).sha256)
    assert spy.settings.cache_dir in (catalogue.find("uno").folder or Path()).parents


def test_a_beir_folder_is_copied_with_its_qrels(
    s3: S3Server, catalogue: Catalogue, prefix: str, tmp_path: Path
) -> None:
    s3.put(write_beir(tmp_path / "dos"), prefix)
    assert catalogue.load("dos").qrels["q2"] == {"d2": 1}


def test_a_hub_folder_is_found_on_s3_and_copied_with_its_splits(
    s3: S3Server, catalogue: Catalogue, prefix: str, tmp_path: Path
) -> None:
    files = FORMS["MTEB hub, Parquet with shards"]
    s3.put(write(tmp_path / "nfcorpus", {**files, "notes.txt": b"x"}), prefix)
    train = catalogue.load("nfcorpus#train")
    assert (train.qrels, train.name) == ({"PLAIN-33": {"MED-118": 1}}, "nfcorpus/train")
    found = catalogue.find(f"s3://{BUCKET}/{prefix}/nfcorpus#train")
    assert found.folder is not None
    assert {p.relative_to(found.folder).as_posix() for p in found.folder.rglob("*") if p.is_file()} == set(files)


def test_what_lies_beside_a_data_set_is_not_copied(
    s3: S3Server, remote: Path, spy: Spy, catalogue: Catalogue, prefix: str
) -> None:
    s3.client.put_object(Bucket=BUCKET, Key=f"{prefix}/uno/embeddings/all.bin", Body=b"x" * 1_000)
    s3.client.put_object(Bucket=BUCKET, Key=f"{prefix}/notes/README.md", Body=b"x")
    catalogue.load("uno")
    assert "embeddings/all.bin" not in dict(spy.read_from)
    with raises("dataset_not_found"):
        catalogue.find("notes")


def test_a_name_here_comes_before_the_same_name_there(
    remote: Path, spy: Spy, catalogue: Catalogue, tmp_path: Path
) -> None:
    spy.settings.datasets_dir.mkdir(parents=True)
    write_parquet(spy.settings.datasets_dir / "uno", corpus=[*CORPUS, {"doc_id": "d4", "title": "", "text": "nuevo"}])
    assert len(catalogue.load("uno").documents) == 4
    assert spy.read_from == []


def test_what_has_not_changed_is_never_downloaded_again(
    s3: S3Server, remote: Path, spy: Spy, catalogue: Catalogue, prefix: str, tmp_path: Path
) -> None:
    catalogue.load("uno")
    assert sorted(spy.read_from) == [("corpus.parquet", 0), ("qrels.parquet", 0), ("queries.parquet", 0)]
    spy.read_from.clear()
    Catalogue(spy.settings, spy).load("uno")
    assert spy.read_from == []
    (tmp_path / "new").mkdir()
    s3.put(write_parquet(tmp_path / "new" / "uno", queries=[{**QUERIES[0], "text": "¿Y?"}, QUERIES[1]]), prefix)
    assert catalogue.load("uno").queries[0].text == "¿Y?"
    assert spy.read_from == [("queries.parquet", 0)]
    assert len(list(spy.settings.cache_dir.rglob("corpus.parquet"))) == 1


def test_counts_and_bytes_are_known_before_a_download(remote: Path, spy: Spy, catalogue: Catalogue) -> None:
    entries, problem = catalogue.entries()
    [found] = [entry for entry in entries if entry.place == "remote"]
    assert (found.name, found.folder, found.counts, problem) == ("uno", None, Counts(2, 3, 3), None)
    assert found.download_bytes == sum(path.stat().st_size for path in remote.iterdir())
    assert spy.read_from == []


def test_half_a_download_is_no_copy_and_is_gone_on_with(remote: Path, spy: Spy, catalogue: Catalogue) -> None:
    spy.breaks_after = [100, 0]
    with pytest.raises(StorageFailed, match="broke"):
        catalogue.load("uno")
    assert catalogue.find("uno").folder is None
    spy.read_from.clear()
    assert Catalogue(spy.settings, spy).load("uno").sha256 == load_dataset(remote).sha256
    assert spy.read_from[0] == ("corpus.parquet", 100)


def test_a_connection_that_broke_on_the_way_is_made_again(remote: Path, spy: Spy, catalogue: Catalogue) -> None:
    spy.breaks_after = [100, 200]
    catalogue.load("uno")
    assert spy.read_from[:3] == [("corpus.parquet", 0), ("corpus.parquet", 100), ("corpus.parquet", 300)]


def test_a_download_can_be_stopped(remote: Path, catalogue: Catalogue) -> None:
    with pytest.raises(RunStopped):
        catalogue.load("uno", stop_when(lambda _: True))
    assert catalogue.find("uno").folder is None


def test_bytes_that_are_not_the_object_are_thrown_away(remote: Path, spy: Spy, catalogue: Catalogue) -> None:
    class Liar(Spy):
        def read(self, url: S3Url, file: Any, begin: int) -> Any:
            yield b"?" * (file.size - begin)

    with pytest.raises(StorageFailed, match="checksum"):
        Catalogue(spy.settings, Liar(spy.settings)).load("uno")
    assert list(spy.settings.cache_dir.rglob("*.part")) == []
    assert catalogue.load("uno").sha256 == load_dataset(remote).sha256


def test_an_object_that_changed_since_it_was_listed_is_not_mixed_in(
    s3: S3Server, remote: Path, spy: Spy, prefix: str
) -> None:
    url = S3Url(BUCKET, f"{prefix}/uno")
    [listed] = [file for file in spy.files(url) if file.path == "corpus.parquet"]
    s3.client.put_object(Bucket=BUCKET, Key=f"{prefix}/uno/corpus.parquet", Body=b"x" * listed.size)
    with pytest.raises(StorageFailed, match="has changed"):
        list(spy.read(url, listed, 0))


# --- a server that is not there


@pytest.mark.slow
def test_offline_the_copy_is_used_and_said_so(
    s3: S3Server, remote: Path, settings_of: Callable[..., Settings], caplog: pytest.LogCaptureFixture
) -> None:
    with Cable(s3.endpoint) as cable:
        settings = settings_of(minio_endpoint=cable.endpoint)
        catalogue = Catalogue(settings, Spy(settings))
        before = catalogue.load("uno").sha256
    with caplog.at_level(logging.WARNING):
        for reference in ("uno", f"s3://{BUCKET}/{settings.s3_datasets_prefix}/uno"):
            assert catalogue.load(reference).sha256 == before
    assert caplog.text.count("copy in the cache is used") == 2
    assert "cannot be reached" in catalogue.find("uno").offline
    with pytest.raises(StorageUnreachable):
        catalogue.load("dos")


@pytest.mark.slow
@pytest.mark.parametrize("status", [503])
def test_a_server_that_answers_with_an_error_of_its_own_is_treated_as_unreachable(
    s3: S3Server, remote: Path, settings_of: Callable[..., Settings], status: int, caplog: pytest.LogCaptureFixture
) -> None:
    """A gateway that has lost the server behind it answers with a page of HTML and a status of 5xx."""
    with Cable(s3.endpoint) as cable:
        settings = settings_of(minio_endpoint=cable.endpoint)
        before = Catalogue(settings, Spy(settings)).load("uno").sha256
    with gateway(cable.endpoint, status), caplog.at_level(logging.WARNING):
        spy = Spy(settings)
        catalogue = Catalogue(settings, spy)
        for reference in ("uno", f"s3://{BUCKET}/{settings.s3_datasets_prefix}/uno"):
            assert catalogue.load(reference).sha256 == before
        assert f"answered {status}" in catalogue.find("uno").offline
        with raises("storage_unavailable", match=str(status)):
            catalogue.load("dos")
    assert caplog.text.count("copy in the cache is used") == 2


@contextmanager
def gateway(endpoint: str, status: int) -> Iterator[None]:
    """Answer every request at an address with a status."""

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = b"<html><body><h1>Bad Gateway</h1></body></html>"
            self.send_response(status)
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", int(endpoint.rpartition(":")[2])), Answer) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield
        server.shutdown()


@pytest.mark.parametrize(
    ("changes", "code", "said"),
    [
        ({"minio_access_key": "nobody-key"}, "storage_key_unknown", "MINIO_ACCESS_KEY"),
        ({"minio_secret_key": "wrong-very-secret"}, "storage_secret_wrong", "MINIO_SECRET_KEY"),
        ({"minio_bucket_name": "nowhere"}, "storage_bucket_missing", "'nowhere'"),
        ({"minio_endpoint": "http://127.0.0.1:1"}, "storage_unreachable", "MINIO_ENDPOINT"),
    ],
    ids=["key", "secret", "bucket", "address"],
)
@pytest.mark.parametrize("reference", ["uno", "address"])
def test_each_refusal_has_its_own_words_and_none_of_them_a_secret(
    s3: S3Server,
    settings_of: Callable[..., Settings],
    prefix: str,
    changes: dict[str, str],
    code: str,
    said: str,
    reference: str,
) -> None:
    settings = settings_of(**changes)
    bucket = settings.minio_bucket_name
    asked = "uno" if reference == "uno" else f"s3://{bucket}/{prefix}/uno"
    with raises(code) as raised:
        build_app(settings).runs.plan_run(mteb_dataset_name=asked)
    assert said in str(raised.value)
    told = str(raised.value) + repr(raised.value.params) + str(raised.value.__cause__)
    assert [secret for secret in (SECRET, "wrong-very-secret", KEY, "nobody-key") if secret in told] == []


def test_a_name_that_is_nowhere_is_answered_with_those_here_and_there(
    remote: Path, settings_of: Callable[..., Settings], prefix: str
) -> None:
    app = build_app(settings_of())
    with raises("dataset_not_found", match=r"'tres'.*valle_multihop, uno, hotpotqa \(after"):
        app.runs.plan_run(mteb_dataset_name="tres")
    with raises("dataset_not_found", match="tres"):
        app.runs.plan_run(mteb_dataset_name=f"s3://{BUCKET}/{prefix}/tres")


def test_a_list_without_the_server_has_the_rest_and_the_reason(settings_of: Callable[..., Settings]) -> None:
    entries, problem = build_app(settings_of(minio_endpoint="http://127.0.0.1:1")).datasets.entries()
    assert [entry.name for entry in entries] == ["valle_multihop"]
    assert isinstance(problem, StorageUnreachable)


def test_the_doctor_asks_the_server(remote: Path, settings_of: Callable[..., Settings]) -> None:
    datasets = build_app(settings_of()).datasets
    assert datasets.uses_storage
    assert "1 data sets" in datasets.try_storage()
    with raises("storage_secret_wrong", match="MINIO_SECRET_KEY"):
        build_app(settings_of(minio_secret_key="wrong-very-secret")).datasets.try_storage()


# --- pushing


def test_a_push_sends_what_is_new_and_nothing_twice(
    s3: S3Server, settings_of: Callable[..., Settings], prefix: str, tmp_path: Path
) -> None:
    settings = settings_of()
    settings.datasets_dir.mkdir(parents=True)
    write_parquet(settings.datasets_dir / "uno")
    app = build_app(settings)
    # The corpus makes it a data set: it comes last.
    names = ["qrels.parquet", "queries.parquet", "corpus.parquet"]
    assert app.datasets.push("uno") == (f"s3://{BUCKET}/{prefix}/uno/", names, [])
    assert app.datasets.push("uno") == (f"s3://{BUCKET}/{prefix}/uno/", [], names)
    write_parquet(tmp_path / "more", qrels=[{"query_id": "q1", "doc_id": "d1", "score": 1}])
    (tmp_path / "more" / "qrels.parquet").replace(settings.datasets_dir / "uno" / "qrels.parquet")
    assert app.datasets.push("uno")[1] == ["qrels.parquet"]
    assert load_dataset(settings.datasets_dir / "uno").sha256 == app_elsewhere(settings, tmp_path, prefix)


def app_elsewhere(settings: Settings, tmp_path: Path, prefix: str) -> str:
    """The hash of what another machine finds under the address."""
    other = settings.with_changes(data_dir=tmp_path / "elsewhere")
    return Catalogue(other, Spy(other)).load(f"s3://{BUCKET}/{prefix}/uno").sha256


def test_a_large_file_is_sent_in_parts_and_known_by_their_etag(
    s3: S3Server, settings_of: Callable[..., Settings], prefix: str, tmp_path: Path
) -> None:
    path = tmp_path / "large.bin"
    path.write_bytes(b"0123456789abcdef" * (storage._PART_BYTES // 16) + b"the rest")
    spy = Spy(settings_of())
    url = S3Url(BUCKET, prefix)
    assert spy.write(path, url, "large.bin")
    [file] = spy.files(url)
    assert (file.size, file.etag) == (path.stat().st_size, etag_of(path))
    assert file.etag.endswith("-2")
    assert not spy.write(path, url, "large.bin")


def test_a_data_set_that_does_not_load_is_not_pushed(settings_of: Callable[..., Settings], prefix: str) -> None:
    settings = settings_of()
    settings.datasets_dir.mkdir(parents=True)
    write_parquet(settings.datasets_dir / "uno", qrels=[{"query_id": "q9", "doc_id": "d1", "score": 1}])
    with pytest.raises(ChatbotError, match="q9"):
        build_app(settings).datasets.push("uno")
    assert Spy(settings).files(S3Url(BUCKET, prefix)) == []


def test_a_key_that_may_only_read_says_so_at_a_push(settings_of: Callable[..., Settings]) -> None:
    settings = settings_of(minio_access_key=READER, minio_secret_key=READER_SECRET)
    with raises("storage_denied", match="write") as raised:
        build_app(settings).datasets.push("valle_multihop")
    assert READER_SECRET not in str(raised.value)


# --- a whole run


def test_a_run_over_a_data_set_on_s3_keeps_its_address_for_a_resume(
    remote: Path, settings_of: Callable[..., Settings], prefix: str
) -> None:
    app = build_app(settings_of())
    run_id = stopped_run(app, mteb_dataset_name="uno", retrieval_strategy="LEXICAL")
    manifest = (app.settings.results_dir / run_id / "manifest.json").read_text("utf-8")
    assert f"s3://{BUCKET}/{prefix}/uno/" in manifest
    assert SECRET not in manifest
    assert KEY not in manifest
    assert app.runs.resume_now(run_id).queries == 2


def test_a_plan_for_a_data_set_on_s3_downloads_nothing(remote: Path, settings_of: Callable[..., Settings]) -> None:
    settings = settings_of()
    plan = build_app(settings).runs.plan_run(mteb_dataset_name="uno", retrieval_strategy="LEXICAL", eval_max_queries=1)
    assert (plan.folder, plan.checked, plan.dataset_sha256, plan.phases[0]) == (None, False, None, "download")
    assert (plan.queries, plan.documents, plan.dataset_queries) == (1, 3, 2)
    assert plan.download_bytes > 0
    assert not settings.cache_dir.exists()
