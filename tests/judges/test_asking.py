"""A judge's reply: read strictly, mended, asked for again, and never guessed."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from pydantic import BaseModel

from chatbot_mvp.errors import ChatbotError, NeedsLanguageModel, all_errors
from chatbot_mvp.judges.asking import Asked, ask, json_schema
from chatbot_mvp.judges.reading import Binary, Unreadable, read_reply
from chatbot_mvp.llm.base import ChatRequest, ChatStream, Completion, FinishedStream, FinishReason, Message, Usage
from tests.raising import raises


class Verdict(BaseModel):
    reason: str
    verdict: Binary


class Verdicts(BaseModel):
    verdicts: list[Verdict]


class Statements(BaseModel):
    statements: list[str]


class Rating(BaseModel):
    rating: int


GOOD = '{"reason": "está en el texto", "verdict": 1}'
MESSAGES = (Message("user", "¿Se sigue?"),)


class ScriptedModel:
    """Gives its replies one after another; an error among them is raised."""

    needs_evidence = False

    def __init__(self, *script: str | Exception | tuple[str, FinishReason], name: str = "scripted/judge") -> None:
        self.name = name
        self.script = list(script)
        self.requests: list[ChatRequest] = []

    def complete(self, request: ChatRequest) -> Completion:
        self.requests.append(request)
        said = self.script.pop(0)
        if isinstance(said, Exception):
            raise said
        text, finish = said if isinstance(said, tuple) else (said, "stop")
        return Completion(text, self.name, 0.1, finish, Usage(10, 5, 0.001))

    def stream(self, request: ChatRequest) -> ChatStream:
        return FinishedStream(self.complete(request))


def failure(code: str, reason: str = "no") -> ChatbotError:
    return all_errors()[code](
        code, provider="stub", model="judge", reason=reason, variable="KEY", address="http://x", tries=3, missing="m"
    )


READABLE: list[tuple[str, str, type[BaseModel], object]] = [
    ("as asked", GOOD, Verdict, 1),
    ("a code fence", f"```json\n{GOOD}\n```", Verdict, 1),
    ("a fence that is not closed", f"```\n{GOOD}", Verdict, 1),
    ("prose around it", f"Claro, aquí está:\n{GOOD}\n¡Espero que ayude!", Verdict, 1),
    ("brackets in the prose", f"Según [1] y {{esto}}, digo {GOOD}.", Verdict, 1),
    ("a draft before the answer", f'{{"reason": "dudo", "verdict": 0}} No: {GOOD}', Verdict, 1),
    ("a trailing comma", '{"reason": "sí", "verdict": 1,}', Verdict, 1),
    ("single quotes and Python's literals", "{'reason': 'sí', 'verdict': True}", Verdict, 1),
    ("an apostrophe in single quotes", "{'reason': 'l\\'aigua', 'verdict': 0}", Verdict, 0),
    ("quotes inside of quotes", '{"reason": "dice "hola" y ya", "verdict": 1}', Verdict, 1),
    ("a line break in a text", '{"reason": "una\nlínea", "verdict": 1}', Verdict, 1),
    ("a comment", '{"reason": "sí", // creo\n "verdict": 1}', Verdict, 1),
    ("typographic quotes", "{“reason”: “sí”, “verdict”: 1}", Verdict, 1),
    ("names without quotes", '{reason: "sí", verdict: 1}', Verdict, 1),
    ("brackets left open", '{"reason": "sí", "verdict": 1', Verdict, 1),
    ("a verdict in words", '{"reason": "está", "verdict": "Sí"}', Verdict, 1),
    ("a verdict as text", '{"reason": "está", "verdict": "0"}', Verdict, 0),
    ("a thinking block", f'<think>{{"reason": "quizá", "verdict": 0}}</think>\n{GOOD}', Verdict, 1),
    ("a thinking block opened by the template", f'quizá {{"verdict": 0}} </think>{GOOD}', Verdict, 1),
    ("a thinking mark quoted in the reply", '{"reason": "cita </think>", "verdict": 1}', Verdict, 1),
    ("a bare list", '["a", "b"]', Statements, ["a", "b"]),
    ("a bare list in a fence", '```\n["a", "b",]\n```', Statements, ["a", "b"]),
    ("a bare list after prose", 'Las afirmaciones son:\n["a", "b"]', Statements, ["a", "b"]),
    ("a bare list of objects", f"[{GOOD}]", Verdicts, [1]),
    ("a bare value", "2", Rating, 2),
    ("a bare value as text", '"2"', Rating, 2),
]

UNREADABLE: list[tuple[str, str, type[BaseModel]]] = [
    ("nothing", "", Verdict),
    ("prose", "La afirmación se sigue del contexto.", Verdict),
    ("only thoughts", "<think>a ver, {'reason': 'x', 'verdict': 1}", Verdict),
    ("another number", '{"reason": "x", "verdict": 2}', Verdict),
    ("no verdict", '{"reason": "x"}', Verdict),
    ("a word that is no verdict", '{"reason": "x", "verdict": "quizá"}', Verdict),
    ("a quotation mark in prose", "Según dice [sic] el texto, no hay afirmaciones.", Statements),
    ("prose in place of statements", "No hay afirmaciones.", Statements),
    ("a number in prose", "Le doy un 2 o un 1.", Rating),
    ("brackets without end", "[" * 50_000, Verdict),
    ("objects without end", '{"a":' * 20_000, Verdict),
    ("more than any verdict", "x" * 200_000, Verdict),
]


def said(value: BaseModel) -> object:
    match value:
        case Verdict():
            return value.verdict
        case Verdicts():
            return [verdict.verdict for verdict in value.verdicts]
        case Statements():
            return value.statements
        case Rating():
            return value.rating
    raise AssertionError(value)


@pytest.mark.parametrize(("text", "reply", "expected"), [row[1:] for row in READABLE], ids=[row[0] for row in READABLE])
def test_a_broken_reply_is_mended(text: str, reply: type[BaseModel], expected: object) -> None:
    value, _ = read_reply(text, reply)
    assert said(value) == expected


@pytest.mark.parametrize(("text", "reply"), [row[1:] for row in UNREADABLE], ids=[row[0][:20] for row in UNREADABLE])
def test_what_was_not_said_is_not_guessed(text: str, reply: type[BaseModel]) -> None:
    with pytest.raises(Unreadable) as caught:
        read_reply(text, reply)
    assert 0 < len(str(caught.value)) < 300


def test_a_good_reply_takes_one_request_which_carries_the_schema() -> None:
    model = ScriptedModel(GOOD)
    asked = ask(model, MESSAGES, Verdict, max_tokens=77, seed=5)
    assert asked.value == Verdict(reason="está en el texto", verdict=1)
    assert (asked.reason, asked.attempts, asked.reading, asked.raw) == ("", 1, "whole", GOOD)
    [request] = model.requests
    assert request.messages == MESSAGES
    assert (request.options.max_tokens, request.options.seed, request.options.temperature) == (77, 5, 0.0)
    assert request.options.json_schema == json_schema(Verdict)


def test_the_schema_holds_no_references() -> None:
    schema = json_schema(Verdicts)
    assert "$" not in json.dumps(schema)
    assert schema["properties"]["verdicts"]["items"]["properties"]["verdict"] == {
        "maximum": 1,
        "minimum": 0,
        "type": "integer",
    }


def test_a_judge_is_told_what_was_wrong_and_asked_again() -> None:
    model = ScriptedModel("Creo que sí.", '{"verdict": 1}', GOOD)
    asked = ask(model, MESSAGES, Verdict, language="es")
    assert asked.value is not None
    assert (asked.attempts, len(asked.completions)) == (3, 3)
    assert asked.usage == Usage(30, 15, pytest.approx(0.003))
    second, third = model.requests[1:]
    assert second.messages[:2] == (*MESSAGES, Message("assistant", "Creo que sí."))
    assert "it holds no JSON object" in second.messages[2].content
    assert "Contesta otra vez" in second.messages[2].content
    # The conversation does not grow, or a small model would lose the question.
    assert len(third.messages) == 3
    assert "reason: Field required" in third.messages[2].content


def test_no_two_attempts_are_the_same_request() -> None:
    """A reply cache, and any judge at temperature 0, would answer it in the same way."""
    model = ScriptedModel(*["No puedo."] * 4)
    ask(model, MESSAGES, Verdict, attempts=4)
    assert len({request.messages for request in model.requests}) == 4
    model = ScriptedModel(*[("…", "length")] * 2)
    assert ask(model, MESSAGES, Verdict, attempts=4).attempts == 2, "a third would be the second again"


def test_after_the_last_attempt_it_is_not_scored_and_the_reply_is_kept() -> None:
    asked = ask(ScriptedModel("no", "tampoco", "jamás"), MESSAGES, Verdict)
    assert asked == Asked(
        None, "unusable_reply", "it holds no JSON object", "jamás", 3, asked.completions
    )  # fmt: skip
    assert [completion.text for completion in asked.completions] == ["no", "tampoco", "jamás"]


def test_a_value_that_does_not_pass_the_check_is_asked_for_again() -> None:
    def two(value: Statements) -> str:
        return "" if len(value.statements) == 2 else f"{len(value.statements)} statements in place of 2"

    model = ScriptedModel('["a"]', '["a", "b"]')
    assert ask(model, MESSAGES, Statements, check=two).value == Statements(statements=["a", "b"])
    assert "1 statements in place of 2" in model.requests[1].messages[-1].content
    asked = ask(ScriptedModel('["a"]'), MESSAGES, Statements, check=two, attempts=1)
    assert (asked.value, asked.reason, asked.detail) == (None, "unusable_reply", "1 statements in place of 2")


def test_a_reply_that_was_cut_is_asked_for_with_more_tokens() -> None:
    model = ScriptedModel(('{"statements": ["a", "b", "c es', "length"), '{"statements": ["a", "b", "c es d"]}')
    asked = ask(model, MESSAGES, Statements, max_tokens=100)
    assert asked.value == Statements(statements=["a", "b", "c es d"])
    assert [request.options.max_tokens for request in model.requests] == [100, 400]
    assert model.requests[1].messages == MESSAGES


def test_a_reply_that_goes_in_circles_gets_no_more_tokens_but_a_word() -> None:
    circles = '{"statements": [' + '"El río pasa por el pueblo y el pueblo está junto al río que pasa.", ' * 9
    model = ScriptedModel((circles, "length"), '["El río pasa por el pueblo."]')
    asked = ask(model, MESSAGES, Statements, max_tokens=100)
    assert asked.value == Statements(statements=["El río pasa por el pueblo."])
    assert [request.options.max_tokens for request in model.requests] == [100, 100]
    assert "it repeats itself" in model.requests[1].messages[-1].content


def test_of_replies_that_are_always_cut_what_came_whole_is_taken() -> None:
    cut = ('{"statements": ["a", "b", "c es', "length")
    asked = ask(ScriptedModel(cut, cut), MESSAGES, Statements)
    assert asked.value == Statements(statements=["a", "b"])
    assert asked.reading == "cut"
    half = ask(ScriptedModel(('{"rating": 1', "length")), MESSAGES, Rating, attempts=1)
    assert half.value is None, "it may have been the first digit of 10"


def test_a_reply_that_breaks_off_is_not_taken_for_the_whole_whatever_the_provider_says() -> None:
    model = ScriptedModel('{"statements": ["a", "b", "c es', '["a", "b", "c es d"]')
    assert ask(model, MESSAGES, Statements).value == Statements(statements=["a", "b", "c es d"])
    assert "it ends in the middle" in model.requests[1].messages[-1].content
    forgotten = ask(ScriptedModel('{"statements": ["a", "b \\"x\\" c"'), MESSAGES, Statements)
    assert (forgotten.value, forgotten.attempts) == (Statements(statements=["a", 'b "x" c']), 1)


def test_a_whole_reply_with_blank_space_up_to_the_limit_is_whole() -> None:
    model = ScriptedModel((GOOD + "\n" * 50, "length"))
    assert ask(model, MESSAGES, Verdict).value is not None


@pytest.mark.parametrize(
    "code", ["provider_bad_request", "provider_prompt_too_long", "provider_rate_limited", "provider_unavailable"]
)
def test_a_failure_of_this_request_is_a_row_not_scored(code: str) -> None:
    asked = ask(ScriptedModel(failure(code), failure(code), name=f"stub/{code}"), MESSAGES, Verdict)
    assert (asked.value, asked.reason) == (None, "provider")
    assert asked.detail == str(failure(code))


@pytest.mark.parametrize("code", ["provider_quota_exhausted", "provider_key_refused", "provider_model_unknown"])
def test_a_failure_that_no_request_would_survive_is_raised(code: str) -> None:
    with raises(code):
        ask(ScriptedModel(failure(code)), MESSAGES, Verdict)


def test_a_reply_without_text_is_asked_for_with_more_tokens() -> None:
    model = ScriptedModel(failure("provider_reply_unusable"), GOOD)
    assert ask(model, MESSAGES, Verdict, max_tokens=50).value is not None
    assert [request.options.max_tokens for request in model.requests] == [50, 200]


def test_a_provider_that_refuses_the_schema_is_asked_without_from_then_on() -> None:
    refused = failure("provider_bad_request", "this model does not support response format `json_schema`")
    model = ScriptedModel(refused, GOOD, GOOD, name="stub/without-schema")
    assert ask(model, MESSAGES, Verdict, attempts=1).attempts == 1
    ask(model, MESSAGES, Verdict, attempts=1)
    assert [request.options.json_schema is None for request in model.requests] == [False, True, True]


def test_a_model_that_only_quotes_is_no_judge() -> None:
    model = ScriptedModel()
    model.needs_evidence = True
    with pytest.raises(NeedsLanguageModel):
        ask(model, MESSAGES, Verdict)


def test_the_check_is_not_asked_about_what_could_not_be_read() -> None:
    never: Callable[[Verdict], str] = lambda value: pytest.fail("there is no value")  # noqa: E731
    assert ask(ScriptedModel("no"), MESSAGES, Verdict, check=never, attempts=1).value is None
