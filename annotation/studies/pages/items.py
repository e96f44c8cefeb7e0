"""Looking at a study's items."""

from __future__ import annotations

from django.http import HttpResponse
from django.shortcuts import get_object_or_404
from django.views.decorators.http import require_safe

from annotation.models import Item, Study
from annotation.shell.page import SignedIn, member, page_of, query_without_page, study_page
from annotation.studies import items_overview
from annotation.studies.pages.item_source import source_of


@require_safe
@member(answers=True)
def items(request: SignedIn, study: Study) -> HttpResponse:
    text = request.GET.get("q", "").replace("\x00", "").strip()[:200]
    page = page_of(items_overview.find_items(study, text), request, 25)
    rows = items_overview.item_rows(study, list(page))
    context = {
        "page": page,
        "rows": rows,
        "scores": (scores := rows[0].whole_scores if rows else []),
        "worded": [score for score in scores if score.head != score.title],
        "text": text,
        "filters": query_without_page(request),
    }
    return study_page(request, study, "studies/items.html", context, section="items")


@require_safe
@member(answers=True)
def item(request: SignedIn, study: Study, pk: int) -> HttpResponse:
    shown_item = get_object_or_404(Item, pk=pk, study=study)
    [row] = items_overview.item_rows(study, [shown_item])
    context = {
        "item": shown_item,
        "cells": row.cells,
        "source": source_of(shown_item, request.user),
        "row": row,
        "has_arms": study.arms.count() > 1,
        "page": page_of(items_overview.ratings_of(shown_item), request),
        "previous": Item.objects.filter(study=study, position__lt=shown_item.position).order_by("-position").first(),
        "next": Item.objects.filter(study=study, position__gt=shown_item.position).order_by("position").first(),
    }
    return study_page(request, study, "studies/item.html", context, section="items")
