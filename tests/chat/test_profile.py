"""A run's search in the chat: what is taken over, what is not and why, and that an answer really uses it."""

from __future__ import annotations

from typing import Any

import pytest

from chatbot_mvp.app import App
from chatbot_mvp.chat.context import UserContext
from chatbot_mvp.chat.profile import chat_profile, system_profile
from chatbot_mvp.chat.records import record_of
from chatbot_mvp.embedding.registry import is_configured
from chatbot_mvp.errors import InvalidSetting, UnknownChoice
from chatbot_mvp.retrieval.systems import SYSTEMS
from chatbot_mvp.settings.model import LOCAL_EMBEDDER, MODEL_SETTINGS, Settings

QUESTION = "¿Cuántos días laborables de vacaciones hay por año?"


def recorded(settings: Settings, **changes: Any) -> dict[str, Any]:
    """As the manifest of a run under these settings has them."""
    return settings.with_changes(**changes).model_dump(mode="json", exclude={"data_dir"})


def reasons(profile: Any) -> dict[str, str]:
    return {item.name: item.reason for item in profile.not_taken}


def test_what_differs_of_the_search_is_taken_over(settings: Settings) -> None:
    profile = chat_profile(
        "r", recorded(settings, retrieval_strategy="HYBRID", kb_top_k=3, retrieval_bm25_weight=0.7), settings, False
    )
    changes = dict(profile.changes)
    assert changes == {"retrieval_strategy": "HYBRID", "kb_top_k": 3, "retrieval_bm25_weight": 0.7}
    assert profile.not_taken == ()
    assert profile.refused is None


def test_no_address_and_no_key_is_ever_taken(settings: Settings) -> None:
    """A run may come from elsewhere: its addresses would get the passages, and with our keys."""
    foreign = {
        "embedding_base_url": "http://evil.example/v1",
        "embedding_model_name": "nvidia/nv-embed",
        "reranker_enabled": True,
        "reranker_base_url": "http://evil.example/v1",
        "groq_api_key": "gsk-theirs",
        "provider": "groq",
    }
    profile = chat_profile("r", {**recorded(settings), **foreign}, settings, True, "groq/llama")
    assert "evil" not in repr(profile.changes)
    assert "gsk" not in repr(profile)
    assert "evil" not in repr(profile.retrieval)
    assert {name: value for name, value in profile.retrieval if name in foreign} == {"reranker_enabled": False}
    assert reasons(profile) == {
        "retrieval_strategy": "links",
        "embedding_model_name": "embedder",
        "reranker_enabled": "reranker",
        "provider": "model",
    }


@pytest.mark.parametrize(
    ("changes", "has_model", "expected"),
    [
        ({"retrieval_strategy": "MADE_UP"}, True, {"retrieval_strategy": "strategy"}),
        ({"retrieval_strategy": "CONTEXTUAL_HYBRID"}, False, {"retrieval_strategy": "needs_model"}),
        ({"retrieval_strategy": "LEXICAL", "query_expansion_llm": True}, False, {"query_expansion_llm": "expansion"}),
        ({"retrieval_strategy": "LEXICAL", "reranker_enabled": True}, False, {"reranker_enabled": "reranker"}),
        ({"retrieval_strategy": "LEXICAL", "reranker_enabled": True}, True, {}),
        (
            {"retrieval_strategy": "LEXICAL", "retrieval_bm25_language": "en"},
            True,
            {"retrieval_bm25_language": "language"},
        ),
        ({"retrieval_strategy": "LEXICAL", "kb_top_k": 0}, True, {"kb_top_k": "illegal"}),
        # A strategy without vectors has no use for the model of a run's vectors.
        ({"retrieval_strategy": "LEXICAL", "embedding_model_name": "openai/x"}, True, {}),
    ],
)
def test_what_is_not_taken_says_why(
    settings: Settings, changes: dict[str, Any], has_model: bool, expected: dict[str, str]
) -> None:
    profile = chat_profile("r", {**recorded(settings), **changes}, settings, has_model)
    assert reasons(profile) == expected
    refused = {"strategy", "needs_model"} & set(expected.values())
    assert (profile.refused is not None) == bool(refused)
    if refused:
        assert "retrieval_strategy" not in dict(profile.retrieval)


def test_an_embedder_counts_as_there_only_with_its_key_or_its_address(settings: Settings) -> None:
    assert is_configured(LOCAL_EMBEDDER, settings)
    assert not is_configured("openai/text-embedding-3-small", settings)
    assert is_configured("openai/text-embedding-3-small", settings.with_changes(openai_api_key="sk-x"))
    ours = settings.with_changes(embedding_base_url="http://127.0.0.1:1/v1")
    assert is_configured("nvidia/nv-embed", ours, "http://127.0.0.1:1/v1")
    assert not is_configured("nvidia/nv-embed", ours, "http://127.0.0.1:2/v1")


def test_an_answer_searches_as_the_run_did_and_others_do_not(app: App) -> None:
    """The record of the answer names the run's strategy, and as many passages as the run's setting allows."""
    run_id = str(app.runs.run_now(retrieval_strategy="LEXICAL", kb_top_k=1).run_id)
    profile = app.details.chat_profile(run_id)
    kb_id = app.kbs.add_sample().kb_id
    own = record_of(app.answering.ask(kb_id, QUESTION))
    as_run = record_of(app.answering.ask(kb_id, QUESTION, UserContext(retrieval=profile.retrieval)))
    again = record_of(app.answering.ask(kb_id, QUESTION))
    assert (own.debug["strategy"], as_run.debug["strategy"]) == ("BRIDGE_HYBRID", "LEXICAL")
    assert again.debug["strategy"] == "BRIDGE_HYBRID"
    assert own.debug["fingerprint"] == again.debug["fingerprint"] != as_run.debug["fingerprint"]
    chosen = {chunk["chunk_id"] for chunk in as_run.debug["chunks_final"]}
    assert len(chosen - set(as_run.debug["chunks_added_by_stitching"])) == 1
    assert not [timing for timing in as_run.debug["timings"] if timing["stage"] == "dense"]


def test_a_knob_wins_over_the_search_of_a_run(app: App) -> None:
    kb_id = app.kbs.add_sample().kb_id
    retrieval = (("kb_top_k", 1), ("retrieval_strategy", "LEXICAL"))
    defaults = app.answering.defaults(kb_id, retrieval)
    assert defaults.kb_top_k == 1
    moved = UserContext(kb_top_k=4, kb_min_score=defaults.kb_min_score, retrieval=retrieval).beyond(defaults)
    assert (moved.kb_top_k, moved.kb_min_score, moved.retrieval) == (4, None, retrieval)
    assert moved.over(app.settings).kb_top_k == 4
    # Moved back to the settings' own, it is still another value than the run's.
    back = UserContext(kb_top_k=app.settings.kb_top_k, retrieval=retrieval).beyond(defaults)
    assert back.over(app.settings).kb_top_k == app.settings.kb_top_k


def test_a_search_that_is_the_settings_own_shares_their_pipeline(app: App) -> None:
    kb_id = app.kbs.add_sample().kb_id
    own = app.kbs.pipeline(kb_id)
    same = (("kb_top_k", 2), ("retrieval_strategy", app.settings.retrieval_strategy))
    assert app.kbs.pipeline(kb_id, search=same) is own
    assert app.kbs.pipeline(kb_id, search=(("retrieval_strategy", "LEXICAL"),)) is not own


def test_a_setting_that_does_not_exist_is_refused(app: App) -> None:
    kb_id = app.kbs.add_sample().kb_id
    with pytest.raises(InvalidSetting):
        app.answering.ask(kb_id, QUESTION, UserContext(retrieval=(("retrieval_made_up", 1),)))


@pytest.mark.parametrize("name", list(SYSTEMS))
def test_a_system_is_taken_over_as_far_as_the_chat_can(settings: Settings, name: str) -> None:
    profile = system_profile(name, settings, True)
    changes = dict(SYSTEMS[name].changes)
    of_runs = {setting for setting in changes if setting.startswith(("eval_", "generation_"))}
    of_models = set(changes) & set(MODEL_SETTINGS.values())
    left = of_runs | of_models
    assert dict(profile.retrieval) == {setting: value for setting, value in changes.items() if setting not in left}
    assert {item.name for item in profile.not_taken if item.reason == "model"} == of_models
    assert {item.name for item in profile.not_taken if item.reason == "runs"} == of_runs
    assert (profile.system, profile.run_id, profile.refused) == (name, "", None)
    assert all(value != getattr(settings, setting) for setting, value in profile.changes)


def test_without_a_model_a_system_says_what_it_cannot_do_or_is_refused(settings: Settings) -> None:
    profile = system_profile("rag_v2", settings, False)
    own = {"query_expansion_llm": "expansion", "reranker_enabled": "reranker", "ollama_model_name": "model"}
    assert reasons(profile) == own
    taken = dict(profile.retrieval)
    assert (taken["retrieval_strategy"], taken["query_expansion_llm"], taken["reranker_enabled"]) == (
        "RAG_V2",
        False,
        False,
    )
    refused = system_profile("rag_p_contextual_hybrid", settings, False).refused
    assert refused is not None
    assert (refused.reason, refused.run) == ("needs_model", "CONTEXTUAL_RRF")


def test_a_system_without_a_ranking_endpoint_reranks_by_the_model_though_one_is_configured(settings: Settings) -> None:
    """As RAG v2 did: 0.3 and 0.7 are of the model's scale."""
    with_nim = settings.with_changes(reranker_base_url="http://127.0.0.1:9000/v1")
    taken = dict(system_profile("rag_v2", with_nim, True).retrieval)
    assert (taken["reranker_enabled"], taken["reranker_base_url"]) == (True, "")


def test_a_systems_thresholds_decide_the_question(app: App) -> None:
    """They are no search, but a system is more than its search."""
    kb_id = app.kbs.add_sample().kb_id
    retrieval = app.answering.system_profile("kb_chat").retrieval
    context = UserContext(retrieval=retrieval)
    assert context.over(app.settings).kb_doubt_evidence == 1.0
    assert app.answering.defaults(kb_id, retrieval).kb_top_k == 4
    record = record_of(app.answering.ask(kb_id, QUESTION, context))
    assert (record.debug["strategy"], record.debug["min_evidence"]) == ("KB_CHAT", 0.5)


def test_another_system_is_refused(app: App) -> None:
    with pytest.raises(UnknownChoice):
        app.answering.system_profile("rag_v9")
