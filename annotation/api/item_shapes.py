"""How the API writes items as JSON, and what it reads to make them."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from rest_framework import serializers
from rest_framework.fields import empty

from annotation.models import Item
from annotation.studies.items_overview import ItemRow
from annotation.table_files import ReadingOptions


class ScoreShape(serializers.Serializer[Any]):
    """One score of an item. What cannot be computed is null."""

    topic = serializers.CharField()
    title = serializers.CharField()
    score = serializers.FloatField(allow_null=True)
    sd = serializers.FloatField(allow_null=True)
    n = serializers.IntegerField(help_text="Ratings.")
    workers = serializers.IntegerField()
    low = serializers.FloatField(allow_null=True, help_text="The lower end of the 95% interval.")
    high = serializers.FloatField(allow_null=True, help_text="The upper end.")
    part = serializers.CharField(help_text="The part of the item that the score is about; empty for the whole.")


class ItemArmShape(serializers.Serializer[Any]):
    """An item's figures in one arm."""

    name = serializers.CharField()
    submissions = serializers.IntegerField()
    scores = ScoreShape(many=True)


class ItemShape(serializers.Serializer[Any]):
    """An item with its scores so far."""

    item = serializers.CharField(help_text="Its id, as in the file.")
    role = serializers.ChoiceField(choices=Item.Role.choices)
    source = serializers.JSONField(help_text="What it comes from.")  # type: ignore[assignment]  # not on the class
    columns = serializers.DictField(child=serializers.CharField(allow_blank=True), help_text="Its columns in exports.")
    wanted = serializers.IntegerField(help_text="Submissions over all hits.")
    submissions = serializers.IntegerField()
    synthetic = serializers.IntegerField(help_text="How many of these are by simulated workers.")
    scores = ScoreShape(many=True)
    arms = ItemArmShape(many=True)


class Mapping(serializers.DictField):
    """In a form, the text of a JSON object."""

    def __init__(self) -> None:
        meaning = "Names that columns get: from the name in the table to the name that the task type knows."
        super().__init__(child=serializers.CharField(max_length=200), required=False, help_text=meaning)

    def get_value(self, dictionary: Any) -> Any:
        value = dictionary.get(self.field_name, empty)
        if not isinstance(value, str):
            return value
        try:
            return json.loads(value)
        except ValueError:
            return value  # refused below: it is no object


class Option(serializers.CharField):
    def __init__(self, **kwargs: Any) -> None:
        super().__init__(required=False, allow_blank=True, max_length=200, trim_whitespace=False, **kwargs)


class RowsRequest(serializers.Serializer[Any]):
    """Items as rows: each an object with a value for each column."""

    rows = serializers.ListField(child=serializers.DictField(), help_text="See the columns of the task type.")
    mapping = Mapping()


class FileRequest(serializers.Serializer[Any]):
    """Items as a file: CSV, TSV, JSON, a workbook, Parquet, or a zipped folder. The end of its name says which."""

    file = serializers.FileField()
    mapping = Mapping()
    encoding = Option(help_text="Of a CSV or TSV file that is not UTF-8, such as `windows-1252`.")
    separator = Option(help_text="Of a CSV file whose header does not tell: `,`, `;` or a tab.")
    sheet = Option(help_text="Of a workbook. By default, the first one.")
    split = Option(help_text="Of a folder with several, such as `test`.")


def options_of(sent: dict[str, Any]) -> ReadingOptions:
    """How to read the table, from what a serializer above has checked."""
    return ReadingOptions(**{name: value for name, value in sent.items() if name not in ("file", "rows")})


class RunRequest(serializers.Serializer[Any]):
    """Items from the samples of a generation run."""

    run = serializers.CharField(help_text="The name of a finished run of yours.")
    options = serializers.DictField(required=False, help_text="Options of the task type: see task_types_get.")


class FromStudyRequest(serializers.Serializer[Any]):
    """Items from the outputs of another study."""

    study = serializers.CharField(help_text="The short name of a study that you can see.")
    arms = serializers.ListField(child=serializers.CharField(), required=False, help_text="Only outputs of these arms.")
    kind = serializers.CharField(required=False, help_text="By default, the first kind that fits.")
    follow = serializers.BooleanField(default=False, help_text="Also add outputs that arrive while the study is live.")


class FollowRequest(serializers.Serializer[Any]):
    """Whether outputs that arrive later become items."""

    follow = serializers.BooleanField()


class ImportedShape(serializers.Serializer[Any]):
    """What an import did, or would do with ``dry_run``."""

    items = serializers.IntegerField(help_text="How many items the study has now.")
    dry_run = serializers.BooleanField(help_text="Whether nothing was written.")
    left_out = serializers.IntegerField(help_text="Samples of a run that are in no item.")
    warnings = serializers.ListField(child=serializers.CharField(), help_text="Such as items with the same texts.")
    suggestion = serializers.CharField(help_text="What the report compares besides the declared factors. May be empty.")


def item_as_json(row: ItemRow) -> dict[str, Any]:
    return {
        "item": row.item.external_id,
        "role": row.item.role,
        "source": row.item.source,
        "columns": row.cells,
        "wanted": row.wanted,
        "submissions": row.submissions,
        "synthetic": row.synthetic,
        "scores": [asdict(score) for score in row.scores],
        "arms": [asdict(arm) for arm in row.arms],
    }
