"""Where data lies: beside a checkout, else in the user's data folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from chatbot_mvp.settings.installation import PROJECT_ROOT, Installation
from chatbot_mvp.settings.model import load_settings


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    return tmp_path / "home"


def test_a_checkout_keeps_its_data_beside_the_package(home: Path) -> None:
    here = Installation(PROJECT_ROOT / "chatbot_mvp")
    assert here.is_checkout
    assert here.data_dir == here.resources == PROJECT_ROOT / "data"


def test_an_installed_package_keeps_data_in_the_users_folder_and_has_its_samples_within(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "site-packages" / "chatbot_mvp"
    installed = Installation(package)
    assert not installed.is_checkout
    assert installed.resources == package / "data"
    assert installed.data_dir == home / ".local" / "share" / "chatbot-mvp"
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "xdg"))
    assert installed.data_dir == tmp_path / "xdg" / "chatbot-mvp"
    # The XDG specification has relative paths ignored.
    monkeypatch.setenv("XDG_DATA_HOME", "relative")
    assert installed.data_dir == home / ".local" / "share" / "chatbot-mvp"


@pytest.mark.parametrize(
    ("platform", "place"),
    [
        ("linux", ".local/share"),
        ("darwin", "Library/Application Support"),
        ("win32", "AppData/Local"),
    ],
)
def test_each_platform_has_its_own_folder_for_data(
    platform: str, place: str, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("LOCALAPPDATA", raising=False)
    monkeypatch.setattr("sys.platform", platform)
    assert Installation(tmp_path / "site-packages" / "chatbot_mvp").data_dir == home / place / "chatbot-mvp"


def test_DATA_DIR_wins(clean_env: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATA_DIR", str(tmp_path / "own"))
    settings = load_settings()
    assert settings.data_dir == tmp_path / "own"
    assert settings.app_settings_path == tmp_path / "own" / "app_settings.json"
    assert settings.samples_dir == PROJECT_ROOT / "data" / "samples"
