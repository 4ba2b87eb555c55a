"""What an assistant can do: search, fetch a passage, ask, list the knowledge bases. No part of a protocol is here.

``search`` and ``fetch`` have the arguments and results that ChatGPT's connectors ask for.
"""

from __future__ import annotations

import re
from typing import Any, NotRequired

from typing_extensions import TypedDict  # on Python 3.11 the SDK makes no schema of one of `typing`

from chatbot_mvp.api import MODES, Mode, UserContext
from chatbot_mvp.app import App
from chatbot_mvp.chat.context import require_short
from chatbot_mvp.chat.records import record_of
from chatbot_mvp.documents.kb_files import FilePlace, place_of, text_hash
from chatbot_mvp.errors import ChatbotError, KbNotFound, KbPassageChanged, UnknownChoice
from chatbot_mvp.types import Chunk

_SEARCHED = 20
"""Knowledge bases that one search reads at most, the newest ones: the first search of each builds its indexes."""
_RESULTS = 10
_PATIENCE_S = 1.5
"""How long a search waits for the vectors of a knowledge base; without them it searches by words."""
_SPAN = re.compile(r"([0-9]{1,12})-([0-9]{1,12})-([0-9a-f]{12})")
_AROUND_CHARS = 4_000
"""Text that ``fetch`` adds on each side of a passage."""


class Found(TypedDict):
    """A passage that ``search`` found."""

    id: str
    title: str
    url: str


class Results(TypedDict):
    """What ``search`` returns, best first."""

    results: list[Found]
    left_out: NotRequired[dict[str, list[str]]]
    """Knowledge base -> paths of its documents that cannot be read; all of them where there are none."""


class Fetched(TypedDict):
    """A passage with the text around it."""

    id: str
    title: str
    text: str
    url: str
    metadata: dict[str, str]


class Tools:
    """The tools over one App. Safe to share between threads."""

    def __init__(self, app: App) -> None:
        self._app = app

    def list_knowledge_bases(self) -> list[dict[str, Any]]:
        """Return what each knowledge base is: id, name, version, documents, files, languages and characters.

        The newest come first. ``version`` is its number; ``files`` are the documents that are searched.
        """
        documents = self._app.kbs.store.documents
        return [
            {
                "id": record.kb_id,
                "name": record.kb_name,
                "version": record.number,
                "changed_at": record.added_at,
                "documents": [
                    {"path": one.path, "title": one.title, "tags": list(one.tags), "updated_at": one.updated_at}
                    for one in documents(record.kb_id)
                ],
                "files": list(record.files),
                "languages": list(record.languages),
                "chars": record.chars,
            }
            for record in self._app.kbs.records()
        ]

    def search(self, query: str) -> Results:
        """Search the newest knowledge bases for the passages that answer a question.

        Passages of different knowledge bases are ranked by the evidence that each base has for the question.

        Raises:
            ConfigurationError (question_too_long)
        """
        require_short(query)
        ranked: list[tuple[float, str, Chunk]] = []
        kbs = self._app.kbs
        searched = kbs.records()[:_SEARCHED]
        for record in searched:
            try:
                [trace] = kbs.growing(record.kb_id).best(_PATIENCE_S).retrieve([query])
            except ChatbotError:  # deleted or damaged meanwhile; the others are searched all the same
                continue
            hits = trace.hits[:_RESULTS]
            best = max((hit.score for hit in hits), default=0.0) or 1.0
            weight = 1.0 if trace.evidence is None else trace.evidence
            ranked += [(weight * hit.score / best, record.kb_id, hit.chunk) for hit in hits]
        ranked.sort(key=lambda one: -one[0])
        found: Results = {"results": [self._found(kb_id, chunk) for _, kb_id, chunk in ranked[:_RESULTS]]}
        whole = {kb_id: list[str]() for kb_id in kbs.unreadable()}
        if left_out := whole | kbs.left_out(record.kb_id for record in searched):
            found["left_out"] = left_out
        return found

    def fetch(self, id: str) -> Fetched:
        """Return a passage that ``search`` found, with the text around it.

        Args:
            id: "<knowledge base>/<first character>-<character behind the last>-<hash of file and passage>".

        Raises:
            KbNotFound: there is no such knowledge base, or it is no such id.
            KbPassageChanged: another passage stands there now.
        """
        kb_id, _, span = id.partition("/")
        found = _SPAN.fullmatch(span)
        text = self._app.kbs.document(kb_id).text
        if found is None:
            raise KbNotFound(kb_id=id, legal="an id that search returned")
        start, end = int(found[1]), int(found[2])
        place = self._place(kb_id, start)
        if _digest(place, text[start:end]) != found[3]:
            raise KbPassageChanged(id=id)
        begin, stop = max(0, start - _AROUND_CHARS), end + _AROUND_CHARS
        return {
            "id": id,
            "title": _title(place, ""),
            "text": text[begin:stop],
            "url": _url(id, place),
            "metadata": {
                "knowledge_base": self._app.kbs.store.record(kb_id).kb_name,
                "file": place.file if place else "",
                "page": str(place.page) if place and place.page else "",
                "passage": text[start:end],
            },
        }

    def ask(self, question: str, knowledge_base: str = "", mode: str = "strict") -> dict[str, Any]:
        """Answer a question as the chat does.

        Args:
            knowledge_base: id or name; "" for the newest.
            mode: "strict" answers only what the passages support; "general" lets the model answer without them.

        Returns:
            The answer's text, its outcome ("answered", "asks", "nearest" or "refused"), its sources with file and page,
            the evidence, and what ``kb ask --json`` has besides, as ``left_out``: documents that cannot be read.

        Raises:
            KbNotFound, KbUnreadable, ConfigurationError (question_too_long)
            UnknownChoice: there is no such mode.
        """
        if mode not in MODES:
            raise UnknownChoice(kind="mode", found=mode, legal=", ".join(MODES))
        kb_id = self._kb_id(knowledge_base)
        chosen: Mode = "general" if mode == "general" else "strict"
        answer = self._app.answering.ask(kb_id, question, UserContext(chosen))
        told = {"answer": answer.text, "knowledge_base": kb_id, **record_of(answer).as_reply()}
        left_out = self._app.kbs.left_out([kb_id])
        return told | ({"left_out": left_out} if left_out else {})

    def _kb_id(self, name: str) -> str:
        if name or not (records := self._app.kbs.records()):
            return self._app.kbs.named(name).kb_id
        return records[0].kb_id

    def _found(self, kb_id: str, chunk: Chunk) -> Found:
        place = self._place(kb_id, chunk.start)
        own = f"{kb_id}/{chunk.start}-{chunk.end}-{_digest(place, chunk.text)}"
        return {"id": own, "title": _title(place, chunk.section), "url": _url(own, place)}

    def _place(self, kb_id: str, offset: int) -> FilePlace | None:
        return place_of(self._app.kbs.files(kb_id), offset)


def _digest(place: FilePlace | None, passage: str) -> str:
    """Return 12 hexadecimal digits that tell a passage from one that stands at its place after a change."""
    return text_hash(f"{place.file if place else ''}\n{passage}")[:12]


def _title(place: FilePlace | None, section: str) -> str:
    file = "" if place is None else f"{place.file}, p. {place.page}" if place.page else place.file
    return " · ".join(part for part in (file, section) if part)


def _url(own: str, place: FilePlace | None) -> str:
    """Return an address for citations. It names the passage; no server answers under it."""
    return f"chatbot-mvp://{own}" + (f"#page={place.page}" if place and place.page else "")
