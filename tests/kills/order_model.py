"""What a knowledge base must hold after operations in some order: the model that ``orders`` compares it with.

Nothing here knows how knowledge bases are kept. A document is (identity, word): its text is made of its one word.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import permutations, zip_longest
from typing import Any

Documents = Mapping[str, tuple[int, str]]
"""Path -> (identity of the document, its word)."""
Operation = tuple[str, ...]
"""Its name and arguments; see ``State.after``."""


class Impossible(Exception):
    """The operation cannot have succeeded here."""


@dataclass(frozen=True)
class State:
    """One state that a knowledge base may be in."""

    steps: tuple[Documents, ...]
    """The documents of each version of the history, the oldest first; the last one is current."""
    draft: tuple[Documents, Documents] | None = None
    """(the documents it was made from, its documents)."""
    purged: frozenset[tuple[str, str]] = frozenset()
    """(path, word)."""
    removed: Mapping[str, int] = field(default_factory=dict)
    """Path -> identity of the last document that was there in a current version."""
    last: Mapping[int, str] = field(default_factory=dict)
    """Identity -> path of the document in the last current version that has it."""
    identities: int = 0

    @staticmethod
    def created(made: Mapping[str, str]) -> State:
        """Return the first state, of path -> word."""
        empty = State(({},))
        return empty._known(State(({path: (at, word) for at, (path, word) in enumerate(made.items())},)))

    @property
    def current(self) -> Documents:
        return self.steps[-1]

    @property
    def seen(self) -> Any:
        """What one can read of it."""
        draft = words(self.draft[1]) if self.draft else None
        return [words(step) for step in self.steps], draft

    def after(self, operation: Operation, start: State) -> State:
        """Return the state after an operation that succeeded, and that began in the state ``start``.

        Raises:
            Impossible
        """
        name, *rest = operation
        if name in ("add", "remove", "move"):
            return self._step(self._changed(self.current, start.current, operation))
        if name == "stage":
            base, documents = self.draft or (self.current, self.current)
            before = start.draft[1] if start.draft else start.current
            return self._known(replace(self, draft=(base, self._changed(documents, before, operation))))
        if name == "publish":
            if not self.draft:
                raise Impossible
            base, documents = self.draft
            return replace(self._step(three_ways(base, documents, self.current)), draft=None)
        if name == "drop":
            if not self.draft:
                raise Impossible
            return replace(self, draft=None)
        if name == "restore":
            number = int(rest[0])
            if number > len(self.steps) or not self.steps[number - 1]:
                raise Impossible
            return self._step(self.steps[number - 1], always=True)
        if name == "purge":
            return self._without(rest)
        return self

    def _changed(self, now: Documents, before: Documents, operation: Operation) -> Documents:
        """Return the documents with a change; what is not in ``now`` any more was so when the change began."""
        name, path, *rest = operation
        found = dict(now)
        if name in ("add", "stage"):
            if (path, rest[0]) in self.purged:
                raise Impossible
            known = now.get(path) or before.get(path)
            new = known[0] if known else self.removed.get(path, -1)
            new = new if known or self.last.get(new) == path else -1  # what left the path and then ended is another one
            alive = {one for each in (self.current, *(self.draft or ())) for one, _ in each.values()}
            found[path] = (new if known or (new >= 0 and new not in alive) else self.identities, rest[0])
        elif path in now:
            document = found.pop(path)
            found |= {rest[0]: document} if rest else {}
        else:  # both may have removed it, or moved it to one place
            there = [one for one, document in now.items() if document == before.get(path)]
            if path not in before or there != rest:
                raise Impossible
        if not found:
            raise Impossible
        return found

    def _step(self, documents: Documents, always: bool = False) -> State:
        if not documents:
            raise Impossible
        if not always and words(documents) == words(self.current):
            return self
        waits = self.draft and words(self.draft[1]) != words(documents)  # a draft that became current waits no longer
        return self._known(replace(self, steps=(*self.steps, documents), draft=self.draft if waits else None))

    def _known(self, state: State) -> State:
        now = {path: one for path, (one, _) in state.current.items()}
        everywhere = [*now.values(), *(one for one, _ in state.draft[1].values())] if state.draft else now.values()
        return replace(
            state,
            removed={**state.removed, **now},
            last={**state.last, **{one: path for path, one in now.items()}},
            identities=max([state.identities, *(one + 1 for one in everywhere)]),
        )

    def _without(self, paths: Sequence[str]) -> State:
        drafts = self.draft or ()
        alive = {one: path for each in (self.current, *drafts[1:]) for path, (one, _) in each.items()}
        named = [(one, path) for each in (self.current, *drafts[1:]) for path, (one, _) in each.items()]
        named += [(one, path) for one, path in self.last.items() if one not in alive]
        everywhere = [*self.steps, *drafts]
        gone = set()
        for wanted in paths:
            meant = {one for one, path in named if path == wanted}
            found = {(p, word) for each in everywhere for p, (one, word) in each.items() if one in meant}
            if not found:
                raise Impossible
            gone |= found

        def rest(documents: Documents) -> Documents:
            return {p: (one, word) for p, (one, word) in documents.items() if (p, word) not in gone}

        if not rest(self.current):
            raise Impossible
        purged = replace(self, purged=self.purged | gone)
        if any((p, word) in gone for p, (_, word) in self.current.items()):
            purged = purged._step(rest(self.current))
        steps = tuple(map(rest, purged.steps))
        draft = None
        if self.draft and rest(self.draft[1]) and words(rest(self.draft[1])) != words(steps[-1]):
            draft = (rest(self.draft[0]) or steps[-1], rest(self.draft[1]))
        return replace(purged, steps=steps, draft=draft)


def same(state: State, found: Any) -> bool:
    """Return whether what is found, as ``State.seen``, is this state. None is for a version that is not kept."""
    history, draft = found
    steps, expected = state.seen
    return (
        len(history) == len(steps)
        and draft == expected
        and all(
            kept == step or (kept is None and (not step or at < len(steps) - 20))
            for at, (kept, step) in enumerate(zip(history, steps, strict=True))
        )
    )


def apart(state: State, found: Any) -> str:
    """Return in what the state and what is found differ, a line each."""
    (history, draft), (steps, expected) = found, state.seen
    rows = [(f"step {at}", *pair) for at, pair in enumerate(zip_longest(history, steps), 1)]
    return "\n".join(
        f"{name}: found {one}, the nearest legal is {other}"
        for name, one, other in [*rows, ("draft", draft, expected)]
        if one != other
    )


def words(documents: Documents) -> dict[str, str]:
    return {path: word for path, (_, word) in sorted(documents.items())}


def three_ways(base: Documents, mine: Documents, theirs: Documents) -> Documents:
    """Return the documents with both changes. Raises Impossible: both changed one document, not in the same way."""
    found = {}
    for path in {*base, *mine, *theirs}:
        old, left, right = (each.get(path, (0, ""))[1] for each in (base, mine, theirs))
        if left not in (old, right) and right != old:
            raise Impossible
        kept = theirs.get(path) if left == old else mine.get(path)
        if kept is not None:
            found[path] = kept
    return found


def outcomes(start: State, done: list[Operation], maybe: list[Operation]) -> Iterator[State]:
    """Yield each state that can come of operations that succeeded, and of some that were killed, in any order."""
    for mask in range(1 << len(maybe)):
        some = [one for at, one in enumerate(maybe) if mask >> at & 1]
        for chosen in _purged_together([*done, *some], some):
            for order in set(permutations(chosen)):
                yield from _in_order(order, (start,))


def _in_order(order: Sequence[Operation], states: tuple[State, ...]) -> Iterator[State]:
    """Yield each state that can come of operations in an order; each may have begun in any of the states until then."""
    if not order:
        yield states[-1]
        return
    after: list[State] = []
    for began in states:
        with suppress(Impossible):
            state = states[-1].after(order[0], began)
            if state not in after:
                after.append(state)
    for state in after:
        yield from _in_order(order[1:], (*states, state))


def _purged_together(chosen: list[Operation], killed: list[Operation]) -> Iterator[list[Operation]]:
    """Yield the operations as they are, and with a purge that was killed made in one step with the next purge."""
    yield chosen
    for one, other in permutations([each for each in chosen if each[0] == "purge"], 2):
        if one in killed:
            rest = [each for each in chosen if each not in (one, other)]
            yield from _purged_together([*rest, (*other, *one[1:])], killed)
