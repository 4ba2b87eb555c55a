"""Take a configuration of a tune into the settings, by the allow-list through which a run goes into the chat."""

from __future__ import annotations

from typing import Any

from chatbot_mvp.chat.profile import chat_profile
from chatbot_mvp.errors import UnknownChoice
from chatbot_mvp.evaluation.benchmark.preparation import run_fingerprint
from chatbot_mvp.llm.chosen import ModelSource
from chatbot_mvp.settings.live import LiveSettings
from chatbot_mvp.settings.model import MODEL_SETTINGS
from chatbot_mvp.wings.tune.errors import TuneError
from chatbot_mvp.wings.tune.space import Configuration
from chatbot_mvp.wings.tune.types import Application, TunePlan, TuneResult


def application(
    plan: TunePlan, result: TuneResult, config_id: str, live: LiveSettings, providers: ModelSource
) -> Application:
    """Return what applying a configuration would change, with the reason if it cannot be applied.

    Args:
        config_id: one of the measured configurations; "" for the winner, if it is recommended.

    Raises:
        TuneError (tune_nothing_to_apply): nothing is recommended and no configuration is named.
        UnknownChoice: the tune has no such configuration.
    """
    chosen = _chosen(result, config_id)
    settings = live.current
    # The settings that ran are those of the plan with the changes; both were recorded on this machine.
    recorded = plan.settings | chosen.changes
    has_model = providers.language_model(settings) is not None
    profile = chat_profile(result.tune_id, recorded, settings, has_model)
    taken = dict(profile.changes)
    taken |= {name: value for name, value in chosen.changes.items() if name in MODEL_SETTINGS.values()}
    values = {name: value for name, value in taken.items() if value != getattr(settings, name)}
    changes = {name: (getattr(settings, name), value) for name, value in values.items()}
    return Application(result.tune_id, chosen, changes, _reason(live, chosen, values))


def _chosen(result: TuneResult, config_id: str) -> Configuration:
    if not config_id:
        if not result.recommended or result.winner is None:
            raise TuneError("tune_nothing_to_apply", tune_id=result.tune_id, verdict=result.verdict)
        return result.winner
    known = {trial.configuration.config_id: trial.configuration for trial in result.trials}
    if config_id not in known:
        raise UnknownChoice(kind="configuration of the tune", found=config_id, legal=", ".join(known))
    return known[config_id]


def _reason(live: LiveSettings, chosen: Configuration, values: dict[str, Any]) -> str:
    if reason := live.why_not_applicable(values):
        return reason
    after = live.current.with_changes(**values)
    if (now := run_fingerprint(after)) != chosen.config_id:
        return (
            f"other settings have changed since, so that the chat would search under {now} and not under "
            f"{chosen.config_id}"
        )
    return ""
