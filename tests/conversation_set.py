"""A small data set of conversations about a garden."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

CORPUS = {
    "roses": "Prune roses in February. Cut each stem above a bud that points outwards.",
    "rose water": "Water roses in the morning, twice a week, at the roots.",
    "apples": "Prune apple trees in January, when no leaf is left, and open the crown.",
    "apple water": "Water apples in a dry summer.",
    "tomatoes": "Water tomatoes every evening. Take out the side shoots.",
    "prices": "The nursery sells roses for nine euros and apple trees for thirty euros.",
    "hours": "The nursery opens at nine and closes at six.",
}
ROSES = [
    {"role": "user", "text": "When do I prune roses?"},
    {"role": "assistant", "text": "Prune roses in February, above a bud that points outwards."},
]
QUERIES: list[dict[str, Any]] = [
    {"_id": "follows", "text": "How often do I water them?", "history": ROSES},
    {"_id": "changes", "text": "When does the nursery close?", "history": ROSES},
    {"_id": "alone", "text": "When does the nursery close?"},
]
QRELS = {"follows": "rose water", "changes": "hours", "alone": "hours"}


def write_garden(folder: Path, queries: Sequence[Mapping[str, Any]] = (), qrels: Mapping[str, str] = QRELS) -> Path:
    """Write the data set and return its folder.

    Args:
        queries: other ones than ``QUERIES``.
        qrels: query id -> the document that answers it.
    """
    (folder / "qrels").mkdir(parents=True, exist_ok=True)
    rows = [{"_id": name, "title": "", "text": text} for name, text in CORPUS.items()]
    for name, lines in (("corpus", rows), ("queries", queries or QUERIES)):
        (folder / f"{name}.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines), "utf-8")
    judged = "".join(f"{query}\t{document}\t1\n" for query, document in qrels.items())
    (folder / "qrels" / "test.tsv").write_text(f"query-id\tcorpus-id\tscore\n{judged}", "utf-8")
    return folder
