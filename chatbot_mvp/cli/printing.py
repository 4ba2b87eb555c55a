"""Prints plans, results and histories as text, or as the single JSON object of ``--json``."""

from __future__ import annotations

import os

from chatbot_mvp.api import RunPlan
from chatbot_mvp.cli.common import print_json
from chatbot_mvp.errors import UnknownChoice
from chatbot_mvp.evaluation.archive import RunArchive
from chatbot_mvp.evaluation.benchmark.estimate import Amount, Estimate, PhaseEstimate, Total
from chatbot_mvp.metrics.registry import METRICS
from chatbot_mvp.metrics.spec import Section
from chatbot_mvp.runs.kinds import KB
from chatbot_mvp.runs.line import line_of
from chatbot_mvp.runs.lists import History, Point, history_of
from chatbot_mvp.runs.result import RunResult, figures_json
from chatbot_mvp.terminal import say

_CONTRACT = (
    "run_id",
    "dataset",
    "preset",
    "strategy",
    "fingerprint",
    "queries",
    "metrics",
    "scored",
    "seconds",
    "peak_rss_mb",
    "passage_questions",
)
_IF_ANY = ("preset", "passage_questions")
"""Keys that are left out if the run was asked for no preset, or if no model wrote questions for the passages."""
_MORE = ("usage", "failures", "abstentions", "generator", "judge", "generator_fingerprint", "judge_fingerprint")
"""Further keys of the JSON object for a run with answers."""
_OF_KB = ("kind", "auroc", "question_seconds")
"""Further keys of the JSON object for a run over a knowledge base."""


def print_plan(plan: RunPlan, hints: list[str], as_json: bool, provider_reason: str, preset: str = "") -> None:
    """Print what a run would do.

    Args:
        provider_reason: why its provider is this one.
        preset: the system that the run is asked for; "" for none.
    """
    if as_json:
        named = {"preset": preset} if preset else {}
        print_json({**plan.as_json(), **named, "provider_reason": provider_reason, "hints": hints})
        return
    if plan.checked:
        state = f"checked, sha256 {(plan.dataset_sha256 or '')[:12]}"
    else:
        state = f"{plan.download_bytes / 1e6:.1f} MB to download, checked then"
    lines = {
        "data set": f"{plan.dataset} ({plan.place}: {plan.dataset_ref}); {state}",
        "split": plan.split or ("" if plan.checked else _UNKNOWN),
        "queries": _queries(plan),
        "documents": _part(plan.documents, plan.dataset_documents),
        "qrels": _UNKNOWN if plan.qrels is None else f"{plan.qrels:,}",
        "sample": ", ".join(f"{name}={value}" for name, value in plan.sampling.items()) or "the whole data set",
        "preset": preset,
        "strategy": f"{plan.strategy} (fingerprint {plan.fingerprint})",
        "provider": f"{plan.provider}, because {provider_reason}",
        "embeddings": plan.embedding_model or "none",
        "reranker": plan.reranker or "none",
        "phases": " → ".join(plan.phases),
        "cached": _cached(plan),
        "results": f"{plan.results_dir}{os.sep}<run_id>",
    }
    for name, value in lines.items():
        if value:
            say(f"{name:<11} {value}")
    for text in [*(one.text for one in plan.warnings), *hints]:
        say(f"{'warning':<11} {text}")
    for line in estimate_lines(plan.estimate):
        say(line)
    piloted = plan.estimate.pilot if plan.estimate else None
    say("Only the pilot was run." if piloted else "Nothing was run.")


def estimate_lines(estimate: Estimate | None) -> list[str]:
    """Return an estimate as the lines of a table, with notes on how it was obtained."""
    if estimate is None:
        return []
    rows: list[tuple[str, PhaseEstimate | Total]] = [(phase.phase, phase) for phase in estimate.phases]
    table = [["", "calls", "prompt tokens", "reply tokens", "seconds", "US dollars", ""]]
    for name, row in [*rows, ("all", estimate.total)]:
        amounts = [_amount(value) for value in (row.calls, row.prompt_tokens, row.completion_tokens)]
        cost = _amount(row.cost_usd, 4, unknown="no price known")
        table.append([name, *amounts, _amount(row.seconds, 1), cost, getattr(row, "model", "")])
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    lines = ["", f"estimate    {_basis(estimate)}"]
    for first, *cells, model in table:
        shown = "".join(f"  {cell:>{width}}" for cell, width in zip(cells, widths[1:-1], strict=True))
        lines.append(f"  {first:<{widths[0]}}{shown}  {model}".rstrip())
    return [*lines, *(f"  {note}" for note in _estimate_notes(estimate))]


def _amount(amount: Amount | None, digits: int = 0, unknown: str = "not known") -> str:
    if amount is None:
        return unknown
    text = f"{amount.expected:,.{digits}f}"
    if amount.low is None or amount.high is None or amount.low == amount.high:
        return text
    return f"{text} ({amount.low:,.{digits}f}-{amount.high:,.{digits}f})"


def _basis(estimate: Estimate) -> str:
    if estimate.pilot is None:
        return (
            f"from the lengths of texts and prompts, {estimate.chars_per_token:g} characters per token; no request sent"
        )
    pilot = estimate.pilot
    cost = "at a cost that is not known" if pilot.cost_usd is None else f"for {pilot.cost_usd:.4f} USD"
    return (
        f"by a pilot of {pilot.queries} of {estimate.queries} queries: {pilot.calls} calls, {pilot.tokens:,} tokens, "
        f"{pilot.seconds:.1f} s, {cost}"
    )


def _estimate_notes(estimate: Estimate) -> list[str]:
    notes = []
    free = sum(phase.free_calls for phase in estimate.phases)
    if free:
        notes.append(f"{free:,} of the calls are answered from the cache: seconds and dollars are for the others")
    if pilot := estimate.pilot:
        notes.append("brackets: range of about 95 %")
        if pilot.failed:
            notes.append(f"{pilot.failed} queries of the pilot failed and are not counted")
        if pilot.cached:
            notes.append(
                f"{pilot.cached} replies of the pilot came from the cache; the estimate counts all other calls as paid"
            )
        if pilot.stand_in:
            notes.append(f"retrieved with {pilot.stand_in}, because a model has yet to write texts for the chunks")
    elif estimate.total.seconds is None and any(phase.seconds is None for phase in estimate.phases):
        notes.append("seconds are known after a pilot (--pilot N) or a run with the same model")
    if any(phase.seconds_basis == "earlier_runs" for phase in estimate.phases):
        notes.append("seconds from the latencies of earlier runs on this machine")
    for phase in estimate.phases:
        if phase.price and phase.price["date"]:
            price = phase.price
            rate = f"{price['input']:g} in, {price['output']:g} out per million tokens"
            notes.append(f"price of {phase.model}: {rate}, as of {price['date']}")
    return list(dict.fromkeys(notes))


_UNKNOWN = "not known before the download"


def _queries(plan: RunPlan) -> str:
    if not plan.checked and plan.queries is not None:
        return f"at most {_part(plan.queries, plan.dataset_queries)}"
    left_out = f"; {plan.unjudged:,} without a judgement are not asked" if plan.unjudged else ""
    return _part(plan.queries, plan.dataset_queries) + left_out


def _part(value: int | None, total: int | None) -> str:
    return _UNKNOWN if value is None or total is None else f"{value:,} of {total:,}"


def _cached(plan: RunPlan) -> str:
    parts = ["data set" if plan.checked else "no data set"]
    if plan.index_cached is not None:
        parts.append("index" if plan.index_cached else "no index")
    if plan.vectors is not None:
        parts.append(f"{plan.vectors.cached:,} of {plan.vectors.total:,} vectors")
    return ", ".join(parts)


def print_result(result: RunResult, as_json: bool) -> None:
    """Print a finished run."""
    if as_json:
        values = figures_json(result)
        own = [name for name in _CONTRACT if name not in _IF_ANY or values[name]]
        names = [*own, *(_MORE if result.generator else ()), *(_OF_KB if result.kind == KB else ())]
        print_json({name: values[name] for name in names})
        return
    for line in result_lines(result):
        say(line)


_SECTIONS: tuple[Section, ...] = ("retrieval", "context", "decision", "answers", "judge")


def result_lines(result: RunResult) -> list[str]:
    """Return the lines of a finished run, by section. A run without answers has no section headings."""
    system = line_of(result).system
    named = f"{result.preset}: {system}" if result.preset else system
    lines = [f"{named}  ({result.dataset}, {result.queries} queries)  {result.run_id}"]
    answered = bool(result.generator)
    if answered:
        lines.append(f"  answers by {result.generator}, judge: {result.judge or 'none'}")
    if result.corpus_slice:
        lost = f"; {result.gold_missing} relevant documents are not in it" if result.gold_missing else ""
        lines.append(f"  corpus: {result.documents} documents, EVAL_CORPUS_SLICE={result.corpus_slice}{lost}")
    for section in _SECTIONS:
        names = [name for name in result.metrics if name in METRICS and METRICS[name].section == section]
        rows = [_metric_line(result, name) for name in names]
        lines += [section, *rows] if rows and answered else rows
    if answered:
        lines += ["run", *_usage_lines(result)]
    for kind, value in result.auroc.items():
        lines.append(f"  {'auroc ' + kind:<20} {'not scored' if value is None else f'{value:.4f}'}")
    counts = {
        "reranker_rescue_count": result.reranker_rescue_count,
        "rerank_failures": result.rerank_failures,
        "abstentions": result.abstentions,
    }
    lines += [f"  {name:<20} {count}" for name, count in counts.items() if count]
    if asked := result.passage_questions:
        text = f"{asked['kept']:,} of {asked['written']:,} kept; {asked['without']:,} passages without"
        lines.append(f"  {'passage questions':<20} {text}")
    if result.failures:
        told = ", ".join(f"{phase} {count}" for phase, count in result.failures.items())
        lines.append(f"  {'failures':<20} {told}; again: chatbot-mvp benchmark retry {result.run_id}")
    if answered:
        told = ", ".join(f"{phase} {seconds:.1f}" for phase, seconds in result.seconds.items())
        lines.append(f"  {'seconds':<20} {told}")
    return lines


def _metric_line(result: RunResult, name: str) -> str:
    value, (scored, total) = result.metrics[name], result.scored.get(name, (0, 0))
    interval = result.intervals.get(name)
    spread = f"  [{interval[0]:.4f}, {interval[1]:.4f}]" if interval else ""
    with_failures = result.readings.get(name, (value, value))[1]
    other = "" if with_failures in (None, value) else f"  {with_failures:.4f} with failures"
    return f"  {name:<20} {'not scored' if value is None else f'{value:.4f}'}{spread}  ({scored}/{total}){other}"


def _usage_lines(result: RunResult) -> list[str]:
    lines = []
    for name, spent in [("all", result.usage), *result.usage.phases.items()]:
        tokens = f"{spent.prompt_tokens:,} + {spent.completion_tokens:,} tokens"
        cost = f"{spent.cost_usd:.4f} USD"
        if spent.unpriced:
            cost = f"cost not known for {spent.unpriced:,} calls, {cost} for the others"
        cached = f", {spent.cached:,} from the cache" if spent.cached else ""
        lines.append(f"  {'calls, ' + name:<20} {spent.calls:,}{cached}; {tokens}; {cost}")
    return lines


def chosen_history(archive: RunArchive, dataset: str, metric: str) -> History:
    """Return the history of a data set by its name, or of the newest run's; by default of its main metric.

    Raises:
        UnknownChoice: there is no such run, or no run of the data set has the metric.
    """
    every = archive.series()
    found = [series for series in every if dataset in ("", series.dataset)]
    if not found:
        legal = ", ".join(dict.fromkeys(series.dataset for series in every)) or "-"
        raise UnknownChoice(kind="data set with finished runs", found=dataset, legal=legal)
    # A benchmark and an evaluation of answers may have the same name; the metric tells them apart.
    having = [series for series in found if metric in ("", *series.metrics)]
    if not having or not having[0].metrics:
        legal = ", ".join(found[0].metrics) or "-"
        raise UnknownChoice(kind="metric of these runs", found=metric, legal=legal)
    return history_of(having[0], metric or having[0].metrics[0])


def history_text(history: History) -> str:
    """Return a history as a table, and a line that names the first run that fell out of the band."""
    lines = [f"{history.dataset}  {history.metric}, oldest run first"]
    lines += [_history_line(point) for point in history.points]
    first = history.first_outside
    if first is None or first.band is None:
        lines.append("no run fell out of the band of the runs before it")
    else:
        low, high = first.band
        lines.append(f"first run out of the band [{low:.4f}, {high:.4f}]: {first.run_id} with {first.value:.4f}")
    return "\n".join(lines)


def _history_line(point: Point) -> str:
    interval = "-" if point.interval is None else f"[{point.interval[0]:.4f}, {point.interval[1]:.4f}]"
    notes = [
        *(["other data"] if point.data_changed else []),
        *([f"configuration {point.fingerprint}"] if point.configuration_changed else []),
        *(["OUT OF THE BAND"] if point.outside else []),
    ]
    return f"  {point.started_at[:19]}  {point.value:.4f} {interval:<18} {point.run_id}  {'; '.join(notes)}".rstrip()
