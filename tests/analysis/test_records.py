"""Records by column have the JSON of the same records one after the other."""

from __future__ import annotations

import json
import math
from typing import Any

import pandas as pd
import pytest

from analysis.report.files import json_text
from analysis.report.records import Records
from analysis.report.tables import in_columns, plain


def standard(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, indent=1)


Lists = dict[str, list[Any]]
#: Columns, and those that look different in JSON.
COLUMNS: dict[str, tuple[Lists, Lists]] = {
    "numbers": ({"mean": [0.1, 1e300, -0.0], "n": [1, 2, 3]}, {}),
    "missing numbers": ({"mean": [math.nan, math.inf, 1.5]}, {"mean": [None, None, 1.5]}),
    "texts": ({"item": ['a "b"', "50 % é\n", ""], "100 %s": ["%", "%d", "%%"]}, {}),
    "flags and nothing": ({"flag": [True, False, None], "mixed": [1, "1", 1.0]}, {}),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_columns_have_the_json_of_a_list_of_objects(name: str) -> None:
    columns, changed = COLUMNS[name]
    shown = columns | changed

    records = [dict(zip(shown, values, strict=True)) for values in zip(*shown.values(), strict=True)]

    assert json_text(Records(columns)) == standard(records)
    assert plain(Records(columns)) == records


def test_records_within_records() -> None:
    records = Records({"item": ["a", "b"], "fluency": Records({"mean": [1.5, 2.0], "n": [2, 3]})})

    expected = [{"item": "a", "fluency": {"mean": 1.5, "n": 2}}, {"item": "b", "fluency": {"mean": 2.0, "n": 3}}]

    assert json_text({"items": records}) == standard({"items": expected})
    assert plain(list(records)[:1]) == expected[:1]


def test_no_records() -> None:
    assert json_text(Records({"item": []})) == json_text(Records({})) == "[]"


def test_frames_stay_by_column_unless_their_values_need_more() -> None:
    flat = pd.DataFrame({"worker": ["w1", "w2"], "r": [0.5, math.nan]})
    moments = pd.DataFrame({"at": [pd.Timestamp("2026-01-05")]})

    assert isinstance(in_columns(flat), Records)
    assert json_text(in_columns(flat)) == standard([{"worker": "w1", "r": 0.5}, {"worker": "w2", "r": None}])
    assert in_columns(moments) == [{"at": "2026-01-05T00:00:00"}]
