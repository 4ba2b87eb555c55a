"""Where a setting comes from, and what is said about one that is not legal."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx
import pytest
from pydantic import ValidationError

from chatbot_mvp.app import App
from chatbot_mvp.errors import InvalidSetting
from chatbot_mvp.llm.demo import DemoModel
from chatbot_mvp.settings.model import Settings, load_settings, misnamed_settings, where_set
from tests.fakes import FakeEmbedder, fake_app


def test_the_defaults_need_no_environment_and_no_file(clean_env: Path) -> None:
    settings = load_settings()
    assert (settings.provider, settings.retrieval_strategy) == ("auto", "BRIDGE_HYBRID")
    assert (settings.kb_max_chars, settings.kb_max_pages, settings.kb_max_upload_mb) == (5_000_000, 3_000, 50)


@pytest.mark.parametrize(
    ("dotenv", "environment", "override", "expected"),
    [
        (None, None, None, 20),
        ("11", None, None, 11),
        (None, "12", None, 12),
        ("11", "12", None, 12),
        ("11", "12", 13, 13),
        ("11", "", None, 11),
    ],
    ids=["default", ".env", "environment", "environment over .env", "argument over both", "empty is not set"],
)
def test_an_argument_wins_over_the_environment_over_the_file_over_the_default(
    clean_env: Path,
    monkeypatch: pytest.MonkeyPatch,
    dotenv: str | None,
    environment: str | None,
    override: int | None,
    expected: int,
) -> None:
    if dotenv is not None:
        (clean_env / ".env").write_text(f"RETRIEVAL_K={dotenv}\nSOMETHING_ELSE=1\n", "utf-8")
    if environment is not None:
        monkeypatch.setenv("RETRIEVAL_K", environment)
    overrides = {} if override is None else {"retrieval_k": override}
    assert load_settings(**overrides).retrieval_k == expected


def test_a_named_env_file_is_read_instead_of_the_one_in_the_working_folder(clean_env: Path, tmp_path: Path) -> None:
    (clean_env / ".env").write_text("RETRIEVAL_K=11\nKB_TOP_K=9\n", "utf-8")
    other = tmp_path / "other.env"
    other.write_text("RETRIEVAL_K=12\n", "utf-8")
    settings = load_settings(other)
    assert (settings.retrieval_k, settings.kb_top_k) == (12, 5)


def test_a_named_env_file_that_is_not_there_is_an_error(clean_env: Path, tmp_path: Path) -> None:
    with pytest.raises(InvalidSetting, match=r"nope\.env"):
        load_settings(tmp_path / "nope.env")


@pytest.mark.parametrize(
    ("name", "found", "legal"),
    [
        ("RETRIEVAL_K", "muchos", "integer"),
        ("RETRIEVAL_K", "0", "greater than or equal to 1"),
        ("RETRIEVAL_K", "1001", "less than or equal to 1000"),
        ("KB_MIN_EVIDENCE", "1.5", "less than or equal to 1"),
        ("KB_MAX_CHARS", "10", "greater than or equal to 1000"),
        ("RETRIEVAL_BM25_WEIGHT", "-1", "greater than or equal to 0"),
        ("UI_LANGUAGE", "fr", "'es' or 'en'"),
        ("UI_LANGUAGE", "fr", "legal: es or en"),
        ("RETRIEVAL_K", "muchos", "legal: a whole number from 1 to 1000"),
        ("NIM_REQUEST_TIMEOUT", "0", "legal: a number above 0 to 3600"),
        ("EVAL_MAX_CORPUS", "todo", "legal: a whole number from 0"),
        ("DEV_MODE", "tal vez", "legal: true or false"),
        ("CORPUS_SHUFFLE_SEED", "-2", "legal: a whole number from -1"),
    ],
)
def test_an_illegal_value_is_named_with_its_variable_what_was_found_and_what_is_legal(
    clean_env: Path, monkeypatch: pytest.MonkeyPatch, name: str, found: str, legal: str
) -> None:
    monkeypatch.setenv(name, found)
    with pytest.raises(InvalidSetting) as raised:
        load_settings()
    assert f"{name}={found!r}" in str(raised.value)
    assert legal in str(raised.value)


def test_settings_are_frozen(settings: Settings) -> None:
    with pytest.raises(ValidationError):
        settings.retrieval_k = 5  # type: ignore[misc]


def test_changes_give_other_settings_and_leave_these_as_they_are(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RETRIEVAL_K", "99")
    monkeypatch.setenv("KB_TOP_K", "9")
    changed = settings.with_changes(retrieval_k=7)
    assert (changed.retrieval_k, changed.kb_top_k, changed.data_dir) == (7, settings.kb_top_k, settings.data_dir)
    assert settings.retrieval_k == 20


@pytest.mark.parametrize("changes", [{"retrieval_k": 0}, {"ui_language": "fr"}, {"judge_provider": "nobody"}])
def test_changes_are_validated_like_the_environment(settings: Settings, changes: dict[str, Any]) -> None:
    [name] = changes
    with pytest.raises(InvalidSetting, match=name.upper()):
        settings.with_changes(**changes)


@pytest.mark.parametrize(("count", "legal"), [(0, True), (1, False), (2, False), (3, True), (5, True), (6, False)])
def test_a_chunk_has_no_questions_or_three_to_five(settings: Settings, count: int, legal: bool) -> None:
    if legal:
        assert settings.with_changes(retrieval_context_questions=count).retrieval_context_questions == count
        return
    with pytest.raises(InvalidSetting, match=r"RETRIEVAL_CONTEXT_QUESTIONS.*legal"):
        settings.with_changes(retrieval_context_questions=count)


def test_everything_written_at_run_time_lies_in_the_data_folder(settings: Settings) -> None:
    paths = [settings.kb_dir, settings.cache_dir, settings.results_dir, settings.jobs_dir, settings.submissions_path]
    assert {path.parent for path in paths} == {settings.data_dir}
    assert len(set(paths)) == len(paths)


def test_the_samples_come_with_the_project_wherever_the_data_folder_is(settings: Settings) -> None:
    assert (settings.samples_dir / "valle_multihop" / "corpus.jsonl").is_file()
    assert settings.data_dir not in settings.samples_dir.parents


@pytest.mark.parametrize("name", Settings.model_fields)
def test_every_setting_is_described(name: str) -> None:
    description = Settings.model_fields[name].description
    assert description and description == " ".join(description.split())


def test_a_key_is_never_written_down(clean_env: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NVIDIA_API_KEY", "nvapi-secret")
    settings = load_settings()
    assert settings.nvidia_api_key.get_secret_value() == "nvapi-secret"
    assert settings.model_dump(mode="json")["nvidia_api_key"] == "***"
    shown = [
        settings.model_dump_json(),
        repr(settings),
        str(settings),
        str(settings.model_dump()),
        repr(vars(settings)),
    ]
    assert [text for text in shown if "nvapi-secret" in text] == []


@pytest.mark.parametrize(
    ("name", "value", "secret"),
    [
        *(("OPENAI_API_KEY", key, key) for key in ("sk-very secret", "sk-very\x00secret", "clave-né-secreta")),
        ("LLM_BASE_URL", "http://me:very-secret@host:8000/v1", "very-secret"),
        *(("MINIO_ENDPOINT", text, "very-secret") for text in ("host:9000", "ftp://host", "http://host/path")),
        ("MINIO_ENDPOINT", "http://very-secret@host:9000", "very-secret"),
    ],
)
def test_a_key_that_no_header_can_hold_and_an_address_with_a_password_are_refused_unseen(
    clean_env: Path, name: str, value: str, secret: str
) -> None:
    (clean_env / ".env").write_text(f"{name}='{value}'\n", "utf-8")
    with pytest.raises(InvalidSetting, match=name) as raised:
        load_settings()
    assert secret not in str(raised.value) + repr(raised.value.params)


WRONG_ADDRESSES = (
    *("file:///etc/passwd", "file:/x", "hola", "ftp://host", "http://", "http://host:99999", "//host/v1"),
    # What HTTP clients refuse with errors of their own, or a resolver does.
    *("http://999.1.1.1", "http://[v1.a]", "http://[::1", "http://a..b/v1", "http://.", "http://*"),
    *(f"http://{'a' * 64}", f"http://{'a.' * 130}es", f"http://host/{'a' * 2_000}"),
    *("http://①.com", "http://xn--", "http://xn--a/v1", "http://a․b", "http://اa", "http://ho<st", "http://host\\x"),
)
SPLIT_ADDRESSES = ("http://host/v1\r\nX-Key: a", "http://ho st/v1", "http://host/\x00v1")


@pytest.mark.parametrize("address", [*WRONG_ADDRESSES, *SPLIT_ADDRESSES])
def test_what_is_no_address_of_a_server_is_refused_where_it_is_set(settings: Settings, address: str) -> None:
    with pytest.raises(InvalidSetting, match=r"legal is http|no control characters") as raised:
        settings.with_changes(openai_base_url=address)
    assert raised.value.params["name"] == "OPENAI_BASE_URL"


@pytest.mark.parametrize(
    "name",
    ["llm_base_url", "ollama_base_url", "embedding_base_url", "reranker_base_url", "hf_endpoint"],
)
def test_every_address_is_checked(settings: Settings, name: str) -> None:
    for address in ("http://999.1.1.1", "file:///x", SPLIT_ADDRESSES[0]):
        with pytest.raises(InvalidSetting, match=name.upper()):
            settings.with_changes(**{name: address})


def test_addresses_of_servers_are_taken_as_they_are(settings: Settings) -> None:
    for address in (
        *("http://127.0.0.1:11434/v1", "https://host", "HTTP://Host:80/a?b=c", "http://[::1]:8000/v1", "http://a_b:1"),
        *("http://[fe80::1%25eth0]:8000", "http://ñandú.es", "http://xn--and-6ma2c.es.", "http://127.1"),
    ):
        assert settings.with_changes(openai_base_url=f" {address}\n").openai_base_url == address
        assert httpx.Request("GET", address).url.host  # a client takes it


def test_blanks_around_a_key_do_not_count(settings: Settings) -> None:
    assert settings.with_changes(openai_api_key=" sk-secret\n").openai_api_key.get_secret_value() == "sk-secret"


def test_what_only_says_how_the_machine_works_is_not_taken_from_a_record(settings: Settings) -> None:
    recorded = settings.with_changes(local_threads=1, kb_top_k=3).model_dump(mode="json", exclude={"data_dir"})
    again = settings.with_changes(local_threads=4).with_recorded(recorded)
    assert (again.local_threads, again.kb_top_k) == (4, 3)


def test_changes_keep_a_key_and_recorded_settings_do_not_replace_it_by_its_mask(settings: Settings) -> None:
    own = settings.with_changes(nvidia_api_key="nvapi-secret").with_changes(retrieval_k=7)
    recorded = own.model_dump(mode="json", exclude={"data_dir"})
    again = settings.with_changes(nvidia_api_key="another").with_recorded({**recorded, "gone": 1})
    assert (again.retrieval_k, again.nvidia_api_key.get_secret_value()) == (7, "another")
    assert own.nvidia_api_key.get_secret_value() == "nvapi-secret"


def test_a_runs_files_hold_no_key(app: App) -> None:
    keyed = fake_app(app.settings.with_changes(nvidia_api_key="nvapi-secret"), lambda _: FakeEmbedder(), DemoModel)
    run_id = keyed.runs.run_now(retrieval_strategy="LEXICAL", eval_max_queries=1).run_id
    written = [path for path in (app.settings.results_dir / run_id).iterdir() if path.is_file()]
    assert written
    assert [path for path in written if b"nvapi-secret" in path.read_bytes()] == []
    assert (
        json.loads((app.settings.results_dir / run_id / "manifest.json").read_text("utf-8"))["settings_masked"][
            "nvidia_api_key"
        ]
        == "***"
    )


@pytest.mark.parametrize(
    ("changes", "fusion"),
    [
        ({}, "weighted"),
        ({"retrieval_rrf_k": 60}, "rrf"),
        ({"retrieval_bm25_weight": 0.3}, "rrf"),
        ({"retrieval_vector_weight": 0.7, "retrieval_fusion": "weighted"}, "weighted"),
    ],
)
def test_a_knob_of_rank_fusion_that_is_set_asks_for_it(changes: dict[str, Any], fusion: str) -> None:
    assert load_settings(**changes).retrieval_fusion == fusion


def test_slashes_around_an_endpoint_and_a_prefix_do_not_count(settings: Settings) -> None:
    own = settings.with_changes(minio_endpoint="http://host:9000/", s3_datasets_prefix="/datasets/evaluation/")
    assert (own.minio_endpoint, own.s3_datasets_prefix) == ("http://host:9000", "datasets/evaluation")


def test_what_the_server_of_data_sets_lacks_is_listed(settings: Settings) -> None:
    assert (settings.storage_begun, len(settings.storage_missing)) == (False, 4)
    own = settings.with_changes(minio_endpoint="http://host:9000", minio_access_key="k", minio_secret_key="s")
    assert (own.storage_begun, own.storage_missing) == (True, ["MINIO_BUCKET_NAME"])


def test_a_name_that_was_nearly_meant_is_a_warning_and_no_error(
    clean_env: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("EVAL_MAX_QUERYS", "3")
    (clean_env / ".env").write_text("NIM_TIMEOUT=60\nSOMETHING_ELSE=1\nMINIO_BUCKET=lakehouse\n", "utf-8")
    assert load_settings().nim_request_timeout == 120
    assert [str(miss) for miss in misnamed_settings()] == [
        "EVAL_MAX_QUERYS (environment) is no setting; did you mean EVAL_MAX_QUERIES?",
        "MINIO_BUCKET (.env) is no setting; did you mean MINIO_BUCKET_NAME?",
        "NIM_TIMEOUT (.env) is no setting; did you mean NIM_REQUEST_TIMEOUT?",
    ]
    assert caplog.text.count("did you mean") == 3


def test_an_env_file_that_is_no_text_does_not_stop_the_search_for_misnamed_settings(clean_env: Path) -> None:
    (clean_env / "bad.env").write_bytes(b"\xff\xfe\x00=")
    assert misnamed_settings(clean_env / "bad.env") == []


@pytest.mark.parametrize(("token", "legal"), [("", True), ("t", False), ("x" * 15, False), ("x" * 16, True)])
def test_a_token_of_the_endpoint_is_long_or_made_up(
    clean_env: Path, monkeypatch: pytest.MonkeyPatch, token: str, legal: bool
) -> None:
    monkeypatch.setenv("SERVE_TOKEN", token)
    if legal:
        assert load_settings().serve_token.get_secret_value() == token
    else:
        with pytest.raises(InvalidSetting, match="16 characters"):
            load_settings()


@pytest.mark.parametrize("place", ["environment", "dotenv", "secrets"])
def test_a_list_that_is_set_to_nothing_is_empty_wherever_it_is_set_and_others_keep_their_default(
    clean_env: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    (clean_env / ".streamlit").mkdir()
    if place == "environment":
        (clean_env / ".env").write_text("JUDGE_METRICS=faithfulness\n", "utf-8")
        monkeypatch.setenv("JUDGE_METRICS", "")
        monkeypatch.setenv("RETRIEVAL_K", "")
    elif place == "dotenv":
        (clean_env / ".env").write_text("JUDGE_METRICS=\nRETRIEVAL_K=\n", "utf-8")
    else:
        (clean_env / ".streamlit" / "secrets.toml").write_text('JUDGE_METRICS = ""\nRETRIEVAL_K = ""\n', "utf-8")
    settings = load_settings(provider="openai", openai_api_key="k")
    assert (settings.judge_metrics, settings.judge, settings.retrieval_k) == ("", "", 20)
    assert where_set() == {"judge_metrics": place}


def test_a_list_that_is_not_set_or_set_above_an_empty_one_is_not_empty(
    clean_env: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert load_settings().judge_metrics == "faithfulness,context_utilization"
    (clean_env / ".env").write_text("JUDGE_METRICS=\n", "utf-8")
    monkeypatch.setenv("JUDGE_METRICS", "faithfulness")
    assert load_settings().judge_metrics == "faithfulness"
    assert where_set() == {"judge_metrics": "environment"}
