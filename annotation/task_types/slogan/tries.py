"""Which suggestions a writer put into the box, and the history of tries as the page shows it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

from analysis.description import Kind, Point, Scale
from annotation.task_types.offers import OfferData, OfferUse, Try
from annotation.task_types.questions import Answer, Form, Question, Sketch, Stored
from annotation.task_types.suggestion_fates import DELETED, KEPT, fate_of

#: The largest numbers of uses and of tries on one page that are counted.
MOST = 50
COUNT = Scale("count", "interval", tuple(Point(float(count)) for count in range(MOST + 1)))


@dataclass(frozen=True, slots=True)
class UsedQuestion(Question):
    """A hidden field that the page's script fills: the suggestions put into the box, in order, as ``try/side``.

    It is never wrong: what the page did not offer is left out. Without the script, it is empty.
    """

    kind: ClassVar[Kind] = "scale"
    offered: tuple[str, ...] = ()

    @property
    def template(self) -> str:
        return "slogan/_used.html"

    @property
    def sketch(self) -> Sketch:
        """Not drawn: people do not see it."""
        return Sketch("dots", 0)

    def clean(self, form: Form) -> Answer:
        return [ref for ref in form.get(self.key, "").split()[-MOST:] if ref in self.offered]

    def typed(self, answer: Answer) -> dict[str, str]:
        return {self.key: " ".join(answer) if isinstance(answer, list) else ""}

    def stored(self, answer: Answer) -> list[Stored]:
        return [Stored(self.target, float(len(answer)))] if isinstance(answer, list) else []


def ref_of(offer: OfferData) -> str:
    """The suggestion as ``try/side``."""
    return f"{offer.number}/{offer.side}"


def offered(tries: Sequence[Try]) -> dict[str, OfferData]:
    """The suggestions that have arrived, by ``try/side``."""
    return {ref_of(offer): offer for attempt in tries for offer in attempt.offers or () if offer.text}


def used_offer(tries: Sequence[Try], used: Sequence[str], text: str) -> OfferData | None:
    """The suggestion that the text was made from: the last one put into the box, or one that it equals."""
    offers = offered(tries)
    if used:
        return offers.get(used[-1])
    return next((offer for offer in offers.values() if fate_of(offer.text, text) == KEPT), None)


def uses_of(tries: Sequence[Try], used: Sequence[str], text: str) -> list[OfferUse]:
    """What became of each suggestion that was used."""
    last = used_offer(tries, used, text)
    if last is None:
        return []
    offers, switched = offered(tries), Counter(ref for _, ref in pairwise(used))
    chosen_offer = last if fate_of(last.text, text) != DELETED else None
    used_offers = {ref: offers[ref] for ref in used} or {ref_of(last): last}
    return [
        OfferUse(offer.side, offer == chosen_offer, switched[ref], offer.number) for ref, offer in used_offers.items()
    ]


def history(tries: Sequence[Try]) -> list[dict[str, Any]]:
    """The tries as the page shows them, the newest first."""
    return [
        {
            "number": attempt.number,
            "keywords": attempt.typed.get("keywords", ""),
            "slogan": attempt.typed.get("slogan", ""),
            "waits": attempt.offers is None,
            "suggestions": [(ref_of(offer), offer.text) for offer in attempt.offers or () if offer.text],
            "fewer": not all(offer.text for offer in attempt.offers or ()),
        }
        for attempt in reversed(tries)
    ]
