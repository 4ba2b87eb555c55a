"""Four hundred statements with their passages, made by rules from texts that other people wrote.

Encyclopaedias: XQuAD (Spanish) and HotpotQA (English). Manuals: two in Spanish, and MTRAG about a cloud (English). Of
each, half of the statements are supported: sentences in other words, a person's question with its answer, sentences of
a person's answer. The others are such statements with one fault. Nothing of these texts is stored.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random

import pyarrow.parquet as parquet

from benchmarks.claims_rules import KINDS, names_in, reworded, with_source
from chatbot_mvp.text import fold, sentences

ASKED_FOR = {
    "negation": 10, "name": 10, "figure": 7, "date": 5, "unit": 5, "quantifier": 5, "comparative": 4, "role": 4,
}  # fmt: skip
"""Kind of fault -> the number of statements with it, of each of the four collections. Manuals have hardly a date."""
_WHO = re.compile(
    r"^¿(?:(?:a|de|en|por|con|desde|hasta) )?(?:quién(?:es)?|cuánt[oa]s?|dónde|cuándo|en qué año|cuáles (?=son|fueron)|"
    r"cuál (?=es|fue|era)) ?",
    re.I,
)
_MARKUP = re.compile(r"[|\[\]*`{}<>#$~]|\(\)")
_LOOSE = re.compile(
    r"^(?:Est[aeo]s?|Es[aeo]s?|Ell[oa]s?|Él|Su|Sus|It|He|She|They|This|That|These|Those|His|Her|Its|Their|There|Así|"
    r"Por|Sin embargo|Además|Also|However|Pero|But|And|Y|Si|If)\b"
)


@dataclass(frozen=True)
class Case:
    """A statement, the text that it is held against, and whether that text says so."""

    text: str
    passage: str
    supported: bool
    kind: str
    """"paraphrase", or what is wrong with it."""
    language: str
    origin: str
    """The collection that it is from."""
    half: str
    """"tune" or "held"; all that is from one document is in one half."""


@dataclass(frozen=True)
class _Base:
    text: str
    passage: str
    document: str
    by_hand: bool = False
    """True if a person worded it: it is left as it is."""


def made(folder: Path, seed: int = 1) -> list[Case]:
    """Return the statements. ``folder`` has the data sets."""
    cases: list[Case] = []
    for origin, language, bases in (
        ("xquad_es", "es", list(_xquad(folder / "xquad_es"))),
        ("hotpotqa", "en", list(_hotpot(folder / "hotpotqa"))),
        ("manuales_es", "es", list(_manuals(folder / "manuales_es"))),
        ("mtrag_en", "en", list(_mtrag(folder / "mtrag_en"))),
    ):
        cases += _of(origin, language, bases, Random(f"{origin}-{seed}"))
    return cases


def _of(origin: str, language: str, bases: list[_Base], random: Random) -> list[Case]:
    random.shuffle(bases)
    names: dict[str, list[str]] = {}
    for base in bases:
        names.setdefault(base.document, []).extend(names_in(base.passage))
    everywhere = [name for found in names.values() for name in found]
    documents = sorted(names)
    half = {document: ("tune", "held")[row % 2] for row, document in enumerate(documents)}
    cases, used = [], set[str]()
    wanted, total, halves = Counter(ASKED_FOR), Counter(ASKED_FOR), Counter[tuple[str, str]]()

    def take(base: _Base, text: str, kind: str) -> None:
        used.add(base.text)
        halves[half[base.document], kind] += 1
        cases.append(Case(text, base.passage, kind == "paraphrase", kind, language, origin, half[base.document]))

    # Rare kinds first: the others find their sentences anywhere.
    for kind in ("unit", "date", "role", "comparative", "quantifier", "figure", "name", "negation"):
        for base in bases:
            if wanted[kind] <= 0:
                break
            mine = half[base.document]
            if base.text in used or (len(documents) > 1 and halves[mine, kind] >= (total[kind] + 1) // 2):
                continue
            text = base.text if base.by_hand else reworded(base.text, language, random)
            elsewhere = names[base.document] if len(set(names[base.document])) > 20 else everywhere
            if text is None:
                continue
            if (false := KINDS[kind](text, language, base.passage, elsewhere, random)) and false != text:
                take(base, false if base.by_hand else with_source(false, language, random), kind)
                wanted[kind] -= 1
        if wanted[kind] > 0:
            wanted["negation"] += wanted[kind]
            total["negation"] += wanted[kind]
    # People's words first, up to half of them.
    free = [base for base in bases if base.text not in used]
    most = sum(ASKED_FOR.values())
    worded = [base for base in free if base.by_hand][: most // 2]
    for base in worded + [base for base in free if not base.by_hand]:
        if halves["tune", "paraphrase"] + halves["held", "paraphrase"] == most:
            break
        text = base.text if base.by_hand else reworded(base.text, language, random)
        if text is not None and halves[half[base.document], "paraphrase"] < most // 2:
            take(base, text if base.by_hand else with_source(text, language, random), "paraphrase")
    return cases


def _whole(text: str) -> Iterator[str]:
    """Yield the sentences of a text that can stand alone."""
    for start, end in sentences(text):
        one = " ".join(text[start:end].split())
        whole = 8 <= len(one.split()) <= 32 and one[0].isupper() and one.endswith(".")
        if whole and not _MARKUP.search(one) and not _LOOSE.match(one):
            yield one


def _xquad(folder: Path) -> Iterator[_Base]:
    for line in (folder / "questions.jsonl").read_text("utf-8").splitlines():
        asked = json.loads(line)
        if asked["kind"] != "answerable" or not (found := _WHO.match(asked["question"])):
            continue
        rest = asked["question"][found.end() :].rstrip("? ")
        joined = f"{asked['answers'][0]} {rest}."
        joined = joined[0].upper() + joined[1:]
        if 6 <= len(joined.split()) <= 32:
            yield _Base(joined, f"{asked['heading']}\n\n{asked['paragraph']}", asked["heading"], True)
    document = ""
    for paragraph in (folder / "kb.md").read_text("utf-8").split("\n\n"):
        if paragraph.startswith("# "):
            document = paragraph[2:].strip()
            continue
        for one in _whole(paragraph):
            yield _Base(one, f"{document}\n\n{paragraph.strip()}", document)


def _hotpot(folder: Path) -> Iterator[_Base]:
    table = parquet.read_table(folder / "corpus.parquet", columns=["doc_id", "title", "text"]).to_pylist()
    for row in sorted(table, key=lambda row: str(row["doc_id"]))[::20]:
        for one in _whole(row["text"]):
            yield _Base(one, f"{row['title']}\n{row['text']}", str(row["doc_id"]))


def _manuals(folder: Path) -> Iterator[_Base]:
    for path in sorted(folder.glob("*.md")):
        blocks, heading = [], ""
        for block in path.read_text("utf-8").split("\n\n"):
            text = " ".join(block.split())
            heading = text.lstrip("# ") if text.startswith("#") else heading
            if text and not text.startswith("|") and not text.startswith("#") and not set(text) <= set("-| "):
                blocks.append((heading, text))
        for row, (heading, text) in enumerate(blocks):
            around = [other for above, other in blocks[max(0, row - 1) : row + 2] if above == heading]
            for one in _whole(text):
                yield _Base(one, "\n\n".join([heading, *around]), f"{path.stem} {heading}")


def _mtrag(folder: Path) -> Iterator[_Base]:
    lines = (folder / "ibmcloud.passages.jsonl").read_text("utf-8").splitlines()
    texts = {(one := json.loads(line))["doc_id"]: one for line in lines}
    for line in (folder / "ibmcloud.conversations.jsonl").read_text("utf-8").splitlines():
        turn = json.loads(line)
        if turn["kind"] != "answerable" or len(turn["relevant"]) > 2 or not turn["reference"]:
            continue
        passage = "\n\n".join(texts[key]["text"] for key in turn["relevant"] if key in texts)
        for one in _whole(turn["reference"]):
            if passage and not fold(one).startswith("i "):
                yield _Base(one, passage, turn["relevant"][0], True)
    for key, one in texts.items():
        for found in _whole(one["text"]):
            yield _Base(found, one["text"], key)
