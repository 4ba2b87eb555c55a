"""Load the judge's prompts: from ``prompts/<language>/<file>.toml``, and from files of the ragas package."""

from __future__ import annotations

import hashlib
import json
import re
import tomllib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError

from chatbot_mvp.errors import UnknownChoice
from chatbot_mvp.judges.asking import correction
from chatbot_mvp.llm.base import Message
from chatbot_mvp.prompting.fence import as_data, fence_name
from chatbot_mvp.wings.ragas.errors import PromptsError
from chatbot_mvp.wings.ragas.judging.languages import language_code
from chatbot_mvp.wings.ragas.judging.package_files import PackagePrompt, Value, package_languages, package_prompts
from chatbot_mvp.wings.ragas.judging.replies import REPLIES
from chatbot_mvp.wings.ragas.judging.templates import relevance_templates

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

    def messages(self, **fields: Value) -> tuple[Message, ...]:
        """Build the request for a row. Several texts of one field are numbered from 1.

        Only the last message depends on the row, so that a server with a prompt cache reads the others once. Therefore
        the row's fence name, which the author of a document cannot predict, occurs in the last message only.
        """
        turns = [Message("system", self.instructions)]
        for example, reply in self.examples:
            turns += [Message("user", self._filled(example)), Message("assistant", reply)]
        return (*turns, Message("user", self._filled(fields)))

    def _filled(self, fields: Mapping[str, Value]) -> str:
        values = {name: as_data(_numbered(text)).strip() for name, text in fields.items()}
        values["fence"] = fence_name(*values.values())
        # One pass, so that braces inside a document are not replaced.
        return _GAP.sub(lambda gap: values[gap.group(1)], self.input)


@dataclass(frozen=True, slots=True)
class Prompts:
    """The prompts of a language."""

    language: str
    key: str
    """Versions and a hash of the files, part of the fingerprint ("es-1.1.1.1.1-5b2c9f")."""
    of: Mapping[tuple[str, str], Prompt | PackagePrompt]
    """(file name, prompt name) -> prompt. The variants "without_reference" and "with_reference" of context precision
    are there only if a folder has files of the package for them."""
    templates: Mapping[str, str] = field(default_factory=dict)
    """"first" and "second" -> text of a file that replaces this prompt of ContextRelevance."""
    unreviewed: tuple[str, ...] = ()
    """Names of the files that a model has translated and nobody has reviewed."""

    def key_of(self, file: str, variant: str, usual: str) -> tuple[str, str]:
        """Return the key of a prompt's variant, or of the usual prompt if there is no file for the variant."""
        return (file, variant) if (file, variant) in self.of else (file, usual)


_ALL = tuple((name, part) for name, replies in REPLIES.items() for part in replies)
_BOTH = ("with_reference", "without_reference")
_IN_ENGLISH = "context_relevance"


def prompt_languages(folder: Path | None = None) -> list[str]:
    """List the codes of the languages with prompts, built-in or in a custom folder, sorted."""
    built_in = {path.parent.name for path in _FOLDER.glob("*/*.toml")}
    return sorted(built_in | (own_languages(folder) if folder is not None else set()))


def own_languages(folder: Path) -> set[str]:
    """Return the codes of the languages of which a custom folder has prompts, in either form; it need not exist."""
    return {path.parent.name for path in folder.glob("*/*.toml")} | package_languages(folder)


def load_prompts(
    language: str, folder: Path | None = None, needed: Collection[tuple[str, str]] | None = None
) -> Prompts:
    """Load the prompts of a language.

    Args:
        language: code or English name, "es" or "spanish".
        folder: custom files. ``<language>/<file>.toml`` replaces the built-in file of its name, and
            ``<metric>_<prompt>_<language>.json`` of the ragas package the prompt of its metric.
        needed: keys of the prompts that must be there, as in ``Prompts.of``; None: all.

    Raises:
        UnknownChoice: there are no prompts in this language; the error lists the available ones.
        PromptsError (prompts_unreadable): a file is missing or invalid; the error names the file and the reason.
    """
    language = language_code(language)
    # ContextRelevance is asked for in English if a language has no prompts: the package has no file to translate.
    english = bool(needed) and all(name == _IN_ENGLISH for name, _ in needed or ())
    if language not in (legal := prompt_languages(folder)) and not english:
        raise UnknownChoice(kind="prompt language", found=language, legal=", ".join(legal))
    digest = hashlib.sha256(correction(language).encode())
    package = package_prompts(folder, language) if folder is not None else {}
    versions: list[str] = []
    found: dict[tuple[str, str], Prompt | PackagePrompt] = {}
    for name, replies in REPLIES.items():
        path = _path(language, name, folder)
        if not path.is_file() and (english or _is_optional(name, package, needed)):
            if name != _IN_ENGLISH:
                continue
            path = _path("en", name, folder)
        try:
            content = path.read_bytes()
        except OSError as error:
            raise PromptsError("prompts_unreadable", path=str(path), reason=error.strerror or str(error)) from error
        version, prompts = _parsed(path, content, replies)
        versions.append(str(version))
        found.update({(name, part): prompt for part, prompt in prompts.items()})
        digest.update(content)
    templates = relevance_templates(folder, language)
    for text in (*(prompt.content for prompt in package.values()), *(text.encode() for text in templates.values())):
        digest.update(text)
    if package or templates:
        versions.append(f"r{len(package) + len(templates)}")
    key = f"{language}-{'.'.join(versions)}-{digest.hexdigest()[:6]}"
    unreviewed = tuple(
        prompt.file.path(Path(), prompt.language).name for prompt in package.values() if not prompt.reviewed
    )
    return Prompts(language, key, {**found, **package}, templates, unreviewed)


def _is_optional(
    name: str, package: Mapping[tuple[str, str], PackagePrompt], needed: Collection[tuple[str, str]] | None
) -> bool:
    """Return whether a language can do without our file ``name``, because of the package's files that it has."""
    if name == _IN_ENGLISH and package:
        return True
    wanted = [key for key in (_ALL if needed is None else needed) if key[0] == name]
    if name == "context_precision" and needed is None:
        wanted = [(name, variant) for variant in _BOTH]
    return all(key in package for key in wanted)


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
        raise PromptsError("prompts_unreadable", path=str(path), reason=f"it has no {error.args[0]!r}") from error
    except ValidationError as error:
        reason = f"the reply of an example is not what is asked for: {error.errors()[0]['msg']}"
        raise PromptsError("prompts_unreadable", path=str(path), reason=reason) from error
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        raise PromptsError("prompts_unreadable", path=str(path), reason=str(error)) from error


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


def _numbered(value: Value) -> str:
    return value if isinstance(value, str) else "\n".join(f"{number}. {text}" for number, text in enumerate(value, 1))
