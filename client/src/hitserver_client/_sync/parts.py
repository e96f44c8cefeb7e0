# Made from _async/parts.py by make_sync.py. Change that file, then run make_sync.py.
"""What a study has several of: arms, members, webhooks, images, personal links, and texts that several people coded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from hitserver_client._sync.transport import Transport
from hitserver_client.tables import Upload, existing

Json = dict[str, Any]


def part(name: object) -> str:
    """A name as one part of an address, whatever characters it has."""
    return quote(str(name), safe="")


class Part:
    """What is listed at one address, and one of them below it."""

    def __init__(self, transport: Transport, path: str) -> None:
        self._transport, self._path = transport, path

    def all(self) -> list[Json]:
        """All of them."""
        return [row for row in self._transport.rows(self._path)]

    def _one(self, name: object, rest: str = "") -> str:
        return f"{self._path}{part(name)}/{rest}"

    def _send(self, method: str, path: str, body: Any = None, key: str | None = None) -> Json:
        return dict((self._transport.send(method, path, body=body, key=key)).body or {})


class Arms(Part):
    """The arms of a study. Only a draft's can be created, renamed or deleted."""

    def get(self, name: str) -> Json:
        """One arm with its settings and texts."""
        return self._send("GET", self._one(name))

    def create(self, name: str, *, key: str | None = None, **terms: Any) -> Json:
        """Add an arm. ``terms``: ``reward``, ``wanted``, ``config``, ``texts``, ``factors``."""
        return self._send("POST", self._path, {"name": name, **terms}, key)

    def change(self, arm: str, *, key: str | None = None, **changes: Any) -> Json:
        """Change what is named, such as ``reward="0.20"``. ``name`` gives it another name."""
        return self._send("PATCH", self._one(arm), changes, key)

    def delete(self, name: str) -> None:
        """Delete an arm of a draft."""
        self._send("DELETE", self._one(name))


class Members(Part):
    """The people of a study or a team: ``owner``, ``editor``, ``viewer``, ``payer`` or ``coder``."""

    def put(self, user: str, role: str, *, key: str | None = None) -> Json:
        """Make somebody a member, or give a member another role."""
        return self._send("PUT", self._one(user), {"role": role}, key)

    def remove(self, user: str) -> None:
        """Take somebody out."""
        self._send("DELETE", self._one(user))


class Webhooks(Part):
    """Addresses that get a signed message when something happens."""

    def get(self, id: int) -> Json:
        """One webhook, without its secret."""
        return self._send("GET", self._one(id))

    def create(self, address: str, events: Sequence[str], *, key: str | None = None) -> Json:
        """Create a webhook. Save the ``secret`` in the answer: nothing shows it again."""
        return self._send("POST", self._path, {"address": address, "events": list(events)}, key)

    def change(self, id: int, *, key: str | None = None, **changes: Any) -> Json:
        """Change its ``address`` or its ``events``; ``active=False`` pauses it."""
        return self._send("PATCH", self._one(id), changes, key)

    def delete(self, id: int) -> None:
        """Delete it with its messages, sent or not."""
        self._send("DELETE", self._one(id))

    def replace_secret(self, id: int, *, key: str | None = None) -> str:
        """Make a new secret, which signs every message from now on."""
        return str((self._send("POST", self._one(id, "secret/"), key=key))["secret"])

    def test(self, id: int, *, key: str | None = None) -> Json:
        """Send a message that says only that it is a test."""
        return self._send("POST", self._one(id, "test/"), key=key)

    def deliveries(self, id: int) -> Iterator[Json]:
        """The messages that it got, newest first, and what came of them."""
        return self._transport.rows(self._one(id, "deliveries/"))

    def redeliver(self, id: int, delivery: int, *, key: str | None = None) -> Json:
        """Send a message again."""
        return self._send("POST", self._one(id, f"deliveries/{part(delivery)}/redeliver/"), key=key)


class Judges(Part):
    """Language models that answer the study's pages, beside people."""

    def get(self, id: int) -> Json:
        """One judge with its settings and its progress."""
        return self._send("GET", self._one(id))

    def forecast(self, model: str, *, key: str | None = None, **settings: Any) -> Json:
        """What a judge with these settings would read, write and cost. Nothing starts."""
        return self._send("POST", f"{self._path}forecast/", {"model": model, **settings}, key)

    def create(self, model: str, *, key: str | None = None, **settings: Any) -> Json:
        """Start a judge, such as ``samples=2, cap_usd="5"``. It answers in the background."""
        return self._send("POST", self._path, {"model": model, **settings}, key)

    def stop(self, id: int, *, key: str | None = None) -> Json:
        """Stop it. What it has answered stays."""
        return self._send("POST", self._one(id, "stop/"), key=key)

    def resume(self, id: int, *, key: str | None = None, **caps: Any) -> Json:
        """Continue it, with a higher ``cap_usd`` or ``cap_tokens``."""
        return self._send("POST", self._one(id, "resume/"), caps, key)


class Images(Part):
    """The images of a draft, which its items name."""

    def upload(self, path: str | Path, *, alt: str, key: str | None = None) -> Json:
        """Add an image. ``alt`` describes it to people who cannot see it."""
        upload = Upload(existing(path), {"alt": alt})
        return dict(self._transport.post(self._path, upload=upload, key=key))

    def delete(self, id: int) -> None:
        """Delete an image that no item shows."""
        self._send("DELETE", self._one(id))


class Links(Part):
    """Personal links: whoever has one counts as the person."""

    def create(self, names: Sequence[str], *, key: str | None = None) -> list[Json]:
        """Make a link for each person. The same name always gets the same link."""
        return list((self._send("POST", self._path, {"names": list(names)}, key))["results"])

    def create_for(self, study: str, *, key: str | None = None) -> list[Json]:
        """Make a link for everybody who took part in another study."""
        return list((self._send("POST", self._path, {"participants_of": study}, key))["results"])

    def revoke(self, id: int) -> None:
        """Make a link that nobody has used open nothing."""
        self._send("DELETE", self._one(id))


class Coding(Part):
    """Items that several coders labelled, and their final labels."""

    def differing(self) -> list[Json]:
        """Only the items about which the coders differ."""
        return [row for row in self._transport.rows(self._path, differ="true")]

    def settle(
        self, item: str, chosen: Sequence[Mapping[str, Any]], *, note: str = "", key: str | None = None
    ) -> Json:
        """Give an item its final labels, one for each question."""
        body = {"chosen": [dict(label) for label in chosen], "note": note}
        return self._send("POST", self._one(item, "settle/"), body, key)
