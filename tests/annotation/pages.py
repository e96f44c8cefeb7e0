"""A worker's browser for tests over HTTP: no cookies and no JavaScript; it sends what the page's form contains."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any

from django.http import HttpResponse
from django.test import Client
from django.urls import reverse

from annotation.models import Participant
from annotation.tokens import participant_token

if TYPE_CHECKING:
    from django.test.client import _MonkeyPatchedWSGIResponse as Response  # what the test client gives


class Fields(HTMLParser):
    """Names and values of the task's form as a browser without JavaScript would send them; and the page's text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.values: dict[str, str] = {}
        self.options: dict[str, list[str]] = {}
        self.words: list[str] = []
        self._area = ""
        self._first = False
        self.feed(html)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        name, value = found.get("name") or "", found.get("value") or ""
        if tag == "textarea":
            self._area, self._first = name, True
            self.values[name] = ""
        elif tag == "input" and found.get("type") in ("radio", "checkbox"):
            self.options.setdefault(name, []).append(value)
            if "checked" in found:
                self.values[name] = value
        elif tag == "input":
            self.values[name] = value

    def handle_endtag(self, tag: str) -> None:
        if tag == "textarea":
            self._area = ""

    def handle_data(self, data: str) -> None:
        if self._area:
            # The HTML standard drops one line break right after the tag.
            self.values[self._area] += data[1:] if self._first and data.startswith("\n") else data
            self._first = False
        else:
            self.words.append(data)


def fields(response: Response | HttpResponse) -> Fields:
    return Fields(response.content.decode())


class WorkerBrowser:
    """One participant's page."""

    def __init__(self, participant: Participant) -> None:
        self.client = Client()
        self.token = participant_token(participant.pk)
        self.url = reverse("work", args=[self.token])
        self.done_url = reverse("work_done", args=[self.token])

    def get(self, **headers: Any) -> Response:
        return self.client.get(self.url, headers=headers)

    def form(self) -> str:
        return fields(self.get()).values["form"]

    def post(self, form: str, **answers: str) -> Response:
        return self.client.post(self.url, {"form": form, **answers})

    def send(self, **answers: str) -> Response:
        """Send the step that is due, with these answers."""
        return self.post(self.form(), **answers)

    def draft(self, form: str, **answers: str) -> Response:
        return self.client.post(reverse("work_draft", args=[self.token]), {"form": form, **answers})

    def give_back(self, form: str) -> Response:
        return self.client.post(reverse("work_return", args=[self.token]), {"form": form})

    def finish(self, **last: str) -> Response:
        """Complete an absHDS hit."""
        self.send(own="I would ask the neighbours.")
        self.send(quality="4")
        return self.send(diversity="3.5", **last)
