"""People with a browser, for benches that run on any state of the code: they know addresses and forms, no module.

The browser is Django's test client, so everything happens in this process.
"""

from __future__ import annotations

import io
import random
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any
from urllib.parse import urljoin, urlsplit

PORT = 8345
ADDRESS = f"http://127.0.0.1:{PORT}"
#: Ten words: as many as any example study asks for, and fewer than any allows.
SENTENCE = "Somebody left the old {noun} on the bridge last {day} evening."
NOUNS = ("bicycle", "lantern", "piano", "suitcase", "umbrella", "letter", "camera", "basket")
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
LONGEST_WAIT = 20.0


class Stuck(Exception):
    """A page is not what it should be."""


@dataclass
class Form:
    """A form on a page: its address, fields with a value, and the options of radio buttons, checkboxes and lists."""

    action: str
    values: dict[str, str] = field(default_factory=dict)
    options: dict[str, list[str]] = field(default_factory=dict)
    boxes: list[tuple[str, str]] = field(default_factory=list)
    empty: list[str] = field(default_factory=list)
    numbers: list[str] = field(default_factory=list)

    def filled(self, rng: random.Random) -> dict[str, str]:
        """What a person could send, who skips nothing. ``feedback`` stays as it is, and so do hidden fields."""
        answers = dict(self.values)
        answers |= {name: rng.choice(options) for name, options in self.options.items()}
        texts = rng.sample([SENTENCE.format(noun=noun, day=day) for noun in NOUNS for day in DAYS], len(self.empty))
        answers |= dict(zip(self.empty, texts, strict=True))
        answers |= {name: str(rng.randint(1, 9)) for name in self.numbers}
        ticked = [box for box in self.boxes if rng.random() < 0.4] or self.boxes[:1]
        return answers | dict(ticked)


class Page(HTMLParser):
    """A page's forms, links and frame."""

    def __init__(self, url: str, html: str) -> None:
        super().__init__()
        self.url, self.html = url, html
        self.forms: list[Form] = []
        self.links: list[str] = []
        self.frame = ""
        self.waits = False
        self._list = ""
        self._area = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        self.waits = self.waits or values.get("id") in ("waiting", "pull-waiting")
        if tag == "a" and values.get("href"):
            self.links.append(urljoin(self.url, values["href"]))
        elif tag == "iframe":
            self.frame = urljoin(self.url, values.get("src", ""))
        elif tag == "form":
            self.forms.append(Form(urljoin(self.url, values.get("action") or self.url)))
        elif self.forms:
            self._read_field(tag, values)

    def _read_field(self, tag: str, values: dict[str, str]) -> None:
        form, name, kind = self.forms[-1], values.get("name", ""), values.get("type", "text")
        if tag == "select":
            self._list = name
        elif tag == "option" and self._list and values.get("value"):
            form.options.setdefault(self._list, []).append(values["value"])
        elif tag == "textarea" and name:
            self._area = name
            form.values[name] = ""
            if name != "feedback":
                form.empty.append(name)
        elif tag == "input" and name and "disabled" not in values:
            if kind == "radio":
                form.options.setdefault(name, []).append(values.get("value", "on"))
            elif kind == "checkbox":
                form.boxes.append((name, values.get("value", "on")))
            elif kind == "number":
                form.numbers.append(name)
            elif kind == "text" and not values.get("value"):
                form.empty.append(name)
            elif kind not in ("submit", "button", "file"):
                form.values[name] = values.get("value", "")

    def handle_data(self, data: str) -> None:
        if self._area and data.strip():  # the box holds a text already
            self.forms[-1].values[self._area] = data.strip()
            if self._area in self.forms[-1].empty:
                self.forms[-1].empty.remove(self._area)

    def handle_endtag(self, tag: str) -> None:
        if tag == "select":
            self._list = ""
        elif tag == "textarea":
            self._area = ""

    def form(self, action: str) -> Form:
        """The first form whose path matches the pattern. Raises Stuck."""
        for form in self.forms:
            if re.search(action, urlsplit(form.action).path):
                return form
        raise Stuck(f"{self.url} has no form for {action}")


class Visitor:
    """A browser with cookies. ``user`` signs in at once."""

    def __init__(self, user: Any = None) -> None:
        from django.test import Client

        self.client = Client(SERVER_NAME="127.0.0.1", SERVER_PORT=str(PORT))
        if user is not None:
            self.client.force_login(user)

    def get(self, url: str) -> Page:
        """The page after any redirects. Raises Stuck unless its status is 200."""
        return self._page(self.client.get(_path(url), follow=True))

    def post(self, url: str, values: dict[str, str]) -> Page:
        """The same for a form that is sent."""
        return self._page(self.client.post(_path(url), values, follow=True))

    def _page(self, response: Any) -> Page:
        url = response.request["PATH_INFO"]
        query = response.request.get("QUERY_STRING", "")
        content = b"".join(response.streaming_content) if response.streaming else response.content
        if response.status_code != 200:
            raise Stuck(f"{url} answered {response.status_code}: {content[:300]!r}")
        return Page(ADDRESS + url + (f"?{query}" if query else ""), content.decode())


def _path(url: str) -> str:
    parts = urlsplit(url)
    return parts.path + (f"?{parts.query}" if parts.query else "")


# --- A worker ---


def enter(visitor: Visitor, url: str) -> Page:
    """Passes the start page, which may ask for consent. Returns the first page of the work."""
    page = visitor.get(url)
    if not any("start" in form.values or "agree" in dict(form.boxes) for form in page.forms):
        return page
    form = page.forms[0]
    return visitor.post(form.action, form.values | dict(form.boxes))


def work_form(page: Page) -> Form | None:
    """The form with the page's answers; None if the page asks for nothing."""
    own = (form for form in page.forms if re.fullmatch(r"/w/[^/]+/", urlsplit(form.action).path))
    return next((form for form in own if form.values.get("form")), None)


def answered(page: Page, rng: random.Random) -> tuple[str, dict[str, str]] | None:
    """Where the page's answers go, and answers; None if the page asks for nothing."""
    form = work_form(page)
    return (form.action, form.filled(rng)) if form else None


def steps(visitor: Visitor, page: Page, rng: random.Random, *, most: int = 1000) -> Iterator[Page]:
    """Answers up to ``most`` pages and yields what each led to. Ends at a page without a form."""
    for _ in range(most):
        page = _loaded(visitor, page)
        if (sent := answered(page, rng)) is None:
            return
        page = visitor.post(*sent)
        yield page


def _loaded(visitor: Visitor, page: Page) -> Page:
    """The page, as soon as it no longer waits for suggestions."""
    give_up = time.monotonic() + LONGEST_WAIT
    while page.waits and time.monotonic() < give_up:
        time.sleep(0.2)
        page = visitor.get(page.url)
    return page


# --- The marketplace ---


def join_marketplace(link: str, name: str) -> Visitor:
    """A new worker of the marketplace, signed in. Raises Stuck."""
    visitor = Visitor()
    page = visitor.get(link)
    form = next((form for form in page.forms if "password" in form.values), None)  # others choose the language
    if form is None:
        raise Stuck(f"{page.url} has no form for a new account.")
    visitor.post(form.action, form.values | {"username": name, "password": f"long enough for {name}", "country": "DE"})
    return visitor


def accept_hit(visitor: Visitor) -> Page:
    """The task's page after the worker accepts the first HIT on offer. Raises Stuck."""
    form = visitor.get("/marketplace/").form(r"/accept$")
    return visitor.post(form.action, form.values)


def do_hit(task: Page, rng: random.Random) -> None:
    """Answers the study's pages in the task's frame, without a cookie, and submits the HIT. Raises Stuck."""
    frame = Visitor()
    page = enter(frame, task.frame)
    for following in steps(frame, page, rng):
        page = following
    form = page.form(r"/mturk/externalSubmit$")
    Visitor().post(form.action, form.values)


def answer_boto3_here() -> None:
    """From now on, calls of boto3 to this server's address are answered in this process, without a server."""
    import boto3.session

    original = boto3.session.Session.client

    def client(session: Any, *arguments: Any, **options: Any) -> Any:
        new = original(session, *arguments, **options)
        new.meta.events.register_first("before-send", _send_here)
        return new

    boto3.session.Session.client = client


def _send_here(request: Any, **_: Any) -> Any:
    from botocore.awsrequest import AWSResponse
    from django.test import Client

    headers = {name: value.decode() if isinstance(value, bytes) else value for name, value in request.headers.items()}
    body = request.body.encode() if isinstance(request.body, str) else bytes(request.body or b"")
    content_type = next((value for name, value in headers.items() if name.lower() == "content-type"), "")
    others = {name: value for name, value in headers.items() if name.lower() not in ("content-type", "content-length")}
    response: Any = Client(raise_request_exception=False).generic(
        request.method,
        urlsplit(request.url).path,
        body,
        content_type,
        headers={"Host": urlsplit(request.url).netloc} | others,
    )
    return AWSResponse(request.url, response.status_code, dict(response.headers), _Raw(response.content))


class _Raw(io.BytesIO):
    def stream(self, **_: Any) -> Iterator[bytes]:
        yield self.read()
