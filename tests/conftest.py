"""Fixtures for the core: settings that write to a temporary folder and read nothing of the machine's environment."""

from __future__ import annotations

import gc
import logging
import os
import signal
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import certifi
import hypothesis
import pytest

from chatbot_mvp.app import App
from chatbot_mvp.cli import main as command_line
from chatbot_mvp.llm.demo import DemoModel
from chatbot_mvp.settings.model import PROJECT_ROOT, Settings, load_settings
from tests.again import pytest_sessionfinish as pytest_sessionfinish
from tests.again import pytest_terminal_summary as pytest_terminal_summary
from tests.browser import browser as browser
from tests.browser import page as page
from tests.browser import playwright as playwright
from tests.cases import pytest_collection_modifyitems as pytest_collection_modifyitems
from tests.cases import pytest_make_parametrize_id as pytest_make_parametrize_id
from tests.clock import set_clock as set_clock
from tests.fakes import FakeEmbedder, FakeLanguageModel, fake_app
from tests.s3_server import s3 as s3
from tests.server.silent_provider import silent as silent

Command = Callable[..., tuple[int, str, str]]
"""Arguments -> exit code, stdout, stderr."""

# Each worker of xdist compiles all test files with rewritten assertions, which takes it 6 s of processor time. Write
# the result to disk, as Python does by default, also where PYTHONDONTWRITEBYTECODE is set, as in many containers.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# The same examples every time: a suite that is green stays green until the code changes.
_EXAMPLES = int(os.environ.get("HYPOTHESIS_EXAMPLES", "40"))  # more of them under `make test-all`
hypothesis.settings.register_profile("suite", deadline=None, max_examples=_EXAMPLES, derandomize=True, database=None)
hypothesis.settings.load_profile("suite")


_OF_DEV = ("docx", "ir_measures", "onnx", "playwright", "scipy")
"""What test modules import that only the extra ``dev`` brings, not requirements.txt."""


class _Module(pytest.Module):
    """A module of tests; skipped as a whole where it imports a package of the extra ``dev`` that is not installed."""

    def collect(self) -> Iterable[pytest.Item | pytest.Collector]:
        try:
            return super().collect()
        except self.CollectError as error:
            cause = error.__cause__
            if isinstance(cause, ModuleNotFoundError) and str(cause.name).partition(".")[0] in _OF_DEV:
                pytest.skip(f"needs {cause.name}: pip install -e '.[dev]'", allow_module_level=True)
            raise


def pytest_pycollect_makemodule(module_path: Path, parent: pytest.Collector) -> pytest.Module:
    made: pytest.Module = _Module.from_parent(parent, path=module_path)
    return made


@pytest.fixture(scope="session", autouse=True)
def one_authority(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Trust one certificate authority: no test speaks TLS, and every HTTP client reads all 140 of them, 20 ms."""
    bundle = Path(certifi.where()).read_text("ascii", "ignore")
    end = "-----END CERTIFICATE-----\n"
    path = tmp_path_factory.mktemp("tls") / "one.pem"
    path.write_text(bundle.partition(end)[0] + end)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SSL_CERT_FILE", str(path))
        yield


@pytest.fixture(scope="session", autouse=True)
def models_dir(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Convert the local embedding model once for all tests and workers: it takes 3 s and 120 MB."""
    folder = tmp_path_factory.getbasetemp().parent / "models"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Settings, "models_dir", folder)
        yield folder


def pytest_collection_finish() -> None:
    """Keep the modules that are loaded by now out of the garbage collector, which would walk them again and again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


@pytest.fixture
def clean_env(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No setting in the environment, and a working folder without ``.env``; gives that folder."""
    known = {name.upper() for name in Settings.model_fields}
    for name in list(os.environ):
        if name.upper() in known:
            monkeypatch.delenv(name)
    folder = tmp_path / "cwd"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def settings(clean_env: Path, tmp_path: Path) -> Settings:
    """The defaults, over an empty data folder; runs measure retrieval only."""
    return load_settings(data_dir=tmp_path / "data", generation_enabled=False)


@pytest.fixture
def embedder() -> FakeEmbedder:
    return FakeEmbedder()


@pytest.fixture
def app(settings: Settings, embedder: FakeEmbedder) -> App:
    """The App with the demo provider, a fake embedder and a fake language model."""
    return fake_app(
        settings, embedder=lambda _: embedder, chat_model=DemoModel, language_model=lambda *_: FakeLanguageModel().model
    )


@pytest.fixture
def logging_as_it_was() -> Iterator[None]:
    """Whatever a test configures of logging ends with it."""
    root, own, hook = logging.getLogger(), logging.getLogger("chatbot_mvp"), sys.excepthook
    handlers, levels = list(root.handlers), (root.level, own.level)
    yield
    root.handlers[:] = handlers
    root.setLevel(levels[0])
    own.setLevel(levels[1])
    sys.excepthook = hook
    logging.captureWarnings(False)


@pytest.fixture
def command(
    clean_env: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    logging_as_it_was: None,
) -> Iterator[Command]:
    """The command line in this process, over an empty data folder: a process of its own takes seconds to start."""
    monkeypatch.setenv("DATA_DIR", str(tmp_path / "data"))
    signals = [(number, signal.getsignal(number)) for number in (signal.SIGINT, signal.SIGTERM)]

    def run(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["chatbot-mvp", *arguments])
        with pytest.raises(SystemExit) as raised:
            command_line.main()
        told = capsys.readouterr()
        return int(raised.value.code or 0), told.out, told.err

    yield run
    for number, handler in signals:
        signal.signal(number, handler)


@pytest.fixture(scope="session")
def shared_datasets() -> Path:
    """The large data sets beside the project."""
    folder = PROJECT_ROOT.parent / "shared" / "datasets"
    if not folder.is_dir():
        pytest.skip("needs ../shared/datasets")
    return folder
