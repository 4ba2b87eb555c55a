"""Writes and loads prompts with the ragas package itself, to hold this project's files of prompts against it.

Needs an interpreter with ragas 0.3 (``pip install 'ragas<0.4' 'langchain-community<0.4'``). This project is not
imported.

    RAGAS_PYTHON ragas_prompts.py write FOLDER            # prompts with texts of our own, in Spanish
    RAGAS_PYTHON ragas_prompts.py load FOLDER LANGUAGE    # prints one JSON object: file -> what was loaded
"""

from __future__ import annotations

import json
import logging
import os
import sys
from pathlib import Path
from typing import Any

os.environ["RAGAS_DO_NOT_TRACK"] = "true"  # it would post to its makers with every prompt

from ragas.metrics import (
    ContextRelevance,
    Faithfulness,
    LLMContextPrecisionWithoutReference,
    LLMContextPrecisionWithReference,
    LLMContextRecall,
    ResponseRelevancy,
)

_RANKED = {
    "question": "¿Cuándo abre la piscina?",
    "context": "La piscina abre de junio a septiembre.",
    "answer": "La piscina abre en junio.",
}
_TEXTS: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "context_precision_prompt": (
        "Di si el contexto sirve para la respuesta: 1 o 0.",
        _RANKED,
        {"reason": "El contexto da el mes.", "verdict": 1},
    ),
    "context_recall_classification_prompt": (
        "Clasifica cada frase de la respuesta según el contexto: 1 o 0.",
        _RANKED,
        {
            "classifications": [
                {"statement": "La piscina abre en junio.", "reason": "Lo dice el «contexto».", "attributed": 1}
            ]
        },
    ),
    "statement_generator_prompt": (
        "Separa la respuesta en afirmaciones.",
        {"question": "¿Abre el museo?", "answer": "Sí, los\nmartes."},
        {"statements": ["El museo abre.", 'El museo abre los "martes".']},
    ),
    "n_l_i_statement_prompt": (
        "Juzga si cada afirmación se deduce del contexto: 1 o 0.",
        {"context": "El museo abre los martes.", "statements": ["El museo abre.", "El museo es gratis."]},
        {
            "statements": [
                {"statement": "El museo abre.", "reason": "Se dice que abre los martes.", "verdict": 1},
                {"statement": "El museo es gratis.", "reason": "No se habla de precios.", "verdict": 0},
            ]
        },
    ),
    "response_relevance_prompt": (
        "Escribe la pregunta a la que contesta la respuesta e indica si es evasiva: 1 o 0.",
        {"response": "El museo abre los martes."},
        {"question": "¿Qué día abre el museo?", "noncommittal": 0},
    ),
}
"""The package's name of a prompt -> instruction, input and output of one example."""


def metrics() -> list[Any]:
    """The six metrics of the evaluation."""
    return [
        LLMContextPrecisionWithoutReference(),
        LLMContextPrecisionWithReference(),
        LLMContextRecall(),
        Faithfulness(),
        ResponseRelevancy(),
        ContextRelevance(),
    ]


def write(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for metric in metrics():
        for name, prompt in metric.get_prompts().items():
            instruction, given, reply = _TEXTS[name]
            prompt.instruction = instruction
            prompt.examples = [(prompt.input_model(**given), prompt.output_model(**reply))]
            prompt.language = "spanish"
        metric.save_prompts(str(folder))


def load(folder: Path, language: str) -> dict[str, Any]:
    warnings: list[str] = []

    class Heard(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            warnings.append(record.getMessage())

    logging.getLogger("ragas.prompt.pydantic_prompt").addHandler(Heard())
    loaded = {}
    for metric in metrics():
        prompts = metric.load_prompts(str(folder), language)
        metric.set_prompts(**prompts)
        for name, prompt in prompts.items():
            loaded[f"{metric.name}_{name}_{language}.json"] = {
                "language": prompt.language,
                "instruction": prompt.instruction,
                "examples": [[given.model_dump(), reply.model_dump()] for given, reply in prompt.examples],
                "hash": hash(prompt),
            }
    return {"loaded": loaded, "warnings": [text for text in warnings if "Ragas v" not in text]}


if __name__ == "__main__":
    if sys.argv[1] == "write":
        write(Path(sys.argv[2]))
    else:
        print(json.dumps(load(Path(sys.argv[2]), sys.argv[3]), ensure_ascii=False))
