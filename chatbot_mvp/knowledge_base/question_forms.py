"""Turn sentences and headings into questions as people ask them: "El carné caduca" into "¿Cuándo caduca el carné?".

Each form is a rule of grammar: the question has the words of its sentence, so that a search can find it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from chatbot_mvp.text import fold, sentences

_LOOKED_AT = 1_500
"""Characters of a section that are looked at."""
_LONGEST = 90
"""Characters of the longest question."""

_MONEY = r"[^.;]{0,40}?(?:\d[\d.,]* ?(?:€|euros?|céntimos?|%)|gratis|nada)"
_CLOCK = r"[^.;]{0,60}?\d{1,2}[:.]\d\d"
_DATE = (
    r"[^.;]{0,40}?(?:enero|febrero|marzo|abril|mayo|junio|julio|agosto|septiembre|octubre|noviembre|diciembre|"
    r"lunes|martes|miércoles|jueves|viernes|sábados?|domingos?)"
)
_ES_NAME = (
    r"(?P<np>(?:El|La|Los|Las) (?!que\b|cual)[a-záéíóúñü]+"
    r"(?: (?:de|del|de la|de los|de las|a|al|en|por|para) [\wáéíóúñ]+"
    r"| (?!(?:es|son|está|están|hay|se|no|ya|l[ao]s?|que|si|cuando|donde|quien(?:es)?)\b)[a-záéíóúñü]+){0,3}?)"
    r"(?:, [^,.;]{1,40},)?"
)
_EN_NAME = (
    r"(?P<np>(?:The|A|An) (?!\w+ing\b)[a-z]+(?: (?:of|for|to|in) (?:the )?[\w-]+| [a-z-]+){0,3}?)(?:, [^,.;]{1,40},)?"
)
_INFINITIVE = r"[a-záéíóúñ]+[aei]r(?:se|la|lo|las|los)?"

_FORMS: dict[str, tuple[tuple[re.Pattern[str], str], ...]] = {
    "es": tuple(
        (re.compile(pattern), question)
        for pattern, question in (
            (rf"{_ES_NAME} (?P<v>cuestan?|valen?) {_MONEY}", "¿Cuánto {v} {np}?"),
            (rf"{_ES_NAME} (?P<v>es|son) de {_MONEY}", "¿De cuánto {v} {np}?"),
            (
                rf"{_ES_NAME} (?P<v>llevan?|tienen?) una? (?P<what>suplemento|recargo|descuento|coste|precio|plazo|"
                r"garantía|multa|sanción|límite)\b",
                "¿Qué {what} {v} {np}?",
            ),
            (rf"{_ES_NAME} (?P<v>abren?|cierran?|empiezan?|terminan?|acaban?) {_DATE}", "¿Cuándo {v} {np}?"),
            (
                rf"{_ES_NAME} (?P<v>abren?|cierran?|empiezan?|terminan?|acaban?|se sirven?) {_CLOCK}",
                "¿A qué hora {v} {np}?",
            ),
            (rf"{_ES_NAME} (?P<v>caducan?|vencen?|se celebran?|cambian?) ", "¿Cuándo {v} {np}?"),
            (rf"{_ES_NAME} (?P<v>duran?|tardan?|miden?|pesan?) ", "¿Cuánto {v} {np}?"),
            (
                rf"{_ES_NAME} (?P<v>está|están|queda|quedan|se guardan?|se dejan?) "
                r"(?:en|junto|detrás|delante|al|a la|frente|bajo|sobre) ",
                "¿Dónde {v} {np}?",
            ),
            (rf"{_ES_NAME} (?:l[ao]s?) (?P<v>[a-záéíóú]+[ae]) (?:[A-ZÁÉÍÓÚ]|el |la |una? )", "¿Quién {v} {np}?"),
            (rf"{_ES_NAME} (?:l[ao]s?) (?P<v>[a-záéíóú]+[ae]n) (?:[A-ZÁÉÍÓÚ]|los |las )", "¿Quiénes {v} {np}?"),
            (
                rf"{_ES_NAME} (?P<v>se (?:piden?|pagan?|solicitan?|reservan?|renuevan?|recogen?|devuelven?|"
                r"presentan?|justifican?|entregan?|tramitan?|cobran?|abonan?))\b",
                "¿Cómo {v} {np}?",
            ),
            (
                rf"(?P<np>(?:El|La|Los|Las|Un|Una) [a-záéíóúñ]+(?: [a-záéíóúñ]+)?) (?:no )?(?P<v>se pueden?) "
                rf"(?P<do>{_INFINITIVE}(?: [ou] {_INFINITIVE})?)\b",
                "¿{V} {do} {np}?",
            ),
            (
                rf"(?:No s|S)e (?P<v>pueden?) (?P<do>{_INFINITIVE} [^,.;:()]{{3,50}}?)"
                r"(?=[,.;(]|:(?!\d)|, pero| pero| salvo| si | hasta )",
                "¿Se {v} {do}?",
            ),
            (
                r"(?:No |En \w+ no )?(?:se )?"
                r"(?P<v>(?:admit|permit|acept)(?:en|an|imos|amos)|hacemos|servimos|alquilamos) "
                r"(?P<what>[a-záéíóúñ]{4,}(?: [a-záéíóúñ]{4,}| de [a-záéíóúñ]+)?)(?=[ ,.;])",
                "",
            ),
            (
                rf"Para (?P<do>{_INFINITIVE}(?: [^,.;]{{1,40}}?)?),? (?:hay que|es necesario|hace falta|se necesita)\b",
                "¿Qué hay que hacer para {do}?",
            ),
            (
                r"Si (?P<if>(?:no )?(?:el|la|los|las|hay|se|alguien) [^,.;]{6,60}),",
                "¿Qué pasa si {if}?",
            ),
        )
    ),
    "en": tuple(
        (re.compile(pattern), question)
        for pattern, question in (
            (rf"{_EN_NAME} costs ", "How much does {np} cost?"),
            (rf"{_EN_NAME} (?P<v>open|close|start|begin|end|expire)s\b", "When does {np} {v}?"),
            (rf"{_EN_NAME} (?P<v>last|take)s [^.;]{{0,20}}?(?:\d|one|two|three|an? )", "How long does {np} {v}?"),
            (
                rf"{_EN_NAME} (?P<v>is|are) (?:kept |stored )?(?:in|at|behind|under|near|next to|beside|on) the ",
                "Where {v} {np}?",
            ),
            (
                r"You (?:can|may)(?: also)? (?P<do>(?!not\b|only\b)[^,.;:()]{6,50}?)(?=[,.;:(]| if | but )",
                "Can I {do}?",
            ),
            (r"You (?:cannot|can't|may not|must not) (?P<do>[^,.;:()]{6,50}?)(?=[,.;:(]| if | unless )", "Can I {do}?"),
            (r"You (?:must|have to|need to) (?P<do>(?!not\b)[^,.;:()]{6,50}?)(?=[,.;:(]| if )", "Do I have to {do}?"),
            (r"If (?P<if>(?:the|a|an|there|nobody|somebody) [^,.;]{6,60}),", "What happens if {if}?"),
        )
    ),
}
_TAKEN = {"hacemos": "hacen", "servimos": "sirven", "alquilamos": "alquilan", "imos": "en", "amos": "an"}
_CUT = re.compile(
    r" (?:de|del|a|al|en|con|por|para|sin|un|una|el|la|los|las|[yeou]|of|to|in|on|at|for|with|and|or|the|an?)\?$"
)
"""How a question ends that lacks its last word."""
_UNCLEAR = frozenset("este esta esto estos estas ese esa eso esos esas mismo misma otro otra cual siguiente".split())
"""Words that point to another sentence."""

_ASKED = re.compile(r"(?:^|[\n*_.>-])\s{0,3}[*_]{0,2}(¿[^¿?\n]{8,120}\?)")
_ASKED_EN = re.compile(
    r"(?:^|[\n*_.>-])\s{0,3}[*_]{0,2}((?:How|What|When|Where|Who|Why|Which|Can|Do|Does|Is|Are|May)\b[^?.\n]{6,120}\?)"
)

_WE = {"somos": "son", "vamos": "van", "hemos": "han", "damos": "dan", "tenemos": "tienen", "podemos": "pueden"}
_SINGULAR = {
    "es": dict.fromkeys("horario precio plazo calendario objeto objetivo presupuesto".split(), "el")
    | dict.fromkeys("dirección fianza garantía duración renta cuota contraseña".split(), "la"),
    "en": dict.fromkeys("schedule price deadline address warranty deposit purpose rent password".split(), "the"),
}
"""Nouns of one thing -> their article."""
_DOING = re.compile(
    rf"(?:antes|después) de (?:{_INFINITIVE}|el |la |las |los )|en caso de |al {_INFINITIVE}\b|para ", re.I
)
_HEADINGS_EN = re.compile(r"(?:who|what|when|where|how|which) (?:is|are|can|may|must|do|does|to|will|should)\b", re.I)


def questions_in(body: str, language: str) -> Iterator[str]:
    """Yield the questions that a section asks itself, then those that its sentences answer.

    Args:
        body: the text below the section's heading.
        language: "es" or "en".
    """
    body = body[:_LOOKED_AT]
    for found in (_ASKED if language == "es" else _ASKED_EN).finditer(body):
        yield found[1]
    for start, end in sentences(body):
        sentence = " ".join(body[start:end].split())
        if sentence[:1].isalpha() and (question := question_about(sentence, language)):
            yield question


def question_about(sentence: str, language: str) -> str:
    """Return the question that a sentence answers, by the first form that it has; "" for none."""
    for pattern, form in _FORMS[language]:
        found = pattern.match(sentence)
        if not found:
            continue
        parts = found.groupdict()
        if set(fold(" ".join(part for part in parts.values() if part)).split()) & _UNCLEAR:
            return ""
        question = _filled(form, parts) if form else _taken(sentence, parts)
        if language == "en":
            question = _of_me(question)
        whole = not _CUT.search(question) and (form.startswith("¿Quién") or _agree(parts))
        return question if whole and len(question) <= _LONGEST else ""
    return ""


def _agree(parts: dict[str, str]) -> bool:
    """Return whether noun and verb are both of one or both of many: else the noun is not what the verb is said of."""
    article, verb = parts.get("np", "").partition(" ")[0].lower(), parts.get("v") or ""
    if article not in ("el", "la", "los", "las") or not verb:
        return True
    return (article in ("los", "las")) == verb.endswith("n")


def _filled(form: str, parts: dict[str, str]) -> str:
    np = parts.get("np", "")
    own = {**parts, "np": np[:1].lower() + np[1:], "V": parts.get("v", "").capitalize()}
    return form.format(**own)


def _taken(sentence: str, parts: dict[str, str]) -> str:
    """Return "¿Aceptan cheques?" for "No aceptamos cheques.", and "¿Se admiten perros?" for the impersonal form."""
    verb = parts["v"]
    ending = next((end for end in _TAKEN if verb.endswith(end)), "")
    if ending:
        return f"¿{(verb.removesuffix(ending) + _TAKEN[ending]).capitalize()} {parts['what']}?"
    return f"¿Se {verb} {parts['what']}?" if re.search(rf"\bse {verb}", sentence, re.I) else ""


def heading_as_question(topic: str, language: str) -> str:
    """Return a heading that is nearly a question ("Quién puede entrar") as one; "" for any other."""
    words = topic.split()
    if not words or "?" in topic:
        return ""
    low = topic[0].lower() + topic[1:]
    if len(words) == 1:
        return _of_one_word(low, language)
    if language == "en":
        if _HEADINGS_EN.match(topic):
            return re.sub(r"^(\w+) to\b", r"\1 do I", topic) + "?"
        if words[0].lower() == "if":
            return f"What happens {_of_me(low)}?"
        return f"What do I have to do {_of_me(low)}?" if words[0] in ("Before", "After") else ""
    if re.match(r"(?:cómo|qué|quién(?:es)?|cuándo|cuánt[oa]s?|dónde|cuál(?:es)?|por qué)\b", topic, re.I):
        if re.fullmatch(_INFINITIVE, words[1]):
            return f"¿{topic[0].upper()}{words[0][1:]} puedo {' '.join(words[1:])}?"
        return f"¿{topic[0].upper()}{_in_third_person(topic[1:])}?"
    if re.match(r"lo que\b", low):
        return f"¿Qué {_in_third_person(' '.join(words[2:]))}?" if len(words) > 2 else ""
    if re.match(r"si\b", low):
        return f"¿Qué pasa {low}?"
    if re.match(r"y si\b", low):
        return f"¿Qué pasa {low[2:]}?"
    if _DOING.match(topic):
        return f"¿Qué hay que hacer {low}?"
    if found := re.fullmatch(r"(\w+s) que (se \w+)", low):
        return f"¿Qué {found[1]} {found[2]}?"
    return f"¿Qué {low}?" if re.match(r"no (?:est[áa]n?|se)\b", low) else ""


def _of_one_word(word: str, language: str) -> str:
    if article := _SINGULAR[language].get(word):
        return f"¿Cuál es {article} {word}?" if language == "es" else f"What is {article} {word}?"
    if language == "es":
        return f"¿Qué {word} hay?" if re.fullmatch(r"[a-záéíóúñ]{3,}[aeo]s", word) else ""
    return f"What {word} are there?" if re.fullmatch(r"[a-z]{3,}[^s]s", word) else ""


def _in_third_person(text: str) -> str:
    """Return what a house says of itself as people ask it: "tenemos" becomes "tienen"."""

    def verb(found: re.Match[str]) -> str:
        word = found[0]
        return _WE.get(word) or re.sub("amos$", "an", re.sub("[ei]mos$", "en", word))

    return re.sub(r"\b[a-záéíóúñ]+[aei]mos\b|\bsomos\b", verb, text)


def _of_me(text: str) -> str:
    return re.sub(r"\byour\b", "my", re.sub(r"\byou\b", "I", text))
