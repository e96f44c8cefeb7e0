"""Records that all have the same fields, by column: a large study has 100,000 of them, and their JSON is made a column
at a time, in a tenth of the time of one record after the other."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from json.encoder import encode_basestring
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

#: The encoders of values that `analysis.report.tables.plain` leaves as they are.
_ENCODERS = {str: encode_basestring, int: int.__repr__}
_FLAT = frozenset((str, int, float, bool, type(None)))


@dataclass(frozen=True, slots=True)
class Records:
    """``columns``: of each field its values, as many as there are records. Those of a field that is itself an object
    are Records."""

    columns: Mapping[str, Sequence[Any] | Records]

    @classmethod
    def of(cls, frame: pd.DataFrame) -> Records:
        return cls({str(name): frame[name].tolist() for name in frame.columns})

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), ()))

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for values in zip(*self.columns.values(), strict=True):
            yield dict(zip(self.columns, values, strict=True))

    def to_json(self, indent: str) -> str:
        """What `analysis.report.files.json_text` gives of a list of the same records."""
        if not len(self):
            return "[]"
        inner = indent + " "
        template = self._template(inner)
        return "[" + inner + ("," + inner).join(map(template.__mod__, zip(*self._texts(), strict=True))) + indent + "]"

    def _template(self, indent: str) -> str:
        """A record with a place for every value."""
        inner = indent + " "
        members = (
            f"{encode_basestring(name).replace('%', '%%')}: "
            + (values._template(inner) if isinstance(values, Records) else "%s")
            for name, values in self.columns.items()
        )
        return "{" + inner + ("," + inner).join(members) + indent + "}"

    def _texts(self) -> Iterator[list[str]]:
        """The values of each place."""
        for values in self.columns.values():
            if isinstance(values, Records):
                yield from values._texts()
            else:
                yield _texts_of(values)

    @property
    def is_flat(self) -> bool:
        """Whether every value is a text, a number, a flag or None, so that it is one line of JSON."""
        return all(
            values.is_flat if isinstance(values, Records) else _FLAT.issuperset(map(type, values))
            for values in self.columns.values()
        )


def _texts_of(values: Sequence[Any]) -> list[str]:
    kinds = set(map(type, values))
    if kinds == {float}:
        return [repr(value) if math.isfinite(value) else "null" for value in values]
    if len(kinds) == 1 and (encode := _ENCODERS.get(kinds.pop())):
        return list(map(encode, values))
    return [_text_of(value) for value in values]


def _text_of(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return repr(value) if math.isfinite(value) else "null"
    return "null" if value is None else _ENCODERS[type(value)](value)
