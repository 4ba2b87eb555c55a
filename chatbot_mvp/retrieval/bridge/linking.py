"""Find the mentions between the documents of a corpus, part by part, and group them at both ends."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from chatbot_mvp.retrieval.arrays import Array, Ints, distinct, first_flags, offsets
from chatbot_mvp.retrieval.bridge.corpus import REACH
from chatbot_mvp.retrieval.bridge.names import Names
from chatbot_mvp.retrieval.bridge.reading import Tokens
from chatbot_mvp.storage.arrays import ArrayFiles

_MAX_PER_PAIR = 4  # mentions kept per pair of documents
_BACKWARD_OF_A_HUB = 40
"""Incoming mentions, strongest first, that are followed to documents which are not candidates yet."""
_BACKWARD_LOOKED_AT = 2_000
"""Incoming mentions, strongest first, that are examined for mentions between candidates."""
_WEAK_LINK = 0.05
"""Mentions of this strength or less are not followed."""
_BUCKET_ROWS = 1 << 18
"""Number of documents whose incoming mentions are sorted together."""
_INCOMING = np.dtype([("target", "<i4"), ("source", "<i4"), ("weight", "<f4"), ("place", "<i4"), ("index", "<i8")])


class Linker:
    """Writes the mentions of each part, then what depends on the mentions of all parts.

    Args:
        group: for each document, a number that documents with equal titles share.
    """

    def __init__(self, files: ArrayFiles, names: Names, group: Array) -> None:
        self._files = files
        self._names = names
        self._sieve = names.sieve()
        self._group = group
        self._sentences = self._content = self._mentions = 0
        for name in ("mentions.other", "mentions.sentence", "mention_begin"):
            files.append(name, np.zeros(0, np.int32))
        files.append("mentions.width", np.zeros(0, np.uint8))
        files.append("mention_weight", np.zeros(0, np.float32))

    def add(self, begin: int, part: dict[str, Array]) -> None:
        """Find the mentions in the documents of a part, whose first document has the row ``begin``."""
        tokens = Tokens(*(part[name] for name in Tokens._fields))
        rows, files = len(part["sentences"]), self._files
        sentence_end = offsets(part["sentence_words"])[1:]
        sentence_of = np.arange(len(sentence_end)).repeat(part["sentence_words"])
        row_of_sentence = np.arange(rows).repeat(part["sentences"])
        words = tokens.words(part["words"], sentence_end.take(sentence_of))
        content = np.concatenate(([0], (~tokens.is_stop).take(part["words"]).cumsum()))
        found = self._names.mentions(words, sieve=self._sieve)
        owner, target, strength = self._names.meant(words, found)
        sentence = sentence_of.take(found.start)
        source = row_of_sentence.take(sentence)
        place = content.take(found.start)
        width = content.take(found.end) - place
        apart = (self._group.take(target) != self._group[begin : begin + rows].take(source.take(owner))).nonzero()[0]
        owner, target, weight = owner.take(apart), target.take(apart), strength.take(apart).astype(np.float32)
        source = source.take(owner)
        met, kept = _first_of_pairs(source * np.int64(len(self._group)) + target)
        owner, target, weight, source = (values.take(kept) for values in (owner, target, weight, source))
        place = place.take(owner)
        order = np.lexsort((met.take(kept), place, -weight, source))
        owner, target, weight, source, place = (v.take(order) for v in (owner, target, weight, source, place))
        place += self._content
        for name, values in (
            ("mentions.other", target.astype(np.int32)),
            ("mentions.sentence", (sentence.take(owner) + self._sentences).astype(np.int32)),
            ("mentions.width", width.take(owner).astype(np.uint8)),
            ("mention_begin", (place + REACH * (source + begin + 1)).astype(np.int32)),
            ("mention_weight", np.sqrt(weight)),
        ):
            files.append(name, values)
        files.append_offsets("mentions.start", np.bincount(source, minlength=rows))
        forward = (weight.astype(np.float64) > _WEAK_LINK).nonzero()[0]
        self._spread(source + begin, target, weight, place)
        files.append("forward", target.take(forward).astype(np.int32))
        files.append("forward_counts", np.bincount(source.take(forward), minlength=rows).astype(np.int32))
        self._sentences += len(sentence_end)
        self._content += int(content[-1])
        self._mentions += len(target)

    def finish(self) -> None:
        """Write what depends on the incoming mentions of each document."""
        files, count, first_forward = self._files, len(self._group), 0
        weak: list[Array] = []
        files.append("neighbours", np.zeros(0, np.int32))
        files.append_offsets("neighbours_start", np.zeros(0, np.int64))
        files.append("rarity", np.zeros(0, np.float32))
        for begin in range(0, count, _BUCKET_ROWS):
            end = min(count, begin + _BUCKET_ROWS)
            incoming = self._incoming(begin // _BUCKET_ROWS)
            target = incoming["target"].astype(np.int64)
            first = first_flags(target)
            at = first.nonzero()[0]
            rank = np.arange(len(target)) - (at[first.cumsum() - 1] if len(at) else 0)
            weak.append(incoming["index"][rank >= _BACKWARD_LOOKED_AT])
            back = (incoming["weight"].astype(np.float64) > _WEAK_LINK) & (rank < _BACKWARD_OF_A_HUB)
            forward_counts = files.read("forward_counts", begin, end)
            last_forward = first_forward + int(forward_counts.sum(dtype=np.int64))
            owner = np.concatenate((np.arange(begin, end).repeat(forward_counts), target[back]))
            other = np.concatenate((files.read("forward", first_forward, last_forward), incoming["source"][back]))
            first_forward = last_forward
            files.append("neighbours", other[owner.argsort(kind="stable")])
            files.append_offsets("neighbours_start", np.bincount(owner - begin, minlength=end - begin))
            pair, _ = distinct(target * count + incoming["source"])
            degree = np.bincount(pair // count - begin, minlength=end - begin)
            files.append("rarity", (np.log((count + 1) / (1 + degree)) / np.log(count + 1)).astype(np.float32))
        files.forget("forward", "forward_counts")
        if any(map(len, weak)):
            is_strong = np.ones(self._mentions, bool)
            is_strong[np.concatenate(weak)] = False
            files.append("is_strong", is_strong)

    def _spread(self, source: Ints, target: Ints, weight: Array, place: Ints) -> None:
        """Append mentions to the files of the buckets that their targets belong to."""
        incoming = np.empty(len(target), _INCOMING)
        incoming["target"], incoming["source"], incoming["weight"] = target, source, weight
        incoming["place"], incoming["index"] = place, self._mentions + np.arange(len(target))
        bucket = target // _BUCKET_ROWS
        order = bucket.argsort(kind="stable")
        ends = offsets(np.bincount(bucket, minlength=-(-len(self._group) // _BUCKET_ROWS))).tolist()
        for number, (begin, end) in enumerate(pairwise(ends)):
            self._files.append(f"incoming-{number}", incoming[order[begin:end]])

    def _incoming(self, bucket: int) -> Array:
        """Return the mentions of the documents of a bucket by target, strongest first, equal ones in reading order."""
        name = f"incoming-{bucket}"
        found = self._files.read(name)
        self._files.forget(name)
        return found[np.lexsort((found["index"], found["place"], -found["weight"], found["target"]))]


def _first_of_pairs(pair: Ints) -> tuple[Ints, Ints]:
    """Group mentions by pair of documents.

    Returns:
        (for each mention, the index of the first mention of its pair; indices of the mentions to keep, some per pair)
    """
    order = pair.argsort(kind="stable")
    first = first_flags(pair.take(order))
    at = first.nonzero()[0]
    begin = at.take(first.cumsum() - 1) if len(at) else at
    met = np.empty(len(pair), np.int64)
    met[order] = order.take(begin)
    kept = order[np.arange(len(pair)) - begin < _MAX_PER_PAIR]
    kept.sort()
    return met, kept
