"""An answer from several knowledge bases: the places of its sources, each in the files of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from chatbot_mvp.chat.answer import Answer, Event, Finished
from chatbot_mvp.chat.citations import Source, placed
from chatbot_mvp.chat.stream import AnswerStream
from chatbot_mvp.knowledge_base.places import Places


@dataclass(frozen=True, slots=True)
class Asked:
    """A knowledge base that a question over several is asked of."""

    kb_name: str
    places: Places


class StreamOverSeveral(AnswerStream):
    """An ``AnswerStream`` whose sources come from several knowledge bases."""

    def __init__(self, asked: Mapping[str, Asked], *arguments: Any, **options: Any) -> None:
        """
        Args:
            asked: id of each knowledge base, which is the ``doc_id`` of its chunks -> its name and places.
            arguments, options: those of ``AnswerStream`` without ``places``.
        """
        done: Callable[[Answer], None] = options.pop("done")
        super().__init__(*arguments, **options, done=lambda answer: done(self._placed(answer)))
        self._asked = asked

    def __iter__(self) -> Iterator[Event]:
        for event in super().__iter__():
            yield Finished(self._placed(event.answer)) if isinstance(event, Finished) else event

    def _placed(self, answer: Answer) -> Answer:
        nearest = answer.nearest
        return replace(
            answer,
            sources=self.with_places(answer.sources),
            nearest=replace(nearest, passages=self.with_places(nearest.passages)) if nearest else None,
        )

    def with_places(self, sources: Sequence[Source]) -> tuple[Source, ...]:
        return tuple(map(self._place, sources))

    def _place(self, source: Source) -> Source:
        """Return a source with its place, which names its knowledge base."""
        own = self._asked[source.chunk.doc_id]
        [found] = placed([source], own.places)
        if found.place is None or found.place.file == own.kb_name:
            return found
        return replace(found, place=replace(found.place, kb_name=own.kb_name))
