"""Rules that say a sentence in other words, or make it false in one way.

They work on the text as it is written: words are replaced at one place. They have no analysis, no stems and no idea of
a passage, so they do not share the eyes of the check that they test. One person wrote both, all the same.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from random import Random

from chatbot_mvp.text import STOP_WORDS, fold

Rule = tuple[str, str]

_SAME: dict[str, tuple[Rule, ...]] = {
    "es": (
        (r"\bademás\b", "asimismo"), (r"\butiliza\b", "usa"), (r"\butilizar\b", "emplear"), (r"\bcomenzó\b", "empezó"),
        (r"\bcomienza\b", "empieza"), (r"\bdebido a\b", "a causa de"), (r"\bmediante\b", "por medio de"),
        (r"\bsin embargo\b", "no obstante"), (r"\bmuestra\b", "enseña"), (r"\bobtener\b", "conseguir"),
        (r"\bdebe\b", "tiene que"), (r"\bdeben\b", "han de"), (r"\bno se puede\b", "no es posible"),
        (r"\bpuede usar\b", "es posible usar"), (r"\bsolo\b", "únicamente"), (r"\bdurante\b", "a lo largo de"),
        (r"\baproximadamente\b", "más o menos"), (r"\bdonde\b", "en el que"),
        (r"\bdos\b", "2"), (r"\btres\b", "3"), (r"\bcuatro\b", "4"), (r"\bcinco\b", "5"), (r"\bseis\b", "6"),
        (r"(?<=[a-z] )2(?= [a-z])", "dos"), (r"(?<=[a-z] )3(?= [a-z])", "tres"),
        (r"(?<=[a-z] )4(?= [a-z])", "cuatro"), (r"(?<=[a-z] )5(?= [a-z])", "cinco"),
        (r"(?<=[a-z] )7(?= [a-z])", "siete"),
        (r"(\d) ?%", r"\1 por ciento"), (r"(\d) por ciento\b", r"\1 %"), (r"\b(\d)\.(\d{3})\b", r"\1\2"),
        (r"\bpor ejemplo\b", "pongamos por caso"), (r"\bademás de\b", "aparte de"), (r"\bafirma\b", "sostiene"),
        (r"\blos usuarios\b", "quienes lo usan"), (r"\bpermite\b", "hace posible"), (r"\bgrandes\b", "importantes"),
        (r"\bcrear\b", "hacer"), (r"\binstalado\b", "puesto"), (r"\bfue construido\b", "se construyó"),
        (r"\bfamoso\b", "conocido"), (r"\bmurió\b", "falleció"), (r"\bactualmente\b", "hoy en día"),
        (r"\bexiste\b", "hay"), (r"\bordenador\b", "equipo"), (r"\bnecesario\b", "preciso"),
    ),
    "en": (
        (r"\bis located\b", "lies"), (r"\balso\b", "in addition"), (r"\bbegan\b", "started"), (r"\bstarted\b", "began"),
        (r"\blarge\b", "big"), (r"\bbecause of\b", "owing to"), (r"\bhowever\b", "still"),
        (r"\bapproximately\b", "about"),
        (r"\bcannot\b", "is not able to"), (r"\bmust\b", "has to"), (r"\bonly\b", "just"),
        (r"\busing\b", "by means of"),
        (r"\buses\b", "employs"), (r"\bcreate\b", "make"), (r"\bcreated\b", "made"), (r"\bshows\b", "displays"),
        (r"\btwo\b", "2"), (r"\bthree\b", "3"), (r"\bfour\b", "4"), (r"\bfive\b", "5"), (r"\bsix\b", "6"),
        (r"(?<=[a-z] )2(?= [a-z])", "two"), (r"(?<=[a-z] )3(?= [a-z])", "three"),
        (r"(?<=[a-z] )4(?= [a-z])", "four"), (r"(?<=[a-z] )5(?= [a-z])", "five"), (r"(?<=[a-z] )10(?= [a-z])", "ten"),
        (r"(\d) ?%", r"\1 percent"), (r"(\d) percent\b", r"\1%"), (r"\b(\d),(\d{3})\b", r"\1\2"),
        (r"\bisn't\b", "is not"),
        (r"\bmovie\b", "film"), (r"\bfilm\b", "movie"), (r"\bfounded\b", "established"), (r"\bmany\b", "numerous"),
        (r"\bbest known\b", "most famous"), (r"\bdied\b", "passed away"), (r"\bit's\b", "it is"),
        (r"\bselect\b", "choose"),
        (r"\bneed to\b", "have to"), (r"\bensure\b", "make sure"), (r"\bfor example\b", "for instance"),
        (r"\bsuch as\b", "like"), (r"\bprovides\b", "gives"), (r"\bspecified\b", "given"), (r"\bwritten\b", "penned"),
        (r"\breleased\b", "brought out"), (r"\bbuilt\b", "constructed"), (r"\brequires\b", "needs"),
    ),
}  # fmt: skip
_SAID = {
    "es": ("Según el documento, {}", "El texto indica que {}", "Cabe señalar que {}"),
    "en": ("According to the document, {}", "The text says that {}", "It should be noted that {}"),
}
_ASIDE = re.compile(r" ?\([^()]*\)|, (?:que|which|who|quien|cuyo|whose|donde|where)\b[^,.;]*(?=,|\.$)")
_LAST = re.compile(r"^(.*[\w)]),? ((?:en|durante|desde|in|on|during|since) [^,.;]{3,24})\.$")

FALSE: dict[str, dict[str, tuple[Rule, ...]]] = {
    "es": {
        "negation": (
            (r"\bno (?=\w)", ""), (r"\bsin\b", "con"), (r"\bes\b", "no es"), (r"\bson\b", "no son"),
            (r"\bfue\b", "jamás fue"), (r"\bfueron\b", "en ningún caso fueron"), (r"\bestá\b", "no está"),
            (r"\bpuede\b", "es incapaz de"), (r"\bpueden\b", "nunca pueden"), (r"\btiene\b", "carece de"),
            (r"\btienen\b", "no tienen"), (r"\bpermite\b", "impide"), (r"\bincluye\b", "excluye"),
            (r"\bhabía\b", "no había"), (r"\bhay\b", "tampoco hay"), (r"\bexisten?\b", "no existe"),
            (r"\bdebe\b", "no debe"), (r"\bera\b", "nunca era"), (r"\beran\b", "no eran"), (r"\bha\b", "no ha"),
            (r"\bhan\b", "aún no han"), (r"\bganó\b", "no llegó a ganar"), (r"\bmuestra\b", "deja de mostrar"),
            (r"\bse (?=\w+(?:a|e|an|en|ó|aron|ieron)\b)", "no se "), (r"\bcomenzó a\b", "se negó a"),
        ),
        "quantifier": (
            (r"\btod[oa]s (l[oa]s)\b", r"algunos de \1"), (r"\balgun[oa]s\b", "todos los"), (r"\bsolo\b", "también"),
            (r"\bsiempre\b", "a veces"), (r"\bmuch[oa]s\b", "casi ningún"), (r"\bla mayoría de\b", "la totalidad de"),
            (r"\bcada\b", "algún"), (r"\bal menos\b", "como máximo"), (r"\bvari[oa]s\b", "todos los"),
            (r"\búnic[oa]\b", "uno de tantos"), (r"\bnormalmente\b", "siempre"), (r"\bpoc[oa]s\b", "muchos"),
            (r"\bcualquier\b", "solo cierto"), (r"\balrededor de\b", "menos de"), (r"\bcasi\b", "nada"),
            (r"\bhasta (?=\d)", "más de "), (r"\bmás de\b", "como mucho"), (r"\bambos\b", "ninguno de los"),
        ),
        "comparative": (
            (r"\bmás\b", "menos"), (r"\bmenos\b", "más"), (r"\bmayor\b", "menor"), (r"\bmenor\b", "mayor"),
            (r"\bantes\b", "después"), (r"\bdespués\b", "antes"), (r"\bprimer(o|a)?\b", "último"),
            (r"\baument\w+\b", "disminuyó"), (r"\bmejor\b", "peor"), (r"\bsuperior\b", "inferior"),
            (r"\bgrande\b", "pequeño"), (r"\balt([oa])\b", r"baj\1"), (r"\brápido\b", "lento"), (r"\bnorte\b", "sur"),
            (r"\beste de\b", "oeste de"), (r"\búltim[oa]\b", "primero"), (r"\bfácil\b", "difícil"),
            (r"\bperdieron\b", "ganaron"), (r"\bsubir\b", "bajar"), (r"\breduc\w+\b", "aumentó"),
        ),
        "unit": (
            (r"(?<=\d )años\b", "meses"), (r"(?<=\d )días\b", "semanas"), (r"(?<=\d )(?:km|kilómetros)\b", "metros"),
            (r"(?<=\d )metros\b", "centímetros"), (r"(?<=\d )horas\b", "minutos"), (r"(?<=\d )minutos\b", "horas"),
            (r"(?<=\d )segundos\b", "minutos"), (r"(?<=\d )millones\b", "mil"), (r"(?<=\d) ?%", " puntos"),
            (r"(?<=\d )por ciento\b", "puntos"), (r"(?<=\d )(?:MB|MiB)\b", "KB"), (r"(?<=\d )bits\b", "bytes"),
            (r"(?<=\d )grados\b", "kelvin"), (r"\bsemanas\b", "meses"), (r"\bsiglos\b", "años"), (r"\bmeses\b", "días"),
            (r"\bdólares\b", "euros"), (r"\baños\b", "semanas"), (r"\bsegundos\b", "horas"),
            (r"\bkilómetros\b", "millas"),
            (r"\bdías\b", "minutos"), (r"\bhoras\b", "días"), (r"\bmil(?:es de)? millones\b", "millones"),
        ),
    },
    "en": {
        "negation": (
            (r"\bdoes not (\w+)\b", r"\1s"), (r"\b(is|are|was|were|can|could|will|should|must) not\b", r"\1"),
            (r"\bcannot\b", "can"), (r"\bwithout\b", "with"), (r"\bis\b", "isn't"), (r"\bis\b", "is anything but"),
            (r"\bwas\b", "was never"), (r"\bare\b", "are not"), (r"\bwere\b", "weren't"), (r"\bcan\b", "is unable to"),
            (r"\bwill\b", "won't"), (r"\bhas been\b", "has never been"), (r"\bhave\b", "don't have"),
            (r"\bincludes?\b", "excludes"), (r"\ballows?\b", "prevents"), (r"\bwon\b", "failed to win"),
            (r"\bbegan\b", "did not begin"), (r"\bplayed\b", "never played"), (r"\bhad\b", "lacked"),
            (r"\bhas\b", "has no"), (r"\bmust\b", "need not"), (r"\bshould\b", "shouldn't"),
            (r"\bstarred\b", "didn't star"),
            (r"\bsupports?\b", "does not support"), (r"\bdirected by\b", "not directed by"),
        ),
        "quantifier": (
            (r"\ball\b", "some"), (r"\bsome\b", "all"), (r"\bonly\b", "among other things"), (r"\balways\b", "rarely"),
            (r"\bmany\b", "hardly any"), (r"\bmost\b(?= of)", "all"), (r"\beach\b", "one"),
            (r"\bevery\b", "hardly any"),
            (r"\bat least\b", "at most"), (r"\bup to\b", "more than"), (r"\bseveral\b", "all"),
            (r"\bany\b", "just one"),
            (r"\bsometimes\b", "always"), (r"\bboth\b", "neither of the"), (r"\busually\b", "always"),
            (r"\bover (?=\d)", "fewer than "), (r"\bmore than\b", "at most"), (r"\bpart of\b", "the whole of"),
            (r"\bnearly\b", "far less than"), (r"\ba number of\b", "all"),
        ),
        "comparative": (
            (r"\bmore\b", "less"), (r"\bless\b", "more"), (r"\blarger\b", "smaller"), (r"\blargest\b", "smallest"),
            (r"\bbefore\b", "after"), (r"\bafter\b", "before"), (r"\bfirst\b", "last"), (r"\bhigher\b", "lower"),
            (r"\bhighest\b", "lowest"), (r"\bincreases?d?\b", "decreased"), (r"\bbest\b", "worst"),
            (r"\bolder\b", "younger"),
            (r"\bmost\b", "least"), (r"\bnorth(ern)?\b", r"south\1"), (r"\bsouth(ern)?\b", r"north\1"),
            (r"\blong(er|est)?\b", r"short\1"), (r"\blater\b", "earlier"), (r"\blast\b", "first"),
            (r"\beast(ern)?\b", r"west\1"),
            (r"\bnew(er|est)?\b", r"old\1"), (r"\bwest(ern)?\b", r"east\1"), (r"\bhigh\b", "low"), (r"\blow\b", "high"),
        ),
        "unit": (
            (r"(?<=\d[ -])years?\b", "months"), (r"(?<=\d )days?\b", "weeks"),
            (r"(?<=\d )(?:km|kilometres|kilometers)\b", "m"),
            (r"(?<=\d )miles\b", "kilometres"), (r"(?<=\d )hours?\b", "minutes"), (r"(?<=\d )minutes?\b", "hours"),
            (r"(?<=\d )seconds?\b", "minutes"), (r"(?<=\d )million\b", "billion"), (r"(?<=\d) ?%", " points"),
            (r"(?<=\d )percent\b", "points"), (r"(?<=\d )(?:MB|GB)\b", "TB"), (r"(?<=\d )feet\b", "yards"),
            (r"\bweeks\b", "years"), (r"\bmonths\b", "days"), (r"\bseasons?\b", "months"),
            (r"\bepisodes?\b", "seasons"),
            (r"\bminutes\b", "days"), (r"\bdays\b", "months"), (r"\bhours\b", "weeks"), (r"\byears\b", "weeks"),
            (r"\bdollars\b", "euros"), (r"\bacres\b", "square miles"), (r"\bbillion\b", "million"),
        ),
    },
}  # fmt: skip
_MONTHS = {
    "es": "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre".split(),
    "en": "January February March April June July August September October November December".split(),
}
_ALL_MONTHS = (*_MONTHS["es"], *_MONTHS["en"])
_YEAR = re.compile(r"\b(?:1[4-9]\d\d|20[0-2]\d)\b(?![.,]\d)")
_FIGURE = re.compile(r"(?<![\w.,:/-])(?!(?:1[4-9]|20)\d\d\b)\d+(?:[.,]\d+)?(?![\w.,:/-]*\d)")
_WORDED = {"es": ("dos", "tres", "cuatro", "cinco", "seis", "siete", "ocho", "diez"),
           "en": ("two", "three", "four", "five", "six", "seven", "eight", "ten")}  # fmt: skip
_NAME = re.compile(r"(?:[A-ZÁÉÍÓÚÑ][\w’'-]+)(?:(?: (?:de|del|la|of|the|and|y))?(?: [A-ZÁÉÍÓÚÑ][\w’'-]+))*")


def reworded(text: str, language: str, random: Random) -> str | None:
    """Return a sentence in somewhat other words, with the same meaning; None if no rule finds any."""
    rules = list(_SAME[language])
    random.shuffle(rules)
    changed = 0
    for pattern, other in rules:
        new = re.sub(pattern, other, text, count=1, flags=re.I)
        changed += new != text
        text = new
        if changed == 3:
            break
    shorter = _ASIDE.sub("", text, count=1).replace(" ,", ",")
    if len(shorter.split()) > 6 and random.random() < 0.7:
        changed += shorter != text
        text = shorter
    if (found := _LAST.match(text)) and random.random() < 0.6:
        changed += 1
        text = f"{found[2][0].upper()}{found[2][1:]}, {_small(found[1], language)}."
    if not changed:
        return None
    return text[0].upper() + text[1:]


def with_source(text: str, language: str, random: Random) -> str:
    """Return a sentence that now and then says first that a document says it."""
    return random.choice(_SAID[language]).format(_small(text, language)) if random.random() < 0.15 else text


def _small(text: str, language: str) -> str:
    """Return a sentence that begins with a small letter if its first word is no name."""
    first = fold(text.split()[0])
    return text[0].lower() + text[1:] if first in STOP_WORDS[language] else text


def names_in(text: str) -> list[str]:
    """Return the names of a text: runs of capitalised words that begin no sentence, nor are written small elsewhere."""
    plain = set(re.findall(r"\b[a-záéíóúñü]+\b", text))
    return list(
        dict.fromkeys(
            name.group()
            for name in _NAME.finditer(text)
            if re.search(r"[\w,;)] $", text[: name.start()])
            and len(name.group()) > 2
            and not any(name.group().lower().startswith(month.lower()) for month in _ALL_MONTHS)
            and name.group().split()[0].lower() not in plain
        )
    )


def _by_rules(kind: str) -> Callable[..., str | None]:
    def made(text: str, language: str, passage: str, others: Sequence[str], random: Random) -> str | None:
        rules = list(FALSE[language][kind])
        random.shuffle(rules)
        for pattern, other in rules:
            new = re.sub(pattern, other, text, count=1)
            if new != text and len(new) > 20:
                return " ".join(new.split())
        return None

    return made


def _name(text: str, language: str, passage: str, others: Sequence[str], random: Random) -> str | None:
    own = names_in(text)
    near = [name for name in names_in(passage) if name not in text and not any(part in text for part in name.split())]
    far = [name for name in others if name not in passage]
    pool = near if near and (not far or random.random() < 0.4) else far
    if not own or not pool:
        return None
    old = random.choice(own)
    alike = [name for name in pool if len(name.split()) == len(old.split())] or pool
    return text.replace(old, random.choice(alike))


def _figure(text: str, language: str, passage: str, others: Sequence[str], random: Random) -> str | None:
    if found := list(_FIGURE.finditer(text)):
        at = random.choice(found)
        inside = [one for one in _FIGURE.findall(passage) if one not in text]
        digits = at.group()
        other = digits[:-1] + random.choice([digit for digit in "123456789" if digit != digits[-1]])
        if inside and random.random() < 0.4:
            other = random.choice(inside)
        return text[: at.start()] + other + text[at.end() :]
    words = [word for word in _WORDED[language] if re.search(rf"\b{word}\b", text)]
    if not words:
        return None
    other = random.choice([word for word in _WORDED[language] if word not in text])
    return re.sub(rf"\b{random.choice(words)}\b", other, text, count=1)


def _date(text: str, language: str, passage: str, others: Sequence[str], random: Random) -> str | None:
    months = [month for month in _MONTHS[language] if re.search(rf"\b{month}\b", text)]
    if months and random.random() < 0.5:
        other = random.choice([month for month in _MONTHS[language] if month not in text])
        return re.sub(rf"\b{months[0]}\b", other, text, count=1)
    if not (years := _YEAR.findall(text)):
        return None
    old = random.choice(years)
    inside = [year for year in _YEAR.findall(passage) if year not in text]
    other = (
        random.choice(inside)
        if inside and random.random() < 0.4
        else str(int(old) + random.choice((-12, -3, -1, 2, 7)))
    )
    return text.replace(old, other, 1)


def _role(text: str, language: str, passage: str, others: Sequence[str], random: Random) -> str | None:
    pairs = [(a, b) for a in names_in(text) for b in names_in(text) if a < b and a not in b and b not in a]
    pairs = [pair for pair in pairs if not _listed(text, *pair)]
    figures = list(dict.fromkeys(_FIGURE.findall(text)))
    pairs += [(figures[0], figures[1])] if len(figures) > 1 else []
    if not pairs:
        return None
    first, second = random.choice(pairs)
    return text.replace(first, "\0").replace(second, first).replace("\0", second)


def _listed(text: str, one: str, other: str) -> bool:
    """Return whether nothing but other names stands between two names: in a list, their order says nothing."""
    first, second = sorted((text.find(one), text.find(other)))
    between = text[first:second].replace(one, "").replace(other, "")
    return not re.search(r"\b(?!and\b|or\b|y\b|e\b|o\b)[a-záéíóúñ]{2,}", between)


KINDS: dict[str, Callable[..., str | None]] = {
    "negation": _by_rules("negation"),
    "name": _name,
    "figure": _figure,
    "date": _date,
    "unit": _by_rules("unit"),
    "quantifier": _by_rules("quantifier"),
    "comparative": _by_rules("comparative"),
    "role": _role,
}
"""Kind of fault -> what makes it: (text, language, passage, names of the document, random) -> a false text or None."""
