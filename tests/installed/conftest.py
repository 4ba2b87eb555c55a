"""The wheel installed as people and the image install it: a new environment, another user, nothing of the checkout."""

from __future__ import annotations

import compileall
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import Distribution, distribution
from importlib.util import cache_from_source
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement

from tests.deploy.conftest import wheel as wheel

NOBODY = 65_534


@dataclass(frozen=True)
class Installed:
    """The command ``chatbot-mvp`` of an environment that its user cannot change."""

    folder: Path
    """With ``base`` (Python), ``env`` (the environment) and ``home``, the only place that the user may write to."""
    user: int | None
    """Number of the user that runs it; None for the user of the tests."""

    @property
    def program(self) -> Path:
        return self.folder / "env" / "bin" / "chatbot-mvp"

    def start(
        self, *words: str, home: str = "home", out: Any = None, err: Any = None, **settings: str
    ) -> subprocess.Popen[str]:
        """Start the command in an empty folder, with an empty HOME and nothing else in its environment but settings."""
        place = self.folder / home
        for new in (place, self.folder / "empty"):
            new.mkdir(exist_ok=True)
        if self.user is not None:
            os.chown(place, self.user, self.user)
        environment = {"PATH": "/usr/bin:/bin", "HOME": str(place), "PYTHONDONTWRITEBYTECODE": "1", **settings}
        environment["LD_LIBRARY_PATH"] = str(self.folder / "base" / "lib")
        return subprocess.Popen(
            [str(self.program), *words],
            cwd=self.folder / "empty",
            env=environment,
            stdout=out,
            stderr=err,
            text=True,
            user=self.user,
            group=self.user,
            extra_groups=None if self.user is None else [],
        )

    def run(self, *words: str, home: str = "home") -> str:
        """Return what the command prints on stdout; it must end with 0."""
        with self.start(*words, home=home, out=subprocess.PIPE, err=subprocess.PIPE) as process:
            out, err = process.communicate()
        assert process.returncode == 0, f"{words}: {out}{err}"
        return out


@pytest.fixture(scope="session")
def installed(wheel: Path) -> Iterator[Installed]:
    # Not in pytest's folder, into which no other user may look.
    folder = Path(tempfile.mkdtemp(prefix="installed-"))
    folder.chmod(0o755)
    try:
        base = folder / "base"
        for part in ("bin", "lib"):
            left_out = shutil.ignore_patterns("site-packages", "test", "idle*", "config-*")
            shutil.copytree(Path(sys.base_prefix, part), base / part, True, left_out, link, True)
        python = base / "bin" / f"python3.{sys.version_info.minor}"
        libraries = {**os.environ, "LD_LIBRARY_PATH": str(base / "lib")}
        subprocess.run([python, "-m", "venv", "--without-pip", folder / "env"], env=libraries, check=True)
        [packages] = (folder / "env" / "lib").glob("python*/site-packages")
        for needed in required("chatbot-mvp"):
            link_files(needed, packages)
        install = [sys.executable, "-m", "pip", "--python", str(folder / "env"), "install", "-q", "--no-deps"]
        subprocess.run([*install, "--no-compile", str(wheel)], env=libraries, check=True)
        for package in ("chatbot_mvp", "streamlit_app"):
            compileall.compile_dir(packages / package, quiet=1)
        if os.geteuid() != 0:
            for path in (folder / "env").rglob("*"):
                if path.is_dir() and not path.is_symlink():
                    path.chmod(0o555)  # files are shared with the tests' own environment, and keep their mode
        yield Installed(folder, NOBODY if os.geteuid() == 0 else None)
    finally:
        for path in folder.rglob("*"):
            if path.is_dir() and not path.is_symlink():
                path.chmod(0o755)
        shutil.rmtree(folder)


def required(name: str) -> list[Distribution]:
    """Return what a distribution requires, as the tests' own environment has it, without extras of development."""
    found: dict[tuple[str, frozenset[str]], Distribution] = {}
    pending = [(name, frozenset[str]())]
    while pending:
        key = pending.pop()
        if key in found:
            continue
        found[key] = distribution(key[0])
        for line in found[key].requires or ():
            wanted = Requirement(line)
            chosen = ("", *key[1])
            if wanted.marker is None or any(wanted.marker.evaluate({"extra": extra}) for extra in chosen):
                pending.append((wanted.name.lower().replace("_", "-"), frozenset(wanted.extras)))
    return [each for key, each in found.items() if key[0] != name]


def link_files(installed: Distribution, packages: Path) -> None:
    """Put the files of a distribution, and what is compiled of them, under another folder of packages."""
    source = Path(str(installed.locate_file("")))
    for file in installed.files or ():
        if ".." in file.parts:
            continue  # commands and manual pages
        names = [Path(file)]
        if file.suffix == ".py":
            names.append(Path(cache_from_source(str(file))))
        for name in names:
            if (source / name).is_file() and not (packages / name).exists():
                (packages / name).parent.mkdir(parents=True, exist_ok=True)
                link(source / name, packages / name)


def link(source: str | Path, target: str | Path) -> None:
    """Give a file a second name, or copy it where that cannot be."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)
