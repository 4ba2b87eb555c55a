"""Units of measurement: what each measures, and its size."""

from __future__ import annotations

HOUR_S, DAY_S = 3600.0, 86400.0
UNITS: dict[str, tuple[str, float]] = {
    word: (kind, size)
    for kind, size, words in (
        ("time", 0.001, "ms milisegundo milisegundos millisecond milliseconds"),
        ("time", 1.0, "s segundo segundos second seconds sec secs"),
        ("time", 60.0, "min minuto minutos minute minutes mins"),
        ("time", HOUR_S, "h hora horas hour hours"),
        ("time", DAY_S, "dia dias day days noche noches night nights"),
        ("time", 7 * DAY_S, "semana semanas week weeks"),
        ("time", 14 * DAY_S, "quincena quincenas fortnight fortnights"),
        ("time", 30 * DAY_S, "mes meses month months"),
        ("time", 90 * DAY_S, "trimestre trimestres quarter quarters"),
        ("time", 180 * DAY_S, "semestre semestres"),
        ("time", 360 * DAY_S, "ano anos year years"),
        ("time", 3600 * DAY_S, "decada decadas decade decades"),
        ("time", 36000 * DAY_S, "siglo siglos century centuries"),
        ("length", 0.001, "mm milimetro milimetros millimetre millimetres"),
        ("length", 0.01, "cm centimetro centimetros centimetre centimetres centimeter centimeters"),
        ("length", 1.0, "m metro metros metre metres meter meters"),
        ("length", 1000.0, "km kilometro kilometros kilometre kilometres kilometer kilometers"),
        ("length", 1609.0, "mi milla millas mile miles"),
        ("length", 0.3048, "ft pie pies foot feet"),
        ("length", 0.9144, "yarda yardas yard yards yd"),
        ("length", 0.0254, "pulgada pulgadas inch inches"),
        ("mass", 1.0, "g gramo gramos gram grams"),
        ("mass", 1000.0, "kg kilo kilos kilogramo kilogramos kilogram kilograms"),
        ("mass", 1e6, "t tonelada toneladas ton tons tonne tonnes"),
        ("mass", 453.6, "lb lbs"),
        ("volume", 0.001, "ml mililitro mililitros millilitre millilitres"),
        ("volume", 1.0, "l litro litros litre litres liter liters"),
        ("bytes", 1.0, "byte bytes"),
        ("bytes", 1e3, "kb kib kilobyte kilobytes"),
        ("bytes", 1e6, "mb mib megabyte megabytes"),
        ("bytes", 1e9, "gb gib gigabyte gigabytes"),
        ("bytes", 1e12, "tb tib terabyte terabytes"),
        ("bits", 1.0, "bit bits"),
        ("money", 1.0, "euro euros eur €"),
        ("dollars", 1.0, "dolar dolares dollar dollars usd $"),
        ("pounds", 1.0, "libra libras pound pounds gbp £"),
        ("pounds", 0.01, "penique peniques penny pence"),
        ("share", 1.0, "% percent cent ciento"),
        ("degrees", 1.0, "° º grado grados degree degrees"),
    )
    for word in words.split()
}
"""Word -> (what it measures, its size in the smallest unit of that). A month has 30 days, a year twelve months."""


def unit_of(word: str) -> tuple[str, float] | str:
    """Return what tells the unit of a folded word from others: "kilos" and "kg" are one. The word, if it is none."""
    return UNITS.get(word, word)
