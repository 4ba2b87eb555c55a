"""The page ``docs/research/presets.md``, made of the figures of ``presets.py``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from chatbot_mvp.retrieval.systems import SYSTEMS

_HEAD = """# The systems beside the default

The KB chat, RAG v2 and RAG_P live on in this project as *presets*: settings that make it work as they did, chosen with
`--preset`, in Admin's form for runs, or in the settings of the chat. `default` changes nothing.

| preset | what it is | needs a language model |
|---|---|---|
{systems}

One command measures all of them, and can be stopped and called again:

```bash
python -m benchmarks presets ../shared/datasets
```
"""
_LARGE = """
## Without a language model

At most {queries:,} queries and {documents:,} passages of each set of passages, its relevant ones among them; of each
knowledge base the whole text and at most {queries:,} questions. Every preset has the same questions and texts. With so
few passages a question is easier than over the whole data set.
"""
_SMALL = """
## With a language model

Every preset also ran on a small sample ({queries} queries, {documents} passages, or the first {characters:,} characters
of a knowledge base) with {model}, which is tiny and reads Spanish badly. That shows that each preset works, and no
more; the rows are in [presets.json](presets.json). A real model and a larger sample (`--small-queries`,
`--small-documents`, `--small-characters`) give figures to choose by.
"""
_READ = """
*recall@5*: share of the relevant passages among the first five. *hit@1*, *hit@3*: share of the questions whose passage
is first, or among the first three; in a knowledge base only passages that reach the answer count. *accepted*: share of
the questions of each kind whose evidence is at least KB_MIN_EVIDENCE of the preset; the model's part of a relevance
check is not asked for. The corpus is complete, so that RAG_P's blind slice changes nothing here.
"""


def page(raw: Mapping[str, Any]) -> str:
    """The page as Markdown."""
    systems = "\n".join(
        f"| `{system.name}` | {system.summary} | {'yes' if system.needs_language_model else 'no'} |"
        for system in SYSTEMS.values()
    )
    text = _HEAD.format(systems=systems)
    for which, said in (("large", _LARGE), ("small", _SMALL)):
        rows = [row for row in raw["rows"].values() if row["sample"] == which]
        if rows:
            text += said.format(**raw["sizes"][which], model=raw.get("model") or "a local model")
            text += (_tables(rows) if which == "large" else "") + _missing(raw["rows"], which)
    return text + _READ


def _missing(rows: Mapping[str, Mapping[str, Any]], which: str) -> str:
    """What a stopped call has left to the next one."""
    data = dict.fromkeys(row["data"] for row in rows.values())
    presets = [name for name in SYSTEMS if which == "small" or not SYSTEMS[name].needs_language_model]
    left = [name for name in data if any(f"{which}/{name}/{preset}" not in rows for preset in presets)]
    return f"\nNot measured yet with every preset: {', '.join(left)}.\n" if left else ""


def _tables(rows: list[Mapping[str, Any]]) -> str:
    passages = [row for row in rows if not row["kb"]]
    kbs = [row for row in rows if row["kb"]]
    text = ""
    if passages:
        text += "\n| passages | preset | recall@5 | hit@1 | hit@3 |\n|---|---|--:|--:|--:|\n"
        text += _lines(passages, lambda row: [_figure(row.get(name)) for name in ("recall@5", "hit@1", "hit@3")])
    if kbs:
        text += (
            "\n| knowledge base | preset | hit@1 | hit@3 | accepted: answerable | near | far |\n"
            "|---|---|--:|--:|--:|--:|--:|\n"
        )
        text += _lines(
            kbs,
            lambda row: [
                *(_figure(row.get(name)) for name in ("hit@1", "hit@3")),
                *(_figure(row.get("accepted", {}).get(kind)) for kind in ("answerable", "near", "far")),
            ],
        )
    return text


def _lines(rows: Iterable[Mapping[str, Any]], figures: Any) -> str:
    text, before = "", ""
    for row in rows:
        size = f"{row['size']:,} {'characters' if row['kb'] else 'passages'}"
        name = f"{row['data']} ({row['queries']} questions, {size})" if row["data"] != before else ""
        before = row["data"]
        shown = [f"not measured: {row['error']}"] if "error" in row else figures(row)
        preset = f"`{row['preset']}`"
        if unranked := row.get("not_reranked"):
            preset += f" ({unranked} not reranked)"
        text += f"| {' | '.join([name, preset, *shown])} |\n"
    return text


def _figure(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"
