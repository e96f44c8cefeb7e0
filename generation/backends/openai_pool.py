"""The servers of one model as one: each request goes to the least busy of those that are well.

All of them serve the same weights with the same program, so a seed means the same text on each. A server that cannot
answer gets nothing for a while, longer each time; then one request tries it. What it was asked goes to another.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from generation.backends.addresses import Address, AddressError, read_addresses
from generation.backends.base import BackendError, ModelSpec, NotGenerated, ServerAway
from generation.backends.openai_answers import Answer
from generation.backends.openai_client import Client, Listing
from generation.backends.openai_servers import Server, server_by_description, server_by_name, server_by_owners
from generation.decoding.conversations import Message

logger = logging.getLogger(__name__)

#: Seconds without requests after a first failure, doubled with every further one.
SHORTEST_PAUSE, LONGEST_PAUSE = 5.0, 300.0


@dataclass(eq=False)
class Member:
    """One server. ``failures`` in a row; nothing is sent before ``away_until`` (of time.monotonic)."""

    address: Address
    client: Client
    active: int = 0
    failures: int = 0
    away_until: float = 0.0
    message: str = ""

    def takes(self, now: float, most: int) -> bool:
        """Whether it may get a request now. After a failure, one at a time until it has answered."""
        return now >= self.away_until and self.active < (1 if self.failures else most * self.address.weight)


class Servers:
    """The clients of a model's servers. Raises ServerAway if none of them can answer now."""

    def __init__(self, spec: ModelSpec, *, timeout: int, retries: int, kind: str | None) -> None:
        try:
            addresses = read_addresses(spec.base_url)
        except AddressError as error:
            raise BackendError(f"{error} Use the server's address, such as http://127.0.0.1:8000/v1.") from None
        # With several servers, the next try is another server's.
        retries_at_each = retries if len(addresses) == 1 else 0
        self._tries = 1 if len(addresses) == 1 else max(retries + 1, len(addresses))
        self._members = [
            Member(address, Client(replace(spec, base_url=address.url), timeout=timeout, retries=retries_at_each))
            for address in addresses
        ]
        self.spec, self.most_at_each = spec, 1
        self._free = threading.Condition()
        self.server, self.listing = self._describe(kind)

    @property
    def names(self) -> str:
        return ", ".join(member.address.url for member in self._members)

    @property
    def places(self) -> int:
        """How many requests all servers together take at once."""
        return self.most_at_each * sum(member.address.weight for member in self._members)

    @property
    def fixed(self) -> frozenset[str]:
        return frozenset[str]().union(*(member.client.fixed for member in self._members))

    def why_fixed(self, body: Mapping[str, Any]) -> str:
        return next((why for member in self._members if (why := member.client.why_fixed(body))), "")

    def close(self) -> None:
        for member in self._members:
            member.client.close()

    def ask(self, prompt: str, body: dict[str, Any], messages: Sequence[Message] = ()) -> Answer | NotGenerated:
        """One text, from whichever server has a free place. ``messages``: the conversation that it answers."""
        failed: list[Member] = []
        for tries_left in reversed(range(self._tries)):
            member = self._take(failed)
            try:
                if member.failures and len(self._members) > 1:
                    self._check_listing(member)
                answer = member.client.ask(prompt, body, messages)
            except ServerAway as error:
                self._note_away(member, error)
                failed.append(member)
                if not tries_left:
                    raise
            else:
                self._note_back(member)
                return answer
            finally:
                with self._free:
                    member.active -= 1
                    self._free.notify()
        raise AssertionError("the last try returns or raises")

    def _take(self, failed: Sequence[Member]) -> Member:
        """A free place on the least busy server that is well, if possible none that has failed at this text. Waits for
        one; raises ServerAway if all are away."""
        with self._free:
            while True:
                now = time.monotonic()
                if len(self._members) == 1:
                    chosen: Member | None = self._members[0]  # whoever asks decides when to ask it again
                else:
                    untried = [member for member in self._members if member not in failed]
                    well = any(now >= member.away_until for member in untried)
                    fitting = untried if well else self._members
                    ready = [member for member in fitting if member.takes(now, self.most_at_each)]
                    chosen = min(ready, key=lambda member: member.active / member.address.weight, default=None)
                if chosen is not None:
                    chosen.active += 1
                    return chosen
                if all(now < member.away_until for member in self._members):
                    raise self._all_away(now)
                self._free.wait(timeout=1.0)

    def _all_away(self, now: float) -> ServerAway:
        reasons = " ".join(member.message for member in self._members)
        pause = min(member.away_until for member in self._members) - now
        return ServerAway(f"None of the {len(self._members)} servers can answer. {reasons}", pause=pause)

    def _note_away(self, member: Member, error: ServerAway) -> None:
        with self._free:
            member.failures += 1
            doubled = SHORTEST_PAUSE * 2.0 ** min(member.failures - 1, 10)
            pause = max(min(doubled, LONGEST_PAUSE), error.pause)
            member.away_until, member.message = time.monotonic() + pause, str(error)
        if len(self._members) > 1:
            logger.warning("%s gets no requests for %.0f s: %s", member.address.url, pause, error)

    def _note_back(self, member: Member) -> None:
        if not member.failures:
            return
        with self._free:
            member.failures, member.away_until, member.message = 0, 0.0, ""
            self._free.notify_all()
        if len(self._members) > 1:
            logger.warning("%s answers again.", member.address.url)

    # --- What they serve ---

    def _describe(self, kind: str | None) -> tuple[Server, Listing]:
        """The kind of the servers and what they list: those that are well must agree."""
        described: list[tuple[Member, Server, Listing]] = []
        for member in self._members:
            try:
                described.append((member, *self._description_of(member, kind)))
            except ServerAway as error:
                if len(self._members) == 1:
                    raise
                self._note_away(member, error)
        if not described:
            raise self._all_away(time.monotonic())
        first, server, listing = described[0]
        for member, other, other_listing in described[1:]:
            if (server.name, listing.context) != (other.name, other_listing.context):
                raise BackendError(
                    f"The servers of one model must be alike, so that a seed means the same text on each: "
                    f"{first.address.url} is of kind {server.name} with a context of {listing.context} tokens, "
                    f"{member.address.url} of kind {other.name} with {other_listing.context}. Start them in the same "
                    "way, or register them as two models."
                )
        return server, listing

    def _description_of(self, member: Member, kind: str | None) -> tuple[Server, Listing]:
        server = server_by_name(kind) if kind is not None else server_by_description(member.client.api())
        listing = Listing() if server is not None and not server.lists_models else member.client.listing()
        if listing.names and self.spec.source not in listing.names:
            some = ", ".join(sorted(listing.names)[:8])
            raise BackendError(f"The server at {member.address.url} has no model {self.spec.source!r}; it has {some}.")
        return server or server_by_owners(set(listing.owners)), listing

    def _check_listing(self, member: Member) -> None:
        """After a failure: is it still the same model there? If not, it stays away."""
        try:
            _, listing = self._description_of(member, self.server.name)
        except ServerAway:
            raise
        except BackendError as error:
            raise ServerAway(str(error)) from error
        if listing.context != self.listing.context:
            raise ServerAway(
                f"{member.address.url} now has a context of {listing.context} tokens, and not {self.listing.context}."
            )
