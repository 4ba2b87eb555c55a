"""Make prompts in the form of the ragas package: the built-in ones, and those of a new language with the judge."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from chatbot_mvp.judges.asking import ask
from chatbot_mvp.llm.base import ChatModel, Message
from chatbot_mvp.prompting.fence import as_data, fence_name, from_data
from chatbot_mvp.wings.ragas.errors import PromptsError
from chatbot_mvp.wings.ragas.judging.languages import language_code, language_name
from chatbot_mvp.wings.ragas.judging.package_files import PACKAGE_FILES, PackageFile, PackagePrompt, package_prompts
from chatbot_mvp.wings.ragas.judging.prompts import Prompt, Prompts, load_prompts
from chatbot_mvp.wings.ragas.judging.wording import wording

_NUMBER = re.compile(r"^\d+\. ", re.M)
_ATTEMPTS = 4
_LEAST_TOKENS, _TOKENS_PER_CHAR = 256, 0.6
"""Token limit of a translation: many languages need more tokens for a text than English does."""


class Translations(BaseModel):
    texts: list[str]


def own_prompts(language: str, folder: Path | None = None) -> list[PackagePrompt]:
    """Return this project's prompts of a language in the package's form, which has none for ContextRelevance.

    Args:
        folder: custom files, as in ``load_prompts``.

    Raises:
        UnknownChoice, PromptsError (prompts_unreadable): as ``load_prompts``.
    """
    prompts = load_prompts(language, folder)
    return [_as_package(file, prompts) for file in PACKAGE_FILES]


def save_prompts(prompts: Iterable[PackagePrompt], folder: Path) -> list[Path]:
    """Write prompts into a folder; return the paths of the files.

    Raises:
        PromptsError (prompts_not_written): a file exists already, or cannot be written. Those before it are there.
    """
    return [prompt.save(folder) for prompt in prompts]


def adapt_prompts(
    language: str,
    folder: Path,
    judge: ChatModel,
    *,
    needed: Collection[tuple[str, str]] | None = None,
    instructions: bool = False,
) -> list[Path]:
    """Make the prompts of a language that a folder lacks, save them there marked as unreviewed, and return their paths.

    The examples of the folder's English files are translated, or those of the built-in English prompts. Each file is
    saved when it is complete, so that another call goes on after a failure.

    Args:
        language: code or English name; any language that the judge knows.
        needed: keys of the prompts to make, as in ``Prompts.of``; None: all.
        instructions: translate the instructions too; the package leaves them in English unless told otherwise.

    Raises:
        PromptsError (prompts_not_made): the judge gave no usable translation.
        PromptsError (prompts_not_written, prompts_unreadable), NeedsLanguageModel, ProviderError
    """
    code = language_code(language)
    there = package_prompts(folder, code)
    sources = {prompt.file.key: prompt for prompt in own_prompts("en")} | package_prompts(folder, "en")
    made = []
    for file in PACKAGE_FILES:
        if file.key in there or (needed is not None and file.key not in needed):
            continue
        made.append(_translated(sources[file.key], code, judge, folder, instructions).save(folder))
    return made


def _translated(source: PackagePrompt, code: str, judge: ChatModel, folder: Path, instructions: bool) -> PackagePrompt:
    name = language_name(code)
    texts = list(dict.fromkeys(text for example in source.examples for part in example for text in _texts(part)))
    if instructions:
        texts.append(source.instruction)
    if not texts:
        return replace(source, language=name, made_by=judge.name, reviewed=False)
    # A folder's files may be somebody else's: their texts are data, like those of a row.
    request = as_data(json.dumps({"language": name, "texts": texts}, ensure_ascii=False))
    fence = fence_name(request, "translate")
    system = wording("translate", "en").format(language=name, fence=fence).strip()
    asked = ask(
        judge,
        (Message("system", system), Message("user", f"<{fence}>\n{request}\n</{fence}>")),
        Translations,
        check=lambda value: _fault(value, len(texts)),
        attempts=_ATTEMPTS,
        max_tokens=_LEAST_TOKENS + int(_TOKENS_PER_CHAR * len(request)),
    )
    if asked.value is None or asked.reading == "cut":
        reason = asked.detail or "the translation was cut off"
        raise PromptsError(
            "prompts_not_made", language=name, judge=judge.name, reason=reason.rstrip("."), folder=str(folder)
        )
    translation = dict(zip(texts, map(from_data, asked.value.texts), strict=True))
    return replace(
        source,
        language=name,
        instruction=translation.get(source.instruction, source.instruction) if instructions else source.instruction,
        examples=tuple((_with(given, translation), _with(reply, translation)) for given, reply in source.examples),
        made_by=judge.name,
        reviewed=False,
    )


def _fault(value: Translations, count: int) -> str:
    if len(value.texts) != count:
        return f"there must be {count} translations, one for each text, not {len(value.texts)}"
    return "" if all(text.strip() for text in value.texts) else "a translation is empty"


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping | list | tuple):
        for part in value.values() if isinstance(value, Mapping) else value:
            yield from _texts(part)


def _with(value: Any, translation: Mapping[str, str]) -> Any:
    if isinstance(value, str):
        return translation.get(value, value)
    if isinstance(value, Mapping):
        return {name: _with(part, translation) for name, part in value.items()}
    return [_with(part, translation) for part in value] if isinstance(value, list | tuple) else value


def _as_package(file: PackageFile, prompts: Prompts) -> PackagePrompt:
    name, _ = file.key
    prompt = prompts.of.get(file.key) or prompts.of[name, "verdict"]
    if isinstance(prompt, PackagePrompt):
        return prompt
    numbered = file.key == ("faithfulness", "verdicts")
    # The last line of an instruction tells the form of the reply, which the package adds by itself.
    instruction = prompt.instructions.rsplit("\n", 1)[0]
    if numbered:
        instruction = wording("package_verdicts", prompts.language).strip()
    examples = tuple(_example(file, prompt, index) for index in range(len(prompt.examples)))
    return PackagePrompt(file, language_name(prompts.language), instruction, examples)


def _example(file: PackageFile, prompt: Prompt, index: int) -> tuple[dict[str, Any], dict[str, Any]]:
    fields, text = prompt.examples[index]
    given: dict[str, Any] = {theirs: fields[ours] for ours, theirs in file.fields.items()}
    reply: dict[str, Any] = json.loads(text)
    if "statements" in given:
        statements = [line for line in _NUMBER.sub("", given["statements"].strip()).split("\n") if line]
        given["statements"] = statements
        reply = {
            "statements": [
                {"statement": statements[one.get("number", at) - 1], "reason": one["reason"], "verdict": one["verdict"]}
                for at, one in enumerate(reply["verdicts"], 1)
            ]
        }
    return given, reply
