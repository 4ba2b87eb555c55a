"""The languages of a corpus beside Spanish and English: their stemmers, stop words and combining marks.

``text`` has Spanish and English, which are also the languages of prompts and pages.
"""

from __future__ import annotations

import re

STEMMERS = {
    "ar": "arabic",
    "ca": "catalan",
    "cs": "czech",
    "da": "danish",
    "de": "german",
    "el": "greek",
    "eo": "esperanto",
    "et": "estonian",
    "eu": "basque",
    "fa": "persian",
    "fi": "finnish",
    "fr": "french",
    "ga": "irish",
    "hi": "hindi",
    "hu": "hungarian",
    "hy": "armenian",
    "id": "indonesian",
    "it": "italian",
    "lt": "lithuanian",
    "ne": "nepali",
    "nl": "dutch",
    "no": "norwegian",
    "pl": "polish",
    "pt": "portuguese",
    "ro": "romanian",
    "ru": "russian",
    "sr": "serbian",
    "st": "sesotho",
    "sv": "swedish",
    "ta": "tamil",
    "tr": "turkish",
    "yi": "yiddish",
}
"""ISO 639-1 code -> Snowball's algorithm. A language that the installed PyStemmer lacks is not stemmed."""

STOP_WORDS: dict[str, frozenset[str]] = {
    language: frozenset(words.split())
    for language, words in {
        "ca": """a al als amb aquest aquesta aquests aquestes com d de del dels des el ella elles ells els en entre era
        es esta fins ha han hi i jo l la les li lo mes meu molt no nosaltres o on pel pels per pero perque qual quan que
        qui s se sense seu seva si sobre son tambe tot un una unes uns va vosaltres""",
        "da": """af alle at blev da de dem den denne der deres det dette dig din dog du efter eller en end er et for fra
        ham han hans har have havde hende hendes her hos hun hvad hvem hvilken hvis hvor hvordan i ikke ind jeg kan
        kunne man med meget men mig min mod ned noget nogle nu og ogsa om op os over pa sa sig sin skal skulle som til
        under var ved vi vil ville vor var ære""",
        "de": """aber als am an auch auf aus bei bin bis bist da damit dann das dass dein dem den der des dessen die
        dies diese diesem diesen dieser dieses doch dort du durch ein eine einem einen einer eines er es euer fur hat
        hatte hatten hier hinter ich ihr ihre ihrem ihren ihrer im in ist ja jede jedem jeden jeder jedes jener kann
        kein keine keinem keinen keiner konnen man mein mit muss nach nicht noch nun nur ob oder ohne sehr sein seine
        seinem seinen seiner seit sich sie sind so soll uber um und uns unser unter vom von vor war waren warum was
        weil welche welchem welchen welcher welches wenn wer werden wie wieder wir wird wo wurde wurden zu zum zur
        zwischen""",
        "fr": """a afin ai ainsi alors apres au aucun aussi autre aux avant avec avoir c ce cela ces cet cette ceux
        chaque comme comment d dans de depuis des donc dont du elle elles en entre est et etaient etait ete etre eu
        eux il ils j je l la le les leur leurs lors lui m ma mais me meme mes moi mon n ne ni nos notre nous on ont ou
        par pas pendant peut plus pour pourquoi qu quand que quel quelle quelles quels qui quoi s sa sans se ses si son
        sont sous sur t ta te tes toi ton tous tout toute toutes tres tu un une vos votre vous y""",
        "it": """a ad agli ai al alla alle allo anche avere c che chi ci come con contro cosa cui d da dagli dai dal
        dalla dalle dallo degli dei del della delle dello di dove e ed egli era erano essere fino fra gli ha hanno ho i
        il in io l la le lei li lo loro lui ma mi mia mio ne negli nei nel nella nelle nello noi non nostro o ogni
        oppure per perche piu poi quale quali quando quanto quella quelle quelli quello questa queste questi questo qui
        se sei si sia sono stata stato su sua sue sugli sui sul sulla sulle sullo suo suoi te ti tra tu tua tuo tutti
        tutto un una uno vi voi vostro""",
        "nl": """aan al alles als ben bij daar dan dat de der deze die dit doen door dus een en er ge geen had heb
        hebben heeft hem het hier hij hoe hun iemand iets ik in is ja je jij kan kon kunnen maar me meer men met mij
        mijn moet na naar niet niets nog nu of om omdat onder ons ook op over te tegen toch toen tot u uit van veel voor
        waar waarom want waren was wat we welke wel werd wezen wie wij wil worden wordt zal ze zei zelf zich zij zijn zo
        zonder zou""",
        "no": """alle at av bare ble da de dem den denne der deres det dette din du eller en enn er et etter for fra ham
        han hans har hadde henne hennes her hos hun hva hvem hvilken hvis hvor hvordan i ikke inn jeg kan kunne man med
        men meg min mot na noe noen og ogsa om opp oss over pa sa seg sin skal skulle som til under var ved vi vil
        ville vart""",
        "pt": """a ao aos aquela aquelas aquele aqueles aquilo as ate cada com como contra cujo da das de dela dele
        deles depois do dos e ela elas ele eles em entre era eram essa essas esse esses esta estao estas estava este
        estes eu foi foram ha isso isto ja la lhe lhes mais mas me mesmo meu minha muito na nao nas nem no nos nossa
        nosso num numa o onde os ou para pela pelas pelo pelos por porque qual quais quando quanto que quem se seja sem
        ser seu seus so sobre sua suas tambem te tem tinha toda todas todo todos tu tua um uma umas uns voce voces""",
        "sv": """alla allt att av blev bli da de dem den denna deras dess det detta dig din du efter eller en er ett for
        fran ha hade han hans har henne hennes hon honom hur har i icke in inom inte ja jag kan kunde man med mellan men
        mig min mot mycket nar nagon nagot nu och om oss over pa sa samma sig sin ska skulle som till under upp ut utan
        vad var vara vem vi vid vilken vill""",
    }.items()
}
"""Language -> its stop words, in lower case and without accents. The other languages have none: BM25 gives words that
most documents have little weight by itself."""

ELISIONS = frozenset(("ca", "fr", "it"))
"""Languages that shorten an article or a preposition before a vowel: "l'école" is matched by "école"."""

MARKS = {
    "ar": "\u0610-\u061a\u064b-\u065f\u0670",
    "fa": "\u0610-\u061a\u064b-\u065f\u0670\u200c",
    "hi": "\u0900-\u0903\u093a-\u094f\u0951-\u0957\u0962\u0963\u200c\u200d",
    "ne": "\u0900-\u0903\u093a-\u094f\u0951-\u0957\u0962\u0963\u200c\u200d",
    "ta": "\u0b82\u0bbe-\u0bcd\u0bd7",
    "yi": "\u0591-\u05c7",
}
"""Language -> marks that stand inside its words, as a range of a regular expression: vowel signs are no letters."""


def word_pattern(language: str) -> re.Pattern[str] | None:
    """Return the pattern of a word of a language whose words have marks inside; None for other languages."""
    if language not in MARKS:
        return None
    letter = rf"(?:[^\W_]|[{MARKS[language]}])"
    return re.compile(rf"[^\W_]{letter}{{0,999}}")
