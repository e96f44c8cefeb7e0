"""Small studies whose figures are known: from a textbook, or worked out by hand."""

from __future__ import annotations

from tests.analysis.support.studies import Values, a_set

# Krippendorff 2011, "Computing Krippendorff's Alpha-Reliability", example C: four observers, twelve units.
OBSERVERS = {
    "A": "1 2 3 3 2 1 4 1 2 . . .",
    "B": "1 2 3 3 2 2 4 1 2 5 . 3",
    "C": ". 3 3 3 2 3 4 2 2 5 1 .",
    "D": "1 2 3 3 2 4 4 1 2 5 1 .",
}
TEXTBOOK: Values = {
    (f"u{unit}", worker): float(value)
    for worker, row in OBSERVERS.items()
    for unit, value in enumerate(row.split())
    if value != "."
}
UNITS = [a_set(f"u{unit}") for unit in range(12)]

# Two classes of four sets. The best cut lies between 3 and 3.5: all of the high and three of the low class right.
LOW, HIGH = (1.0, 2.0, 3.0, 4.5), (3.5, 4.0, 5.0, 5.0)
CLASSES = [a_set(f"low{at}", label=0) for at in range(4)] + [a_set(f"high{at}", label=1) for at in range(4)]
CLASS_VALUES: Values = {
    (f"{name}{at}", worker): value
    for name, values in (("low", LOW), ("high", HIGH))
    for at, value in enumerate(values)
    for worker in ("anna", "ben")
}
