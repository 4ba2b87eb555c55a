"""A run's configuration in groups: everything has its place, what was changed is marked, no secret is in it."""

from __future__ import annotations

from chatbot_mvp.runs.masking import configuration_groups
from chatbot_mvp.settings.kinds import RUN_GROUPS
from chatbot_mvp.settings.model import MASK, SECRETS, Settings


def recorded(settings: Settings) -> dict[str, object]:
    """As a manifest has them."""
    return settings.model_dump(mode="json", exclude={"data_dir"})


def test_what_is_not_as_the_default_is_marked_and_comes_first(settings: Settings) -> None:
    changed = settings.with_changes(retrieval_strategy="LEXICAL", retrieval_k=7, kb_top_k=3)
    groups = configuration_groups(recorded(changed))
    marked = {row.name for rows in groups.values() for row in rows if row.changed}
    assert marked == {"retrieval_strategy", "retrieval_k", "kb_top_k", "generation_enabled"}
    assert [row.name for row in groups["search"][:2]] == ["retrieval_k", "retrieval_strategy"]
    assert (groups["search"][0].value, groups["search"][0].default) == (7, 20)


def test_every_setting_has_one_group_and_no_secret_is_shown(settings: Settings) -> None:
    keyed = settings.with_changes(groq_api_key="gsk-very-secret")
    groups = configuration_groups({**recorded(keyed), "old_password": "very-secret", "groq_api_key": "gsk-very-secret"})
    names = [row.name for rows in groups.values() for row in rows]
    assert set(names) == set(Settings.model_fields) - {"data_dir", *SECRETS}
    assert len(names) == len(set(names))
    assert tuple(groups) == RUN_GROUPS
    assert "very-secret" not in repr(groups)
    assert MASK not in repr(groups)


def test_a_setting_of_another_version_is_shown_as_changed(settings: Settings) -> None:
    groups = configuration_groups({"retrieval_of_old": 1, "of_old": 2})
    assert [row.name for row in groups["other"]] == ["of_old"]
    [row] = groups["search"]
    assert (row.value, row.default, row.changed) == (1, None, True)
