"""Load the judge's prompts, instructions and examples, from ``prompts/<language>/<file>.toml``."""

from __future__ import annotations

import hashlib
import json
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from chatbot_mvp.errors import PromptsUnreadable, UnknownChoice
from chatbot_mvp.judges.asking import correction
from chatbot_mvp.judges.ragas.replies import REPLIES
from chatbot_mvp.llm.base import Message
from chatbot_mvp.prompting.fence import as_data, fence_name

_FOLDER = Path(__file__).parent / "prompts"
_GAP = re.compile(r"\{(fence|question|context|answer|statements)\}")


@dataclass(frozen=True, slots=True)
class Prompt:
    """One prompt: a system message, examples as turns, and the template of a row's turn."""

    instructions: str
    input: str
    """Template with ``{fence}`` and the names of the fields."""
    examples: tuple[tuple[Mapping[str, str], str], ...]
    """(fields, reply as JSON) of each example."""

    def messages(self, **fields: str) -> tuple[Message, ...]:
        """Build the request for a row.

        Only the last message depends on the row, so that a server with a prompt cache reads the others once. Therefore
        the row's fence name, which the author of a document cannot predict, occurs in the last message only.
        """
        turns = [Message("system", self.instructions)]
        for example, reply in self.examples:
            turns += [Message("user", self._filled(example)), Message("assistant", reply)]
        return (*turns, Message("user", self._filled(fields)))

    def _filled(self, fields: Mapping[str, str]) -> str:
        values = {name: as_data(text).strip() for name, text in fields.items()}
        values["fence"] = fence_name(*values.values())
        # One pass, so that braces inside a document are not replaced.
        return _GAP.sub(lambda gap: values[gap.group(1)], self.input)


@dataclass(frozen=True, slots=True)
class Prompts:
    """All prompts of a language."""

    language: str
    key: str
    """Versions and a hash of the files, part of the fingerprint ("es-1.1.1.1.1-5b2c9f")."""
    of: Mapping[tuple[str, str], Prompt]
    """(file name, prompt name) -> prompt."""


def prompt_languages(folder: Path | None = None) -> list[str]:
    """List the languages with prompts, built-in or in a custom folder, sorted."""
    places = [_FOLDER, *([folder] if folder is not None and folder.is_dir() else [])]
    return sorted({path.parent.name for place in places for path in place.glob("*/*.toml")})


def load_prompts(language: str, folder: Path | None = None) -> Prompts:
    """Load the prompts of a language.

    Args:
        folder: custom files ``<language>/<file>.toml``. Each replaces the built-in file of the same name; a language
            without built-in prompts needs all files.

    Raises:
        UnknownChoice: there are no prompts in this language; the error lists the available ones.
        PromptsUnreadable: a file is missing or invalid; the error names the file and the reason.
    """
    if language not in (legal := prompt_languages(folder)):
        raise UnknownChoice(kind="prompt language", found=language, legal=", ".join(legal))
    digest = hashlib.sha256(correction(language).encode())
    versions, found = [], {}
    for name, replies in REPLIES.items():
        path = _path(language, name, folder)
        try:
            content = path.read_bytes()
        except OSError as error:
            raise PromptsUnreadable(path=str(path), reason=error.strerror or str(error)) from error
        version, prompts = _parsed(path, content, replies)
        versions.append(version)
        found.update({(name, part): prompt for part, prompt in prompts.items()})
        digest.update(content)
    key = f"{language}-{'.'.join(map(str, versions))}-{digest.hexdigest()[:6]}"
    return Prompts(language, key, found)


def _path(language: str, name: str, folder: Path | None) -> Path:
    own = folder / language / f"{name}.toml" if folder is not None else None
    built_in = _FOLDER / language / f"{name}.toml"
    return own if own is not None and (own.is_file() or not built_in.is_file()) else built_in


def _parsed(path: Path, content: bytes, replies: Mapping[str, type[BaseModel]]) -> tuple[int, dict[str, Prompt]]:
    try:
        data = tomllib.loads(content.decode("utf-8"))
        prompts = {name: _prompt(data[name], reply) for name, reply in replies.items()}
        return int(data["version"]), prompts
    except KeyError as error:
        raise PromptsUnreadable(path=str(path), reason=f"it has no {error.args[0]!r}") from error
    except ValidationError as error:
        reason = f"the reply of an example is not what is asked for: {error.errors()[0]['msg']}"
        raise PromptsUnreadable(path=str(path), reason=reason) from error
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        raise PromptsUnreadable(path=str(path), reason=str(error)) from error


def _prompt(table: Mapping[str, Any], reply: type[BaseModel]) -> Prompt:
    examples = []
    for example in table.get("examples", []):
        reply.model_validate(example["reply"])
        fields = {name: str(text) for name, text in example.items() if name != "reply"}
        examples.append((fields, json.dumps(example["reply"], ensure_ascii=False)))
    gaps = set(_GAP.findall(table["input"])) - {"fence"}
    for fields, _ in examples:
        if missing := gaps - fields.keys():
            raise KeyError(min(missing))
    return Prompt(table["instructions"].strip(), table["input"].strip(), tuple(examples))
