"""Read and write prompts as the ragas package does: ``<metric>_<prompt>_<language>.json`` (versions 0.2 and 0.3)."""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from chatbot_mvp.judges.asking import json_schema
from chatbot_mvp.llm.base import Message
from chatbot_mvp.prompting.fence import as_data
from chatbot_mvp.storage.files import write_atomically
from chatbot_mvp.storage.json_object import parse_json
from chatbot_mvp.wings.ragas.errors import PromptsError
from chatbot_mvp.wings.ragas.judging.languages import is_language, language_code, spellings
from chatbot_mvp.wings.ragas.judging.replies import (
    Classifications,
    GeneratedQuestion,
    JudgedStatements,
    Statements,
    Usefulness,
)
from chatbot_mvp.wings.ragas.judging.wording import wording

FORM_VERSION = "0.3.9"
"""Version of the package whose form is written. Versions from 0.2 on read it; others than this one log a warning."""

Value = str | Sequence[str]


@dataclass(frozen=True, slots=True)
class PackageFile:
    """One kind of file: a prompt of a metric of the package."""

    metric: str
    """The package's name of the metric."""
    name: str
    """The package's name of the prompt."""
    key: tuple[str, str]
    """Key of the prompt that it replaces, in ``Prompts.of``."""
    classes: tuple[str, str]
    """The package's names of the structures of input and output, which its hash contains."""
    fields: Mapping[str, str]
    """Field of this project's prompt -> field of the input."""
    reply: type[BaseModel]

    @property
    def stem(self) -> str:
        """Beginning of the file name, before the language."""
        return f"{self.metric}_{self.name}_"

    def path(self, folder: Path, language: str) -> Path:
        """Return the path of the file, which need not exist. ``language`` is written as it is given."""
        return folder / f"{self.stem}{language}.json"


_RANKED = {"question": "question", "context": "context", "answer": "answer"}

PACKAGE_FILES = (
    PackageFile(
        "llm_context_precision_without_reference",
        "context_precision_prompt",
        ("context_precision", "without_reference"),
        ("QAC", "Verification"),
        _RANKED,
        Usefulness,
    ),
    PackageFile(
        "llm_context_precision_with_reference",
        "context_precision_prompt",
        ("context_precision", "with_reference"),
        ("QAC", "Verification"),
        _RANKED,
        Usefulness,
    ),
    PackageFile(
        "context_recall",
        "context_recall_classification_prompt",
        ("context_recall", "classification"),
        ("QCA", "ContextRecallClassifications"),
        _RANKED,
        Classifications,
    ),
    PackageFile(
        "faithfulness",
        "statement_generator_prompt",
        ("faithfulness", "statements"),
        ("StatementGeneratorInput", "StatementGeneratorOutput"),
        {"question": "question", "answer": "answer"},
        Statements,
    ),
    PackageFile(
        "faithfulness",
        "n_l_i_statement_prompt",
        ("faithfulness", "verdicts"),
        ("NLIStatementInput", "NLIStatementOutput"),
        {"context": "context", "statements": "statements"},
        JudgedStatements,
    ),
    PackageFile(
        "answer_relevancy",
        "response_relevance_prompt",
        ("answer_relevancy", "question"),
        ("ResponseRelevanceInput", "ResponseRelevanceOutput"),
        {"answer": "response"},
        GeneratedQuestion,
    ),
)


@dataclass(frozen=True, slots=True)
class PackagePrompt:
    """A prompt in the package's form: an instruction, and examples as pairs of JSON objects."""

    file: PackageFile
    language: str
    """As the file has it, usually an English name."""
    instruction: str
    examples: tuple[tuple[Mapping[str, Any], Mapping[str, Any]], ...]
    """(input, output) of each example, with the fields of the package."""
    made_by: str = ""
    """The model that translated the examples; "" for people."""
    reviewed: bool = True

    @property
    def instructions(self) -> str:
        """The system message: the instruction and the form of the reply."""
        schema = json.dumps(json_schema(self.file.reply), ensure_ascii=False)
        return f"{self.instruction.strip()}\n{wording('package_form', language_code(self.language)).strip()}\n{schema}"

    def messages(self, **fields: Value) -> tuple[Message, ...]:
        """Build the request for a row, as ``Prompt.messages`` does."""
        turns = [Message("system", self.instructions)]
        for given, reply in self.examples:
            turns += [Message("user", _json(_escaped(given))), Message("assistant", _json(reply))]
        row = {theirs: _escaped(fields[ours]) for ours, theirs in self.file.fields.items()}
        return (*turns, Message("user", _json(row)))

    @property
    def hash(self) -> int:
        """The package's hash of the prompt: Python's hash of the integer that a SHA-256 is."""
        digest = hashlib.sha256()
        for text in (self.file.name, *self.file.classes, self.instruction):
            digest.update(text.encode("utf-8"))
        for example in self.examples:
            for part in example:
                digest.update(json.dumps(part, ensure_ascii=False, separators=(",", ":")).encode("utf-8"))
        digest.update(self.language.encode("utf-8"))
        return int(digest.hexdigest(), 16) % sys.hash_info.modulus

    @property
    def content(self) -> bytes:
        """What the judge reads, for a fingerprint. A review does not change it."""
        return _json([self.file.stem, self.instruction, self.examples]).encode("utf-8", "surrogatepass")

    def save(self, folder: Path) -> Path:
        """Write the file, and never over another one.

        Raises:
            PromptsError (prompts_not_written): the file exists, or cannot be written.
        """
        path = self.file.path(folder, self.language)
        values: dict[str, Any] = {
            "ragas_version": FORM_VERSION,
            "original_hash": self.hash,
            "language": self.language,
            "instruction": self.instruction,
            "examples": [{"input": given, "output": reply} for given, reply in self.examples],
        }
        if self.made_by:
            values |= {"made_by": self.made_by, "reviewed": self.reviewed}
        if path.exists():
            raise PromptsError("prompts_not_written", path=str(path), reason="the file exists already")
        try:
            folder.mkdir(parents=True, exist_ok=True)
            write_atomically(path, json.dumps(values, ensure_ascii=False, indent=2).encode("utf-8", "replace"))
        except OSError as error:
            raise PromptsError("prompts_not_written", path=str(path), reason=error.strerror or str(error)) from error
        return path


def package_prompts(folder: Path, language: str) -> dict[tuple[str, str], PackagePrompt]:
    """Read the package's files of a language; empty if the folder has none.

    Args:
        language: a code, as of ``language_code``. Files may end in the code or in the English name.

    Raises:
        PromptsError (prompts_unreadable): a file is not as the package writes it; names the file and the reason.
    """
    found = {}
    for file in PACKAGE_FILES:
        paths = (file.path(folder, spelling) for spelling in spellings(language))
        path = next((path for path in paths if path.is_file()), None)
        if path is not None:
            found[file.key] = read_package_prompt(path, file)
    return found


def package_languages(folder: Path) -> set[str]:
    """Return the codes of the languages of which a folder has at least one file of the package."""
    endings = {
        path.stem.removeprefix(file.stem) for file in PACKAGE_FILES for path in folder.glob(f"{file.stem}*.json")
    }
    return {language_code(ending) for ending in endings if is_language(ending)}


def read_package_prompt(path: Path, file: PackageFile) -> PackagePrompt:
    """Read one file.

    Raises:
        PromptsError (prompts_unreadable)
    """
    try:
        data = parse_json(path.read_text("utf-8-sig"))
        examples = tuple((dict(example["input"]), dict(example["output"])) for example in data["examples"])
        for given, reply in examples:
            if missing := set(file.fields.values()) - given.keys():
                raise KeyError(f"examples[].input.{min(missing)}")
            file.reply.model_validate(reply)
        return PackagePrompt(
            file,
            str(data.get("language") or path.stem.removeprefix(file.stem)),
            str(data["instruction"]),
            examples,
            str(data.get("made_by", "")),
            bool(data.get("reviewed", True)),
        )
    except OSError as error:
        raise PromptsError("prompts_unreadable", path=str(path), reason=error.strerror or str(error)) from error
    except KeyError as error:
        raise PromptsError("prompts_unreadable", path=str(path), reason=f"it has no {error.args[0]!r}") from error
    except ValidationError as error:
        reason = f"the output of an example is not what is asked for: {error.errors()[0]['msg']}"
        raise PromptsError("prompts_unreadable", path=str(path), reason=reason) from error
    except (ValueError, TypeError, AttributeError) as error:
        raise PromptsError("prompts_unreadable", path=str(path), reason=str(error)) from error


def _escaped(value: Any) -> Any:
    if isinstance(value, str):
        return as_data(value).strip()
    if isinstance(value, Mapping):
        return {name: _escaped(part) for name, part in value.items()}
    return [_escaped(part) for part in value] if isinstance(value, Sequence) else value


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
