"""Ask a GGUF once per question whether its passages answer it, and read its likelihoods instead of its words.

A model of 0.1 to 0.3 billion parameters gives no readable score, and a base model follows no instruction; both give
probabilities. The prompt is one text, so that what was read is kept from form to form: passages, question, verdict.

- *verdict*: log odds of "yes" against "no" behind "Does the text contain the answer?".
- *verdict, calibrated*: the same less that of the question "N/A" (Zhao et al. 2021, arXiv:2102.09690).
- *question*: how much likelier the question is behind the passages than alone, per token.
- *sure*: mean logarithm of the probability of the answer's first tokens.
- *mentioned*: how unlikely "Not mentioned." is as the answer.

A model that follows instructions is asked in the template of its chat, three passages at once, in three forms:

- *told*: log odds of "yes" against "no" behind "Does the text say the answer?".
- *quoted*: how unlikely "NO" is as the first token of "Copy the sentence with the answer, or write NO".
- *rated*: the number from 0 to 10 that the chat itself asks for (``chat.relevance``); -1 if the reply has none.
"""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from chatbot_mvp.chat.prompting import relevance_messages
from chatbot_mvp.embedding.transformer import usable_cores
from chatbot_mvp.llm.base import Message
from chatbot_mvp.llm.local_server import LocalServer, local_server
from chatbot_mvp.retrieval.stages.rerankers import parse_score
from chatbot_mvp.types import Chunk

PASSAGES, CHARS = 2, 700
CONTEXT = 2048
_ANSWER_TOKENS = 12
_RATING_TOKENS = 4
_LEAST = -15.0  # logarithm of a probability that is not among the tokens that the server tells
_WORDS = {
    "es": ("Texto", "Pregunta", "Respuesta", "¿El texto contiene la respuesta a la pregunta? Responde Sí o No:"),
    "en": ("Text", "Question", "Answer", "Does the text contain the answer to the question? Answer Yes or No:"),
}
_NOT_MENTIONED = {"es": " No se menciona.", "en": " Not mentioned."}
_YES, _NO = ("sí", "si", "yes", "s"), ("no",)  # many tokenizers cut "Sí" behind its first letter
_CHAT_PASSAGES = 3
_CHAT = {
    "es": (
        "Compruebas si un texto contesta una pregunta. Muchas preguntas parecen del tema y el texto no las contesta.",
        "¿Dice el texto la respuesta exacta a la pregunta? Responde solo Sí o No.",
        "Copia la frase del texto que contesta la pregunta. Si ninguna la contesta, escribe solo NO.",
    ),
    "en": (
        "You check if a text answers a question. Many questions are on its subject and not answered in it.",
        "Does the text say the exact answer to the question? Reply with Yes or No only.",
        "Copy the sentence of the text that answers the question. If none does, write NO only.",
    ),
}
"""Language -> (system message, the question of *told*, the request of *quoted*)."""


class Reader:
    """A GGUF in this process."""

    def __init__(self, path: Path, chat: bool = False) -> None:
        """
        Args:
            chat: whether the model follows instructions, so that it is asked in the template of its chat.
        """
        self._server: LocalServer = local_server(path, "near", CONTEXT, usable_cores())
        self._chat = chat

    def forms(self, question: str, passages: Sequence[Chunk], language: str) -> dict[str, float]:
        """Return form -> score; each is higher the surer the passages answer."""
        if self._chat:
            return self._chat_forms(question, passages, language)
        text, asks, answers, verdict = _WORDS[language]
        shown, asked = _shown(passages[:PASSAGES]), " ".join(question.split())
        read = f"{text}: {shown}\n{asks}:"
        behind, alone = self._forced(read, f" {asked}\n"), self._forced(f"{asks}:", f" {asked}\n")
        sure = self._next(f"{read} {asked}\n{answers}:", _ANSWER_TOKENS, 1)
        yes = self._yes(f"{read} {asked}\n{verdict}")
        denied = self._forced(f"{read} {asked}\n{answers}:", _NOT_MENTIONED[language])
        return {
            "verdict": yes,
            "verdict, calibrated": yes - self._yes(f"{read} N/A\n{verdict}"),
            "question": float(np.mean(behind) - np.mean(alone)),
            "sure": float(np.mean([token["logprob"] for token in sure])),
            "mentioned": -float(np.mean(denied)),
        }

    def _chat_forms(self, question: str, passages: Sequence[Chunk], language: str) -> dict[str, float]:
        text, asks, *_ = _WORDS[language]
        system, told, quoted = _CHAT[language]
        read = f"{text}:\n{_shown(passages[:_CHAT_PASSAGES])}\n\n{asks}: {' '.join(question.split())}\n\n"
        prompts = [
            self._templated((Message("system", system), Message("user", read + form))) for form in (told, quoted)
        ]
        return {
            "told": self._yes(prompts[0]),
            "quoted": -self._log_odds(prompts[1], _NO, ()),
            "rated": self._rated(question, passages[:_CHAT_PASSAGES], language),
        }

    def _yes(self, prompt: str) -> float:
        return self._log_odds(prompt, _YES, _NO)

    def _log_odds(self, prompt: str, words: Collection[str], others: Collection[str]) -> float:
        """Return the logarithm of the probability that a reply begins with one of some words, less that of others."""
        [first] = self._next(prompt, 1, 200)
        told = [(token["token"].strip().lower(), token["logprob"]) for token in first["top_logprobs"]]
        one, other = (
            float(np.logaddexp.reduce([value for word, value in told if word in of] or [_LEAST]))
            for of in (words, others)
        )
        return one - other if others else one

    def _rated(self, question: str, passages: Sequence[Chunk], language: str) -> float:
        cut = [replace(one, text=one.text[:CHARS]) for one in passages]
        asked = relevance_messages(question, cut, language)
        words = self._next(self._templated(asked), _RATING_TOKENS, 1)
        score = parse_score("".join(word["token"] for word in words))
        return -1.0 if score is None else score

    def _templated(self, messages: Sequence[Message]) -> str:
        given = [{"role": message.role, "content": message.content} for message in messages]
        prompt: str = self._reply("/apply-template", {"messages": given})["prompt"]
        return prompt

    def _forced(self, prompt: str, text: str) -> list[float]:
        """Return the logarithm of the probability of each token of a text behind a prompt, which a grammar forces."""
        grammar = f"root ::= {json.dumps(text, ensure_ascii=False)}"
        told = self._post(prompt, n_predict=200, grammar=grammar, n_probs=1)
        return [token["logprob"] for token in told if token["token"]]

    def _next(self, prompt: str, tokens: int, told: int) -> list[dict[str, Any]]:
        return self._post(prompt, n_predict=tokens, n_probs=told)

    def _post(self, prompt: str, **more: Any) -> list[dict[str, Any]]:
        asked = {"prompt": prompt, "temperature": 0, "cache_prompt": True, **more}
        found: list[dict[str, Any]] = self._reply("/completion", asked)["completion_probabilities"]
        return found

    def _reply(self, path: str, asked: Mapping[str, Any]) -> dict[str, Any]:
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {self._server.key.get_secret_value()}"}
        address = self._server.base_url.removesuffix("/v1") + path
        request = urllib.request.Request(address, json.dumps(asked).encode(), headers)
        with urllib.request.urlopen(request, timeout=600) as reply:  # nosec B310 -- loopback
            found: dict[str, Any] = json.load(reply)
        return found


def _shown(passages: Sequence[Chunk]) -> str:
    return "\n".join(f"{one.section.rpartition(' > ')[2]}: {one.text}"[:CHARS] for one in passages)
