"""What can be done to work after it was offered. A platform that can do less says which of it must be done there."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar

from annotation.models import Compensation, OutsideAssignment, Posting
from annotation.platforms.base import Call, Json, Platform, PlatformTrouble

#: The keys of calls that ask for work back begin with this; the id of the `OutsideAssignment` follows.
ASK_BACK = "ask-back/"


@dataclass(frozen=True, slots=True)
class Notice:
    """A message from the platform: the postings (their ids there) to poll, and how to say that they were polled."""

    external_ids: Sequence[str]
    handled: Callable[[], object]


class Changes:
    """The calls that change what a connected platform offers. They are described here and made by services.

    A platform that does not override a method raises PlatformTrouble. The flags tell pages what to offer.
    """

    #: Pages show classes; a template would otherwise call them.
    do_not_call_in_templates: ClassVar[bool] = True
    extends: ClassVar[bool] = False
    grows: ClassVar[bool] = False
    deletes: ClassVar[bool] = False
    #: Whether a compensation is paid by its calls. If not, the worker must first accept what was posted for them.
    pays_at_once: ClassVar[bool] = False
    asks_back: ClassVar[bool] = False

    def __init__(self, platform: Platform) -> None:
        self.platform = platform

    def extend(self, posting: Posting, until: datetime) -> Sequence[Call]:
        """Offer the posting until then, also if it has ended. Places that are left can be taken again."""
        raise self._cannot("change how long work is offered")

    def may_hold(self, posting: Posting, places: int) -> bool:
        """Whether the posting can have this many places in total. If not, more places need their own posting."""
        return False

    def grow(self, posting: Posting, places: int) -> Sequence[Call]:
        """Give the posting this many places in total. ``may_hold`` was asked before."""
        raise self._cannot("add places")

    def delete(self, posting: Posting) -> Sequence[Call]:
        """Remove the posting. It has ended, nobody works on it and everything sent is decided."""
        raise self._cannot("delete work")

    def compensate(self, owed: Compensation) -> Sequence[Call]:
        """Pay one worker outside the reward, such as by a posting without work that only they can accept."""
        raise self._cannot("pay a worker outside their work")

    def paying_id(self, results: Sequence[Json]) -> str:
        """The platform's id of that posting or payment, from the results of these calls."""
        raise self._cannot("pay a worker outside their work")

    def ask_back(self, outside: OutsideAssignment, reason: str) -> Sequence[Call]:
        """Ask the worker to return work that waits for a decision, which is kinder than a rejection.

        The last call's key is ASK_BACK and the id of ``outside``.
        """
        raise self._cannot("ask workers to return work")

    def subscribe(self, results: Sequence[Json]) -> Sequence[Call]:
        """The calls that ask for notices about postings, from the results of the calls that published them."""
        return ()

    def notices(self) -> Iterable[Notice]:
        """Notices that have arrived; may wait a few seconds for one. Raises PlatformTrouble."""
        return ()

    def _cannot(self, what: str) -> PlatformTrouble:
        return PlatformTrouble(f"{self.platform.title} cannot {what} from here.", "Do it on its own site.", sent=False)
