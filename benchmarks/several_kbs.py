"""Questions over two knowledge bases: one index of both, against the rankings of each merged by their evidence.

Prints one JSON object: for each way hit@1, hit@3 and hit@5 of the answerable questions, and AUROC of the evidence
between answerable and other questions. ``--data`` has ``NAME.md`` and ``NAME.questions.jsonl``.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from chatbot_mvp.app import App, build_app
from chatbot_mvp.evaluation.kb.questions import auroc
from chatbot_mvp.retrieval.pipeline import Pipeline
from chatbot_mvp.retrieval.trace import RetrievalTrace
from chatbot_mvp.settings.model import load_settings

Found = tuple[list[str], float]
"""(the texts that are found, best first; the evidence, 0-1)."""


def merged_by_score(traces: Sequence[RetrievalTrace]) -> Found:
    """Rank all hits by score x evidence of their knowledge base."""
    hits = [(hit.score * (trace.evidence or 0.0), hit.chunk.text) for trace in traces for hit in trace.chunks_final]
    ranked = [text for _, text in sorted(hits, key=lambda pair: -pair[0])]
    return ranked, max(trace.evidence or 0.0 for trace in traces)


def in_turns(traces: Sequence[RetrievalTrace]) -> Found:
    """Take a hit of each knowledge base in turn, that with more evidence first."""
    ordered = sorted(traces, key=lambda trace: -(trace.evidence or 0.0))
    longest = max(len(trace.chunks_final) for trace in traces)
    ranked = [
        trace.chunks_final[at].chunk.text for at in range(longest) for trace in ordered if at < len(trace.chunks_final)
    ]
    return ranked, max(trace.evidence or 0.0 for trace in traces)


def measured(questions: Sequence[dict[str, str]], ask: Callable[[str], Found]) -> dict[str, float]:
    ranks: list[int] = []
    evidence: dict[bool, list[float]] = {True: [], False: []}
    for one in questions:
        answerable = one["kind"] == "answerable"
        texts, score = ask(one["question"])
        evidence[answerable].append(score)
        if answerable:
            wanted = " ".join(one["paragraph"].split())[:200]
            ranks.append(next((row for row, text in enumerate(texts, 1) if wanted in " ".join(text.split())), 0))
    figures = {f"hit@{k}": sum(0 < rank <= k for rank in ranks) / len(ranks) for k in (1, 3, 5)}
    return {**figures, "auroc": auroc(evidence[True], evidence[False]) or 0.0, "answerable": len(ranks)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--strategy", default="LEXICAL")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        app: App = build_app(load_settings(data_dir=Path(folder), retrieval_strategy=options.strategy))
        names = sorted(path.stem for path in options.data.glob("*.md"))
        ids = [app.kbs.add(f"{name}.md", (options.data / f"{name}.md").read_bytes()).kb_id for name in names]
        questions = [
            json.loads(line)
            for name in names
            for line in (options.data / f"{name}.questions.jsonl").read_text("utf-8").splitlines()
        ]
        # Another manual's question is not unanswerable beside that manual, whatever it is alone.
        each: list[Pipeline] = [app.kbs.pipeline(kb_id) for kb_id in ids]
        union = app.kbs.over(ids).complete()

        def of_union(question: str) -> Found:
            [trace] = union.retrieve([question])
            return [hit.chunk.text for hit in trace.chunks_final], trace.evidence or 0.0

        def of_each(merge: Callable[[Sequence[RetrievalTrace]], Found]) -> Callable[[str], Found]:
            return lambda question: merge([pipeline.retrieve([question])[0] for pipeline in each])

        ways = {"one index": of_union, "score x evidence": of_each(merged_by_score), "in turns": of_each(in_turns)}
        print(json.dumps({name: measured(questions, ask) for name, ask in ways.items()}, indent=1))


if __name__ == "__main__":
    main()
