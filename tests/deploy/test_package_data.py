"""What the code opens beside itself is named in ``pyproject.toml`` or ``setup.py``, so that a wheel has it."""

from __future__ import annotations

import re
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

from chatbot_mvp.settings.model import PROJECT_ROOT

PACKAGES = ("chatbot_mvp", "streamlit_app")
WRITTEN = re.compile(r"chatbot_mvp/data/\.?app_settings\.json.*|.*/__pycache__/.*")
"""What a program that runs in a checkout writes beside its code."""


def other_files(package: str) -> set[Path]:
    """The files of a package that are neither code nor notes: prompts, texts of pages, weights, prices, tables."""
    found = (path for path in (PROJECT_ROOT / package).rglob("*") if path.is_file())
    return {
        path
        for path in found
        if path.suffix not in (".py", ".md") and not WRITTEN.fullmatch(path.relative_to(PROJECT_ROOT).as_posix())
    }


def test_every_file_that_a_package_has_beside_its_code_goes_into_the_wheel() -> None:
    named = tomllib.loads((PROJECT_ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["package-data"]
    for package in PACKAGES:
        packed = {path for pattern in named[package] for path in (PROJECT_ROOT / package).glob(pattern)}
        assert other_files(package) - packed == set(), package
    assert {path.suffix for path in other_files("chatbot_mvp")} >= {".toml", ".json", ".npz"}


def test_every_resource_that_the_settings_name_is_copied_into_the_package() -> None:
    copies = dict(re.findall(r'"(data/[^"]+)": "(chatbot_mvp/data/[^"]+)"', (PROJECT_ROOT / "setup.py").read_text()))
    assert all((PROJECT_ROOT / source).exists() for source in copies)
    code = "\n".join(path.read_text() for package in PACKAGES for path in (PROJECT_ROOT / package).rglob("*.py"))
    opened = {f"data/{name}" for name in re.findall(r'INSTALLATION\.resources / "([^"]+)"', code)}
    assert opened
    assert opened <= set(copies)
    assert {target.removeprefix("chatbot_mvp/") for target in copies.values()} == set(copies)


def pinned_packages() -> set[str]:
    return set(re.findall(r"^([A-Za-z0-9._-]+)(?:\[[^]]*\])?==", (PROJECT_ROOT / "requirements.txt").read_text(), re.M))


def test_what_the_installation_imports_once_is_what_it_has_installed() -> None:
    """A package that development alone brings would end ``make run`` on every other machine."""
    [line] = re.findall(r"^IMPORTED := ((?:.*\\\n)*.*)$", (PROJECT_ROOT / "Makefile").read_text(), re.M)
    names = {name.split(".")[0] for name in re.findall(r"[\w.]+", line)} - set(PACKAGES)
    brought_by = packages_distributions()
    pinned = {name.lower().replace("_", "-") for name in pinned_packages()}
    assert {"pandas", "liteparse"} <= names
    assert [n for n in names if not pinned & {one.lower().replace("_", "-") for one in brought_by[n]}] == []


def test_what_the_card_of_the_project_names_is_in_requirements_and_at_the_top_level() -> None:
    pinned = pinned_packages()
    packages = "streamlit google-generativeai groq openai chromadb tantivy rapidfuzz boto3 pyarrow pandas httpx pytest"
    assert set(packages.split()) <= pinned
    top = "streamlit_app chatbot_mvp data tests .streamlit pyproject.toml requirements.txt DEV_NOTES.md"
    assert all((PROJECT_ROOT / name).exists() for name in top.split())


def test_the_configuration_of_the_pages_is_one_file_that_counts_in_every_folder() -> None:
    beside = PROJECT_ROOT / "streamlit_app" / ".streamlit"
    assert (beside / "config.toml").samefile(PROJECT_ROOT / ".streamlit" / "config.toml")
    assert '".streamlit/config.toml": "streamlit_app/.streamlit/config.toml"' in (PROJECT_ROOT / "setup.py").read_text()
