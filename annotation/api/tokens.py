"""The user's API tokens: a program lists them, makes weaker ones than its own, and revokes them."""

from __future__ import annotations

from typing import Any

from django.shortcuts import get_object_or_404
from django.urls import path
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.exceptions import PermissionDenied
from rest_framework.request import Request
from rest_framework.response import Response

from accounts import tokens as service
from accounts.models import ApiToken
from annotation.api.fields import Input
from annotation.api.paging import Pages
from annotation.api.views import Endpoint

STRONGER = (
    "The token of this request lacks the scope “{scope}”, which this token has. Revoke it on the page Your account."
)


class TokenShape(serializers.Serializer[Any]):
    """An API token, without its text."""

    id = serializers.IntegerField()
    name = serializers.CharField()
    scopes = serializers.ListField(child=serializers.ChoiceField(ApiToken.Scope.choices))
    created_at = serializers.DateTimeField()
    expires_at = serializers.DateTimeField(allow_null=True, help_text="Null: never.")
    last_used_at = serializers.DateTimeField(allow_null=True, help_text="To the minute.")
    made_with = serializers.IntegerField(
        source="made_with_id", allow_null=True, help_text="The token that made it, and with which it is revoked."
    )


class NewTokenShape(TokenShape):
    """A new token with its text, which no other answer has."""

    token = serializers.CharField(help_text="What a program sends. Save it now.")


class NewToken(Input):
    """What a new token is called, what it may do, and how long it works."""

    name = serializers.CharField(max_length=80, help_text="What you use it for.")
    scopes = serializers.ListField(
        child=serializers.ChoiceField(ApiToken.Scope.choices), default=[ApiToken.Scope.READ.value], min_length=1
    )
    expires_at = serializers.DateTimeField(
        required=False, allow_null=True, default=None, help_text="Null: it works until somebody revokes it."
    )


class NewestTokens(Pages):
    key = "-pk"


class Tokens(Endpoint):
    pagination_class = NewestTokens
    answers_secrets = True
    asks_again = ("POST",)

    @extend_schema(operation_id="tokens_list", responses=TokenShape(many=True))
    def get(self, request: Request) -> Response:
        """Lists your tokens that nobody has revoked, newest first."""
        page = self.paginate_queryset(service.tokens_of(self.user))
        return self.get_paginated_response(TokenShape(page, many=True).data)

    @extend_schema(operation_id="tokens_create", request=NewToken, responses={201: NewTokenShape})
    def post(self, request: Request) -> Response:
        """Creates a token. Its text is in this answer alone.

        With a token, you create only weaker ones: with scopes that it has itself, which expire no later. They are
        revoked with it. In a session, you create any.
        """
        sent, made_with = NewToken.of(request), request.auth
        new = service.create_token(
            user=self.user, made_with=made_with if isinstance(made_with, ApiToken) else None, **sent
        )
        return Response({**TokenShape(new.token).data, "token": new.text}, status=201)


class OneToken(Endpoint):
    @extend_schema(operation_id="tokens_revoke", responses={204: None})
    def delete(self, request: Request, id: int) -> Response:
        """Revokes a token of yours, with those that were made with it.

        A token can revoke itself, and others that have no scope which it lacks.
        """
        token: ApiToken = get_object_or_404(ApiToken, pk=id, user=self.user, revoked_at=None)
        if isinstance(request.auth, ApiToken):
            for scope in token.scopes:
                if not request.auth.allows(scope):
                    raise PermissionDenied(STRONGER.format(scope=scope))
        service.revoke_token(token=token, actor=self.actor)
        return Response(status=204)


urlpatterns = [
    path("tokens/", Tokens.as_view(), name="api_tokens"),
    path("tokens/<int:id>/", OneToken.as_view(), name="api_token"),
]
