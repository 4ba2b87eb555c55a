"""Score scripted verdicts with the ragas package, to compare with this project's scores, or feed it broken JSON.

    python tests/wings/ragas/judging/ragas_agreement.py [--seed N] [--cases N] [--output FILE]
    python tests/wings/ragas/judging/ragas_agreement.py --broken 0.3

Needs a separate environment with ragas, in which this project need not be installed:

    python -m venv ragas-venv && ragas-venv/bin/pip install 'ragas==0.4.3' 'langchain-community<0.4'

(ragas 0.4.3 does not pin langchain-community and cannot be imported with 0.4.) The figures of seed 0 are kept in
``ragas_cases.json``.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import os
import random
import sys
import warnings
from collections.abc import Awaitable, Callable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[4]
sys.path.insert(0, str(ROOT))
warnings.filterwarnings("ignore")
os.environ["RAGAS_DO_NOT_TRACK"] = "true"  # it would post to its makers with every prompt

from tests.judges.broken_json import perhaps_broken  # noqa: E402

Case = dict[str, Any]
"""metric; row: its columns; judge: scripted verdicts, in a neutral format; vectors: text -> integers."""

DIMENSIONS = 6
WORDS = ("río", "puente", "molino", "feria", "archivo", "tranvía", "huerta", "campana", "norte", "1887", "cuarzo")


def cases_of(seed: int, count: int) -> Iterator[Case]:
    """``count`` random cases of each metric, and those at the edges."""
    rng = random.Random(seed)

    def text() -> str:
        return " ".join(rng.choices(WORDS, k=rng.randint(2, 6))).capitalize() + "."

    def bits(most: int) -> list[int]:
        return [rng.randint(0, 1) for _ in range(rng.randint(1, most))]

    def row(contexts: int) -> dict[str, Any]:
        return {
            "user_input": f"¿{text()[:-1]}?",
            "response": text(),
            "reference": text(),
            "retrieved_contexts": [text() for _ in range(contexts)],
        }

    for name in ("ragas_llm_context_precision_without_reference", "ragas_llm_context_precision_with_reference"):
        for verdicts in ([0, 1, 1], [0, 0], [1], *(bits(8) for _ in range(count))):
            yield {"metric": name, "row": row(len(verdicts)), "judge": verdicts}
    for verdicts in ([1, 1, 0, 1], [], [0], *(bits(9) for _ in range(count))):
        yield {"metric": "ragas_context_recall", "row": row(2), "judge": [[text(), one] for one in verdicts]}
    for verdicts in ([1, 0], [], [1], *(bits(9) for _ in range(count))):
        yield {"metric": "ragas_faithfulness", "row": row(2), "judge": [[text(), one] for one in verdicts]}
    for noncommittal in ([0, 0, 0], [1, 1, 1], [0, 1, 1], *([rng.randint(0, 1) for _ in "123"] for _ in range(count))):
        one = row(1)
        made = [[f"¿{number}: {text()}?", evades] for number, evades in enumerate(noncommittal)]
        vectors = {
            words: [rng.randint(-3, 9) for _ in range(DIMENSIONS - 1)] + [1]
            for words in (one["user_input"], *(question for question, _ in made))
        }
        yield {"metric": "ragas_answer_relevancy", "row": one, "judge": made, "vectors": vectors}
    rated: tuple[list[str], int | None] = ([], 2)
    never: tuple[list[str], int | None] = (["?"] * 5, None)
    edges = [(rated, rated), (never, never), (never, rated), (rated, never)]
    drawn = [tuple((["nada"] * rng.choice((0, 0, 0, 1, 4)), rng.randint(0, 2)) for _ in "12") for _ in range(count)]
    for first, second in (*edges, *drawn):
        replies = [[*broken, *([] if last is None else [str(last)])] for broken, last in (first, second)]
        yield {"metric": "ragas_nv_context_relevance", "row": row(2), "judge": replies}
    for change in ({"user_input": " "}, {"retrieved_contexts": [""]}, {"user_input": "x", "retrieved_contexts": ["x"]}):
        yield {"metric": "ragas_nv_context_relevance", "row": row(2) | change, "judge": [[], []]}
    for name in ("ragas_id_based_context_precision", "ragas_id_based_context_recall"):
        for low in (0, *(1 for _ in range(count))):
            ids = [[str(rng.randint(0, 9)) for _ in range(rng.randint(low, 6) * low)] for _ in "12"]
            yield {
                "metric": name,
                "row": {"retrieved_context_ids": ids[0], "reference_context_ids": ids[1]},
                "judge": [],
            }


def in_ragas_format(case: Case) -> list[str]:
    """The scripted verdicts as replies that the package asks for, in the order in which it asks."""
    judge, name = case["judge"], case["metric"]
    replies: list[Any] = []
    if "precision" in name:
        replies = [{"reason": "porque sí", "verdict": verdict} for verdict in judge]
    elif name == "ragas_context_recall":
        said = [{"statement": text, "reason": "r", "attributed": verdict} for text, verdict in judge]
        replies = [{"classifications": said}]
    elif name == "ragas_faithfulness":
        said = [{"statement": text, "reason": "r", "verdict": verdict} for text, verdict in judge]
        replies = [{"statements": [text for text, _ in judge]}, {"statements": said}]
    elif name == "ragas_answer_relevancy":
        replies = [{"question": text, "noncommittal": evades} for text, evades in judge]
    else:
        return [text for texts in judge for text in texts]
    return [json.dumps(reply, ensure_ascii=False) for reply in replies]


Score = Callable[[Case], Awaitable[float]]


def ragas_scorer(broken: float = 0.0) -> Score:
    """Case -> the package's own score. ``broken``: the share of replies, 0-1, that break their JSON."""
    from langchain_core.outputs import Generation, LLMResult
    from ragas.dataset_schema import SingleTurnSample
    from ragas.embeddings.base import BaseRagasEmbeddings
    from ragas.llms.base import BaseRagasLLM
    from ragas.metrics import (
        ContextRelevance,
        Faithfulness,
        IDBasedContextPrecision,
        IDBasedContextRecall,
        LLMContextPrecisionWithoutReference,
        LLMContextPrecisionWithReference,
        LLMContextRecall,
        ResponseRelevancy,
    )

    class Judge(BaseRagasLLM):  # type: ignore[misc]  # ragas is not installed where types are checked
        """Gives the replies of a script in order; asked to mend one, it gives that one again."""

        def __init__(self, script: list[str]) -> None:
            super().__init__()
            self.script, self.last, self.asked = script, "", 0

        def generate_text(self, *args: Any, **kwargs: Any) -> Any:
            raise NotImplementedError  # the base class asks for it; only the asynchronous one is called

        async def agenerate_text(self, prompt: Any, n: int = 1, *args: Any, **kwargs: Any) -> Any:
            text = prompt.to_string()
            mending = "did not satisfy the constraints" in text
            said = []
            for _ in range(n):
                self.asked += 1
                self.last = self.last if mending else self.script.pop(0)
                good = json.dumps({"text": self.last}, ensure_ascii=False) if mending else self.last
                said.append(perhaps_broken(good, f"{text} {self.asked}", broken) if broken else good)
            return LLMResult(generations=[[Generation(text=one) for one in said]])

        def is_finished(self, response: Any) -> bool:
            return True

    class Vectors(BaseRagasEmbeddings):  # type: ignore[misc]  # ragas is not installed where types are checked
        def __init__(self, vectors: dict[str, list[int]]) -> None:
            super().__init__()
            self.vectors = vectors

        def embed_query(self, text: str) -> list[float]:
            return [float(number) for number in self.vectors[text]]

        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return [self.embed_query(text) for text in texts]

        async def aembed_query(self, text: str) -> list[float]:
            return self.embed_query(text)

        async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
            return self.embed_documents(texts)

    classes = {
        "ragas_llm_context_precision_without_reference": LLMContextPrecisionWithoutReference,
        "ragas_llm_context_precision_with_reference": LLMContextPrecisionWithReference,
        "ragas_context_recall": LLMContextRecall,
        "ragas_faithfulness": Faithfulness,
        "ragas_answer_relevancy": ResponseRelevancy,
        "ragas_nv_context_relevance": ContextRelevance,
        "ragas_id_based_context_precision": IDBasedContextPrecision,
        "ragas_id_based_context_recall": IDBasedContextRecall,
    }

    async def score(case: Case) -> float:
        metric = classes[case["metric"]]()
        if hasattr(metric, "llm"):
            metric.llm = Judge(in_ragas_format(case))
        if hasattr(metric, "embeddings"):
            metric.embeddings = Vectors(case["vectors"])
        return float(await metric.single_turn_ascore(SingleTurnSample(**case["row"])))

    return score


async def scored(cases: list[Case]) -> list[Case]:
    """The cases, each with the package's score as ``ragas``; None for its NaN."""
    score = ragas_scorer()
    values = [await score(case) for case in cases]
    return [{**case, "ragas": None if math.isnan(value) else value} for case, value in zip(cases, values, strict=True)]


async def share_scored(cases: list[Case], broken: float) -> dict[str, Any]:
    """Per metric: rows, those that got a number, and what became of the others."""
    score = ragas_scorer(broken)
    found: dict[str, dict[str, int]] = {}
    for case in cases:
        tally = found.setdefault(case["metric"], {})
        try:
            outcome = "NaN" if math.isnan(await score(case)) else "scored"
        except Exception as error:  # noqa: BLE001 - whatever the package lets through ends as NaN in its evaluate()
            outcome = type(error).__name__
        tally[outcome] = tally.get(outcome, 0) + 1
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--cases", type=int, default=32, help="random cases per metric")
    parser.add_argument("--output", type=Path, default=Path(__file__).with_name("ragas_cases.json"))
    parser.add_argument("--broken", type=float, help="share of replies (0-1) with broken JSON; writes nothing")
    arguments = parser.parse_args()
    cases = list(cases_of(arguments.seed, arguments.cases))
    if arguments.broken is not None:
        # The two ratings are no JSON in the package, and the ids are no replies.
        asked = [case for case in cases if case["judge"] and case["metric"] != "ragas_nv_context_relevance"]
        print(json.dumps(asyncio.run(share_scored(asked, arguments.broken)), indent=2))
        return
    found = asyncio.run(scored(cases))
    lines = ",\n".join(json.dumps(case, ensure_ascii=False) for case in found)
    head = f'"ragas": {json.dumps(version("ragas"))}, "seed": {arguments.seed}'
    arguments.output.write_text(f'{{{head}, "cases": [\n{lines}\n]}}\n', "utf-8")
    print(f"{len(found)} cases of ragas {version('ragas')} in {arguments.output}")


if __name__ == "__main__":
    main()
