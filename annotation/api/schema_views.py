"""The addresses that describe the API: its schema for programs, and a page for people."""

from __future__ import annotations

import json
from typing import Any

import yaml
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from annotation.api.problems import KINDS
from annotation.api.reference import operations_by_subject, shapes
from annotation.api.schema import SCOPES, document


@require_safe
def schema(request: HttpRequest) -> HttpResponse:
    """The OpenAPI schema: as JSON, or as YAML with ``?format=yaml`` or ``Accept: application/yaml``."""
    wants_yaml = "yaml" in (request.GET.get("format") or request.headers.get("Accept", ""))
    if wants_yaml:
        text = yaml.safe_dump(json.loads(json.dumps(document())), sort_keys=False, allow_unicode=True)
        return HttpResponse(text, content_type="application/yaml; charset=utf-8")
    return HttpResponse(json.dumps(document(), ensure_ascii=False), content_type="application/json")


@require_safe
def docs(request: HttpRequest) -> HttpResponse:
    """Every address with what it takes and answers, and every kind of problem."""
    context: dict[str, Any] = {
        # Pairs, because there is a subject called “items”, and a template would take it for the method.
        "subjects": list(operations_by_subject(document()).items()),
        "shapes": list(shapes(document()).items()),
        "kinds": KINDS,
        "scopes": SCOPES,
    }
    return render(request, "api/docs.html", context)
