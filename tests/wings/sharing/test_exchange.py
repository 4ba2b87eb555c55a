"""Two servers share one bucket: what one keeps, the other has; what both change, nobody loses."""

from __future__ import annotations

from pathlib import Path

import pytest

from chatbot_mvp.app import App
from chatbot_mvp.errors import KbNotFound, StorageChanged
from chatbot_mvp.remote.s3 import S3Url, open_storage
from chatbot_mvp.settings.model import Settings
from chatbot_mvp.wings.sharing.copying import CONFLICTS
from chatbot_mvp.wings.sharing.exchange import LEDGER, MARKER
from chatbot_mvp.wings.sharing.service import Sharing
from tests.conftest import Command
from tests.loopback import free_ports
from tests.raising import raises
from tests.s3_server import BUCKET, READER, READER_SECRET, S3Server
from tests.waiting import wait_until
from tests.wings.sharing.servers import Server, Spoken, bucket_of, exchange, keys, put, storage_of

# One process starts the server.
pytestmark = pytest.mark.xdist_group("s3")

TEXT = b"# Vacaciones\n\nLa plantilla tiene 23 dias de vacaciones al ano.\n\n# Horario\n\nSe trabaja de 9 a 17 horas.\n"


def exchanged(*apps: App) -> None:
    exchange(*apps, *apps)


def test_a_knowledge_base_of_one_server_is_asked_on_the_other(server: Server) -> None:
    one, other = server("one"), server("other")
    record = one.kbs.add("manual.md", TEXT)
    exchanged(one, other)
    assert other.kbs.records() == [record]
    question = "¿Cuántos días de vacaciones hay?"
    answers = [app.answering.ask(record.kb_id, question) for app in (one, other)]
    assert answers[0].text == answers[1].text
    assert "23" in answers[1].text


def test_a_deleted_knowledge_base_is_gone_on_both(server: Server) -> None:
    one, other = server("one"), server("other")
    record = one.kbs.add("manual.md", TEXT)
    exchanged(one, other)
    other.kbs.delete(record.kb_id)
    exchanged(other, one)
    assert one.kbs.records() == other.kbs.records() == []
    with pytest.raises(KbNotFound):
        one.kbs.store.record(record.kb_id)
    assert not (one.settings.kb_dir / record.kb_id).exists()


def test_finished_runs_and_notes_of_both_are_in_both_lists(server: Server) -> None:
    one, other = server("one"), server("other")
    runs = [one.runs.run_now(retrieval_strategy="LEXICAL"), other.runs.run_now(retrieval_strategy="BRIDGE")]
    one.archive.tag(runs[0].run_id, add=["uno"])
    other.archive.tag(runs[1].run_id, add=["dos"])
    exchanged(one, other)
    for app in (one, other):
        assert {line.run_id for line in app.archive.runs()[0]} == {run.run_id for run in runs}
        assert [app.archive.notes()[run.run_id].tags for run in runs] == [("uno",), ("dos",)]
        assert app.archive.run(runs[0].run_id).metrics == runs[0].metrics
    assert one.get(Sharing).exchange().counts == {}


def test_of_two_names_given_at_once_the_later_counts_and_the_history_has_both(server: Server) -> None:
    one, other = server("one"), server("other")
    record = one.kbs.add("manual.md", TEXT)
    exchanged(one, other)
    one.kbs.rename(record.kb_id, "Uno")
    other.kbs.rename(record.kb_id, "Otro")
    for _ in range(2):
        exchange(one)
        exchange(other)
    for app in (one, other):
        assert app.kbs.store.record(record.kb_id).kb_name == "Otro"
        assert [step.entry.note for step in app.kb_changes.history(record.kb_id)] == ["Otro", "Uno", ""]


def test_a_file_changed_on_two_servers_is_kept_twice(server: Server) -> None:
    one, other = server("one"), server("other")
    place = "run_presets.json"
    for app, text in ((one, '{"a": 1}'), (other, '{"b": 2}')):
        app.settings.data_dir.mkdir(exist_ok=True)
        (app.settings.data_dir / place).write_text(text, "utf-8")
    exchange(one)
    report = other.get(Sharing).exchange()
    assert (other.settings.data_dir / place).read_text("utf-8") == '{"a": 1}'
    [mine] = report.conflicts
    assert (other.settings.data_dir / mine).read_text("utf-8") == '{"b": 2}'
    assert mine.startswith(f"{CONFLICTS}/{place}")


def test_an_emptied_bucket_deletes_nothing(server: Server, s3: S3Server, prefix: str) -> None:
    one = server("one")
    record = one.kbs.add("manual.md", TEXT)
    exchange(one)
    for name in keys(s3, prefix):
        s3.client.delete_object(Bucket=BUCKET, Key=f"{prefix}/{name}")
    with raises("shared_root_emptied", match=r"shared\.json"):
        exchange(one)
    assert one.kbs.records() == [record]
    (one.settings.data_dir / LEDGER).unlink()
    exchange(one)
    other = server("other")
    exchange(other)
    assert other.kbs.records() == [record]


def test_a_lost_folder_of_knowledge_bases_is_fetched_again(server: Server, tmp_path: Path) -> None:
    one = server("one")
    record = one.kbs.add("manual.md", TEXT)
    exchange(one)
    (tmp_path / "one" / "kb").rename(tmp_path / "lost")
    exchange(one)
    assert one.kbs.records() == [record]


def test_a_root_of_a_later_version_is_left_alone(server: Server, s3: S3Server, prefix: str) -> None:
    one = server("one")
    one.kbs.add("manual.md", TEXT)
    put(s3, prefix, MARKER, b'{"format_version": 2, "root": "x"}')
    with raises("shared_root_of_later_version", match="format 2"):
        exchange(one)
    assert keys(s3, prefix) == [MARKER]


def test_strange_names_in_the_bucket_are_never_written_here(
    server: Server, s3: S3Server, prefix: str, tmp_path: Path
) -> None:
    names = (
        "kb/x/evaluation/.evil.json",
        "kb/X/kb.json",
        "app_settings.json",
        "conversations/a/b.jsonl",
        "kb/.hidden/kb.json",
    )
    for name in names:
        put(s3, prefix, name)
    one = server("one")
    assert one.get(Sharing).exchange().counts == {}
    assert not list(tmp_path.rglob("*evil*")) and not one.settings.kb_dir.exists()


def test_secrets_settings_and_conversations_stay_on_their_server(server: Server, s3: S3Server, prefix: str) -> None:
    one = server("one")
    record = one.kbs.add("manual.md", TEXT)
    one.chat.start(one.chat.new_session(), record.kb_id, record.kb_name)
    (one.settings.data_dir / "logs").mkdir(exist_ok=True)
    (one.settings.data_dir / "logs" / "retrieval_metrics.jsonl").write_text("{}\n", "utf-8")
    (one.settings.data_dir / "app_settings.json").write_text("{}", "utf-8")
    exchange(one)
    assert {key.split("/")[0] for key in keys(s3, prefix)} == {MARKER, "kb"}


def test_what_fails_is_said_and_nothing_changes_here(
    s3: S3Server, settings: Settings, tmp_path: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    [closed] = free_ports(1)
    faults = {
        "cannot be reached": {"MINIO_ENDPOINT": f"http://127.0.0.1:{closed}"},
        "does not know the access key": {"MINIO_ACCESS_KEY": "nobody"},
        "rejects its secret": {"MINIO_SECRET_KEY": "wrong-secret"},
        "has no bucket 'nowhere'": {"DATA_ROOT": "s3://nowhere/x"},
        "does not allow this access key": {"MINIO_ACCESS_KEY": READER, "MINIO_SECRET_KEY": READER_SECRET},
        "MINIO_ENDPOINT": {"MINIO_ENDPOINT": ""},
        "s3://bucket/prefix": {"DATA_ROOT": "/srv/shared"},
    }
    for said, wrong in faults.items():
        for name, value in (bucket_of(s3, "sharing/said") | wrong).items():
            monkeypatch.setenv(name, value)
        code, out, err = command("sync")
        assert code in (1, 2), said
        assert said in err and out == "", (said, err)
        assert "Traceback" not in err


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    ("code", "status", "error"),
    [
        ("ExpiredToken", 400, "storage_key_expired"),
        ("QuotaExceeded", 403, "storage_full"),
        ("InsufficientStorage", 507, "storage_full"),
    ],
)
def test_an_expired_key_and_a_full_bucket_have_errors_of_their_own(
    settings: Settings, code: str, status: int, error: str
) -> None:
    """SeaweedFS refuses in other words (see test_refusals.py), so this server only speaks the refusals."""

    class Refusal(Spoken):
        def do_PUT(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.reply(status, code)

    with storage_of(settings, Refusal) as storage, raises(error):
        storage.put(b"x", S3Url("bucket", "object"), None)


def test_two_writers_of_one_object_do_not_overwrite_each_other(s3: S3Server, settings: Settings) -> None:
    storage = open_storage(s3.settings(settings, "none"))
    assert storage is not None
    place = S3Url(BUCKET, "sharing/conditional")
    first = storage.put(b"one", place, None)
    with pytest.raises(StorageChanged):
        storage.put(b"two", place, None)
    second = storage.put(b"two", place, first)
    with pytest.raises(StorageChanged):
        storage.put(b"three", place, first)
    assert second != first


@pytest.mark.slow
def test_servers_exchange_in_the_background(server: Server) -> None:
    one, other = server("one"), server("other")
    record = one.kbs.add("manual.md", TEXT)
    one.get(Sharing).start()
    wait_until(lambda: one.get(Sharing).state is not None and one.get(Sharing).state.report is not None)
    other.get(Sharing).start()
    wait_until(lambda: other.kbs.records() == [record])
