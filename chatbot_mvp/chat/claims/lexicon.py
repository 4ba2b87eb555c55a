"""Closed classes of words that decide what a sentence says, in Spanish and English. All are folded: no accents."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

NEGATORS = frozenset(
    """no nunca jamas tampoco ningun ninguno ninguna nadie nada ni not never nor neither none nobody nothing nowhere
    cannot sin without salvo excepto except unless""".split()
)
"""Words that deny their clause. Several of them deny it once ("no … nunca")."""
NOT_BEFORE = frozenset("obstante solo solamente only just mas more less menos fewer doubt duda matter".split())
"""Behind a negator, these words make it something else ("no obstante", "not only", "no more than")."""
DENYING = tuple(
    """prohib forbid forbad carec impid imped incapa imposib unabl impossib lack prevent refus rehus rechaz untru fracas
    exclu exempt exent declin reject unsupport""".split()
)
"""Beginnings of words that deny what follows. Two of them, or one and a negator, cancel out."""
DENYING_WORDS = frozenset("niega niegan nego negaron negarse falso falsa false fail fails failed falla".split())
EXCEPT = frozenset("salvo excepto excepcion except unless exception menos".split())
"""Words that take the next words out of what is said."""
BREAKS = frozenset(
    """pero aunque sino porque mientras cuando si donde que quien pues but although because while when if where which
    who that whereas unless salvo excepto except""".split()
)
"""Words that begin a clause."""
MONTHS = {
    word: row % 12 + 1
    for row, word in enumerate(
        """enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre january february
        march april may june july august september october november december""".split()
    )
} | {"setiembre": 9}
DAYS = {
    word: row % 7 + 1
    for row, word in enumerate(
        """lunes martes miercoles jueves viernes sabado domingo monday tuesday wednesday thursday friday saturday
        sunday""".split()
    )
} | {f"{word}s": 6 + row for row, word in enumerate(("sabado", "domingo"))}
DAYS |= {f"{word}s": row for word, row in DAYS.items() if word.endswith("day")}


def _classes(table: Mapping[str, str]) -> dict[str, str]:
    return {word: name for name, words in table.items() for word in words.split()}


QUANTIFIERS = _classes(
    {
        "each": "cada each every",
        "all": """todo toda todos todas cualquier cualquiera cualesquiera siempre ambos ambas totalidad entero
            entera unanimidad all always everyone everybody everything both whole entire entirely anyone
            anybody""",
        "some": """alguno alguna algunos algunas algun varios varias vario cierto ciertos ciertas parte veces some
            several sometimes certain part partly among tantos tantas various occasionally""",
        "most": "mayoria most mostly usually normalmente generalmente suele suelen habitualmente generally typically",
        "few": "pocos pocas poco apenas raramente few rarely hardly scarcely seldom",
        "many": "muchos muchas mucho mucha numerosos numerosas many numerous lots",
        "none": "ningun ninguno ninguna nadie none nobody neither",
        "only": "solo solamente unicamente unico unica only just solely exclusively sole single exclusivamente",
    }
)
"""Word -> class. Two different classes in the same place exclude each other."""
BOUNDS: tuple[tuple[str, str], ...] = (
    (
        "least",
        "al menos|como minimo|por lo menos|minim[oa]|no menos de|o mas|a partir de|"
        "at least|minimum|no less than|or more",
    ),
    (
        "most",
        "como maximo|como mucho|maxim[oa]|o menos|hasta|no mas de|"
        "at most|up to|maximum|no more than|or less|as much as",
    ),
    ("more", "mas de|superior a|more than|over|above|exceed\\w*|supera\\w*|older than|longer than|mayor(?:es)? de"),
    ("less", "menos de|inferior a|less than|fewer than|under|below|younger than|shorter than|menor(?:es)? de"),
)
"""Class of a bound -> pattern of what stands before or behind a figure."""


def _opposites(pairs: Iterable[str]) -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for pair in pairs:
        one, other = (side.split() for side in pair.split("|"))
        for word in one:
            found.setdefault(word, set()).update(other)
        for word in other:
            found.setdefault(word, set()).update(one)
    return {word: frozenset(others) for word, others in found.items()}


OPPOSITES = _opposites(
    """mas|menos
    more most|less least fewer fewest
    mayor mayores|menor menores
    antes|despues
    before earlier|after later
    primer primero primera primeros primeras|ultimo ultima ultimos ultimas
    first|last
    mejor mejores|peor peores
    better best|worse worst
    larger largest bigger biggest greater greatest large big great|smaller smallest small little
    grande grandes gran|pequeno pequena pequenos pequenas
    higher highest high tall taller|lower lowest low short shorter
    alto alta altos altas|bajo baja bajos bajas
    longer longest long|shorter shortest short
    largo larga largos largas|corto corta cortos cortas
    older oldest old|younger youngest newer newest new young
    viejo vieja antiguo antigua|nuevo nueva joven reciente
    faster fastest fast quick quickly|slower slowest slow slowly
    rapido rapida rapidamente|lento lenta lentamente despacio
    superior superiores|inferior inferiores
    upper|lower
    increase increases increased rise rises rose grew grows|decrease decreases decreased fall falls fell dropped
    increase increases increased raise|reduce reduces reduced
    aumenta aumentan aumento aumentar aumentado|disminuye disminuyen disminuyo disminuir reduce reducen redujo reducir
    sube suben subio subir crece crecio|baja bajan bajo bajar disminuye disminuyo
    aumento crecimiento subida incremento|disminucion reduccion descenso bajada caida
    growth|reduction decline
    facil faciles|dificil dificiles
    easy easier easily|hard harder difficult
    norte|sur este oeste
    sur|este oeste
    este|oeste
    north northern|south southern east eastern west western
    south southern|east eastern west western
    east eastern|west western
    northeast|northwest southeast southwest
    dentro|fuera
    inside|outside
    encima arriba|debajo abajo
    above|below
    izquierda|derecha
    left|right
    interior|exterior
    internal|external
    abre abren abierto abierta abiertos abrir|cierra cierran cerrado cerrada cerrados cerrar
    open opens opened|close closes closed shut
    gana ganan gano ganaron ganar|pierde pierden perdio perdieron perder
    win wins won|lose loses lost
    incluye incluyen incluido incluida incluir|excluye excluyen excluido excluida excluir
    include includes included|exclude excludes excluded
    permite permiten permitido permitida permitir|prohibe prohiben prohibido prohibida prohibir impide impiden
    allow allows allowed permit permits permitted|forbid forbids forbidden prohibit prohibited prevents prevent
    con|sin
    with|without
    gratis gratuito gratuita|pago
    free|paid
    verdadero cierto|falso
    true|false
    minimo minima|maximo maxima
    minimum|maximum
    obligatorio obligatoria|opcional voluntario
    mandatory required|optional voluntary
    temprano pronto|tarde
    early|late
    hot warm|cold cool
    caliente|frio fria
    dia|noche
    public|private
    publico publica|privado privada
    activa activar activado|desactiva desactivar desactivado
    enable enables enabled|disable disables disabled
    add adds added|remove removes removed
    start starts started begin begins began|stop stops stopped end ends ended
    empieza empezo comienza comenzo|termina termino acaba acabo
    full|half empty
    lleno|vacio
    mediodia|medianoche
    noon|midnight""".splitlines()
)
"""Word -> words that say the opposite, or something else of the same sort."""
COMPARING = frozenset(
    """mas menos mayor mayores menor menores mejor peor more less fewer larger smaller bigger greater higher lower
    longer shorter older younger better worse faster slower largest smallest""".split()
)
"""Words that compare."""
MODALS = _classes(
    {
        "must": """debe deben debera deberan tiene tienen hay obligatorio obligatoria must shall required has have
            needs need""",
        "may": "puede pueden podra podran puedes may can could might allowed permite permiten permitido permitida",
    }
)
"""Word -> whether it obliges or allows. "Tiene", "hay" and "has" do before "que" or "to" alone."""
