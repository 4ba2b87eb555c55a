"""Kinds of values that questions ask for, such as an amount of money, and what a text must have to give one.

All patterns are for folded texts: lower case, no accents.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from chatbot_mvp.llm.extractive.kinds import DAYS, MONTHS, NUMERALS, WHY
from chatbot_mvp.text import fold

LIGHT_WORDS = frozenset(
    """hacer hago hace hacen hizo hicieron puedo puede pueden podemos tengo tiene tienen tenemos quiero necesito
    necesita gustaria saber
    cosa cosas alguien persona personas gente tipo
    dime favor llevar hay existe usar uso use dar da ver pasa pasar ocurre
    q pa
    deja dejan dejar dejo quedan haga debo debe deben hace sirve sirven cual tras
    ahora actual actuales actualmente vigente vigentes now current currently
    need want get thing things people tell please make use have something someone happens""".split()
)
"""Words of questions that say little."""

FIGURE = rf"(?:\d[\d.,]*|{NUMERALS}|media|half)"
UNIT_OF_TIME = (
    r"(?:segundos?|minutos?|min|horas?|h|dias?|semanas?|quincenas?|mes(?:es)?|trimestres?|anos?|noches?|"
    r"mensualidades|"
    r"seconds?|secs?|ms|minutes?|mins?|hours?|days?|weeks?|months?|years?|nights?)"
)
MEASURE = (
    r"(?:[mckd]?m[23]?|milimetros?|centimetros?|metros?|kilometros?|m?g|kg|kilos?|gramos?|toneladas?|[mc]?l|litros?|"
    r"mililitros?|hectareas?|pulgadas?|[km]?w|kwh|vatios?|voltios?|v|bar|[kmgt]b|"
    r"inch(?:es)?|feet|foot|yards?|miles?|met(?:er|re)s?|lit(?:er|re)s?|pounds?|ounces?|grams?|characters?|"
    r"caracteres)"
)
_DIMENSIONS = {
    "weight": (
        r"\b(?:pes[aeo]\w*|kilos|gramos|heavy|weigh\w*)\b",
        r"m?g|kg|kilos?|gramos?|toneladas?|pounds?|ounces?|grams?",
    ),
    "length": (
        r"\b(?:mide|miden|altura|anchura|ancho|larg[oa]|longitud|distancia|hond[oa]|profund\w+|tall|wide|deep|high|far|"
        r"height|length|width|distance|depth)\b",
        r"[mckd]?m[23]?|milimetros?|centimetros?|metros?|kilometros?|hectareas?|pulgadas?|inch(?:es)?|feet|foot|yards?|"
        r"miles?|met(?:er|re)s?",
    ),
}
"""What is measured -> (the words for it in a question, its units). Kilos are no answer to a length."""
_AGE = re.compile(
    r"\b(?:menor(?:es)?|mayor(?:es)?|nin[oa]s?|jovenes|personas?|adult[oa]s?|edad|children|kids?|people|adults?|aged|"
    rf"under|over)(?: (?:de|of|from|aged|under|over))? {FIGURE} (?:anos|meses|years|months)\b|"
    rf"\b{FIGURE} (?:anos|meses) (?:de edad|cumplidos)\b|\b{FIGURE} years? old\b|"
    r"\b(?:edad(?:es)?|ages?)(?:[ :-]+(?:minima|maxima|minimum|maximum|desde|hasta|de|a|entre|y|partir|from|to|between|"
    rf"and|over|under|\d+))*[ :-]+{FIGURE} (?:anos|meses|years|months)\b"
)
"""An age, which is no duration."""
_NO_PHONE = re.compile(
    r"\b(?:dni|nif|nie|cif|fax|iban|isbn|soci[oa]|cuenta|expediente|referencia|pedido|factura|serie|account|order|invoice|"
    r"reference|serial|member)\b[^\d;,.]{0,20}\d[\d .-]*"
)
"""A number that is none to call."""
_CLOCK = (
    r"\d{1,2}[:.]\d\d|\d{1,2} ?(?:h|am|pm|a\. ?m|p\. ?m)\b|\b(?:las|la una|a las) (?:\d{1,2}|" + NUMERALS + r")\b|"
    rf"\b(?:\d{{1,2}}|{NUMERALS}) ?(?:o.?clock|in the (?:morning|afternoon|evening)|de la (?:manana|tarde|noche))\b|"
    r"\b(?:mediodia|medianoche|noon|midnight|sunrise|sunset|24 horas|24 hours|de noche|por la (?:manana|tarde|"
    r"noche))\b"
)
_CALENDAR = rf"\b(?:{MONTHS}|{DAYS}|(?:1\d|20)\d\d|\d{{1,2}}/\d{{1,2}})\b"
_WHEN = (
    rf"{_CALENDAR}|{_CLOCK}|\b(?:a l[oa]s|dentro de|en|cada|hace|in|within|every) {FIGURE} {UNIT_OF_TIME}\b|\bdias? \d|"
    r"\b(?:hoy|manana|ayer|siempre|nunca|diari\w+|festivos?|"
    rf"laborables?|verano|"
    r"invierno|otono|primavera|antes|despues|cuando|mientras|al (?:llegar|salir|\w+[aei]r)|a partir|desde|hasta|tras|"
    r"once|if|si|before|after|when|while|until|till|from|during|always|never|today|daily|summer|winter)\b"
)
_MONEY = (
    rf"\b{FIGURE} ?(?:[€£]|euros?\b|eur\b|centimos?|centimes|pesos?\b|dolares|dollars?|usd\b|libras\b|pounds?\b|pence|"
    rf"cents?\b)|[€$£] ?\d|"
    r"\b(?:gratis|gratuit[oa]s?|free of charge|free|no (?:se )?paga\w*|sin coste|pays? half|"
    r"pagan? (?:solo )?la mitad)\b"
)
_NO = re.compile(r"\b(?:no|nunca|tampoco|ningun[oa]?|not|never|none|nobody)\b")


@dataclass(frozen=True)
class Value:
    """A kind of value."""

    asked: re.Pattern[str]
    """Finds what asks for it at any place of a question. What it matches needs not be in the answer."""
    given: re.Pattern[str]
    """Finds the value in a text."""


def _value(asked: str, given: str) -> Value:
    return Value(re.compile(rf"(?:\b|^)(?:{asked})\b"), re.compile(given))


PAY = (
    r"cuesta|cuestan|costara|cuestar?ia|costaria|costo|costaron|costaba|costaban|vale|valen|valdria|valia|cobra|"
    r"cobran|cobrais|cobraban|abona|abonan|pago|paga|pagan|pagamos|pagaba|pagar|pagaron|abonar|sale|salen|piden|gana|"
    r"ganan|ganaba"
)
VALUES: dict[str, Value] = {
    "money": _value(
        rf"(?:de )?cuanto (?:(?:me|te|se|le|les|nos|os|hay|que|tengo|tiene|tienen|tenemos|debo|hace|falta|mas|va|"
        rf"a|puede|dinero) ){{0,4}}?(?:{PAY})(?: (?:al|por|cada) (?:mes|ano|dia|noche|trimestre|semana))?|"
        rf"cuanto dinero|cuantos euros|"
        r"(?:que|cual es el|cuales son los) (?:precios?|tarifas?|importes?|costes?)|precios?|tarifas?|"
        r"(?:de )?cuanto (?:es|son|seria) (?=(?:el|la|los|las) (?:\w+ )?(?:cuotas?|fianza|renta|alquiler|"
        r"matricula|precio|multa|recargo|saldo|"
        r"presupuesto|senal|dieta|suplemento|deposito|importe|tasa|sancion|salario|sueldo|entrada|billete))|"
        r"how much (?:\w+ ){0,6}?(?:cost|costs|pay|paid|charge|charged)|how much (?:is|are|was|were) (?!\w+er\b)|"
        r"what (?:\w+ ){1,5}?(?:cost|costs)|(?:what is|what are|which is) the (?:price|prices|fee|fees|cost|"
        r"costs|charge)|price|prices",
        _MONEY,
    ),
    "percentage": _value(
        r"que (?:porcentaje|descuento|rebaja|reduccion|parte del|proporcion|recargo|tanto por ciento)|(?:what|"
        r"which) (?:percentage|share|discount|part)|how much (?:cheaper|discount|of)",
        r"\d ?%|\b(?:por ciento|per ?cent|mitad|tercios?|tercera|cuart[oa]s?|dos tercios|half|quarters?|thirds?)\b|"
        + _MONEY,
    ),
    "frequency": _value(
        r"cada cuant\w+(?: (?:tiempo|dias|horas|meses))?|con (?:que|cuanta) frecuencia|cuantas veces|how often|"
        r"how many times",
        r"\b(?:cada|vez|veces|diari\w+|semanal\w*|mensual\w*|trimestral\w*|anual\w*|tod[oa]s l[oa]s|al (?:dia|"
        r"mes|ano)|a la semana|"
        r"every|daily|weekly|monthly|yearly|annual\w*|once|twice|times|per (?:day|week|month|year)|a (?:day|"
        r"week|month|year))\b",
    ),
    "deadline": _value(
        r"(?:en |con |cual es el )?(?:que|cuanto) plazo|plazo|(?:con )?(?:que|cuanta) antelacion|"
        r"con cuanto tiempo(?: de antelacion)?|how soon|"
        r"what (?:is the )?(?:deadline|notice)",
        rf"\b{FIGURE} (?:\w+ )?{UNIT_OF_TIME}\b|{_CALENDAR}|\b(?:antes|vispera|primeros|before|day)\b",
    ),
    "duration": _value(
        r"cuant[oa]s? (?:tiempo )?(?:\w+ ){0,2}?(?:dura|duran|duro|durara|durar|aguantan?|"
        r"conservan?|tarda|tardan|tardara|tardais|"
        r"tardar|lleva|tiempo)|cuanto (?:tiempo|(?:\w+ ){1,2}esperar)|cuant[oa]s "
        rf"(?:{UNIT_OF_TIME})|durante cuanto|(?:que|cual es la) duracion|"
        rf"how (?:long|fast|quickly)|how many {UNIT_OF_TIME}|how much time",
        rf"(?<!cada )(?<!every )\b{FIGURE} (?:\w+ )?{UNIT_OF_TIME}\b(?! (?:antes|before))|"
        r"\bhora y (?:media|cuarto)\b|\bhalf an hour\b|\ban hour\b",
    ),
    "time": _value(
        r"(?:a|de|desde|hasta|sobre|hacia) que hora|que hora|que horario|cual es el horario|(?:at |from |"
        r"until )?what time|which hours?|what (?:are the )?(?:\w+ )?hours",
        _CLOCK,
    ),
    "days": _value(
        r"que dias?(?: de la semana)?|(?:on )?(?:which|what) days?",
        rf"(?<!antes del )(?<!hasta el )\b\d{{1,2}} de (?:{MONTHS})\b|\b(?:{DAYS})\b|\b\d{{1,2}}/\d{{1,2}}\b|"
        r"\b(?:diari\w+|todos los dias|laborables?|festivos?|fines? de semana|every day|daily|"
        rf"weekends?)\b|\bdia \d|\bdias \d",
    ),
    "date": _value(
        r"(?:en )?que (?:fechas?|mes|ano)|cual es la fecha|(?:on |in )?(?:what|which) (?:date|month|year)",
        _CALENDAR,
    ),
    "when": _value(
        r"(?:desde |hasta |para )cuando|^(?:y )?cuando|since when|^(?:and )?when",
        _WHEN,
    ),
    "temperature": _value(
        r"(?:a )?que temperatura|cuantos grados|(?:at )?(?:what|which) temperature|how (?:hot|cold|warm)",
        r"\d ?(?:°|º|grados?\b|degrees?\b|[cf]\b)",
    ),
    "measure": _value(
        r"cuant[oa]s? (?:\w+ )?(?:mide|miden|pesa|pesan|pesar|cabe|ocupa|ocupan|consume|gasta|metros|kilos|"
        r"litros|kilometros|gramos)|"
        r"(?:que|cual es (?:el|la)|cuales son las) (?:medidas?|tamano|altura|anchura|ancho|largo|peso|capacidad|"
        r"longitud|superficie|distancia|potencia|velocidad)|"
        r"(?:a )?que distancia|how (?:tall|wide|big|heavy|deep|high|large|far)|(?:what|which) (?:size|weight|"
        r"height|length|width|distance|capacity)",
        rf"\b{FIGURE} ?(?:{MEASURE})\b|\b{FIGURE} (?:personas|plazas|cubiertos|people|seats)\b",
    ),
    "colour": _value(
        r"(?:de |en )?que colou?r(?:es)?|cual es el color|(?:what|which) colou?rs?",
        r"\b(?:roj[oa]s?|azul(?:es)?|verdes?|amarill[oa]s?|naranjas?|negr[oa]s?|blanc[oa]s?|gris(?:es)?|marron(?:es)?|"
        r"rosas?|morad[oa]s?|violetas?|lilas?|granates?|burdeos|beis|beige|dorad[oa]s?|platead[oa]s?|celestes?|"
        r"turquesas?|red|blue|green|yellow|orange|black|white|gr[ae]y|brown|pink|purple|violet|maroon|navy|cream|"
        r"golden|silver)\b",
    ),
    "phone": _value(
        r"(?:a |en |cual es (?:el|tu|su) |por )?(?:que )?(?:numero de )?telefonos?(?: (?:\w+ )?llam\w+)?|"
        r"(?:a )?que numero (?:\w+ )?(?:llam\w+|marc\w+|telefon\w+)|"
        r"(?:what|which) (?:phone |telephone )?number (?:\w+ ){0,3}call|(?:phone|telephone)(?: number)?",
        r"(?<![\d.,])\+?\d{2,5}(?:[ .-]?\d{2,4}){2,4}(?![\d.,]?\d)|\b(?:112|091|911|999)\b",
    ),
    "email": _value(
        r"(?:a |cual es (?:el|la) )?(?:que )?(?:direccion de )?(?:correos?(?: electronico)?|e ?mails?|"
        r"mail)(?: (?:\w+ ){0,2}?(?:escrib\w+|mand\w+|envi\w+))?|"
        r"(?:a )?donde (?:\w+ ){0,2}?(?:escrib\w+|mand\w+|envi\w+)|(?:to )?where (?:\w+ ){0,3}?(?:send|write)|"
        r"(?:what|which) (?:address|e ?mail)|e ?mail(?: address)?",
        r"[\w.+-]+@[\w-]+\.\w+",
    ),
    "why": _value(
        r"por que|a que se debe|why|how come", WHY.pattern + r"|\b(?:para|evita\w*|to avoid|otherwise|si no)\b|\w: \w"
    ),
    "age": _value(
        r"(?:desde |hasta |a partir de |con |a )?que edad|cuantos anos (?:hay que|debe|tengo que|tiene que)|"
        r"(?:from |at )?what age|how old",
        rf"\b{FIGURE} (?:o mas )?(?:anos|years)|\b(?:over|under|menores|mayores|adult\w*)\b",
    ),
}
"""Kind -> value. The first kind whose ``asked`` matches is the one that a question asks for."""


def value_asked(plain: str) -> tuple[str, str]:
    """Return (the kind of value that a folded question asks for, "" if none; the question without the words for it)."""
    earliest: tuple[int, str, re.Match[str]] | None = None
    for kind, value in VALUES.items():
        found = value.asked.search(plain)
        if found and (earliest is None or found.start() < earliest[0]):
            earliest = found.start(), kind, found
    if earliest is None:
        return "", plain
    _, kind, found = earliest
    return kind, f"{plain[: found.start()]} {plain[found.end() :]}"


def without_ages(kind: str, plain: str, question: str) -> str:
    """Return a folded text without its ages, if a kind of time is asked for and the folded question names no age."""
    asks_time = kind in ("duration", "deadline") and not re.search(r"\b(?:anos|edad|years|old)\b", question)
    return _AGE.sub(" ", plain) if asks_time else plain


def gives(kind: str, plain: str, question: str) -> bool:
    """Return whether a folded text has a value of a kind that does not stand in the folded question."""
    plain = _NO_PHONE.sub(" ", plain) if kind == "phone" else without_ages(kind, plain, question)
    kinds = (kind, "measure") if kind == "duration" and "how long" in question else (kind,)
    found = [match.group().strip() for name in kinds for match in VALUES[name].given.finditer(plain)]
    if kind == "measure":
        units = [units for asked, units in _DIMENSIONS.values() if re.search(asked, question)]
        found = [
            value for value in found if not units or any(re.search(rf"(?:\d| )(?:{unit})$", value) for unit in units)
        ]
    # What the question itself names is no answer, but "every" is no name.
    return any(kind in ("frequency", "why") or value not in question for value in found)


def says_no(text: str) -> bool:
    """Return whether a text denies something."""
    return bool(_NO.search(fold(text)))
