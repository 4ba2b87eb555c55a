"""Fuzz the code that reads untrusted input, guided by coverage: no crash, no hang over 1 s, no memory over 500 MB.

    python -m benchmarks fuzz --list
    python -m benchmarks fuzz TARGET [--executions 10000] [--seed 1] [--findings FOLDER]
    python -m benchmarks fuzz all [--executions 1000000] [--at-once 1]     every target in a process of its own
    python -m benchmarks fuzz TARGET --replay FILE…                        execute single inputs, without the fuzzer

Needs ``pip install atheris`` (not for ``--replay``). An execution fails if another exception leaves the code than an
error of this project, or if it takes more than one second of processor time. The instrumented code is two to five times
slower than usual, so a slow input is executed again without instrumentation before it counts. Each finding is kept in
``--findings`` once per place in the code. The exit code is 1 if there are findings.
"""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from benchmarks.fuzzing.base import Target

from benchmarks.process import peak_mb
from benchmarks.script import command, parser

SLOWEST_S = 1.0
STOPPED_S = 10.0
"""Processor time after which an execution is interrupted."""
MOST_MB = 500
SEEDS = 200
"""Largest size of the repeated patterns that begin the corpus, in characters."""


class Hang(BaseException):
    """Interrupts an execution that does not end."""


class Harness:
    """Executes one target, times it, and keeps what fails."""

    def __init__(self, name: str, run: Callable[[bytes], None], allowed: tuple[type[BaseException], ...]) -> None:
        self.name = name
        self._run = run
        self._allowed = allowed
        self.executions = 0
        self.refused = 0
        """Executions that ended with an error of the project."""
        self.slowest = 0.0
        self.findings: dict[str, tuple[bytes, str]] = {}
        """Place in the code -> (input, trace)."""
        signal.signal(signal.SIGPROF, self._stop)

    def execute(self, data: bytes) -> None:
        """Execute one input."""
        self.executions += 1
        started = time.process_time()
        signal.setitimer(signal.ITIMER_PROF, STOPPED_S)
        try:
            self._run(data)
        except self._allowed:
            self.refused += 1
        except (Exception, Hang) as error:  # noqa: BLE001 -- what escapes is the finding
            self._keep(_place(error), data, "".join(traceback.format_exception(error))[-4_000:])
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
        seconds = time.process_time() - started
        self.slowest = max(self.slowest, seconds)
        if seconds > SLOWEST_S:
            self._keep(f"slow-{len(data).bit_length()}", data, f"{seconds:.1f} s for {len(data)} bytes")

    def _keep(self, place: str, data: bytes, trace: str) -> None:
        known = self.findings.get(place)
        if known is None or len(data) < len(known[0]):
            self.findings[place] = (data, trace)

    @staticmethod
    def _stop(*_: Any) -> None:
        raise Hang(f"stopped after {STOPPED_S:.0f} s")

    def report(self, seconds: float) -> dict[str, Any]:
        """Return the figures of this target."""
        return {
            "target": self.name,
            "executions": self.executions,
            "refused": self.refused,
            "slowest_s": round(self.slowest, 3),
            "peak_rss_mb": round(peak_mb()),
            "minutes": round(seconds / 60, 1),
            "findings": sorted(self.findings),
        }


def _place(error: BaseException) -> str:
    """Return exception and innermost line of the project's own code."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if "/chatbot_mvp/" in frame.filename or "/fuzzing/" in frame.filename]
    frame = own[-1] if own else frames[-1]
    return f"{type(error).__name__}-{Path(frame.filename).stem}-{frame.lineno}"


def load_instrumented() -> Mapping[str, Target]:
    """Import all that is fuzzed, instrumented by atheris, which takes half a minute; return the targets."""
    try:
        import atheris
    except ImportError:
        raise SystemExit("atheris is missing: pip install atheris") from None
    with atheris.instrument_imports(include=["chatbot_mvp", "markdownify", "json_repair"]):
        import markdownify  # noqa: F401 -- imported here to be instrumented

        from benchmarks.fuzzing.targets import TARGETS
        from chatbot_mvp.documents.reading import docx, html, pdf  # noqa: F401
    return TARGETS


def fuzz(target: Target, executions: int, seed: int, findings: Path) -> None:
    """Fuzz one target of ``load_instrumented``, print its figures as JSON, and end the process."""
    import atheris

    from benchmarks.fuzzing.inputs import WHOLE, pairs, repeated

    folder = Path(tempfile.mkdtemp(prefix="fuzz-"))
    work = folder / "target" / "work"  # alone in its folder: a target may check that nothing is written beside it
    work.mkdir(parents=True)
    harness = Harness(target.name, target.prepare(work), target.allowed)
    corpus = folder / "corpus"
    corpus.mkdir()
    patterns = [data for make in (repeated, pairs) for _, data in make(SEEDS)]
    for number, data in enumerate((*target.seeds, *WHOLE, *patterns)):
        (corpus / f"{number:04d}").write_bytes(data)
    words = folder / "words"
    words.write_text("".join(f'"{_escaped(word)}"\n' for word in target.dictionary), "utf-8")
    started = time.monotonic()

    def once(data: bytes) -> None:
        harness.execute(data)
        if harness.executions >= executions:
            _end(harness, time.monotonic() - started, findings)

    options = [f"-seed={seed}", f"-dict={words}", "-timeout=120", "-rss_limit_mb=0", "-max_len=8192", "-verbosity=0"]
    atheris.Setup([sys.argv[0], *options, str(corpus)], once)
    atheris.Fuzz()


def _escaped(word: str) -> str:
    return "".join(f"\\x{byte:02x}" for byte in word.encode("utf-8", "surrogatepass"))


def _end(harness: Harness, seconds: float, findings: Path) -> None:
    for place, (data, trace) in list(harness.findings.items()):
        findings.mkdir(parents=True, exist_ok=True)
        path = findings / f"{harness.name}-{place}"
        path.write_bytes(data)
        path.with_suffix(".txt").write_text(trace, "utf-8", "backslashreplace")
        if place.startswith("slow-"):
            again = subprocess.run(command("fuzz", harness.name, "--replay", path), capture_output=True)
            if again.returncode == 0:
                del harness.findings[place]
    print(json.dumps(harness.report(seconds)), flush=True)
    # The fuzzer's own end would run for minutes over its corpus.
    os._exit(1 if harness.findings or harness.report(seconds)["peak_rss_mb"] > MOST_MB else 0)


def replay(name: str, paths: list[Path]) -> int:
    """Execute single inputs and print what came of each; return the exit code."""
    from benchmarks.fuzzing.targets import TARGETS

    target = TARGETS[name]
    with tempfile.TemporaryDirectory() as folder:
        harness = Harness(name, target.prepare(Path(folder)), target.allowed)
        for path in paths:
            harness.execute(path.read_bytes())
        for place, (_, trace) in harness.findings.items():
            print(f"--- {place}\n{trace}")
    print(json.dumps(harness.report(0.0)))
    return 1 if harness.findings else 0


def fuzz_all(executions: int, seed: int, findings: Path, at_once: int) -> int:
    """Fuzz every target, each in a process of its own, ``at_once`` of them at a time; return the exit code.

    The processes are forked after the imports: importing and instrumenting took each of them 27 s.
    """
    targets = load_instrumented()
    whole = sum(target.share for target in targets.values())
    waiting, running = list(targets), dict[int, str]()
    failed, done = [], 0
    with tempfile.TemporaryDirectory() as folder:
        while waiting or running:
            while waiting and len(running) < at_once:
                name = waiting.pop(0)
                count = math.ceil(executions * targets[name].share / whole)
                running[_forked(targets[name], count, seed, findings, Path(folder) / name)] = name
            process, status = os.wait()
            name = running.pop(process)
            said = (Path(folder) / name).read_text("utf-8", "replace")
            lines = [line for line in said.splitlines() if line.startswith("{")]
            code = os.waitstatus_to_exitcode(status)
            print(lines[-1] if lines else json.dumps({"target": name, "died": code}), flush=True)
            done += json.loads(lines[-1])["executions"] if lines else 0
            if code:
                failed.append(name)
    print(json.dumps({"executions": done, "failed": failed}))
    return 1 if failed else 0


def _forked(target: Target, executions: int, seed: int, findings: Path, said: Path) -> int:
    """Fuzz a target in a process of its own, which writes what it prints to the file ``said``; return its id."""
    sys.stdout.flush()
    process = os.fork()
    if process == 0:
        try:
            os.dup2(os.open(said, os.O_WRONLY | os.O_CREAT, 0o600), sys.stdout.fileno())
            fuzz(target, executions, seed, findings)
        except BaseException:  # noqa: BLE001 -- the loop of the parent must not go on here
            traceback.print_exc()
        finally:
            os._exit(2)  # ``fuzz`` ends the process itself
    return process


def main() -> int:
    options = parser(__doc__)
    options.add_argument("target", nargs="?", default="all")
    options.add_argument("--list", action="store_true")
    options.add_argument("--executions", type=int, default=0, help="default: 10,000; 1,000,000 for all")
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--findings", type=Path, default=Path(tempfile.gettempdir()) / "fuzz-findings")
    options.add_argument("--at-once", type=int, default=1, help="targets at a time, for all")
    options.add_argument("--replay", type=Path, nargs="+")
    asked = options.parse_args()
    if asked.list:
        from benchmarks.fuzzing.targets import TARGETS

        print("\n".join(TARGETS))
        return 0
    if asked.replay:
        return replay(asked.target, asked.replay)
    if asked.target == "all":
        return fuzz_all(asked.executions or 1_000_000, asked.seed, asked.findings, asked.at_once)
    fuzz(load_instrumented()[asked.target], asked.executions or 10_000, asked.seed, asked.findings)
    return 0
