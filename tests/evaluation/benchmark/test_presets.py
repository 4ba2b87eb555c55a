"""Presets of runs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from chatbot_mvp.errors import UnknownChoice
from chatbot_mvp.evaluation.benchmark.presets import BUILT_IN, RUN_PARAMETERS, Presets
from chatbot_mvp.retrieval.systems import SYSTEMS
from chatbot_mvp.settings.model import Settings
from tests.raising import raises


def test_every_parameter_is_a_setting_in_one_group_and_the_built_in_presets_are_legal(settings: Settings) -> None:
    names = [name for group in RUN_PARAMETERS.values() for name in group]
    assert sorted(names) == sorted(set(names))
    assert set(names) <= set(Settings.model_fields)
    for name, changes in BUILT_IN.items():
        assert set(changes) <= set(names) or name in SYSTEMS  # a system also changes what has no field
        settings.with_changes(**changes)


def test_a_preset_is_kept_replaced_and_deleted(tmp_path: Path) -> None:
    path = tmp_path / "data" / "run_presets.json"
    assert Presets(path).save("  Mi   prueba ", {"retrieval_k": 10}) == "Mi prueba"
    Presets(path).save("Mi prueba", {"retrieval_k": 11})
    Presets(path).save("quick", {})  # the name of a built-in one is free
    own = [preset for preset in Presets(path).all() if preset.own]
    assert [(preset.name, dict(preset.changes)) for preset in own] == [
        ("Mi prueba", {"retrieval_k": 11}),
        ("quick", {}),
    ]
    assert [preset.name for preset in Presets(path).all() if not preset.own] == list(BUILT_IN)
    Presets(path).delete("Mi prueba")
    Presets(path).delete("never there")
    assert [preset.name for preset in Presets(path).all() if preset.own] == ["quick"]
    assert [entry.name for entry in path.parent.iterdir() if not entry.name.startswith(".")] == [path.name]


def test_what_is_no_preset_is_refused_and_a_damaged_file_is_none(tmp_path: Path) -> None:
    path = tmp_path / "run_presets.json"
    for name, changes in ((" ", {}), ("format_version", {}), ("x", {"groq_api_key": "gsk"}), ("x", {"data_dir": "/"})):
        with pytest.raises(UnknownChoice):
            Presets(path).save(name, changes)
    path.write_text(json.dumps({"format_version": 1, "old": {"gone_setting": 1, "retrieval_k": 5}, "torn": 3}), "utf-8")
    assert [dict(preset.changes) for preset in Presets(path).all() if preset.own] == [{"retrieval_k": 5}]
    path.write_text("{", "utf-8")
    assert not [preset for preset in Presets(path).all() if preset.own]
    with raises("choice_not_kept"):
        Presets(path / "below a file").save("x", {})
