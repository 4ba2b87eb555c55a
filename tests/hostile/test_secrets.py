"""No secret appears in any output: every setting that holds one, in every output of commands, server and pages."""

from __future__ import annotations

import base64
import io
import json
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

import pytest
from starlette.testclient import TestClient

from chatbot_mvp import logs
from chatbot_mvp.app import build_app
from chatbot_mvp.errors import ChatbotError, NothingToExport
from chatbot_mvp.exports.formats import FORMATS
from chatbot_mvp.server.openai import build_server
from chatbot_mvp.settings.fields import SECRETS, SettingFields
from chatbot_mvp.settings.model import PROJECT_ROOT, load_settings
from tests.conftest import Command
from tests.llm.http_stub import Request, Response, StubServer

ADDRESSES = tuple(name for name in SettingFields.model_fields if name.endswith(("_base_url", "_endpoint")))
CANARIES = {name: f"canary-{name.replace('_', '-')}-4711" for name in SECRETS}
MANUAL = "# Manual\n\n## Vacaciones\n\nCada persona dispone de 23 días laborables de vacaciones.\n"
QUESTION = "¿De cuántos días laborables de vacaciones dispone cada persona?"
MODELS = {
    "gemini": ("GEMINI_BASE_URL", "GEMINI_MODEL_NAME"),
    "groq": ("GROQ_BASE_URL", "GROQ_MODEL_NAME"),
    "nim": ("LLM_BASE_URL", "LLM_MODEL_NAME"),
    "openai": ("OPENAI_BASE_URL", "OPENAI_MODEL_NAME"),
}


class Echo(StubServer):
    """Refuses each request, and repeats in its error all that it was sent, as some providers do with a wrong key."""

    status = 401

    def answer(self, request: Request) -> Response:
        said = f"refused: {request.method} {request.path} {dict(request.headers)} {request.body[:2_000]!r}"
        return Response.json({"error": {"message": said, "code": "invalid_api_key"}, "detail": said}, self.status)


@contextmanager
def canaries(monkeypatch: pytest.MonkeyPatch) -> Iterator[Echo]:
    """Set a canary for every secret, and the address of a server that repeats what it gets for every provider."""
    with Echo() as server:
        address = f"http://127.0.0.1:{server.server_port}"
        for name, value in CANARIES.items():
            monkeypatch.setenv(name.upper(), value)
        for url, model in MODELS.values():
            monkeypatch.setenv(url, f"{address}/v1")
            monkeypatch.setenv(model, "m")
        monkeypatch.setenv("MINIO_ENDPOINT", address)
        monkeypatch.setenv("MINIO_BUCKET_NAME", "bucket")
        monkeypatch.setenv("NIM_MAX_RETRIES", "0")
        yield server


@pytest.fixture
def echo(clean_env: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Echo]:
    """Every secret has its canary, and every address leads to a server that repeats what it gets."""
    monkeypatch.setenv("RETRIEVAL_STRATEGY", "LEXICAL")
    with canaries(monkeypatch) as server:
        yield server


def leaked(*outputs: str | bytes) -> list[str]:
    """The secrets that stand in an output, as they are, quoted as in a URL, or in base64."""
    whole = b"\n".join(text.encode("utf-8", "replace") if isinstance(text, str) else text for text in outputs)
    forms = {
        name: {value, quote(value, safe=""), base64.b64encode(value.encode()).decode().rstrip("=")[:-2]}
        for name, value in CANARIES.items()
    }
    return [name for name, written in forms.items() if any(form.encode() in whole for form in written)]


def files_below(folder: Path) -> Iterator[bytes]:
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        content = path.read_bytes()
        yield str(path).encode() + b"\n" + content
        if zipfile.is_zipfile(io.BytesIO(content)):
            with zipfile.ZipFile(io.BytesIO(content)) as archive:
                yield from (archive.read(name) for name in archive.namelist())


def _kb(tmp_path: Path) -> str:
    path = tmp_path / "manual.md"
    path.write_text(MANUAL, "utf-8")
    return str(path)


COMMANDS: dict[str, Callable[[Path], list[str]]] = {
    "doctor": lambda _: ["doctor"],
    "doctor --json": lambda _: ["doctor", "--json"],
    "dry run": lambda _: ["benchmark", "run", "--dataset", "valle_multihop", "--dry-run", "--json"],
    "dry run with answers": lambda _: ["benchmark", "run", "--dataset", "valle_multihop", "--dry-run"],
    "run": lambda _: ["benchmark", "run", "--dataset", "valle_multihop", "--max-queries", "2", "--json", "-v"],
    "list of runs": lambda _: ["benchmark", "list", "--json"],
    "unknown run": lambda _: ["benchmark", "show", "no-such-run", "--json"],
    "question": lambda folder: ["kb", "ask", _kb(folder), QUESTION, "--json"],
    "question, plain": lambda folder: ["kb", "ask", _kb(folder), QUESTION],
    "proposed questions": lambda folder: ["kb", "questions", _kb(folder), str(folder / "q.jsonl")],
    "answers judged": lambda _: ["ragas", "run", str(PROJECT_ROOT / "data" / "samples" / "ragas_es.jsonl"), "--json"],
    "data sets": lambda _: ["datasets", "list", "--json"],
    "upload to S3": lambda _: ["datasets", "push", "valle_multihop"],
    "wrong option": lambda _: ["benchmark", "run", "--strategy", "NONE", "--json"],
    "run of a data set on S3": lambda _: ["benchmark", "run", "--dataset", "s3://bucket/x/", "--json"],
}


QUICK = ("doctor", "dry run with answers", "question", "upload to S3", "wrong option")
"""The rest of the commands is slow."""
IN_BOTH_FORMS = ("run", "question", "upload to S3")


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("name", "form"),
    [
        pytest.param(name, form, marks=[] if name in QUICK and form == "text" else [pytest.mark.slow])
        for name in COMMANDS
        for form in (("text", "jsonl") if name in IN_BOTH_FORMS else ("text",))
    ],
)
def test_no_secret_is_in_what_a_command_prints_or_writes(
    name: str, form: str, echo: Echo, command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOG_FORMAT", form)
    monkeypatch.setenv("PROVIDER", "openai")
    _, out, err = command(*COMMANDS[name](tmp_path))
    assert out or err
    assert leaked(out, err, *files_below(tmp_path)) == []


@pytest.mark.sampled(2)
@pytest.mark.parametrize("provider", MODELS)
def test_a_provider_that_repeats_the_key_does_not_make_it_appear(
    provider: str, echo: Echo, command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PROVIDER", provider)
    for status in (401, 400, 503):
        echo.status = status
        _, out, err = command("kb", "ask", _kb(tmp_path), QUESTION, "--json")
        assert echo.requests, "the provider was asked"
        assert leaked(out, err, *files_below(tmp_path)) == []
    sent = str([(request.path, request.headers) for request in echo.requests])
    assert leaked(sent), "the key was sent, else the test would show nothing"


@pytest.mark.parametrize("provider", MODELS)
def test_errors_of_providers_and_their_causes_hold_no_secret(provider: str, echo: Echo, tmp_path: Path) -> None:
    app = build_app(load_settings(data_dir=tmp_path, provider=provider))
    check = app.providers.check(provider)
    error: BaseException | None = check.error
    assert error is not None
    while error is not None:
        assert leaked(f"{error} {error!r} {error.args} {getattr(error, 'params', '')}") == []
        error = error.__cause__


def test_settings_never_show_a_secret(echo: Echo, tmp_path: Path) -> None:
    settings = load_settings(data_dir=tmp_path)
    shown = [repr(settings), str(settings), settings.model_dump_json(), f"{settings.model_dump()}", f"{vars(settings)}"]
    assert leaked(*shown) == []
    assert all(getattr(settings, name).get_secret_value() for name in SECRETS), "each of them is set"


@pytest.mark.parametrize("name", ADDRESSES)
def test_a_password_in_an_address_is_refused_and_not_repeated(name: str, clean_env: Path, tmp_path: Path) -> None:
    with pytest.raises(ChatbotError) as caught:
        load_settings(data_dir=tmp_path, **{name: "http://user:canary-password@127.0.0.1:9/v1"})
    error: BaseException | None = caught.value
    assert "canary-password" not in f"{error} {error!r} {caught.value.params}"


def test_a_secret_that_is_not_legal_is_not_repeated(clean_env: Path, tmp_path: Path) -> None:
    for name in SECRETS:
        with pytest.raises(ChatbotError) as caught:
            load_settings(data_dir=tmp_path, **{name: "canary ñ \x00 with spaces" if name != "admin_password" else "c"})
        assert "canary" not in f"{caught.value} {caught.value!r}"


def test_the_server_shows_no_secret(echo: Echo, tmp_path: Path) -> None:
    app = build_app(load_settings(data_dir=tmp_path, provider="openai"))
    kb = app.kbs.add("m.md", MANUAL.encode()).kb_id
    token = CANARIES["serve_token"]
    body = {"model": f"{kb}:general", "messages": [{"role": "user", "content": QUESTION}]}
    with TestClient(build_server(app, token), base_url="http://127.0.0.1") as client:
        head = {"Authorization": f"Bearer {token}"}
        replies = [
            client.get("/health"),
            client.get("/v1/models", headers=head),
            client.get("/v1/models", headers={"Authorization": f"Bearer {token}x"}),
            client.get(f"/v1/models/{kb}:strict", headers=head),
            client.post("/v1/chat/completions", headers=head, json=body),
            client.post("/v1/chat/completions", headers=head, json={**body, "stream": True}),
            client.post("/v1/chat/completions", headers=head, json={**body, "kb_top_k": "x"}),
            client.post("/v1/chat/completions", headers=head, content=b"{"),
            client.get("/nothing", headers=head),
        ]
    assert echo.requests
    assert leaked(*(f"{reply.headers} {reply.text}" for reply in replies), *files_below(tmp_path)) == []


def test_exports_of_a_run_hold_no_secret(echo: Echo, command: Command, tmp_path: Path) -> None:
    code, out, err = command(
        "benchmark", "run", "--dataset", "valle_multihop", "--max-queries", "3", "--no-generation", "--json"
    )
    assert code == 0, err
    run_id = json.loads(out)["run_id"]
    app = build_app(load_settings())
    said = [command("benchmark", *words)[1:] for words in (["show", run_id], ["list"], ["compare", run_id, run_id])]
    assert leaked(*(text for pair in said for text in pair)) == []
    for form in FORMATS:
        folder = tmp_path / "exported" / form
        folder.mkdir(parents=True)
        try:
            files = app.archive.export(run_id, form).files
        except NothingToExport as error:  # formats of answers
            files = {"refused.txt": str(error).encode()}
        assert files
        for name, content in files.items():
            (folder / Path(name).name).write_bytes(content)
    assert leaked(*files_below(tmp_path)) == []


def test_the_log_of_errors_masks_a_secret_in_a_traceback(
    echo: Echo, tmp_path: Path, logging_as_it_was: None, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = load_settings(data_dir=tmp_path)
    for form in ("text", "jsonl"):
        logs.configure(form, verbose=True, secrets=settings.secret_values, errors_path=tmp_path / f"{form}.jsonl")
        for value in CANARIES.values():
            try:
                raise ValueError(f"http://u:{quote(value)}@h/?key={value}")
            except ValueError:
                logs.logging.getLogger("chatbot_mvp.x").exception("with %s", value, extra={"key": value})
    printed = capsys.readouterr()
    assert "ValueError" in printed.err
    assert leaked(printed.out, printed.err, *files_below(tmp_path)) == []
