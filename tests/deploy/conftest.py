"""The wheel, built from a copy of the tracked files, and an environment in which only the wheel is installed."""

from __future__ import annotations

import subprocess
import sys
import venv
from pathlib import Path

import pytest

from chatbot_mvp.settings.model import PROJECT_ROOT


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"
    source.mkdir()
    # Not in the checkout itself: a build leaves folders behind.
    tracked = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=PROJECT_ROOT,
        capture_output=True,
        check=True,
    ).stdout
    for name in filter(None, tracked.decode().split("\0")):
        if (PROJECT_ROOT / name).is_file():
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            (source / name).write_bytes((PROJECT_ROOT / name).read_bytes())
    built = subprocess.run(
        [sys.executable, "-m", "pip", "wheel", str(source), "--no-deps", "-q", "-w", str(folder)],
        capture_output=True,
        text=True,
        check=False,
    )
    if "No matching distribution found for setuptools" in built.stderr:
        pytest.skip("needs a package index for setuptools")
    assert built.returncode == 0, built.stderr
    [path] = folder.glob("*.whl")
    return path


@pytest.fixture(scope="session")
def program(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The command ``chatbot-mvp`` of an environment that has the wheel and sees no checkout.

    Its dependencies are those of the tests' own environment, by a ``.pth`` file. Python reads no ``.pth`` file of a
    folder that was added by one, so an editable install of the checkout stays out of sight.
    """
    folder = tmp_path_factory.mktemp("installed")
    venv.create(folder, with_pip=False)
    python = folder / "bin" / "python"
    [packages] = (folder / "lib").glob("python*/site-packages")
    import streamlit

    (packages / "dependencies.pth").write_text(f"{Path(streamlit.__file__).parents[1]}\n")
    install = [sys.executable, "-m", "pip", "--python", str(python), "install", "-q", "--no-deps", "--force-reinstall"]
    subprocess.run([*install, str(wheel)], check=True)
    return folder / "bin" / "chatbot-mvp"
