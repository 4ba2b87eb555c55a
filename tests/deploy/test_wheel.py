"""The wheel: it holds samples and pages, and run away from a checkout it keeps data in the user's folder."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from chatbot_mvp.settings.model import PROJECT_ROOT, Settings

pytestmark = pytest.mark.slow  # an isolated build takes its time


@pytest.fixture(scope="module")
def unpacked(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the unpacked wheel."""
    folder = tmp_path_factory.mktemp("unpacked")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    return folder


def files(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def test_samples_examples_and_pages_are_in_the_wheel(unpacked: Path) -> None:
    samples = PROJECT_ROOT / "data" / "samples"
    assert files(unpacked / "chatbot_mvp" / "data") == {
        *(f"samples/{name}" for name in files(samples)),
        *("env.example", "ragas_config.example.yaml"),
    }
    pages = PROJECT_ROOT / "streamlit_app"
    beside = {name for name in files(pages) if "__pycache__" not in name and not name.startswith(".streamlit/")}
    assert files(unpacked / "streamlit_app") == {*beside, ".streamlit/config.toml"}
    packed = unpacked / "streamlit_app" / ".streamlit" / "config.toml"
    assert packed.read_bytes() == (PROJECT_ROOT / ".streamlit" / "config.toml").read_bytes()
    assert {path.name for path in unpacked.iterdir() if not path.name.endswith(".dist-info")} == {
        *("chatbot_mvp", "sandbox_mteb", "streamlit_app"),
    }


def test_away_from_a_checkout_data_lies_in_the_users_folder_and_the_samples_work(
    unpacked: Path, tmp_path: Path
) -> None:
    home, elsewhere = tmp_path / "home", tmp_path / "elsewhere"
    elsewhere.mkdir()
    settings = {name.upper() for name in Settings.model_fields} | {"XDG_DATA_HOME"}
    environment = {name: value for name, value in os.environ.items() if name not in settings}
    environment |= {"HOME": str(home), "PYTHONPATH": str(unpacked), "RETRIEVAL_STRATEGY": "LEXICAL"}

    def run(*command: str) -> str:
        done = subprocess.run(
            [sys.executable, *command], cwd=elsewhere, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    told = json.loads(run("-m", "chatbot_mvp.cli", "doctor", "--json"))
    data = home / ".local" / "share" / "chatbot-mvp"
    assert told["data"] == {"ok": True, "detail": str(data)}
    place = "from chatbot_mvp.settings.model import load_settings; print(load_settings().samples_dir)"
    samples = Path(run("-c", place).strip())
    assert samples == unpacked / "chatbot_mvp" / "data" / "samples"
    handbook = next((samples / "kb").glob("*.md"))
    answer = json.loads(
        run(
            "-m",
            "chatbot_mvp.cli",
            "kb",
            "ask",
            str(handbook),
            "¿Cuántos días laborables de vacaciones tiene cada persona?",
            "--json",
        )
    )
    assert (answer["abstained"], "23 días" in answer["answer"]) == (False, True)
    run(
        "-m",
        "chatbot_mvp.cli",
        "benchmark",
        "run",
        "--dataset",
        "valle_multihop",
        "--max-queries",
        "3",
        "--no-generation",
        "--json",
    )
    assert (data / "results").is_dir()
    assert not any(elsewhere.iterdir())
