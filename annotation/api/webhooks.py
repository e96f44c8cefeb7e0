"""The webhooks of a study: addresses that get a signed message when something happens in it."""

from __future__ import annotations

from typing import Any

from django.shortcuts import get_object_or_404
from django.urls import path
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.api.fields import Input, Nothing
from annotation.api.paging import Pages
from annotation.api.roles import EDITS
from annotation.api.views import Endpoint
from annotation.models import Webhook, WebhookDelivery
from annotation.webhooks import managing

STUDY = "studies/<slug:slug>/"


class WebhookShape(serializers.Serializer[Any]):
    """A webhook, without its secret."""

    id = serializers.IntegerField()
    address = serializers.CharField(help_text="Where messages go.")
    events = serializers.ListField(child=serializers.ChoiceField(Webhook.Event.choices))
    active = serializers.BooleanField(help_text="False: paused. What happens meanwhile is never sent.")
    created_by = serializers.CharField()
    created_at = serializers.DateTimeField()
    failing_since = serializers.DateTimeField(allow_null=True, help_text="Null: the last message arrived.")


class NewWebhookShape(WebhookShape):
    """A webhook with its secret, which no other answer has."""

    secret = serializers.CharField(help_text="It signs every message. Save it now.")


class SecretShape(serializers.Serializer[Any]):
    """A new secret, which no other answer has."""

    secret = serializers.CharField(help_text="It signs every message from now on. Save it now.")


class DeliveryShape(serializers.Serializer[Any]):
    """A message to a webhook, and what came of it."""

    id = serializers.IntegerField()
    message = serializers.CharField(source="message_id", help_text="The header `webhook-id`.")
    event = serializers.CharField(help_text="One of the events, or `webhook.test`.")
    state = serializers.ChoiceField(WebhookDelivery.State.choices)
    attempts = serializers.IntegerField()
    created_at = serializers.DateTimeField()
    tried_at = serializers.DateTimeField(allow_null=True)
    next_at = serializers.DateTimeField(allow_null=True, help_text="When it is tried again. Null: never.")
    status = serializers.IntegerField(allow_null=True, help_text="Of the last answer. Null: there was none.")
    seconds = serializers.FloatField(allow_null=True, help_text="How long the last answer took.")
    answer = serializers.CharField(allow_blank=True, help_text="Its first line, or what went wrong.")


class Events(serializers.ListField):
    def __init__(self, **kwargs: Any) -> None:
        child = serializers.ChoiceField(Webhook.Event.choices)
        super().__init__(child=child, min_length=1, help_text="What it gets messages about.", **kwargs)


class NewWebhook(Input):
    """Where messages go, and about what."""

    address = serializers.CharField(max_length=500, help_text="An https address that the internet can reach.")
    events = Events()


class WebhookChanges(Input):
    """What changes. Keys that are left out stay."""

    address = serializers.CharField(required=False, max_length=500)
    events = Events(required=False)
    active = serializers.BooleanField(required=False, help_text="False pauses it.")


class NewestDeliveries(Pages):
    key = "-pk"


class WebhookEndpoint(Endpoint):
    """About the webhooks of a study, for its editors."""

    def webhook(self) -> Webhook:
        rows = Webhook.objects.select_related("study").filter(study=self.study(EDITS))
        webhook: Webhook = get_object_or_404(rows, pk=self.kwargs["id"])
        return webhook


class Webhooks(WebhookEndpoint):
    answers_secrets = True

    @extend_schema(operation_id="webhooks_list", responses=WebhookShape(many=True))
    def get(self, request: Request, slug: str) -> Response:
        """Lists the webhooks of the study."""
        page = self.paginate_queryset(Webhook.objects.filter(study=self.study(EDITS)))
        return self.get_paginated_response(WebhookShape(page, many=True).data)

    @extend_schema(operation_id="webhooks_create", request=NewWebhook, responses={201: NewWebhookShape})
    def post(self, request: Request, slug: str) -> Response:
        """Creates a webhook. Its secret is in this answer alone."""
        study, sent = self.study(EDITS), NewWebhook.of(request)
        new = managing.create_webhook(study=study, actor=self.actor, **sent)
        return Response({**WebhookShape(new.webhook).data, "secret": new.secret}, status=201)


class OneWebhook(WebhookEndpoint):
    @extend_schema(operation_id="webhooks_get", responses=WebhookShape)
    def get(self, request: Request, slug: str, id: int) -> Response:
        """Gets one webhook."""
        return Response(WebhookShape(self.webhook()).data)

    @extend_schema(operation_id="webhooks_change", request=WebhookChanges, responses=WebhookShape)
    def patch(self, request: Request, slug: str, id: int) -> Response:
        """Changes where messages go or about what, pauses a webhook or resumes it."""
        webhook, sent = self.webhook(), WebhookChanges.of(request)
        if {"address", "events"} & set(sent):
            address, events = sent.get("address", webhook.address), sent.get("events", webhook.events)
            managing.change_webhook(webhook=webhook, address=address, events=events, actor=self.actor)
        if "active" in sent:
            managing.set_active(webhook=webhook, active=sent["active"], actor=self.actor)
        webhook.refresh_from_db()
        return Response(WebhookShape(webhook).data)

    @extend_schema(operation_id="webhooks_delete", responses={204: None})
    def delete(self, request: Request, slug: str, id: int) -> Response:
        """Deletes a webhook with its messages, sent or not."""
        managing.delete_webhook(webhook=self.webhook(), actor=self.actor)
        return Response(status=204)


class WebhookSecret(WebhookEndpoint):
    answers_secrets = True

    @extend_schema(operation_id="webhooks_replace_secret", request=Nothing, responses=SecretShape)
    def post(self, request: Request, slug: str, id: int) -> Response:
        """Makes a new secret, which signs every message from now on. It is in this answer alone."""
        return Response({"secret": managing.replace_secret(webhook=self.webhook(), actor=self.actor)})


class WebhookTest(WebhookEndpoint):
    @extend_schema(operation_id="webhooks_test", request=Nothing, responses={202: DeliveryShape})
    def post(self, request: Request, slug: str, id: int) -> Response:
        """Sends a message that says only that it is a test. Look for it among the deliveries."""
        return Response(DeliveryShape(managing.send_test(webhook=self.webhook())).data, status=202)


class WebhookDeliveries(WebhookEndpoint):
    pagination_class = NewestDeliveries

    @extend_schema(operation_id="webhooks_deliveries", responses=DeliveryShape(many=True))
    def get(self, request: Request, slug: str, id: int) -> Response:
        """Lists the messages to a webhook, newest first. Settled ones are deleted after 30 days."""
        page = self.paginate_queryset(WebhookDelivery.objects.filter(webhook=self.webhook()))
        return self.get_paginated_response(DeliveryShape(page, many=True).data)


class WebhookRedelivery(WebhookEndpoint):
    @extend_schema(operation_id="webhooks_redeliver", request=Nothing, responses={202: DeliveryShape})
    def post(self, request: Request, slug: str, id: int, delivery: int) -> Response:
        """Sends a message again, under the same id."""
        rows = WebhookDelivery.objects.select_related("webhook__study").filter(webhook=self.webhook())
        message = get_object_or_404(rows, pk=delivery)
        managing.redeliver(delivery=message, actor=self.actor)
        message.refresh_from_db()
        return Response(DeliveryShape(message).data, status=202)


OF_A_STUDY = STUDY + "webhooks/"
urlpatterns = [
    path(OF_A_STUDY, Webhooks.as_view(), name="api_webhooks"),
    path(OF_A_STUDY + "<int:id>/", OneWebhook.as_view(), name="api_webhook"),
    path(OF_A_STUDY + "<int:id>/secret/", WebhookSecret.as_view(), name="api_webhook_secret"),
    path(OF_A_STUDY + "<int:id>/test/", WebhookTest.as_view(), name="api_webhook_test"),
    path(OF_A_STUDY + "<int:id>/deliveries/", WebhookDeliveries.as_view(), name="api_webhook_deliveries"),
    path(
        OF_A_STUDY + "<int:id>/deliveries/<int:delivery>/redeliver/",
        WebhookRedelivery.as_view(),
        name="api_webhook_redeliver",
    ),
]
