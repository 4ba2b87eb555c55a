"""What messages say besides what they ask of the documents: a greeting, thanks, "could you tell me".

Nothing is searched for whole messages of a closed list, or several of them, such as "what can you do". A greeting with
a question behind it is a question, and that alone is searched and answered.
"""

from __future__ import annotations

import re
from typing import Literal

from chatbot_mvp.text import fold

Kind = Literal["greeting", "thanks", "bye", "able"]

_MESSAGES: dict[str, dict[Kind, str]] = {
    "es": {
        "greeting": "hola|buenas|buenos dias|buen dia|buenas tardes|buenas noches|hola buenas|hola buenos dias|"
        "hola buenas tardes|hola que tal|que tal|saludos|hola como estas|hola como esta",
        "thanks": "muy amable",
        "bye": "adios|hasta luego|hasta pronto|hasta manana|nos vemos|chao|un saludo",
        "able": "que puedes hacer|que puede hacer|que sabes hacer|que haces|quien eres|que eres|en que puedes ayudarme|"
        "en que me puedes ayudar|como funcionas|que te puedo preguntar|que puedo preguntarte|que puedo preguntar",
    },
    "en": {
        "greeting": "hi|hello|hey|hi there|hello there|hey there|good morning|good afternoon|good evening|how are you|"
        "hi how are you|hello how are you",
        "thanks": "thanks for your help|thank you for your help",
        "bye": "bye|goodbye|good bye|see you|see you later|bye bye",
        "able": "what can you do|what do you do|who are you|what are you|how can you help me|what can you help me with|"
        "how do you work|what can i ask|what can i ask you",
    },
}
_REPLIES: dict[str, dict[Kind, str]] = {
    "es": {
        "greeting": "¡Hola! Pregúnteme por lo que dicen sus documentos.",
        "thanks": "¡De nada! Aquí sigo, por si tiene otra pregunta sobre sus documentos.",
        "bye": "¡Hasta pronto!",
        "able": "Busco en sus documentos y le muestro la frase que responde, con su fuente. Si no la encuentro, le "
        "enseño lo más cercano. Pregunte como se lo preguntaría a una persona.",
    },
    "en": {
        "greeting": "Hello! Ask me about what your documents say.",
        "thanks": "You are welcome! I am here if you have another question about your documents.",
        "bye": "See you soon!",
        "able": "I search your documents and show the sentence that answers, with its source. If I do not find one, I "
        "show what comes nearest. Ask as you would ask a person.",
    },
}
_KNOWN = {
    message: (language, kind)
    for language, kinds in _MESSAGES.items()
    for kind, messages in kinds.items()
    for message in messages.split("|")
}
_ONE = "|".join(sorted(_KNOWN, key=len, reverse=True))
_SEVERAL = re.compile(rf"(?:(?:{_ONE}) )*?({_ONE})")
_MAX_CHARS = 80

_PLEASE = r"por ?favor|porfa|please"
_ASKING = (
    r"¿?(?:(?:a|con|de|desde|en|hasta|para|por|at|for|from|in|on|to) )?(?:qu[eé]|qui[eé]n(?:es)?|cu[aá]l(?:es)?|"
    r"cu[aá]ndo|cu[aá]nt[oa]s?|d[oó]nde|c[oó]mo|what|who|whose|which|when|where|why|how)\b"
)
_SAY = (
    r"(?:(?:me|nos) )?(?:pued[ea]s?|pod[eé]is|podr[ií]a(?:s|is)?) (?:decir|indicar|explicar|confirmar)(?:me|nos)?|"
    r"(?:me|nos) (?:dices?|dec[ií]s)|d[ií](?:me|game)|sabes?|sab[eé]is|"
    r"(?:quer[ií]a|quisiera|quiero|me gustar[ií]a|necesito|necesitar[ií]a) (?:saber|preguntar(?:[lt]e|os)?)|"
    rf"(?:can|could|would) you (?:(?:{_PLEASE}) )?tell (?:me|us)|tell me|do you know|i(?:['’]d| would) like to know|"
    r"i (?:want(?:ed)?|need) to know|i was wondering"
)
_THANKS = (
    r"(?<!\blas )(?<!\bdar )(?:(?:muchas|much[ií]simas|mil) )?gracias(?! a\b)(?: de antemano| por \w+(?: \w+)?)?|"
    r"(?:many )?thanks(?: a lot| in advance)?|thank you(?: (?:so|very) much)?"
)
_BEFORE = re.compile(
    r"[\s¡¿]*(?:(?:hola|hi|hello|hey|buen[oa]s (?:d[ií]as|tardes|noches)|good (?:morning|afternoon|evening))\b|"
    r"(?:buenas|there|qu[eé] tal|oye|oiga|(?:perd[oó]n[ae]?|disculp[ae])(?: (?:la|las) molestias?)?|vale|ok|perfecto|"
    rf"genial|excuse me|sorry|great|perfect|{_PLEASE}|{_THANKS}|"
    r"(?:y )?(?:tengo )?(?:una|otra)(?: [uú]ltima)? (?:duda|pregunta|consulta|cosa)|"
    r"(?:i have )?(?:a |another |one more )?(?:quick |last )?question)"
    rf"(?=\s*(?:[,.;:!?…¿]|$)|\s+(?:vale|perfecto|{_SAY}|{_ASKING}|{_THANKS}))|"
    rf"(?:{_SAY})(?:,? (?:{_PLEASE}))?,? (?:(?P<whether>si|if|whether) |(?={_ASKING})))[\s,.;:!?)…]*",
    re.I,
)
_BEHIND = re.compile(rf"(?:^|[\s,.;:!?])(?:{_PLEASE}|{_THANKS}|un saludo|saludos)[\s.:!?()…]*$", re.I)


def small_talk(message: str) -> str:
    """Return a short line in reply to a message that asks nothing of the documents; "" if it may ask something.

    Of several in one, such as a greeting and thanks, the last one is replied to.
    """
    if len(message) > _MAX_CHARS:
        return ""
    if said := _SEVERAL.fullmatch(" ".join(re.findall(r"\w+", fold(message)))):
        language, kind = _KNOWN[said[1]]
        return _REPLIES[language][kind]
    thanks = None if _rest(message) else re.search(_THANKS, message, re.I)
    return _REPLIES["es" if "gracias" in thanks[0].lower() else "en"]["thanks"] if thanks else ""


def asked_in(message: str) -> str:
    """Return what a message asks, without greetings, thanks and "could you tell me" before and behind it.

    The whole message if it says nothing else.
    """
    return _rest(message) or message


def _rest(message: str) -> str:
    rest, asks = message.strip(), "?" in message
    while found := _BEFORE.match(rest):
        rest, asks = rest[found.end() :], asks or bool(found["whether"])
    while found := _BEHIND.search(rest):
        rest = rest[: found.start()].rstrip(" .,;:")
    return f"{rest}?" if rest and asks and not rest.endswith("?") else rest
