"""What workers see, before anybody works: the pages of a hit, one by one."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from django.http import Http404, HttpResponse
from django.urls import reverse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.api.parsing import text
from annotation.api.views import Endpoint
from annotation.instrument import Instrument
from annotation.models import Arm, Item, Study
from annotation.studies.pages.preview_hits import PreviewedHit, hit_with
from annotation.studies.pages.preview_trial import open_trial
from annotation.task_types.base import Page
from annotation.work.pages.preview import Trial
from annotation.work.pages.start import start_context
from annotation.work.pages.worker_page import page

CHOICE = [
    OpenApiParameter("arm", str, description="The arm by its name; the first one by default."),
    OpenApiParameter("item", str, description="An item by its id: the hit with this item. By default, the first hit."),
]


class PreviewPageShape(serializers.Serializer[Any]):
    """A page that workers see. Page 0 is the start page."""

    number = serializers.IntegerField()
    name = serializers.CharField()
    title = serializers.CharField()
    item = serializers.CharField(allow_null=True, help_text="The id of the item that the page is about.")
    address = serializers.CharField(help_text="Where to get it as HTML.")


class PreviewShape(serializers.Serializer[Any]):
    """The pages of a hit. It is planned as for a launch, if that is possible already."""

    hit = serializers.IntegerField(allow_null=True, help_text="Its number in the arm; null for an example.")
    hits = serializers.IntegerField(help_text="How many hits the arm has.")
    items = serializers.ListField(child=serializers.CharField(), help_text="The ids of its items, in order.")
    pages = PreviewPageShape(many=True)


class PreviewEndpoint(Endpoint):
    """An address about the pages that workers see."""

    def chosen(self, study: Study) -> tuple[Arm | None, PreviewedHit | None, list[Page]]:
        """The arm, the hit and the hit's pages that the address asks for. Raises Http404."""
        arm_name, item_name = text(self.request, "arm"), text(self.request, "item")
        arm = study.arms.order_by("position").first()
        if arm_name:
            arm = study.arms.filter(name=arm_name).first()
            if arm is None:
                raise Http404(f"This study has no arm “{arm_name[:60]}”. Leave it out for the first one.")
        item = None
        if item_name:
            item = Item.objects.filter(study=study, external_id=item_name).first()
            if item is None:
                raise Http404(f"This study has no item “{item_name[:60]}”. Ids are those of the items file.")
        hit = hit_with(study, arm, item)
        pages = Trial(Instrument.of(study, arm), hit.items, seed=study.seed).all_pages() if hit else []
        return arm, hit, pages


class Preview(PreviewEndpoint):
    @extend_schema(operation_id="preview_get", responses=PreviewShape, parameters=CHOICE)
    def get(self, request: Request, slug: str) -> Response:
        """Gets the pages that workers see, for one hit of one arm. Only the start page if there are no items."""
        _, hit, pages = self.chosen(self.study())
        names = [item.external_id for item in hit.items] if hit else []
        query = {name: text(request, name) for name in ("arm", "item") if text(request, name)}

        def address(number: int) -> str:
            path = reverse("api_preview_page", args=[slug, number])
            return f"{path}?{urlencode(query)}" if query else path

        start = {"number": 0, "name": "start", "title": "Start", "item": None, "address": address(0)}
        shown = [
            {
                "number": number,
                "name": shown_page.name,
                "title": shown_page.title,
                "item": None if shown_page.item is None else names[shown_page.item],
                "address": address(number),
            }
            for number, shown_page in enumerate(pages, 1)
        ]
        answer = {
            "hit": hit.number if hit else None,
            "hits": hit.total if hit else 0,
            "items": names,
            "pages": [start, *shown],
        }
        return Response(PreviewShape(answer).data)


class PreviewPage(PreviewEndpoint):
    answers_files = True

    @extend_schema(operation_id="preview_page", responses={(200, "text/html"): OpenApiTypes.STR}, parameters=CHOICE)
    def get(self, request: Request, slug: str, number: int) -> HttpResponse:
        """Gets a page as workers see it, as HTML. Page 0 is the start page."""
        study = self.study()
        arm, hit, pages = self.chosen(study)
        if number > len(pages) or (number and hit is None):
            raise Http404(f"There is no page {number:,}. The last one is page {len(pages)}.")
        console = f"{reverse('console_preview_page', args=[study.slug])}?"
        if number == 0 or hit is None:
            start = {"start": "", "preview_url": f"{console}step=1", "problems": []}
            return page("work/start.html", start_context(study, arm) | start)
        return open_trial(study, arm, hit, console, page_number=number, steps=len(pages))
