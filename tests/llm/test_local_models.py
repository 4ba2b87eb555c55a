"""GGUF models from a hub on loopback: offered, downloaded with resume, checked, used and deleted."""

from __future__ import annotations

import hashlib
import shutil
from collections import namedtuple
from collections.abc import Iterator
from pathlib import Path

import pytest

from chatbot_mvp.app import App, build_app
from chatbot_mvp.errors import LocalModelError
from chatbot_mvp.jobs.manager import JobStatus
from chatbot_mvp.llm import local_models
from chatbot_mvp.llm.base import ChatOptions, ChatRequest, Message
from chatbot_mvp.remote import download
from chatbot_mvp.settings.model import Settings, load_settings
from tests.datasets.hub_stub import HubStub
from tests.models import gguf
from tests.raising import raises
from tests.waiting import wait_for_jobs, wait_until

REPO, FILE = "Qwen/Qwen2.5-0.5B-Instruct-GGUF", "qwen2.5-0.5b-instruct-q4_k_m.gguf"
CONTENT = bytes(range(256)) * 4_000


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[HubStub]:
    monkeypatch.setattr(download.time, "sleep", lambda seconds: None)
    with HubStub() as server:
        server.files[f"{REPO}/resolve/main/{FILE}"] = CONTENT
        yield server


@pytest.fixture
def app(settings: Settings, hub: HubStub) -> App:
    return build_app(load_settings(data_dir=settings.data_dir, hf_endpoint=hub.url))


def fetch(app: App, repo: str = REPO, name: str = FILE) -> JobStatus:
    job_id = app.local_models.start(repo, name)
    wait_for_jobs(app.local_models.jobs)
    return next(job for job in app.local_models.jobs() if job.job_id == job_id)


def here(app: App) -> list[tuple[str, int, bool]]:
    return [(one.name, one.size_bytes, one.in_use) for one in app.local_models.here()]


def parts(app: App) -> list[Path]:
    return sorted(app.settings.gguf_dir.rglob("*.part"))


@pytest.mark.parametrize(("memory_gb", "largest"), [(2.1, "0.5b"), (4.1, "granite"), (8.2, "4B"), (64.0, "7B")])
def test_the_three_largest_models_that_memory_holds_are_offered(
    app: App, memory_gb: float, largest: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local_models, "memory_bytes", lambda: int(memory_gb * 1e9))
    offers = app.local_models.offers()
    assert len(offers) == (1 if memory_gb < 4 else 3)
    assert largest in offers[-1].name


def test_size_licence_and_checksum_are_the_hubs(app: App, hub: HubStub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_models, "memory_bytes", lambda: int(4e9))
    known, *unknown = app.local_models.offers()
    assert known.file is not None
    assert (known.file.size_bytes, known.file.license) == (len(CONTENT), "apache-2.0")
    assert known.file.sha256 == hashlib.sha256(CONTENT).hexdigest()
    assert {offer.problem.code for offer in unknown if offer.problem} == {"hub_model_unknown"}


def test_a_model_is_downloaded_checked_and_answers_in_one_step(app: App, hub: HubStub) -> None:
    hub.files[f"{REPO}/resolve/main/{FILE}"] = gguf().read_bytes()
    job = fetch(app)
    assert (job.state, job.done, job.total) == ("done", gguf().stat().st_size, gguf().stat().st_size)
    assert here(app) == [(f"{REPO}/{FILE}", gguf().stat().st_size, True)]
    assert app.settings.provider == "local"
    request = ChatRequest((Message("user", "Hola"),), ChatOptions(max_tokens=4))
    assert app.providers.current().complete(request).model == f"local/{FILE.removesuffix('.gguf')}"
    app.local_models.delete(f"{REPO}/{FILE}")
    assert (here(app), app.settings.local_model_path) == ([], "")


def test_a_broken_download_is_told_kept_and_continued(app: App, hub: HubStub) -> None:
    hub.cuts.extend([300_000, 0, 0, 0])
    job = fetch(app)
    assert (job.state, job.error_code) == ("failed", "local_model_not_received")
    assert "300000" in str(job.error)
    assert [part.stat().st_size for part in parts(app)] == [300_000]
    assert here(app) == []
    assert fetch(app).state == "done"
    assert hub.ranges[-1] == "bytes=300000-"
    assert (app.settings.gguf_dir / REPO.replace("/", "--") / FILE).read_bytes() == CONTENT


def test_a_stopped_download_continues_where_it_stopped(app: App, hub: HubStub) -> None:
    hub.files[f"{REPO}/resolve/main/{FILE}"] = CONTENT * 100
    job_id = app.local_models.start(REPO, FILE)
    wait_until(lambda: any(job.state == "running" and job.done for job in app.local_models.jobs()))
    app.local_models.stop(job_id)
    wait_for_jobs(app.local_models.jobs)
    if app.local_models.jobs()[0].state == "stopped":  # on loopback it may have ended before
        assert len(parts(app)) == 1
        assert fetch(app).state == "done"
        assert hub.ranges[-1]
    assert len(here(app)) == 1


def test_what_is_not_the_file_is_never_used(app: App, hub: HubStub, monkeypatch: pytest.MonkeyPatch) -> None:
    described = hub.described

    def other_checksum(repo: str) -> dict[str, object] | None:
        found = described(repo)
        found["siblings"][1]["lfs"]["sha256"] = "0" * 64  # type: ignore[index]
        return found

    monkeypatch.setattr(hub, "described", other_checksum)
    job = fetch(app)
    assert (job.state, job.error_code) == ("failed", "local_model_not_received")
    assert "checksum" in str(job.error)
    assert (here(app), parts(app), app.settings.provider) == ([], [], "demo")


def test_a_full_disk_is_told_before_the_download(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage(10, 10, 0))
    job = fetch(app)
    assert (job.state, job.error_code) == ("failed", "local_model_no_room")


def test_a_provider_that_was_chosen_meanwhile_stays(settings: Settings, hub: HubStub) -> None:
    app = build_app(load_settings(data_dir=settings.data_dir, hf_endpoint=hub.url, groq_api_key="k"))
    hub.files[f"{REPO}/resolve/main/{FILE}"] = CONTENT
    hub.cuts.append(1_000)
    job_id = app.local_models.start(REPO, FILE)
    app.providers.choose("groq")
    wait_until(lambda: next(job for job in app.local_models.jobs() if job.job_id == job_id).state == "done")
    assert app.settings.provider == "groq"
    assert app.settings.local_model_path.endswith(FILE)


@pytest.mark.parametrize(
    ("repo", "changes", "code"),
    [
        ("nobody/nothing", {}, "hub_model_unknown"),
        ("../../etc", {}, "hub_model_unknown"),
        (REPO, {"gated": "manual"}, "hub_model_unknown"),
        (REPO, {"siblings": 7}, "hub_unreachable"),
    ],
)
def test_what_the_hub_does_not_give_is_told(
    app: App, hub: HubStub, repo: str, changes: dict[str, object], code: str
) -> None:
    hub.said |= changes
    with pytest.raises(LocalModelError) as told:
        app.local_models.files(repo)
    assert told.value.code == code


def test_a_hub_that_cannot_be_reached_is_named(settings: Settings) -> None:
    app = build_app(settings.with_changes(hf_endpoint="http://127.0.0.1:1"))
    assert {offer.problem.code for offer in app.local_models.offers() if offer.problem} == {"hub_unreachable"}


def test_names_of_the_hub_lead_out_of_no_folder_and_parts_are_no_models(app: App, hub: HubStub) -> None:
    begin = f"{REPO}/resolve/main"
    hub.files |= {f"{begin}/{name}": b"x" for name in ("a-00001-of-00002.gguf", "mmproj-model.gguf", "../../evil.gguf")}
    assert [file.name for file in app.local_models.files(REPO)] == ["evil.gguf", FILE]
    with pytest.raises(LocalModelError, match="Downloaded"):
        app.local_models.use("../../evil.gguf")
    with pytest.raises(LocalModelError, match="in one piece"):
        app.local_models.start(REPO, "../../evil.gguf")


def test_a_file_of_this_machine_is_found_in_its_folder_and_used(app: App, tmp_path: Path) -> None:
    own = tmp_path / "models" / "deep" / "own.gguf"
    own.parent.mkdir(parents=True)
    own.write_bytes(b"GGUF")
    (own.parent / "notes.txt").write_text("x")
    assert app.local_models.below(str(tmp_path / "models")) == [own] == app.local_models.below(str(own))
    app.local_models.use(str(own))
    assert app.settings.local_model_path == str(own)
    for none in (tmp_path / "nowhere", own.parent / "notes.txt"):
        with raises("local_model_not_here"):
            app.local_models.use(str(none))
