"""Change the code in small ways, one at a time, and count the changes that the tests notice (mutation testing).

    pip install mutmut==3.8.1
    python benchmarks/mutation.py metrics                  # every change in chatbot_mvp/metrics
    python benchmarks/mutation.py retrieval --sample 400   # a random part of them

The committed state of the repository is copied to a temporary folder and changed there by mutmut. A change counts as
noticed if a test fails or runs into a timeout. *No test* means that no selected test calls the changed function.
Functions that run while modules are imported are changed too late, so they count as not noticed unless a test calls
them again.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TESTS = {
    "metrics": ("tests/metrics", "tests/judges/test_formulas.py"),
    "retrieval": ("tests/retrieval", "tests/knowledge_base/test_service.py"),
    "runs": (
        "tests/runs",
        "tests/exports",
        "tests/evaluation/test_archive.py",
        "tests/evaluation/kb/test_runs.py",
        *(
            f"tests/evaluation/benchmark/{name}"
            for name in (
                "test_answering.py",
                "test_generation.py",
                "test_importing.py",
                "test_judgement.py",
                "test_plan.py",
                "test_runner.py",
                "test_durability.py::test_a_budget_is_not_exceeded_and_a_larger_one_goes_on",
                "test_durability.py::test_a_budget_without_prices_is_an_error_after_the_first_answer",
                "test_durability.py::test_what_fails_for_good_is_recorded_and_only_that_is_retried",
            )
        ),
    ),
}
"""Package below ``chatbot_mvp`` -> the tests that are run against its changes."""
LEFT_OUT = {
    "metrics": (),
    "retrieval": (
        "tests/retrieval/bridge/test_first_use.py",
        "tests/retrieval/indexes/test_chroma.py::test_another_process_finds_what_was_stored_and_builds_nothing",
        "tests/retrieval/indexes/test_chroma.py::test_a_server_gives_the_hits_that_files_give",
        "tests/retrieval/indexes/test_chroma.py::test_chroma_is_imported_only_when_it_is_used",
    ),
    "runs": (
        "tests/evaluation/benchmark/test_answering.py"
        "::test_a_stop_keeps_what_is_at_work_and_a_resume_asks_for_the_rest_alone",
    ),
}
"""Package -> tests that are not run: mutmut chooses no change in processes that they start, or its load upsets their
timing. Leaving them out can only lower the share that is noticed."""
NOTICED = ("killed", "timeout")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("package", choices=sorted(TESTS))
    parser.add_argument("--sample", type=int, help="number of changes tried; by default all")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--folder", type=Path, help="an empty folder to work in; by default a temporary one")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        _copy_of_repository(folder, given.package)
        if given.sample is not None:
            # A name that matches nothing: mutmut writes the changed files, measures the tests, and complains.
            _mutmut(folder, "run", "no-such-name", stderr=subprocess.DEVNULL)
            names = sorted(_exit_codes(folder))
            chosen = random.Random(given.seed).sample(names, min(given.sample, len(names)))
            output = _mutmut(folder, "run", "--max-children", "2", *chosen)
        else:
            output = _mutmut(folder, "run", "--max-children", "2")
        found = dict(line.strip().split(": ") for line in _mutmut(folder, "results", "--all", "true").splitlines())
    # mutmut counts it as killed when pytest itself cannot run (exit code 3), which says nothing about the tests.
    codes = _exit_codes(folder)
    found = {name: "crashed" if codes.get(name) == 3 else status for name, status in found.items()}
    tried = {name: status for name, status in found.items() if status != "not checked"}
    if not tried:
        print(f"mutmut tried no change. The end of its output:\n{output[-2_000:]}", file=sys.stderr)
        return 1
    counts = Counter(tried.values())
    tested = sum(counts.values()) - counts["no tests"]
    noticed = sum(counts[status] for status in NOTICED)
    for name in sorted(tried):
        if tried[name] not in NOTICED:
            print(f"{tried[name]}: {name}", file=sys.stderr)
    print(
        json.dumps(
            {
                "package": given.package,
                "changes": len(found),
                "tried": len(tried),
                **{status: counts[status] for status in sorted(counts)},
                "noticed_share": round(noticed / len(tried), 3) if tried else None,
                "noticed_share_of_tested": round(noticed / tested, 3) if tested else None,
            }
        )
    )
    return 0


def _copy_of_repository(folder: Path, package: str) -> None:
    archive = subprocess.run(["git", "archive", "HEAD"], cwd=ROOT, check=True, capture_output=True).stdout
    subprocess.run(["tar", "-x", "-C", str(folder)], input=archive, check=True)
    lines = ["[mutmut]", "source_paths=", "    chatbot_mvp", "only_mutate=", f"    chatbot_mvp/{package}/*"]
    lines += ["also_copy=", *(f"    {name}" for name in ("data", "streamlit_app", "benchmarks", "docs", "README.md"))]
    lines += ["pytest_add_cli_args_test_selection=", *(f"    {path}" for path in TESTS[package])]
    lines += ["pytest_add_cli_args=", "    -p", "    no:cacheprovider", "    -m", "    not slow"]
    lines += [f"    --deselect={name}" for name in LEFT_OUT[package]]
    (folder / "setup.cfg").write_text("\n".join(lines) + "\n", encoding="utf-8")


def _mutmut(folder: Path, *arguments: str, stderr: int | None = None) -> str:
    command = [sys.executable, "-m", "mutmut", *arguments]
    done = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, stderr=stderr, text=True, check=False)
    return done.stdout


def _exit_codes(folder: Path) -> dict[str, int | None]:
    """Return change -> exit code of pytest; None if the change was not tried."""
    files = (folder / "mutants").rglob("*.meta")
    return {
        name: code for file in files for name, code in json.loads(file.read_text("utf-8"))["exit_code_by_key"].items()
    }


if __name__ == "__main__":
    sys.exit(main())
