"""Items: the list with scores, one item, and where items come from."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.api.paging import Pages
from annotation.api.parsing import text
from annotation.api.views import Endpoint
from annotation.models import Item
from annotation.studies import items_overview


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


class ItemPages(Pages):
    """In the order of the file."""

    key = "position"
    counted = True


class Items(Endpoint):
    pagination_class = ItemPages

    @extend_schema(
        operation_id="items_list",
        responses=ItemShape(many=True),
        parameters=[OpenApiParameter("q", str, description="Only items whose id or content contains this text.")],
    )
    def get(self, request: Request, slug: str) -> Response:
        """Lists the items in the order of the file, each with its scores so far."""
        study = self.study(answers=True)
        page: list[Item] = self.paginate_queryset(items_overview.find_items(study, text(request, "q"))) or []
        rows = [as_json(row) for row in items_overview.item_rows(study, page)]
        return self.get_paginated_response(ItemShape(rows, many=True).data)


def as_json(row: items_overview.ItemRow) -> dict[str, Any]:
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
