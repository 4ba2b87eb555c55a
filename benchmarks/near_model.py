"""Ask a GGUF once per question whether its passages answer it, and read its likelihoods instead of its words.

A model of 0.1 to 0.3 billion parameters gives no readable score, and a base model follows no instruction; both give
probabilities. The prompt is one text, so that what was read is kept from form to form: passages, question, verdict.

- *verdict*: log odds of "yes" against "no" behind "Does the text contain the answer?".
- *verdict, calibrated*: the same less that of the question "N/A" (Zhao et al. 2021, arXiv:2102.09690).
- *question*: how much likelier the question is behind the passages than alone, per token.
- *sure*: mean logarithm of the probability of the answer's first tokens.
- *mentioned*: how unlikely "Not mentioned." is as the answer.
"""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from chatbot_mvp.llm.local_server import LocalServer, local_server
from chatbot_mvp.types import Chunk

PASSAGES, CHARS = 2, 700
CONTEXT = 2048
_ANSWER_TOKENS = 12
_LEAST = -15.0  # logarithm of a probability that is not among the tokens that the server tells
_WORDS = {
    "es": ("Texto", "Pregunta", "Respuesta", "¿El texto contiene la respuesta a la pregunta? Responde Sí o No:"),
    "en": ("Text", "Question", "Answer", "Does the text contain the answer to the question? Answer Yes or No:"),
}
_NOT_MENTIONED = {"es": " No se menciona.", "en": " Not mentioned."}
_YES, _NO = ("sí", "si", "yes"), ("no",)


class Reader:
    """A GGUF in this process."""

    def __init__(self, path: Path) -> None:
        self._server: LocalServer = local_server(path, "near", CONTEXT, 0)

    def forms(self, question: str, passages: Sequence[Chunk], language: str) -> dict[str, float]:
        """Return form -> score; each is higher the surer the passages answer."""
        text, asks, answers, verdict = _WORDS[language]
        shown = "\n".join(f"{one.section.rpartition(' > ')[2]}: {one.text}"[:CHARS] for one in passages[:PASSAGES])
        asked = " ".join(question.split())
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

    def _yes(self, prompt: str) -> float:
        [first] = self._next(prompt, 1, 200)
        told = [(token["token"].strip().lower(), token["logprob"]) for token in first["top_logprobs"]]
        yes, no = (
            float(np.logaddexp.reduce([value for word, value in told if word in words] or [_LEAST]))
            for words in (_YES, _NO)
        )
        return yes - no

    def _forced(self, prompt: str, text: str) -> list[float]:
        """Return the logarithm of the probability of each token of a text behind a prompt, which a grammar forces."""
        grammar = f"root ::= {json.dumps(text, ensure_ascii=False)}"
        told = self._post(prompt, n_predict=200, grammar=grammar, n_probs=1)
        return [token["logprob"] for token in told if token["token"]]

    def _next(self, prompt: str, tokens: int, told: int) -> list[dict[str, Any]]:
        return self._post(prompt, n_predict=tokens, n_probs=told)

    def _post(self, prompt: str, **more: Any) -> list[dict[str, Any]]:
        body = json.dumps({"prompt": prompt, "temperature": 0, "cache_prompt": True, **more})
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {self._server.key.get_secret_value()}"}
        address = self._server.base_url.removesuffix("/v1") + "/completion"
        request = urllib.request.Request(address, body.encode(), headers)
        with urllib.request.urlopen(request, timeout=600) as reply:  # nosec B310 -- loopback
            found: list[dict[str, Any]] = json.load(reply)["completion_probabilities"]
        return found
