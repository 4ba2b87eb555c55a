"""Compute what large corpora, runs and chats need, from the measured costs of one document and one question.

    python benchmarks/scale_plan.py [--documents 5200000 50000000] [--questions 1000000] [--core-hour 0.05] [--json]

It measures nothing: the costs are those of docs/research/growth.md and docs/research/speed.md, in CPU seconds of one
core and bytes, and everything else is multiplication. Costs of a model come from the project's table of prices. The
price of a core is an assumption.
"""

from __future__ import annotations

import argparse
import json
import math
from dataclasses import asdict, dataclass

from chatbot_mvp.llm.base import Usage
from chatbot_mvp.llm.prices import load_prices

LEXICAL_S, LINKS_S, LOAD_S = 85e-6, 140e-6, 5e-6
"""CPU seconds per document of 40 words, at 5 × 10⁶ documents (docs/research/growth.md)."""
EMBED_S = 2 / 81.6
"""CPU seconds per passage of 144 tokens: 81.6 passages a second on two cores (docs/research/speed.md)."""
INDEX_BYTES = 879
"""Inverted index and links on disk, per document of 40 words."""
VECTOR_BYTES = 4 * 384 * 1.3
"""A vector of single precision, with 30 % for the graph of its neighbours."""
BUILD_BYTES = 110
"""Growth of the peak memory of ingestion per document from 10⁶ to 5 × 10⁶, pages of mapped files included."""
BUILD_FIXED = 0.823e9
SEARCH_S, EMBED_QUESTION_S = 5.6e-3, 15e-3
"""CPU seconds of a question: ``BRIDGE`` at 5 × 10⁶ documents; embedding the question and late interaction."""
PROMPT_TOKENS, ANSWER_TOKENS = 1_500, 150
"""Of an answer in Chat with the default context of 4,000 characters."""
PEAK = 5
"""Requests in the busiest second, relative to the mean of a day."""
UTILISED = 0.6
"""Share of a core that is planned for, so that questions do not wait for each other."""


@dataclass(frozen=True)
class Ingestion:
    """What it takes to ingest a corpus once."""

    documents: int
    lexical_core_hours: float
    links_core_hours: float
    embedding_core_hours: float
    hours_on_16_cores: float
    """Everything; only embedding is divided among the cores."""
    disk_gb: float
    vectors_gb: float
    peak_memory_gb: float
    dollars: float


@dataclass(frozen=True)
class Chats:
    """What questions in Chat take per day."""

    questions: int
    peak_per_second: float
    cores: int
    """Cores that search at the busiest time, with vectors and without a language model."""
    dollars_of_cores: float
    dollars_of_model: float | None
    """None if the model has no known price."""


def ingestion(documents: int, core_hour: float) -> Ingestion:
    """Multiply the costs of one document.

    Args:
        core_hour: US dollars of one core for one hour.
    """
    lexical, links, embedding = (documents * each / 3_600 for each in (LEXICAL_S + LOAD_S, LINKS_S, EMBED_S))
    return Ingestion(
        documents=documents,
        lexical_core_hours=lexical,
        links_core_hours=links,
        embedding_core_hours=embedding,
        hours_on_16_cores=lexical + links + embedding / 16,
        disk_gb=documents * INDEX_BYTES / 1e9,
        vectors_gb=documents * VECTOR_BYTES / 1e9,
        peak_memory_gb=(BUILD_FIXED + documents * BUILD_BYTES) / 1e9,
        dollars=(lexical + links + embedding) * core_hour,
    )


def chats(questions: int, core_hour: float, provider: str, model: str) -> Chats:
    """Multiply the costs of one question asked in Chat."""
    peak = PEAK * questions / 86_400
    cores = math.ceil(peak * (SEARCH_S + EMBED_QUESTION_S) / UTILISED)
    one = load_prices().cost(provider, model, Usage(PROMPT_TOKENS, ANSWER_TOKENS))
    return Chats(questions, peak, cores, 24 * cores * core_hour, None if one is None else questions * one)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, nargs="+", default=[5_200_000, 50_000_000])
    parser.add_argument("--questions", type=int, default=1_000_000, help="questions in Chat per day")
    parser.add_argument("--core-hour", type=float, default=0.05, help="US dollars of one core for one hour")
    parser.add_argument("--provider", default="gemini")
    parser.add_argument("--model", default="gemini-2.5-flash")
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    corpora = [ingestion(count, asked.core_hour) for count in asked.documents]
    daily = chats(asked.questions, asked.core_hour, asked.provider, asked.model)
    if asked.json:
        print(json.dumps({"ingestion": [asdict(one) for one in corpora], "chats": asdict(daily)}))
        return
    tables: list[Ingestion | Chats] = [*corpora, daily]
    for one in tables:
        for name, value in asdict(one).items():
            print(f"{name:<24}{'unknown' if value is None else f'{value:,.6g}'}")
        print()


if __name__ == "__main__":
    main()
