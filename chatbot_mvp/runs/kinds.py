"""The kinds of runs: what they measure, how they are compared, resumed and printed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from chatbot_mvp.plugins.registry import Registry

BENCHMARK, KB = "benchmark", "kb"
"""The program's own kinds: a pipeline on the queries of a data set, and on questions about a knowledge base."""


@dataclass(frozen=True, slots=True)
class RunKind:
    """A kind of run. What it names as "module:function" is imported when it is called."""

    name: str
    """``kind`` in manifests, results and lists. Its label has the key ``runs.kind.<name>`` among the texts, and a short
    one, which stands beside the name of the data, ``runs.kind_short.<name>``."""
    phases: Callable[[Any], Sequence[str]]
    """Maps a ``RunManifest`` to the phases that a query must have completed to count as done."""
    resume: str
    """Called with (App, run id, progress, whether to repeat failed queries, upper limit in US dollars or None): carries
    out what is missing of a run, and returns its ``RunResult``."""
    prints: str
    """Called with (``RunResult``, whether as JSON): prints a finished run."""
    retrieves: bool = True
    """Whether its runs search documents. Others score answers that are given: they have neither documents nor rankings,
    and their data is not a data set that could be read again."""
    same_data_by_content: bool = False
    """Whether data counts as the same if its content is equal, whatever its name."""
    main_metrics: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Name in lists -> metrics that lists show, best first. Without any, lists show the first metric that is scored."""
    so_far: str = ""
    """Called with (``RunFolder``, ``RunManifest``) while a run is at work: returns metric -> (mean so far, number of
    scores, expected number). "" if there are no figures before the end."""


_ROWS = (
    RunKind(
        BENCHMARK,
        phases=lambda manifest: ["generate" if manifest.generator else "retrieve"],
        resume="chatbot_mvp.evaluation.run_service:resume_benchmark",
        prints="chatbot_mvp.cli.printing:print_result",
        main_metrics={
            "retrieval": ("recall@5", "ndcg@10", "mrr"),
            "answers": ("generation_score", "semantic_similarity", "recall@5"),
        },
    ),
    RunKind(
        KB,
        phases=lambda manifest: ["generate" if manifest.generator else "retrieve"],
        resume="chatbot_mvp.evaluation.run_service:resume_benchmark",
        prints="chatbot_mvp.cli.printing:print_result",
        same_data_by_content=True,
        main_metrics={"kb": ("solved", "hit@3", "accepted", "refused")},
    ),
)

RUN_KINDS: Mapping[str, RunKind] = Registry("run_kind", RunKind, _ROWS)
"""Name -> kind: the program's own and those that are added."""


def run_kind(name: str) -> RunKind:
    """Return a kind of run. One that is not installed any more can still be listed, shown and printed."""
    return RUN_KINDS.get(name) or RunKind(
        name,
        phases=lambda manifest: [],
        resume="",
        prints="chatbot_mvp.cli.printing:print_result",
        retrieves=False,
        same_data_by_content=True,
    )
