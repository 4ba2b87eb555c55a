"""The strategy ``BRIDGE_FOLLOW_UP``: ``BRIDGE_HYBRID``, and one query of a language model that has read what it found.

Some questions lead to a document only through another one, whose words the question does not have. The model reads the
best passages and writes what is still to be looked up. The best passage that this query adds takes one of five places.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from chatbot_mvp.prompting.fence import from_data
from chatbot_mvp.prompting.loader import PromptFolder
from chatbot_mvp.retrieval.stages.asking import Asking, AskingStage
from chatbot_mvp.retrieval.stages.base import Dense, Evidence, Selection
from chatbot_mvp.retrieval.stages.bridge import Bridge
from chatbot_mvp.retrieval.stages.exact import Exact
from chatbot_mvp.retrieval.stages.expansion import Expansion
from chatbot_mvp.retrieval.stages.kb_score import KbScore
from chatbot_mvp.retrieval.stages.late_interaction import LateInteraction
from chatbot_mvp.retrieval.stages.stitching import Stitching
from chatbot_mvp.retrieval.strategies import Strategy
from chatbot_mvp.retrieval.trace import PART, Hit, RetrievalTrace

PROMPTS = PromptFolder(Path(__file__).parent / "prompts")
PLACES = 5
"""Number of passages that the model reads; what its query finds takes the last of these places."""
PASSAGE_CHARS = 500
"""Length of a passage that the model reads, at most."""
_QUERY_CHARS = 200
_NOTHING = re.compile(r"\W*(NONE\b.*|(?i:none|nada|ninguna?))\W*")
_BEFORE = re.compile(r"^\W*(query|consulta)\s*:\s*", re.IGNORECASE)


class FollowUp(AskingStage):
    """Searches once more, for what a language model misses in the best passages, and gives the result one place.

    The note ``follow-up: query`` of the expansion says what was searched. A query that finds nothing new changes
    nothing.
    """

    name = "follow_up"
    prompt_chars = 700 + PLACES * PASSAGE_CHARS
    prompts_key = PROMPTS.key

    def prompt(self, trace: RetrievalTrace) -> str:
        read = trace.hits[:PLACES]
        if not read or not self.index.analyzer.terms(trace.query):
            return ""
        passages = "\n\n".join(f"{hit.chunk.section}\n{hit.chunk.text[:PASSAGE_CHARS]}" for hit in read)
        language = self.index.analyzer.language_of(trace.query)
        return PROMPTS.filled("follow_up", language, question=trace.query, passages=passages)

    def read(self, asking: Sequence[Asking]) -> list[tuple[RetrievalTrace, int]]:
        queries = [query_of(reply) for _, reply in asking]
        found = iter(self._search([query for query in queries if query]))
        return [
            self._with_place(trace, query, next(found).hits) if query else (trace, 0)
            for (trace, _), query in zip(asking, queries, strict=True)
        ]

    def _with_place(self, trace: RetrievalTrace, query: str, found: Sequence[Hit]) -> tuple[RetrievalTrace, int]:
        """Put the best hit that is not among the first ones at the end of those that reach the answer."""
        kept = trace.hits[: max(0, min(PLACES, self.config.kb_top_k) - 1)]
        known = {hit.chunk.chunk_id for hit in kept}
        new = next((hit.chunk for hit in found if hit.chunk.chunk_id not in known), None)
        noted = replace(trace, expansion_notes=(*trace.expansion_notes, f"follow-up: {query}"))
        if new is None:
            return noted, 0
        rest = [hit for hit in trace.hits[len(kept) :] if hit.chunk.chunk_id != new.chunk_id]
        # Scores stay in order: it has that of the hit whose place it takes.
        score = trace.hits[min(len(kept), len(trace.hits) - 1)].score
        placed = Hit(new, score, {f"{PART}score": score})
        return replace(noted, hits=(*kept, placed, *rest)), 1


def query_of(reply: str) -> str:
    """Return the query of a model's reply, at most 200 characters; "" if it says that nothing is missing."""
    query = from_data(_BEFORE.sub("", reply).strip(" \"'«»“”."))
    return "" if _NOTHING.fullmatch(query) else query[:_QUERY_CHARS]


BRIDGE_FOLLOW_UP = Strategy(
    "BRIDGE_FOLLOW_UP",
    "BRIDGE_HYBRID, and one query of a language model for what it did not find",
    (Expansion, Dense, Bridge, KbScore, LateInteraction, Exact, FollowUp, Selection, Stitching, Evidence),
)
