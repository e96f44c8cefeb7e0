"""Live suggestions as a task type declares them: what a page asks for, what a suggester must offer, what was shown.

A page lists its `Ask`s. The server asks the suggesters as soon as the previous page is saved, shows the progress while
they write, and passes the texts to the next call of ``next_page`` as ``Shown.offers``. The page then shows them all
together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

Source = Literal["live", "second_try", "pool", "none"]


@dataclass(frozen=True, slots=True)
class Conversation:
    """What was said so far, as pairs of role (``system``, ``user``, ``assistant``) and text, and how many tokens the
    next answer may have."""

    messages: Sequence[tuple[str, str]]
    most_tokens: int


@dataclass(frozen=True, slots=True)
class Ask:
    """One suggestion that a page needs before the worker can use it.

    ``side`` is its position on the page: unique there, and never the suggester's name, because workers may see it.
    Several sides may have the same suggester; each gets its own text. ``fields`` fill the suggester's template, such
    as the story so far. ``round`` counts the suggestions of one text from 1 and decides which pool texts fit.
    ``story`` distinguishes the texts of one hit: no pool text appears twice in a story.

    How the instruments use it:

    - *Choice* (``cyoa``): two asks with the sides 1 and 2, in the recorded random order. The page shows both.
    - *Push* (``mil_story``): one ask on every second page. ``Page.initial`` puts the text of its offer into the box;
      without a text (source ``none``) the box is empty.
    - *Pull* (``slogan``): the page itself has no asks, so the worker never waits for it. It has ``Page.pulls``, and a
      button posts what is typed. `TaskType.pull` turns that into up to three asks, whose fields contain the keywords
      and the slogan so far. Each press raises ``OfferData.number`` on the same step by one, and `Offers.tries` has the
      whole history, so that the page can show all of it.
    - *Conversation* (``chat``): with ``conversation``, the suggestion is the next answer in it. The page shows it as it
      grows (``Page.waiting``); none ever comes from a pool.
    """

    side: str
    suggester: str
    fields: Mapping[str, str]
    round: int = 1
    story: str = ""
    conversation: Conversation | None = None


@dataclass(frozen=True, slots=True)
class OfferData:
    """A suggestion as it was shown. If there was none, ``text`` is empty and ``source`` is ``none``.

    ``source``: ``live`` (the model wrote it in time), ``second_try`` (asked again because the first was late),
    ``pool`` (from the suggester's pool, because no text came in time). ``step`` counts the hit's pages from 0;
    ``number`` counts the times one side was asked on a page.
    """

    step: int
    side: str
    suggester: str
    text: str
    source: Source = "live"
    number: int = 1


@dataclass(frozen=True, slots=True)
class PullData:
    """One press of a page's button for suggestions. ``typed`` is what was in the page's text boxes, by question."""

    step: int
    number: int
    typed: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Try:
    """One press of the button with its suggestions in the order of their sides. None: they have not arrived yet."""

    number: int
    typed: Mapping[str, str]
    offers: Sequence[OfferData] | None


@dataclass(frozen=True, slots=True)
class SuggesterNeed:
    """What a type needs from one suggester: how many texts in each round, and the fields that its template gets.

    ``pool``: whether a text from its pool replaces one that comes too late.
    """

    name: str
    rounds: int
    per_round: int = 1
    fields: Sequence[str] = ("story",)
    pool: bool = True


@dataclass(frozen=True, slots=True)
class OfferUse:
    """What a worker did with one offer on a page: whether they sent it, whether they edited it, and how often they
    switched to it from another one."""

    side: str
    chosen: bool
    switches: int = 0
    number: int = 1


@dataclass(frozen=True, slots=True)
class Offers:
    """All offers of one assignment, in the order shown."""

    shown: Sequence[OfferData] = field(default_factory=tuple)
    pulls: Sequence[PullData] = field(default_factory=tuple)

    def at(self, step: int) -> dict[str, OfferData]:
        """The offers on one page by side: the newest one if there were several requests for a side."""
        return {offer.side: offer for offer in self.shown if offer.step == step}

    def tries(self, step: int) -> list[Try]:
        """The presses of the button on one page, the oldest first."""
        return [
            Try(
                pull.number,
                pull.typed,
                tuple(offer for offer in self.shown if (offer.step, offer.number) == (step, pull.number)) or None,
            )
            for pull in self.pulls
            if pull.step == step
        ]

    def open_pull(self, step: int) -> PullData | None:
        """The press whose suggestions have not arrived yet. There is at most one on a page."""
        answered = {offer.number for offer in self.shown if offer.step == step}
        return next((pull for pull in self.pulls if pull.step == step and pull.number not in answered), None)
