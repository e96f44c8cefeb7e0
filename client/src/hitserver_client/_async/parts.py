"""What a study has several of: arms, members, webhooks, images, personal links, and texts that several people coded."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from hitserver_client._async.transport import AsyncTransport
from hitserver_client.tables import Upload, existing

Json = dict[str, Any]


def part(name: object) -> str:
    """A name as one part of an address, whatever characters it has."""
    return quote(str(name), safe="")


class AsyncPart:
    """What is listed at one address, and one of them below it."""

    def __init__(self, transport: AsyncTransport, path: str) -> None:
        self._transport, self._path = transport, path

    async def all(self) -> list[Json]:
        """All of them."""
        return [row async for row in self._transport.rows(self._path)]

    def _one(self, name: object, rest: str = "") -> str:
        return f"{self._path}{part(name)}/{rest}"

    async def _send(self, method: str, path: str, body: Any = None, key: str | None = None) -> Json:
        return dict((await self._transport.send(method, path, body=body, key=key)).body or {})


class AsyncArms(AsyncPart):
    """The arms of a study. Only a draft's can be created, renamed or deleted."""

    async def get(self, name: str) -> Json:
        """One arm with its settings and texts."""
        return await self._send("GET", self._one(name))

    async def create(self, name: str, *, key: str | None = None, **terms: Any) -> Json:
        """Add an arm. ``terms``: ``reward``, ``wanted``, ``config``, ``texts``, ``factors``."""
        return await self._send("POST", self._path, {"name": name, **terms}, key)

    async def change(self, arm: str, *, key: str | None = None, **changes: Any) -> Json:
        """Change what is named, such as ``reward="0.20"``. ``name`` gives it another name."""
        return await self._send("PATCH", self._one(arm), changes, key)

    async def delete(self, name: str) -> None:
        """Delete an arm of a draft."""
        await self._send("DELETE", self._one(name))


class AsyncMembers(AsyncPart):
    """The people of a study or a team: ``owner``, ``editor``, ``viewer``, ``payer`` or ``coder``."""

    async def put(self, user: str, role: str, *, key: str | None = None) -> Json:
        """Make somebody a member, or give a member another role."""
        return await self._send("PUT", self._one(user), {"role": role}, key)

    async def remove(self, user: str) -> None:
        """Take somebody out."""
        await self._send("DELETE", self._one(user))


class AsyncWebhooks(AsyncPart):
    """Addresses that get a signed message when something happens."""

    async def get(self, id: int) -> Json:
        """One webhook, without its secret."""
        return await self._send("GET", self._one(id))

    async def create(self, address: str, events: Sequence[str], *, key: str | None = None) -> Json:
        """Create a webhook. Save the ``secret`` in the answer: nothing shows it again."""
        return await self._send("POST", self._path, {"address": address, "events": list(events)}, key)

    async def change(self, id: int, *, key: str | None = None, **changes: Any) -> Json:
        """Change its ``address`` or its ``events``; ``active=False`` pauses it."""
        return await self._send("PATCH", self._one(id), changes, key)

    async def delete(self, id: int) -> None:
        """Delete it with its messages, sent or not."""
        await self._send("DELETE", self._one(id))

    async def replace_secret(self, id: int, *, key: str | None = None) -> str:
        """Make a new secret, which signs every message from now on."""
        return str((await self._send("POST", self._one(id, "secret/"), key=key))["secret"])

    async def test(self, id: int, *, key: str | None = None) -> Json:
        """Send a message that says only that it is a test."""
        return await self._send("POST", self._one(id, "test/"), key=key)

    def deliveries(self, id: int) -> AsyncIterator[Json]:
        """The messages that it got, newest first, and what came of them."""
        return self._transport.rows(self._one(id, "deliveries/"))

    async def redeliver(self, id: int, delivery: int, *, key: str | None = None) -> Json:
        """Send a message again."""
        return await self._send("POST", self._one(id, f"deliveries/{part(delivery)}/redeliver/"), key=key)


class AsyncJudges(AsyncPart):
    """Language models that answer the study's pages, beside people."""

    async def get(self, id: int) -> Json:
        """One judge with its settings and its progress."""
        return await self._send("GET", self._one(id))

    async def forecast(self, model: str, *, key: str | None = None, **settings: Any) -> Json:
        """What a judge with these settings would read, write and cost. Nothing starts."""
        return await self._send("POST", f"{self._path}forecast/", {"model": model, **settings}, key)

    async def create(self, model: str, *, key: str | None = None, **settings: Any) -> Json:
        """Start a judge, such as ``samples=2, cap_usd="5"``. It answers in the background."""
        return await self._send("POST", self._path, {"model": model, **settings}, key)

    async def stop(self, id: int, *, key: str | None = None) -> Json:
        """Stop it. What it has answered stays."""
        return await self._send("POST", self._one(id, "stop/"), key=key)

    async def resume(self, id: int, *, key: str | None = None, **caps: Any) -> Json:
        """Continue it, with a higher ``cap_usd`` or ``cap_tokens``."""
        return await self._send("POST", self._one(id, "resume/"), caps, key)


class AsyncImages(AsyncPart):
    """The images of a draft, which its items name."""

    async def upload(self, path: str | Path, *, alt: str, key: str | None = None) -> Json:
        """Add an image. ``alt`` describes it to people who cannot see it."""
        upload = Upload(existing(path), {"alt": alt})
        return dict(await self._transport.post(self._path, upload=upload, key=key))

    async def delete(self, id: int) -> None:
        """Delete an image that no item shows."""
        await self._send("DELETE", self._one(id))


class AsyncLinks(AsyncPart):
    """Personal links: whoever has one counts as the person."""

    async def create(self, names: Sequence[str], *, key: str | None = None) -> list[Json]:
        """Make a link for each person. The same name always gets the same link."""
        return list((await self._send("POST", self._path, {"names": list(names)}, key))["results"])

    async def create_for(self, study: str, *, key: str | None = None) -> list[Json]:
        """Make a link for everybody who took part in another study."""
        return list((await self._send("POST", self._path, {"participants_of": study}, key))["results"])

    async def revoke(self, id: int) -> None:
        """Make a link that nobody has used open nothing."""
        await self._send("DELETE", self._one(id))


class AsyncCoding(AsyncPart):
    """Items that several coders labelled, and their final labels."""

    async def differing(self) -> list[Json]:
        """Only the items about which the coders differ."""
        return [row async for row in self._transport.rows(self._path, differ="true")]

    async def settle(
        self, item: str, chosen: Sequence[Mapping[str, Any]], *, note: str = "", key: str | None = None
    ) -> Json:
        """Give an item its final labels, one for each question."""
        body = {"chosen": [dict(label) for label in chosen], "note": note}
        return await self._send("POST", self._one(item, "settle/"), body, key)
