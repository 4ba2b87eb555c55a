"""The prompts of an evaluation: saved for others to edit, and made in a language that has none."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from chatbot_mvp.errors import NeedsLanguageModel
from chatbot_mvp.llm.base import ChatModel
from chatbot_mvp.llm.chosen import ModelSource
from chatbot_mvp.llm.providers import following
from chatbot_mvp.runs.records import RunFolder
from chatbot_mvp.settings.live import LiveSettings
from chatbot_mvp.wings.ragas.config import RagasConfig
from chatbot_mvp.wings.ragas.judging import (
    adapt_prompts,
    language_code,
    load_prompts,
    own_languages,
    own_prompts,
    prompt_languages,
    prompts_of,
    save_prompts,
)
from chatbot_mvp.wings.ragas.preparation import chosen_metrics, judge_settings, prompt_language
from chatbot_mvp.wings.ragas.rows import InputRow

_DEFAULTS = RagasConfig()
_FOLDER = "ragas_prompts"


class PromptMaker:
    """Saves and makes prompts in the form of the ragas package. Safe to share between sessions."""

    def __init__(self, live: LiveSettings, providers: ModelSource) -> None:
        self._live = live
        self._providers = providers

    def folder(self, config: RagasConfig = _DEFAULTS) -> Path:
        """Return the folder of the configuration's prompts: its own, or DATA_DIR/ragas_prompts."""
        return config.prompts or self._live.current.data_dir.absolute() / _FOLDER

    def save(self, folder: Path, language: str = "en", config: RagasConfig = _DEFAULTS) -> list[Path]:
        """Write the prompts that an evaluation in this language uses; return the paths of the files.

        Raises:
            UnknownChoice, PromptsError (prompts_unreadable): there are none, or they cannot be read.
            PromptsError (prompts_not_written): a file exists already, or cannot be written.
        """
        return save_prompts(own_prompts(language, self._used(language, config.prompts)), folder)

    def adapt(self, language: str, config: RagasConfig = _DEFAULTS, *, instructions: bool = False) -> list[Path]:
        """Make the prompts of a language that the configuration's folder lacks, with its judge.

        Args:
            instructions: translate the instructions too.

        Returns:
            Paths of the files made, each marked as unreviewed; empty if the folder has all.

        Raises:
            NeedsLanguageModel: there is no judge.
            PromptsError (prompts_not_made, prompts_not_written, prompts_unreadable), ProviderError
        """
        settings = judge_settings(self._live.current, config)
        if settings.chosen_provider == "demo":
            raise NeedsLanguageModel(feature="ragas prompts adapt", provider="demo")
        judge = following(self._providers, self._providers.chosen).model(settings)
        return adapt_prompts(language, self.folder(config), judge, instructions=instructions)

    def with_prompts(self, config: RagasConfig, rows: Sequence[InputRow], judge: ChatModel | None) -> RagasConfig:
        """Return the configuration with the folder of its prompts, and make those that its metrics lack.

        A language with built-in prompts is not made; the files that a folder has of it are used all the same.

        Args:
            judge: makes what is missing; None: nothing is made.

        Raises:
            PromptsError (prompts_not_made, prompts_not_written, prompts_unreadable), ProviderError
        """
        language = prompt_language(config, rows)
        if language not in prompt_languages() and judge is not None:
            needed = prompts_of(chosen_metrics(config, rows, has_judge=True))
            folder = self.folder(config)
            if not self._complete(language, folder, needed):
                adapt_prompts(language, folder, judge, needed=needed)
            return config.model_copy(update={"prompts": folder})
        return config.model_copy(update={"prompts": self._used(language, config.prompts)})

    def unreviewed(self, run_id: str) -> list[str]:
        """Return the names of the prompts of a run that a model has translated and nobody had reviewed.

        Raises:
            RunNotFound, RunUnreadable
        """
        manifest = RunFolder(self._live.current.results_dir, run_id).manifest()
        return [str(name) for name in manifest.evaluation.get("prompts_unreviewed", ())]

    def _used(self, language: str, prompts: Path | None) -> Path | None:
        """Return the folder whose files are used: that of the configuration, or the usual one with the language."""
        folder = self.folder()
        return folder if prompts is None and language_code(language) in own_languages(folder) else prompts

    def _complete(self, language: str, folder: Path, needed: set[tuple[str, str]]) -> bool:
        """Return whether a folder has the prompts that are needed, in any form."""
        if language not in prompt_languages(folder):
            return False
        there = load_prompts(language, folder, ()).of
        return all(key in there or (key[0], "verdict") in there for key in needed)
