"""A provider that redirects gets no request sent elsewhere: questions, passages and keys stay at its address."""

from __future__ import annotations

import pytest

from chatbot_mvp.errors import ProviderBadRequest
from chatbot_mvp.llm.base import ChatOptions, ChatRequest, Message
from chatbot_mvp.llm.creation import create_remote_model
from chatbot_mvp.llm.registry import PROVIDERS
from tests.llm.conftest import KEY, URLS, Rig
from tests.llm.http_stub import Fault, Request, Response, StubServer

REQUEST = ChatRequest((Message("user", "¿Cuál es la clave de la caja?"),), ChatOptions(max_tokens=8))


class Elsewhere(StubServer):
    """Answers nothing, and remembers what came."""

    def answer(self, request: Request) -> Response:
        return Response.json({})


@pytest.mark.sampled(20)
@pytest.mark.xdist_group("llama")
@pytest.mark.parametrize("status", [301, 302, 307, 308])
@pytest.mark.parametrize("way", ["complete", "stream", "models"])
@pytest.mark.parametrize("rig", sorted(URLS), indirect=True)
def test_a_redirect_of_a_provider_is_told_and_not_followed(rig: Rig, way: str, status: int) -> None:
    assert URLS.keys() == {name for name, provider in PROVIDERS.items() if provider.has_model} - {
        "local",
        "huggingface",
    }
    model = create_remote_model(rig.settings)
    with Elsewhere() as elsewhere:
        rig.front.faults.append(Fault(Response(status, (), {"Location": f"{elsewhere.url}/v1/chat/completions"})))
        with pytest.raises(ProviderBadRequest, match="it redirects to http://127") as raised:
            if way == "complete":
                model.complete(REQUEST)
            elif way == "stream":
                list(model.stream(REQUEST))
            else:
                model.check(5.0)
        assert elsewhere.requests == []
    assert KEY not in str(raised.value)
