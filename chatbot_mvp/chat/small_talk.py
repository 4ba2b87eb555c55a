"""Messages that ask nothing of the documents: a greeting, thanks, what the chat can do. Nothing is searched for them.

Whole messages of a closed list, or several of them: a greeting with a question behind it is a question.
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
        "thanks": "gracias|muchas gracias|mil gracias|ok gracias|vale gracias|perfecto gracias|gracias por la ayuda|"
        "muchas gracias por la ayuda|muy amable|genial gracias",
        "bye": "adios|hasta luego|hasta pronto|hasta manana|nos vemos|chao",
        "able": "que puedes hacer|que puede hacer|que sabes hacer|que haces|quien eres|que eres|en que puedes ayudarme|"
        "en que me puedes ayudar|como funcionas|que te puedo preguntar|que puedo preguntarte|que puedo preguntar",
    },
    "en": {
        "greeting": "hi|hello|hey|hi there|hello there|hey there|good morning|good afternoon|good evening|how are you|"
        "hi how are you|hello how are you",
        "thanks": "thanks|thank you|thanks a lot|many thanks|thank you very much|thank you so much|ok thanks|"
        "great thanks|perfect thanks|thanks for your help|thank you for your help",
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


def small_talk(message: str) -> str:
    """Return a short line in reply to a message that asks nothing of the documents; "" if it may ask something.

    Of several in one, such as a greeting and thanks, the last one is replied to.
    """
    said = _SEVERAL.fullmatch(" ".join(re.findall(r"\w+", fold(message[: _MAX_CHARS + 1]))))
    if said is None or len(message) > _MAX_CHARS:
        return ""
    language, kind = _KNOWN[said[1]]
    return _REPLIES[language][kind]
