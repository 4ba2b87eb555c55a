"""Words that the model of the vectors takes for one another, though one says otherwise than the other.

How many ticks this stops, and which it costs, is in docs/research/evidence.md.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from chatbot_mvp.text import fold

_FAMILIES = {
    "es": r"""
diari\w+ ; (?:al|por|cada) dia / semanal\w* ; (?:a la|por|cada) semana / mensual\w* ; (?:al|por|cada) mes
    / trimestral\w* / anual\w* ; (?:al|por|cada) ano
maxim\w+|como mucho ; tope|hasta|limite / minim\w+|como minimo ; al menos|desde|a partir
    / de media|promedio|(?:termino|viaje|tiempo|duracion|edad|precio|coste|gasto|consumo) medi[oa]
entra\w*|llega\w* / sale|salen|salir|salida\w*
ida / vuelta ; regreso
sub(?:e|en|ir|io|ieron)|aument\w+ / baj(?:a|an|ar|o|aron)|disminu\w+|descend\w+
compr\w+|vend\w+|venta\w* / alquil\w+
ingresos / gastos
gan(?:a|an|ar|o|aron|e|en) / perd\w+|pierd\w+
siempre / nunca
acept\w+ / rechaz\w+
antes / despues ; tras
primer\w*(?! auxilios) / ultim\w*
empiez\w+|empez\w+|comienz\w+|comenz\w+|inici(?:a|an|o) / termin(?:a|an|o|ar)|acab(?:a|an|o|ar)|finaliz\w+
encien\w+|encender / apag\w+
naci(?:o|eron)|nacimiento / muri\w+|muert\w+|fallec\w+
interior\w* / exterior\w*
superior\w* / inferior\w*
cubiert[oa]s? / descubiert[oa]s?
ordinari[oa]s? / extraordinari[oa]s?
nacional\w* / internacional\w*
delanter\w+ / traser\w+
izquierd\w+ / derech\w+
norte / sur / oeste
oriental\w* / occidental\w*
alt[oa]s? / baj[oa]s?
grandes? / pequen\w+
nuev[oa]s? / antigu\w+|viej\w+
hombres?|masculin\w+ / mujer\w*|femenin\w+
titular\w* / suplente\w*
public[oa]s? / privad\w+
diurn\w+ / nocturn\w+
oro / plata / bronce
roj[oa]s? / verdes? / azul(?:es)? / amarill[oa]s? / blanc[oa]s? / negr[oa]s?
desayun\w+ / almuerz\w+|almorz\w+ ; comida / meriend\w+|merend\w+ / cenas?|cenar
individual\w* / dobles?
laborable\w* / festiv\w+
local\w* / visitante\w*
""",
    "en": r"""
daily ; (?:a|per|each|every) day / weekly ; (?:a|per|each|every) week / monthly ; (?:a|per|each|every) month
    / quarterly / annual\w*|yearly ; (?:a|per|each|every) year
maximum|at most ; up to|limit / minimum|at least ; from / average
arriv\w+ / depart(?:s|ure\w*)?|leav\w+
increas\w+|rises?|rose / decreas\w+|falls|fallen|fell
wins?|won|winning / los(?:es?|t|ing)
always / never
accept\w* / reject\w*
before / after
start\w*|beg[aiu]n\w* / ends?(?! of)|ended|ending|finish\w*
born|birth / died|death
indoor\w* / outdoor\w*
upper / lower
front / rear
north\w* / south\w* / west\w*
high / low
large|big / small
m[ae]n / wom[ae]n
public / private
gold\w* / silver / bronze
red / green / blue / yellow / white / black
breakfast / lunch / dinner
single / double
""",
}
"""A family a line, in parts between which a bar stands with spaces: what a part says is not what another says. What
stands behind a semicolon says the same, and more besides. Not here: buying and selling, which are said of one sale."""
_PEOPLE = {
    "es": r"""
adult\w+ / nin[oa]s?|infantil\w* ; menores
padres? / madres? / hij[oa]s? / herman[oa]s? / abuel[oa]s?
president\w+ / secretari\w+ / tesorer\w+ / administrador\w* / alcald\w+
arrendador\w* ; propietari\w+ / arrendatari\w+|inquilin\w+
profesor\w* / alumn\w+ ; estudiant\w+
""",
    "en": r"""
adults? / child\w*
fathers? / mothers? / sons? / daughters? / brothers? / sisters?
chair\w* / secretar\w+ / treasurer\w*
landlord\w* / tenant\w*
teacher\w* / student\w* ; pupil\w*
""",
}
"""The same, not where it is asked who does something: one of them does it to the other."""
_HOURS = {
    "es": (r"a que hora|cuando", r"abr[ei]\w*|abiert\w+|apertura / cierr\w+|cerr\w+"),
    "en": (r"what time|when", r"open\w* / clos\w+"),
}
"""What asks for an hour, and a family that counts only then: "closed on Sundays" tells on which days it opens."""
_UNDER = re.compile(r"\b(?:sub|vice)(\w{5,})")
"""A subdirector is no director."""

_Family = Sequence[tuple[re.Pattern[str], re.Pattern[str]]]
"""For each part: what the question or another part says, and what else meets it."""


def _compiled(families: str) -> Sequence[_Family]:
    return [
        [
            (re.compile(rf"\b(?:{same.strip()})\b"), re.compile(rf"\b(?:{part.replace(' ; ', '|')})\b"))
            for part in family.split(" / ")
            for same in [part.partition(" ; ")[0]]
        ]
        for family in families.strip().replace("\n    /", " /").splitlines()
    ]


_OF = {language: _compiled(families) for language, families in _FAMILIES.items()}
_OF_PEOPLE = {language: _compiled(families) for language, families in _PEOPLE.items()}
_OF_HOURS = {language: (re.compile(rf"\b(?:{asks})\b"), _compiled(both)) for language, (asks, both) in _HOURS.items()}


def says_otherwise(question: str, text: str, language: str, who: bool = False) -> bool:
    """Return whether a text has, in place of a word of the question, one that says otherwise.

    Args:
        language: of the question, "es" or "en".
        who: whether it is asked who does something.
    """
    asked, said = fold(question), fold(text)
    asks, both = _OF_HOURS[language]
    families = [*_OF[language], *([] if who else _OF_PEOPLE[language]), *(both if asks.search(asked) else [])]
    for family in families:
        own = [met for same, met in family if same.search(asked)]
        if own and not any(met.search(said) for met in own) and any(same.search(said) for same, _ in family):
            return True
    return _under(asked, said) or _under(said, asked)


def said_alike(question: str, text: str, language: str) -> Sequence[str]:
    """Return the words of a folded question for which a folded text has a word of the same part of a family."""
    asks, both = _OF_HOURS[language]
    return [
        found[0]
        for family in (*_OF[language], *(both if asks.search(question) else []))
        for same, met in family
        if met.search(text)
        for found in [same.search(question)]
        if found
    ]


def _under(one: str, other: str) -> bool:
    """Return whether a text has an office that the other one has with *sub* or *vice* alone."""
    return any(
        re.search(rf"\b{found[1]}\b", one) and not re.search(rf"\b{found[1]}\b", other) and found[0] not in one
        for found in _UNDER.finditer(other)
    )
