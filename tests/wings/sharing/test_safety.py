"""What an exchange must never do: stop at one odd object, lose a change, revive or delete what nobody asked for."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from types import MethodType
from typing import Any

import pytest

from chatbot_mvp.app import App
from chatbot_mvp.errors import StorageChanged
from chatbot_mvp.remote.s3 import RemoteFile, S3Url, Storage
from chatbot_mvp.settings.model import Settings
from chatbot_mvp.storage.jsonl import append_lines, read_lines
from chatbot_mvp.wings.sharing import exchange as exchange_module
from chatbot_mvp.wings.sharing.copying import CONFLICTS
from chatbot_mvp.wings.sharing.exchange import LEDGER, MARKER
from chatbot_mvp.wings.sharing.service import Sharing
from tests.conftest import Command
from tests.raising import raises
from tests.s3_server import BUCKET, S3Server
from tests.wings.sharing.servers import Server, Spoken, bucket_of, exchange, keys, put, storage_of

# One process starts the server.
pytestmark = pytest.mark.xdist_group("s3")


def add(app: App, *names: str) -> list[str]:
    return [app.kbs.add(f"{name}.md", f"# {name}\n\nTexto de {name}.\n".encode()).kb_id for name in names]


def ids(app: App) -> set[str]:
    return {record.kb_id for record in app.kbs.records()}


def after_listing(app: App, act: Callable[[], Any]) -> None:
    """Let ``act`` happen right after the next listing of the bucket, before anything is exchanged."""
    storage = app.get(Sharing)._exchange._storage
    listed = Storage.files

    def files(self: Storage, url: S3Url) -> list[RemoteFile]:
        found = listed(self, url)
        del self.files  # type: ignore[method-assign]
        act()
        return found

    storage.files = MethodType(files, storage)  # type: ignore[method-assign]


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    "name",
    [
        f"kb/{'a' * 300}/kb.json",
        f"kb/x/evaluation/{'a' * 250}.json",
        f"results/{'r' * 250}/{'r' * 250}.json",
        f"kb/x/evaluation/{'deep/' * 180}a.json",
        "kb/x/con\x01trol.jsonl",
        "kb/ñandú/kb.json",
    ],
    ids=lambda name: name[:24].replace("\x01", "?"),
)
def test_an_object_with_an_odd_name_is_named_and_stops_nothing(
    server: Server, s3: S3Server, prefix: str, name: str
) -> None:
    one, other = server("one"), server("other")
    add(one, "manual")
    put(s3, prefix, name)
    reports = exchange(one, other)
    assert ids(one) == ids(other) != set()
    assert [set(report.skipped) for report in reports] == [{name}, {name}]


def test_an_object_with_the_name_of_a_folder_here_is_named_and_stops_nothing(
    server: Server, s3: S3Server, prefix: str
) -> None:
    one = server("one")
    [kb_id] = add(one, "manual")
    (one.settings.kb_dir / "x" / "evaluation" / "a.json").mkdir(parents=True)
    put(s3, prefix, "kb/x/evaluation/a.json")
    assert set(one.get(Sharing).exchange().skipped) == {"kb/x/evaluation/a.json"}
    assert f"kb/{kb_id}/kb.json" in keys(s3, prefix)


def test_a_label_made_elsewhere_between_list_and_delete_is_kept(server: Server) -> None:
    one, other = server("one"), server("other")
    [kb_id] = add(one, "manual")
    labels = [app.settings.kb_dir / kb_id / "labels.jsonl" for app in (one, other)]
    append_lines(labels[0], [{"label": "first"}])
    exchange(one, other)
    one.kbs.delete(kb_id)

    def label() -> None:
        append_lines(labels[1], [{"label": "second"}])
        exchange(other)

    after_listing(one, label)
    exchange(one, other, one, other)
    assert ids(one) == ids(other) == {kb_id}
    for path in labels:
        assert [row["label"] for row in read_lines(path)[0]] == ["first", "second"]


def test_a_label_made_here_between_list_and_delete_is_kept(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = server("one"), server("other")
    [kb_id] = add(one, "manual")
    label = other.settings.kb_dir / kb_id / "labels.jsonl"
    exchange(one, other)
    one.kbs.delete(kb_id)
    exchange(one)
    planned = exchange_module.plan

    def plan_and_label(*given: Any) -> Any:
        made = planned(*given)
        append_lines(label, [{"label": "new"}])
        return made

    with monkeypatch.context() as patch:
        patch.setattr(exchange_module, "plan", plan_and_label)
        exchange(other)
    exchange(other, one)
    assert ids(one) == ids(other) == {kb_id}
    assert read_lines(label)[0] == [{"label": "new"}]


@pytest.mark.parametrize("with_ledger", [True, False])
def test_a_restored_backup_does_not_revive_a_deleted_knowledge_base(
    server: Server, tmp_path: Path, with_ledger: bool
) -> None:
    one, other = server("one"), server("other")
    [kb_id] = add(one, "manual")
    append_lines(one.settings.kb_dir / kb_id / "labels.jsonl", [{"label": "first"}])
    exchange(one, other)
    shutil.copytree(tmp_path / "one", tmp_path / "copy", copy_function=shutil.copyfile)
    other.kbs.delete(kb_id)
    exchange(other, one)
    assert ids(one) == set()
    shutil.rmtree(tmp_path / "one")
    shutil.copytree(tmp_path / "copy", tmp_path / "one", copy_function=shutil.copyfile)
    if not with_ledger:
        (tmp_path / "one" / LEDGER).unlink()
    restored = server("one")
    exchange(restored, other, restored)
    assert ids(restored) == ids(other) == set()


def test_an_older_version_of_a_deleted_knowledge_base_is_set_aside(server: Server, tmp_path: Path) -> None:
    one, other = server("one"), server("other")
    [kb_id] = add(one, "manual")
    shutil.copytree(tmp_path / "one" / "kb", tmp_path / "copy")
    one.kbs.rename(kb_id, "Nuevo")
    exchange(one, other)
    other.kbs.delete(kb_id)
    exchange(other, one)
    shutil.copytree(tmp_path / "copy", tmp_path / "one" / "kb", dirs_exist_ok=True)
    report = one.get(Sharing).exchange()
    assert ids(one) == set()
    [aside] = report.conflicts
    assert aside.startswith(f"{CONFLICTS}/kb/{kb_id}/kb.json")
    assert (tmp_path / "one" / aside).is_file()


def test_a_knowledge_base_uploaded_again_after_its_deletion_is_shared(server: Server) -> None:
    one, other = server("one"), server("other")
    [kb_id] = add(one, "manual")
    exchange(one, other)
    one.kbs.delete(kb_id)
    exchange(one, other)
    assert add(other, "manual") == [kb_id]
    exchange(other, one)
    assert ids(one) == ids(other) == {kb_id}


def test_a_text_that_is_not_that_of_its_record_is_not_taken(server: Server, s3: S3Server, prefix: str) -> None:
    one, other, third = server("one"), server("other"), server("third")
    [kb_id] = add(one, "manual")
    exchange(one, other)
    [text] = (one.settings.kb_dir / kb_id / "texts").iterdir()
    place = f"kb/{kb_id}/texts/{text.name}"
    put(s3, prefix, place, b"# manual\n\nOtro texto.\n")
    reports = exchange(other, third)
    assert "Texto de manual" in other.kbs.store.document(kb_id).text
    assert ids(third) == set()
    assert [set(report.skipped) for report in reports] == [{place}, {place, f"kb/{kb_id}/kb.json"}]
    # Nor is a text sent that was damaged here.
    s3.client.delete_object(Bucket=BUCKET, Key=f"{prefix}/{place}")
    text.write_text("# manual\n\nDañado.\n", "utf-8")
    assert place in one.get(Sharing).exchange().skipped
    assert place not in keys(s3, prefix)


def test_an_object_that_is_not_what_was_sent_is_not_taken(server: Server, s3: S3Server, prefix: str) -> None:
    one, other = server("one"), server("other")
    [kb_id] = add(one, "manual")
    exchange(one)
    [version] = (one.settings.kb_dir / kb_id / "versions").iterdir()
    place = f"kb/{kb_id}/versions/{version.name}"
    key = f"{prefix}/{place}"
    sent = s3.client.get_object(Bucket=BUCKET, Key=key)
    content = sent["Body"].read()
    assert sent["Metadata"]["sha256"] == hashlib.sha256(content).hexdigest()
    s3.client.put_object(Bucket=BUCKET, Key=key, Body=content[:-1] + b" ", Metadata=sent["Metadata"])
    report = other.get(Sharing).exchange()
    assert "SHA-256" in report.skipped[place]
    assert not (other.settings.kb_dir / kb_id / "versions" / version.name).exists()


def emptied(server: Server, s3: S3Server, prefix: str, count: int = 5) -> tuple[App, set[str]]:
    """A server whose shared objects were all deleted in the bucket, except the marker; and its knowledge bases."""
    one = server("one")
    kb_ids = set(add(one, *(f"manual-{number}" for number in range(count))))
    exchange(one)
    for name in set(keys(s3, prefix)) - {MARKER}:
        s3.client.delete_object(Bucket=BUCKET, Key=f"{prefix}/{name}")
    return one, kb_ids


def test_a_mass_deletion_waits_for_a_yes(server: Server, s3: S3Server, prefix: str) -> None:
    one, kb_ids = emptied(server, s3, prefix)
    report = one.get(Sharing).exchange()
    assert ids(one) == kb_ids == {path.split("/")[1] for path in report.waiting}
    [new] = add(one, "otro")
    exchange(one)
    assert f"kb/{new}/kb.json" in keys(s3, prefix)  # all else is exchanged meanwhile
    assert one.get(Sharing).exchange("apply").waiting == ()
    assert ids(one) == {new}


@pytest.mark.slow
def test_a_mass_deletion_is_undone_by_a_no(server: Server, s3: S3Server, prefix: str) -> None:
    one, kb_ids = emptied(server, s3, prefix)
    one.get(Sharing).exchange("undo")
    other = server("other")
    exchange(other)
    assert ids(one) == ids(other) == kb_ids


@pytest.mark.slow
def test_many_knowledge_bases_deleted_here_wait_as_well(server: Server) -> None:
    one, other = server("one"), server("other")
    kb_ids = add(one, *(f"manual-{number}" for number in range(6)))
    exchange(one, other)
    for kb_id in kb_ids[:4]:
        one.kbs.delete(kb_id)
    assert len(one.get(Sharing).exchange().waiting) == 4
    exchange(other)
    assert ids(other) == set(kb_ids)
    one.get(Sharing).exchange("apply")
    assert len(other.get(Sharing).exchange().waiting) == 4
    other.get(Sharing).exchange("apply")
    assert ids(one) == ids(other) == set(kb_ids[4:])


def test_a_few_deletions_wait_for_nobody(server: Server, s3: S3Server, prefix: str) -> None:
    one, kb_ids = emptied(server, s3, prefix, count=3)
    assert len(kb_ids) == 3
    assert one.get(Sharing).exchange().waiting == ()
    assert ids(one) == set()


@pytest.mark.slow
def test_what_is_read_whole_has_a_bound(
    server: Server, s3: S3Server, prefix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A marker and lists of lines are read into memory; an object of gigabytes must not be."""
    one = server("one")
    add(one, "manual")
    exchange(one)
    big = b"{}\n" * 30_000_000
    put(s3, prefix, "run_notes.jsonl", big)
    append_lines(one.settings.data_dir / "run_notes.jsonl", [{"text": "mine"}])
    report = one.get(Sharing).exchange()
    assert "larger than" in report.skipped["run_notes.jsonl"]
    assert read_lines(one.settings.data_dir / "run_notes.jsonl")[0] == [{"text": "mine"}]
    put(s3, prefix, MARKER, big)
    with pytest.raises(Exception, match="format unknown"):
        exchange(one)


def test_the_marker_is_json_of_this_format(server: Server, s3: S3Server, prefix: str) -> None:
    one = server("one")
    exchange(one)
    marker = json.loads(s3.client.get_object(Bucket=BUCKET, Key=f"{prefix}/{MARKER}")["Body"].read())
    assert marker["format_version"] == 1


@pytest.mark.parametrize("answer", [200, 501])
def test_a_server_without_conditional_deletion_is_asked_for_the_version_first(settings: Settings, answer: int) -> None:
    """SeaweedFS knows the condition, so this server only speaks as one that ignores or refuses it."""
    deleted: list[str | None] = []

    class Old(Spoken):
        def do_HEAD(self) -> None:
            self.send_response(404 if self.path.endswith("gone") else 200)
            self.send_header("ETag", '"present"')
            self.end_headers()

        def do_DELETE(self) -> None:
            deleted.append(self.headers.get("If-Match"))
            if answer == 501 and deleted[-1] is not None:
                self.reply(501, "NotImplemented")
            else:
                self.reply(204)

    with storage_of(settings, Old) as storage:
        with pytest.raises(StorageChanged):
            storage.delete(S3Url("bucket", "object"), "listed")
        storage.delete(S3Url("bucket", "gone"), "listed")
        assert deleted == []
        storage.delete(S3Url("bucket", "object"), "present")
    assert deleted[0] == '"present"' and (deleted[-1] is None) == (answer == 501)


def test_the_command_and_the_health_check_say_that_deletions_wait(
    server: Server, s3: S3Server, prefix: str, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, kb_ids = emptied(server, s3, prefix)
    for name, value in (bucket_of(s3, prefix) | {"DATA_DIR": str(one.settings.data_dir)}).items():
        monkeypatch.setenv(name, value)
    code, out, _ = command("sync")
    assert code == 0 and f"{len(kb_ids)} deletions" in out and "--deletions apply" in out
    exchange(one)
    with raises("shared_deletions_wait", match="wait for a yes"):
        one.get(Sharing).try_root()
    assert command("sync", "--deletions", "apply")[0] == 0
    assert ids(one) == set()
