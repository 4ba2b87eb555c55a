"""Words that the model of the vectors takes for one another, though one says otherwise than the other.

How many ticks this stops, and which it costs, is in docs/research/evidence.md.
"""

from __future__ import annotations

import re

from chatbot_mvp.text import fold

_FAMILIES = r"""
diari\w+|(?:al|por|cada) dia|daily / semanal\w*|(?:a la|por|cada) semana|weekly / mensual\w*|(?:al|por|cada) mes|monthly
    / trimestral\w*|quarterly / anual\w*|(?:al|por|cada) ano|yearly|annual\w*
maxim\w+|como mucho|tope|hasta|limite|maximum|at most|up to / minim\w+|al menos|minimum|at least
    / de media|promedio|(?:termino|viaje|tiempo|duracion|edad|precio|coste|gasto|consumo) medi[oa]|average|mean
abre\w*|abri(?:r|o|a|an|eron|mos|endo|ra)\w*|abiert\w+|apertura|open\w* / cierr\w+|cerr\w+|clos\w+
entra\w*|llega\w*|arriv\w+ / sale|salen|salir|salida\w*|depart\w+|leav\w+
ida|outward / vuelta|regreso|return
sub[ei]\w*|aument\w+|crec\w+|increas\w+|rise\w*|rose / baj[ao]\w*|disminu\w+|reduc\w+|descend\w+|decreas\w+|fall\w*|fell
compr\w+|vend\w+|venta\w*|buy\w*|bought|s[eo]l[ld]\w* / alquil\w+|rent\w*
ingres\w+|income / gast\w+|expens\w+
gan[aoe]\w*|vict\w+|w[io]n|wins|winning / perd\w+|pierd\w+|derrot\w+|los[et]\w*
siempre|always / nunca|never
acept\w+|accept\w* / rechaz\w+|reject\w*
antes|before / despues|tras|after
primer\w*|first / ultim\w*|last
empiez\w+|empez\w+|comienz\w+|comenz\w+|inici\w+|beg[aiu]n\w*|start\w* / termin\w+|acab\w+|finaliz\w+|end\w*|finish\w*
encien\w+|encend\w+ / apag\w+
naci\w+|born|birth / muri\w+|muert\w+|fallec\w+|died|death
interior\w*|dentro|inside|indoor\w* / exterior\w*|fuera|outside|outdoor\w*
superior\w*|upper / inferior\w*|lower
delant\w+|front / detras|traser\w+|rear
izquierd\w+|left / derech\w+|right
norte\w*|north\w* / sur\w*|south\w* / oeste|west\w*
oriental\w*|eastern / occidental\w*|western
grand\w+|large|big / pequen\w+|small
larg\w+|long / cort\w+|short
fri[oa]s?|cold / calient\w+|hot
nuev[oa]s?|new / antigu\w+|viej\w+|old
mayor\w* / menor\w*
adult\w+ / nin[oa]s?|infantil\w*|menores|child\w*
hombre\w*|masculin\w+|m[ae]n|male\w* / mujer\w*|femenin\w+|wom[ae]n|female\w*
titular\w* / suplente\w*|substitut\w+
public\w+ / privad\w+|private\w*
diurn\w+ / nocturn\w+
oro|gold\w* / plata|silver / bronce|bronze
roj[oa]s?|red / verdes?|green / azul(?:es)?|blue / amarill[oa]s?|yellow / blanc[oa]s?|white / negr[oa]s?|black
desayun\w+|breakfast / almuerz\w+|almorz\w+|comida|lunch / meriend\w+|merend\w+ / cenas?|cenar|dinner
padres?|father / madres?|mother / hij[oa]s?|son|daughter / herman[oa]s?|brother|sister / abuel[oa]s?|grand\w+r
president\w+|chair\w* / secretari\w+|secretary / tesorer\w+|treasurer / administrador\w*|administrator / alcald\w+|mayor
arrendador\w*|propietari\w+|landlord\w* / arrendatari\w+|inquilin\w+|tenant\w*
profesor\w*|teacher\w* / alumn\w+|estudiant\w+|student\w*
individual\w*|single / doble\w*|double
laborable\w* / festiv\w+
local\w* / visitante\w*
ofensiv\w+|ataque\w*|offens\w+ / defensiv\w+|defensa\w*|defens\w+
"""
"""A family a line, in parts between which a bar stands with spaces: what a part says is not what another says. Not
here: buying and selling, which are said of one and the same."""
_OPPOSITES = tuple(
    tuple(re.compile(rf"\b(?:{same})\b") for same in family.split(" / "))
    for family in _FAMILIES.strip().replace("\n    /", " /").splitlines()
)
_PREFIXED = re.compile(r"\b(?:sub|vice|ex|extra|inter|des|i[lmnr]|anti|dis|un)(\w{5,})")
"""What turns a word into another or its contrary: a subdirector is no director."""


def says_otherwise(question: str, text: str) -> bool:
    """Return whether a text has, in place of a word of the question, one that says otherwise."""
    asked, said = fold(question), fold(text)
    for family in _OPPOSITES:
        own = [same for same in family if same.search(asked)]
        if own and not any(same.search(said) for same in own) and any(same.search(said) for same in family):
            return True
    return _turned(asked, said) or _turned(said, asked)


def _turned(one: str, other: str) -> bool:
    """Return whether a text has a word, and not with the prefix with which the other one has it alone."""
    return any(
        re.search(rf"\b{found[1]}\b", one) and not re.search(rf"\b{found[1]}\b", other) and found[0] not in one
        for found in _PREFIXED.finditer(other)
    )
