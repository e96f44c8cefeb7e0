"""The webhooks of a study, and one with its latest messages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect
from django.views.decorators.http import require_http_methods, require_POST

from annotation.models import Study, Webhook, WebhookDelivery
from annotation.shell.page import SignedIn, member, page_of, say_refused, study_page
from annotation.webhooks import managing, sending
from common.problems import Refused

SECTION = "members"
SHOWN_DELIVERIES = 50


class WebhookForm(forms.Form):
    """Where messages go, and for which events."""

    address = forms.CharField(
        label="Address",
        max_length=500,
        help_text="Where your program listens: an https address that the internet can reach.",
        widget=forms.URLInput(attrs={"placeholder": "https://example.org/hooks"}),
    )
    events = forms.MultipleChoiceField(
        label="When",
        choices=Webhook.Event.choices,
        widget=forms.CheckboxSelectMultiple,
        error_messages={"required": "Choose at least one event."},
    )

    def show(self, refused: Refused) -> None:
        """The service's reasons, each beside its field."""
        for problem in refused.problems:
            place = problem.where if problem.where in self.fields else None
            self.add_error(place, f"{problem.what} {problem.fix}".strip())


@require_http_methods(["GET", "HEAD", "POST"])
@member(read="editor")
def webhooks(request: SignedIn, study: Study) -> HttpResponse:
    """A POST makes a webhook. It does not redirect, because this response is the only page that shows the secret."""
    form = WebhookForm(request.POST if request.method == "POST" else None)
    new: managing.NewWebhook | None = None
    if form.is_valid():
        address, events, actor = form.cleaned_data["address"], form.cleaned_data["events"], request.user.get_username()
        try:
            new = managing.create_webhook(study=study, address=address, events=events, actor=actor)
        except Refused as refused:
            form.show(refused)
        else:
            form = WebhookForm()
    context = {"webhooks": Webhook.objects.filter(study=study), "form": form, "new": new}
    status = 422 if form.errors else 200
    return study_page(request, study, "webhooks/webhooks.html", context, section=SECTION, status=status)


@require_http_methods(["GET", "HEAD", "POST"])
@member(read="editor")
def webhook(request: SignedIn, study: Study, pk: int) -> HttpResponse:
    """One webhook and its messages. A POST changes its address or its events."""
    shown_webhook = get_object_or_404(Webhook, pk=pk, study=study)
    stored = {"address": shown_webhook.address, "events": shown_webhook.events}
    form = WebhookForm(request.POST if request.method == "POST" else None, initial=stored)
    if form.is_valid():
        try:
            managing.change_webhook(webhook=shown_webhook, actor=request.user.get_username(), **form.cleaned_data)
        except Refused as refused:
            form.show(refused)
        else:
            messages.success(request, "Saved.")
            return redirect("console_webhook", study.slug, pk)
    return _webhook_page(request, study, shown_webhook, form=form, status=422 if form.errors else 200)


@require_POST
@member()
def new_secret(request: SignedIn, study: Study, pk: int) -> HttpResponse:
    """Does not redirect: this response is the only page that shows the new secret."""
    changed_webhook = get_object_or_404(Webhook, pk=pk, study=study)
    secret = managing.replace_secret(webhook=changed_webhook, actor=request.user.get_username())
    stored = {"address": changed_webhook.address, "events": changed_webhook.events}
    return _webhook_page(request, study, changed_webhook, form=WebhookForm(initial=stored), secret=secret)


def _webhook_page(request: SignedIn, study: Study, shown_webhook: Webhook, **more: Any) -> HttpResponse:
    status = more.pop("status", 200)
    deliveries = WebhookDelivery.objects.filter(webhook=shown_webhook).order_by("-pk")
    context = {
        "webhook": shown_webhook,
        "page": page_of(deliveries, request, SHOWN_DELIVERIES),
        "most_tries": sending.MOST_TRIES,
        "kept_days": sending.KEPT.days,
        **more,
    }
    return study_page(request, study, "webhooks/webhook.html", context, section=SECTION, status=status)


def _acts(*, back_to_list: bool = False) -> Callable[[Callable[[Webhook, str], str]], Callable[..., HttpResponseBase]]:
    """A view for POST only that does this with a webhook and shows the sentence, or why it is impossible."""

    def view_of(act: Callable[[Webhook, str], str]) -> Callable[..., HttpResponseBase]:
        @require_POST
        @member()
        def view(request: SignedIn, study: Study, pk: int) -> HttpResponse:
            acted_on = get_object_or_404(Webhook.objects.select_related("study"), pk=pk, study=study)
            try:
                messages.success(request, act(acted_on, request.user.get_username()))
            except Refused as refused:
                say_refused(request, refused)
            if back_to_list:
                return redirect("console_webhooks", study.slug)
            return redirect("console_webhook", study.slug, pk)

        return view

    return view_of


@_acts()
def pause(webhook: Webhook, actor: str) -> str:
    managing.set_active(webhook=webhook, active=False, actor=actor)
    return "Paused: nothing is sent, and what happens in the meantime is not sent later."


@_acts()
def resume(webhook: Webhook, actor: str) -> str:
    managing.set_active(webhook=webhook, active=True, actor=actor)
    return "Messages are sent again."


@_acts()
def test(webhook: Webhook, actor: str) -> str:
    managing.send_test(webhook=webhook)
    return "A test is on its way. Reload this page in a few seconds to see the answer."


@_acts(back_to_list=True)
def delete(webhook: Webhook, actor: str) -> str:
    managing.delete_webhook(webhook=webhook, actor=actor)
    return "The webhook is deleted, with its messages."


@require_POST
@member()
def redeliver(request: SignedIn, study: Study, pk: int, delivery_pk: int) -> HttpResponse:
    deliveries = WebhookDelivery.objects.select_related("webhook__study")
    delivery = get_object_or_404(deliveries, pk=delivery_pk, webhook=pk, webhook__study=study)
    managing.redeliver(delivery=delivery, actor=request.user.get_username())
    messages.success(request, "The message is sent again, under the same id.")
    return redirect("console_webhook", study.slug, pk)
