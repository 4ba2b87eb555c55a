"""Stages that ask the provider's language model about each question.

If the model fails, the question's trace stays as it is and its record says so: the chat goes on, a run fails the query.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, ClassVar

from chatbot_mvp.errors import ChatbotError, ProviderQuotaExhausted, RunError, RunStopped
from chatbot_mvp.llm.language_model import LanguageModel
from chatbot_mvp.retrieval.indexes.corpus import CorpusIndex
from chatbot_mvp.retrieval.indexes.enrichment import CALLS_AT_ONCE, ContextCache
from chatbot_mvp.retrieval.stages.base import BatchStage
from chatbot_mvp.retrieval.trace import RetrievalTrace
from chatbot_mvp.settings.model import Settings

Search = Callable[[Sequence[str]], list[RetrievalTrace]]
"""Searches for some texts with the stages that stand before a stage."""
Asking = tuple[RetrievalTrace, str]
"""A trace, and the model's reply about it on one line."""


@dataclass(frozen=True)
class Asked:
    """A language model. Its replies are cached by model and prompt, and a prompt has its language and its texts."""

    model: LanguageModel
    cache: ContextCache

    def reply(self, prompt: str) -> str:
        """Return the model's reply on one line, of at most 600 characters.

        Raises:
            ChatbotError, OSError: there is no reply, or the cache cannot be read or written.
        """
        return self.cache.contexts(self.model, [prompt], 1)[0]


class AskingStage(BatchStage):
    """Asks a language model about each trace. Subclasses say what, and what becomes of the replies.

    Notes of the record: ``asked``, whether the model was asked; ``added``, what ``read`` counted; ``failed``, 1 if no
    reply came, then with ``error`` and ``quota_exhausted``, whether it was for a used-up quota.
    """

    prompt_chars: ClassVar[int] = 1_000
    """Length of a prompt without its question, in characters, for the estimate of a run."""
    reply_tokens: ClassVar[int] = 25
    """Length of a reply in tokens, for the estimate of a run."""
    prompts_key: ClassVar[str] = ""
    """What identifies the text of the prompts, as part of the fingerprint of a strategy that has the stage."""

    def __init__(self, index: CorpusIndex, config: Settings, asked: Asked, search: Search) -> None:
        super().__init__(index, config)
        self._asked = asked
        self._search = search

    @abstractmethod
    def prompt(self, trace: RetrievalTrace) -> str:
        """Return what to ask about a trace; "" asks nothing."""

    @abstractmethod
    def read(self, asking: Sequence[Asking]) -> list[tuple[RetrievalTrace, int]]:
        """Return the next trace of each, and how many things the reply added to it."""

    def apply_batch(self, traces: Sequence[RetrievalTrace]) -> list[tuple[RetrievalTrace, dict[str, Any]]]:
        with ThreadPoolExecutor(min(CALLS_AT_ONCE, max(1, len(traces)))) as pool:
            replies = list(pool.map(self._ask, map(self.prompt, traces)))
        read = iter(self.read([(t, r) for t, r in zip(traces, replies, strict=True) if isinstance(r, str)]))
        results = []
        for trace, reply in zip(traces, replies, strict=True):
            following, added = next(read) if isinstance(reply, str) else (trace, 0)
            asked = {"asked": True} if isinstance(reply, str) else reply
            results.append((following, {"added": added, "failed": 0, **asked}))
        return results

    def _ask(self, prompt: str) -> str | dict[str, Any]:
        """Return the reply; or the notes that say why there is none."""
        if not prompt:
            return {"asked": False}
        try:
            return self._asked.reply(prompt)
        except (RunStopped, RunError):
            # What ends a run is no failure of the model.
            raise
        except (ChatbotError, OSError) as error:
            # A chat goes on without the reply; a run fails the query, or stops.
            quota_exhausted = isinstance(error, ProviderQuotaExhausted)
            notes = {"asked": True, "failed": 1, "error": str(error) or type(error).__name__}
            return {**notes, "quota_exhausted": quota_exhausted}
