"""What can be done to work after it was offered. For everything else, an error explains what to do on the platform."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar

from annotation.models import Compensation, OutsideAssignment, Posting
from annotation.platforms.base import Platform
from annotation.platforms.calls import Call, Json, PlatformTrouble

#: The keys of calls that ask for work back begin with this; the id of the `OutsideAssignment` follows.
ASK_BACK = "ask-back/"


@dataclass(frozen=True, slots=True)
class Notice:
    """A message from the platform: the postings to poll (their ids there), and a function to call after that."""

    external_ids: Sequence[str]
    handled: Callable[[], object]


class Changes:
    """The calls that change what a connected platform offers. They are described here; services make them.

    A platform that does not override a method raises PlatformTrouble. Pages offer what the flags allow.
    """

    #: Pages show classes; a template would otherwise call them.
    do_not_call_in_templates: ClassVar[bool] = True
    extends: ClassVar[bool] = False
    grows: ClassVar[bool] = False
    deletes: ClassVar[bool] = False
    #: Whether more places open a posting again that has ended.
    reopens: ClassVar[bool] = False
    #: Whether a compensation is paid by its calls. If not, the worker must first accept what was posted for them.
    pays_at_once: ClassVar[bool] = False
    #: Whether it can post work that one worker alone accepts, so that stopped work is paid there.
    pays_by_posting: ClassVar[bool] = False
    asks_back: ClassVar[bool] = False

    def __init__(self, platform: Platform) -> None:
        self.platform = platform

    def extend(self, posting: Posting, until: datetime) -> Sequence[Call]:
        """The calls that offer the posting until ``until``, even if it has ended. Workers can take the places left."""
        raise self._cannot("change how long work is offered")

    def may_hold(self, posting: Posting, places: int) -> bool:
        """Whether the posting can have this many places in total. If not, more places need their own posting."""
        return False

    def grow(self, posting: Posting, places: int) -> Sequence[Call]:
        """The calls that give the posting, which has ``offered`` places, this many in total.

        The caller has checked ``may_hold``, and asks for a further total only when these calls are done.
        """
        raise self._cannot("add places")

    def delete(self, posting: Posting) -> Sequence[Call]:
        """The calls that remove the posting. It has ended, nobody is working on it and everything sent is decided."""
        raise self._cannot("delete work")

    def compensate(self, owed: Compensation) -> Sequence[Call]:
        """The calls that pay one worker apart from the reward, such as by a posting that only they can accept."""
        raise self._cannot("pay a worker outside their work")

    def paying_id(self, results: Sequence[Json]) -> str:
        """The platform's id of that posting or payment, from the results of these calls."""
        raise self._cannot("pay a worker outside their work")

    def ask_back(self, outside: OutsideAssignment, reason: str) -> Sequence[Call]:
        """The calls that ask a worker to return work that waits for a decision, which is kinder than a rejection.

        The last call's key is ASK_BACK and the id of ``outside``.
        """
        raise self._cannot("ask workers to return work")

    def subscribe(self, results: Sequence[Json]) -> Sequence[Call]:
        """The calls that ask for notices about postings, from the results of the calls that published them."""
        return ()

    def notices(self) -> Iterable[Notice]:
        """The notices that have arrived. May wait a few seconds for one. Raises PlatformTrouble."""
        return ()

    def _cannot(self, what: str) -> PlatformTrouble:
        return PlatformTrouble(
            f"{self.platform.title} cannot {what} from here.", "Do it on its own site.", may_be_done=False
        )
