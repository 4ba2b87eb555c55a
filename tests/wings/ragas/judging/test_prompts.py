"""Prompts in files: complete, versioned, and replaceable."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from chatbot_mvp.errors import UnknownChoice
from chatbot_mvp.text import detect_language
from chatbot_mvp.wings.ragas.judging import load_prompts, prompt_languages
from chatbot_mvp.wings.ragas.judging import prompts as prompts_module
from chatbot_mvp.wings.ragas.judging.replies import REPLIES
from tests.raising import raises

BUILT_IN = Path(prompts_module.__file__).parent / "prompts"
OWN = """
version = 7
[verdict]
instructions = "Responde en JSON."
input = "<{fence}>{question} {answer} {context}</{fence}>"
"""


def write(folder: Path, text: str, language: str = "es", name: str = "context_precision") -> Path:
    path = folder / language / f"{name}.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
    return path


@pytest.mark.parametrize("language", ["es", "en"])
def test_every_prompt_has_instructions_and_examples_in_its_language(language: str) -> None:
    prompts = load_prompts(language)
    assert set(prompts.of) == {(name, part) for name, parts in REPLIES.items() for part in parts}
    for prompt in prompts.of.values():
        assert detect_language(prompt.instructions) == language
        assert "JSON" in prompt.instructions
        assert prompt.examples
        assert "<{fence}>" in prompt.input
        for fields, reply in prompt.examples:
            json.loads(reply)
            assert detect_language(" ".join(fields.values())) == language


def test_both_languages_have_the_same_shape() -> None:
    spanish, english = load_prompts("es").of, load_prompts("en").of
    for name, prompt in spanish.items():
        assert [fields.keys() for fields, _ in prompt.examples] == [
            fields.keys() for fields, _ in english[name].examples
        ]


def test_the_key_names_language_versions_and_text(tmp_path: Path) -> None:
    assert load_prompts("es").key.startswith("es-1.1.1.1.1-")
    assert load_prompts("es").key != load_prompts("en").key
    assert load_prompts("es", tmp_path).key == load_prompts("es").key
    write(tmp_path, OWN)
    assert load_prompts("es", tmp_path).key.startswith("es-7.1.1.1.1-")
    write(tmp_path, OWN.replace("Responde", "Contesta"))
    again = load_prompts("es", tmp_path).key
    write(tmp_path, OWN)
    assert again != load_prompts("es", tmp_path).key


def test_a_file_of_ones_own_replaces_the_built_in_one(tmp_path: Path) -> None:
    write(tmp_path, OWN)
    own, built_in = load_prompts("es", tmp_path), load_prompts("es")
    assert own.of["context_precision", "verdict"].instructions == "Responde en JSON."
    assert own.of["context_recall", "classification"] == built_in.of["context_recall", "classification"]


def test_a_missing_language_says_which_there_are(tmp_path: Path) -> None:
    with pytest.raises(UnknownChoice, match=r"'fr'.*en, es"):
        load_prompts("fr")
    write(tmp_path, OWN, language="pt")
    assert prompt_languages(tmp_path) == ["en", "es", "pt"]
    with raises("prompts_unreadable", match=r"context_recall\.toml"):
        load_prompts("pt", tmp_path)


def test_a_language_of_ones_own(tmp_path: Path) -> None:
    for path in (BUILT_IN / "es").glob("*.toml"):
        write(tmp_path, path.read_text("utf-8"), "pt", path.stem)
    assert load_prompts("pt", tmp_path).language == "pt"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("version = ", "Invalid value"),
        (OWN.replace("version = 7", ""), "no 'version'"),
        (OWN.replace("[verdict]", "[other]"), "no 'verdict'"),
        (OWN.replace("input", "imput"), "no 'input'"),
        (OWN + '[[verdict.examples]]\nquestion = "q"\nanswer = "a"\nreply = {verdict = 1}\n', "no 'context'"),
        (OWN + "[[verdict.examples]]\nreply = {verdict = 3}\n", "not what is asked for"),
        ("version = 1\nverdict = 3\n", "."),
    ],
)
def test_a_file_that_cannot_be_used_says_why(tmp_path: Path, text: str, reason: str) -> None:
    path = write(tmp_path, text)
    with raises("prompts_unreadable", match=reason) as caught:
        load_prompts("es", tmp_path)
    assert str(path) in str(caught.value)
