"""Export a run as a Markdown report: metrics with intervals, splits, causes of failure, configuration."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence

from chatbot_mvp.chat.inert import inert_line
from chatbot_mvp.errors import MissingPackage
from chatbot_mvp.exports.base import Exported, FinishedRun
from chatbot_mvp.metrics.registry import COMPARED, METRICS
from chatbot_mvp.runs.kinds import KB
from chatbot_mvp.runs.line import line_of
from chatbot_mvp.runs.masking import masked_settings
from chatbot_mvp.runs.result import RunResult
from chatbot_mvp.runs.rows import SplitFigure

_log = logging.getLogger(__name__)

_EXAMPLES = 5
_CAPTIONS = {
    "curves": "Recall, nDCG and all-gold over K",
    "intervals": "Means with their 95 % intervals",
    "causes": "Where questions were lost",
}
_SMALL_CORPUS = (
    "A corpus of this size holds fewer distractors than the whole of Wikipedia: the figures compare configurations on "
    "this very corpus and are not those published on larger ones."
)
_CAUSES = {
    "ok": "nothing went wrong",
    "not_retrieved": "a gold document was not retrieved",
    "below_cut": "a gold document was retrieved below the cut",
    "lost_in_reranking": "a gold document was lost in reranking",
    "answered_wrong": "in the context, answered wrong",
    "unknown_wrongly": 'in the context, answered "I don\'t know"',
    "refused_wrongly": "nothing was lost, refused for too little evidence",
    "unsolved": "nothing was lost, shown as nearest or with a wrong tick",
    "accepted_wrongly": "without an answer in the knowledge base, not refused",
    "judge_failed": "the judge failed",
    "not_scored": "not scored",
}


def to_markdown(run: FinishedRun) -> Exported:
    """Write ``<run_id>.md`` and its plots ``<run_id>_<name>.svg``.

    If the package that draws the plots is not installed, the report says in their place how to install it.
    """
    # Import here: altair and pandas take a third of a command's start-up time, and only reports need them.
    from chatbot_mvp.exports.plots import plots_of

    result = run.result
    without_plots = ""
    try:
        plots = {f"{run.run_id}_{name}.svg": picture for name, picture in plots_of(result).items()}
    except MissingPackage as error:
        plots, without_plots = {}, f"This report has no plots. {error}"
        _log.warning("%s: %s", run.run_id, without_plots)
    sections = [
        f"# {inert_line(run.manifest.dataset)} · {inert_line(line_of(result).system)}",
        _identity(run),
        "" if result.kind == KB else _SMALL_CORPUS,
        *(f"![{_CAPTIONS[name.rpartition('_')[2].removesuffix('.svg')]}]({name})" for name in plots),
        without_plots,
        "## Metrics\n\n" + _metrics(result),
        *(f"## By {field.replace('_', ' ')}\n\n{_split(groups)}" for field, groups in result.splits.items()),
        "## Where questions were lost\n\n" + _causes(result) if result.causes else "",
        "## Configuration\n\n" + _configuration(run),
    ]
    text = "\n\n".join(section for section in sections if section) + "\n"
    return Exported({f"{run.run_id}.md": text.encode(), **plots})


def _identity(run: FinishedRun) -> str:
    manifest, result = run.manifest, run.result
    lost = f", {result.gold_missing} relevant documents are not in it" if result.gold_missing else ""
    rows = [
        ("run", manifest.run_id),
        ("data set", f"{manifest.dataset}, SHA-256 {manifest.dataset_sha256}"),
        ("questions", manifest.queries),
        ("documents", manifest.documents),
        *([("corpus slice", f"EVAL_CORPUS_SLICE={result.corpus_slice}{lost}")] if result.corpus_slice else []),
        ("fingerprint", manifest.fingerprint),
        ("version", manifest.code_version),
        ("started", manifest.started_at),
        ("seconds", ", ".join(f"{phase} {seconds}" for phase, seconds in result.seconds.items())),
    ]
    if result.generator:
        rows += [("answers by", result.generator), ("judged by", result.judge or "nobody")]
        rows += [(f"usage: {name}", value) for name, value in result.usage.to_json().items() if name != "phases"]
    names = ("abstentions", "failures", "rerank_failures", "reranker_rescue_count", "damaged_records")
    rows += [(name, count) for name in names if (count := getattr(result, name)) is not None]
    return _table(["what", "value"], rows)


def _metrics(result: RunResult) -> str:
    rows = []
    for name, mean in result.metrics.items():
        scored, total = result.scored.get(name, (0, 0))
        interval = result.intervals.get(name)
        with_failures = result.readings.get(name, (mean, None))[1]
        better = "higher" if name not in METRICS or METRICS[name].higher_is_better else "lower"
        spread = f"{interval[0]:.4f} – {interval[1]:.4f}" if interval else "–"
        rows.append((name, _number(mean), spread, _number(with_failures), f"{scored}/{total}", better))
    head = ["metric", "mean", "95 % interval", "with failures as the worst value", "scored", "better is"]
    return _table(head, rows)


def _split(groups: Mapping[str, Mapping[str, SplitFigure]]) -> str:
    names = [name for name in COMPARED if any(name in group for group in groups.values())]
    rows = []
    for value, group in groups.items():
        totals = max(cell.total for cell in group.values())
        rows.append((value, totals, *(_number(group[name].mean) if name in group else "–" for name in names)))
    return _table(["value", "questions", *names], rows)


def _causes(result: RunResult) -> str:
    rows = []
    for cause, count in result.causes.items():
        examples = [row.query_id for row in result.per_query if row.cause == cause and cause != "ok"]
        rows.append((_CAUSES.get(cause, cause), count, ", ".join(examples[:_EXAMPLES])))
    return _table(["cause", "questions", "for example"], rows)


def _configuration(run: FinishedRun) -> str:
    settings = masked_settings(run.manifest.settings_masked)
    return _table(["setting", "value"], [(name.upper(), value) for name, value in settings.items()])


def _table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    lines = [f"| {' | '.join(head)} |", "|" + "---|" * len(head)]
    lines += [f"| {' | '.join(inert_line(value) for value in row)} |" for row in rows]
    return "\n".join(lines)


def _number(value: float | None) -> str:
    return "not scored" if value is None else f"{value:.4f}"
