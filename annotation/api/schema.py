"""The OpenAPI schema: made from the views, with the problems, scopes and words that all of them share."""

from __future__ import annotations

from functools import cache
from typing import Any

from django.urls import include, path
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.plumbing import get_doc
from drf_spectacular.settings import patched_settings
from drf_spectacular.utils import OpenApiParameter
from rest_framework import serializers
from rest_framework.permissions import SAFE_METHODS

from annotation.api.idempotency import HEADER
from annotation.api.problems import CONTENT_TYPE, KINDS

SCOPES = {
    "read": "read everything that its user can see",
    "collect": "create and change studies, and run them without spending money on a platform",
    "pay": "spend money: post on a platform, approve, pay bonuses",
}

#: The parts of a study that are subjects in the description.
OWN_SUBJECTS = (
    *("items", "ratings", "members", "arms", "factors", "wording", "preview", "platform", "submissions", "workers"),
    *("payments", "quality", "coding", "exports", "edits", "team"),
    *("webhooks", "images", "links"),
)
#: Of drf-spectacular.
SETTINGS: dict[str, Any] = {
    "TITLE": "HITServer",
    "DESCRIPTION": "Human evaluations of generated text: set up studies, run them, and fetch what people answered.",
    "VERSION": "1",
    "OAS_VERSION": "3.1.0",
    "LICENSE": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
    "COMPONENT_SPLIT_REQUEST": True,
    "COMPONENT_SPLIT_PATCH": False,
    "POSTPROCESSING_HOOKS": [],
    "APPEND_COMPONENTS": {
        "securitySchemes": {
            "token": {"type": "http", "scheme": "bearer", "description": "An API token, from the page Your account."},
            "session": {"type": "apiKey", "in": "cookie", "name": "sessionid", "description": "The console's session."},
        }
    },
}


class ProblemReason(serializers.Serializer[Any]):
    """One thing to fix."""

    reason = serializers.CharField(help_text="What is wrong.")
    fix = serializers.CharField(help_text="What to do about it. May be empty.")
    field = serializers.CharField(help_text="The key as in a study file, or the parameter. May be empty.")
    row = serializers.IntegerField(allow_null=True, help_text="The row of a table, from 1 below the header.")
    column = serializers.CharField(allow_null=True, help_text="The column of a table.")


class Problem(serializers.Serializer[Any]):
    """Problem details (RFC 9457)."""

    type = serializers.CharField(help_text="The address of the page that explains this kind of problem.")
    title = serializers.CharField(help_text="The kind of problem in words.")
    status = serializers.IntegerField(help_text="The HTTP status.")
    detail = serializers.CharField(help_text="What happened, in a sentence for people.")
    errors = ProblemReason(many=True, help_text="Every reason.")  # type: ignore[assignment]  # no longer on the class


class Schema(AutoSchema):
    """Describes a view by the docstrings of its handlers, and adds the problems that it can answer."""

    view: Any

    def get_override_parameters(self) -> list[Any]:
        """Every write takes a key."""
        if self.method in SAFE_METHODS:
            return []
        words = "Send the same key again to repeat the request without doing it twice. A new UUID for a new request."
        return [OpenApiParameter(HEADER, str, OpenApiParameter.HEADER, description=words)]

    def get_operation(self, *args: Any, **kwargs: Any) -> dict[str, Any] | None:
        operation: dict[str, Any] | None = super().get_operation(*args, **kwargs)
        if operation is None:
            return None
        words = get_doc(getattr(self.view, self.method.lower()))
        operation["summary"] = words.partition(".")[0].partition(":")[0]
        operation["description"] = f"{words}\n\nNeeds the scope `{self.view.needed_scope(self.method)}`."
        statuses = {400, 401, 403, 404, 406, 429, *self.view.more_problems}
        if self.method not in SAFE_METHODS:
            statuses |= {409, 413, 415, 422}
        content = {CONTENT_TYPE: {"schema": self.resolve_serializer(Problem(), "response").ref}}
        for status in sorted(statuses):
            operation["responses"].setdefault(str(status), {"description": KINDS[status].meaning, "content": content})
        return operation

    def get_tags(self) -> list[str]:
        """The first part of the address, or what a study has there."""
        parts = [part for part in self.path.split("/")[3:] if part]
        return [parts[2] if len(parts) > 2 and parts[2] in OWN_SUBJECTS else parts[0]]

    def get_auth(self) -> list[dict[str, Any]]:
        return [{"token": [self.view.needed_scope(self.method)]}, {"session": []}]

    def _get_serializer_name(self, serializer: Any, direction: Any, bypass_extensions: bool = False) -> str:
        """The class's name without “Shape”: clients have types of these names."""
        name: str = super()._get_serializer_name(serializer, direction, bypass_extensions)
        return name.replace("Shape", "").replace("RequestRequest", "Request")


@cache
def document() -> dict[str, Any]:
    """The schema as a document. It is the same for everybody."""
    generator: Any = SchemaGenerator  # its package declares no types for it
    with patched_settings(SETTINGS):
        patterns = [path("api/v1/", include("annotation.api.urls"))]
        openapi: dict[str, Any] = generator(patterns=patterns).get_schema(public=True)
    return openapi
