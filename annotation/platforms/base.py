"""What a platform is: where a study's work is offered, how its workers arrive, and what it reports and pays.

A platform *describes* its calls (``platforms.calls``). Everything that platforms share (planning, confirmation,
payments, states) is in ``recruiting``; what only one platform knows is in its own module here.

An instance can make calls, unless it is `Platform.offline`. What a worker's request needs is a class method, because it
must never need a key or a network.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any, ClassVar, Self

from django.conf import settings as django_settings
from django.db.models import Sum
from django.urls import reverse

from annotation.languages import gettext as _
from annotation.languages import marked
from annotation.models import Assignment, Hit, OutsideAssignment, PlatformAccount, Posting, Study
from annotation.platforms.audience import Audience
from annotation.platforms.calls import Call, Json, PlatformTrouble
from annotation.platforms.costs import NO_FEES, Cost, Fees, Offered, cost_of
from annotation.platforms.listings import ONE_LISTING, listed_at, lowest_reward
from annotation.task_types.settings import ConfigForm
from annotation.tokens import posting_token
from common.problems import Problem
from common.words import counted, money

#: Why a worker goes back without doing the work: they do not agree to take part, or cannot take part.
NO_CONSENT, NOT_ELIGIBLE = "no_consent", "not_eligible"


class BadNotice(Exception):
    """A notice does not come from the platform, or cannot be read."""


class BadArrival(Exception):
    """The address that a worker opened is incomplete or wrong. The worker sees ``heading`` and ``line``."""

    def __init__(self, heading: str, line: str) -> None:
        super().__init__(heading)
        self.heading, self.line = heading, line


@dataclass(frozen=True, slots=True)
class Claim:
    """What the worker's browser sends: who they are on the platform, and for which assignment they came.

    It is only a claim until the platform confirms it. ``platform`` and ``worker_id`` identify the worker everywhere.
    """

    platform: str
    worker_id: str
    assignment_id: str
    submit_to: str = ""


@dataclass(frozen=True, slots=True)
class Finish:
    """How a worker reports to the platform that the work is done: by a form, or by opening a link.

    Pages always show ``code``, to copy it. Without ``form_url`` and ``link`` there is only the code. ``note`` is a
    sentence for the worker; ``paid`` is what the platform itself pays then.
    """

    code: str
    form_url: str = ""
    fields: Mapping[str, str] = field(default_factory=dict)
    link: str = ""
    note: str = ""
    paid: Decimal = Decimal(0)


@dataclass(frozen=True, slots=True)
class Reported:
    """An assignment as the platform reports it. ``state`` is a value of `OutsideAssignment.State`; times are UTC."""

    external_id: str
    worker_id: str
    state: str
    accepted_at: datetime | None = None
    submitted_at: datetime | None = None
    approves_itself_at: datetime | None = None
    answer: str = ""


@dataclass(frozen=True, slots=True)
class Notified:
    """What a notice is about: ``subject`` is “submission” or “study”, ``name`` its id on the platform.

    ``account``: the id of the account whose secret signed it; None: the server's own.
    """

    subject: str
    name: str
    account: int | None


class Platform(ABC):
    """One way in for workers. Methods that make or describe calls may raise `PlatformTrouble`."""

    #: Pages show classes; a template would otherwise call them.
    do_not_call_in_templates: ClassVar[bool] = True
    name: ClassVar[str]
    #: Its name for people.
    title: ClassVar[str]
    #: Its name where people choose a platform, if that is another one.
    choice: ClassVar[str] = ""
    #: The settings of a study on this platform.
    form: ClassVar[type[ConfigForm]]
    #: Settings that may change while the study is posted.
    later: ClassVar[frozenset[str]] = frozenset()
    #: The platform's word for one posting, and for several (empty: the same word with an s).
    unit: ClassVar[str] = "posting"
    units: ClassVar[str] = ""
    #: What a worker does there, and what they should do if they get no work.
    task: ClassVar[str] = marked("task")
    #: Its name for workers, as in “Back to …”.
    site: ClassVar[str] = "the site that you came from"
    way_out: ClassVar[str] = marked("Please go back to the site that you came from.")
    #: Whether the platform can confirm who did what. If not, work counts as claimed, and the report says how much.
    confirms: ClassVar[bool] = True
    #: Whether a person enters the posting's address on the platform's own site.
    by_hand: ClassVar[bool] = False
    #: Whether approving there pays. If not, the researcher pays by completion code.
    pays: ClassVar[bool] = True
    #: The categories of rejections, if the platform requires one besides the reason.
    categories: ClassVar[tuple[str, ...]] = ()
    #: Whether it has filters and groups of workers: see `audience`.
    has_audience: ClassVar[bool] = False
    #: The most assignments that one call can approve; 0: there is no such call.
    most_at_once: ClassVar[int] = 0
    #: Whether it has qualifications. They keep workers from accepting work that is not for them.
    qualifies: ClassVar[bool] = False
    #: Whether researchers can write to its workers through it.
    writes: ClassVar[bool] = False
    #: How long the subject and the text of a message can be.
    most_subject: ClassVar[int] = 200
    most_text: ClassVar[int] = 4096
    #: The parameter for the token that keeps a call from taking effect twice; empty: the platform has none.
    token_field: ClassVar[str] = ""
    #: How long the platform remembers a token. Later (or without tokens: always) a second try first searches.
    token_life: ClassVar[timedelta] = timedelta(0)
    #: Whether users and teams can enter accounts of their own; if so, `form` has the setting ``account``.
    has_accounts: ClassVar[bool] = False
    #: The account whose keys make the calls; None: the server's own.
    account: PlatformAccount | None = None

    def has_paused(self, posting: Posting) -> bool | None:
        """Whether the platform has paused the posting by itself; None where it does not do that. Raises
        PlatformTrouble."""
        return None

    @classmethod
    @abstractmethod
    def connected(cls, account: PlatformAccount | None = None) -> Platform:
        """The platform with the keys of the account, or those from the settings. Raises PlatformTrouble if they are
        missing or cannot be read."""

    @classmethod
    def for_check(cls, account: PlatformAccount) -> Platform:
        """As `connected`, for a person who waits for the answer: a call that fails is not repeated."""
        return cls.connected(account)

    @classmethod
    def offline(cls, account: PlatformAccount | None = None) -> Platform:
        """An instance that describes postings, calls and costs, but makes no calls. It needs no keys."""
        return cls.connected(account)

    def paid_by(self, account: PlatformAccount | None) -> Self:
        """This instance, for the account whose keys it has."""
        self.account = account
        return self

    @property
    def own_mark(self) -> str:
        """The end of the keys of calls that each account makes by itself, such as one that blocks a worker."""
        return f"/account-{self.account.pk}" if self.account else ""

    @classmethod
    def count_of(cls, postings: int) -> str:
        """Such as “3 HITs”."""
        return counted(postings, cls.unit, cls.units)

    # --- before anything is posted ---

    def problems(self, study: Study, settings: Json, offered: Sequence[Offered]) -> list[Problem]:
        """Why the platform could not offer this study as it is."""
        return []

    def fees(self) -> Fees:
        return NO_FEES

    def cost(self, offered: Sequence[Offered], settings: Json) -> Cost:
        """What all submissions cost if every one is approved, in USD."""
        return cost_of(offered, fees=self.fees(), listed_at=listed_at(offered, settings))

    def remarks(self, offered: Sequence[Offered], settings: Json) -> list[str]:
        """Sentences that help to judge the cost, and who will come for which price."""
        prices = sorted({hits.reward for hits in offered})
        if len(prices) < 2:
            return []
        if settings.get(ONE_LISTING):
            extra = f"with the approval, up to {money(prices[-1] - prices[0])} more as a bonus, by the arm"
            return [f"One listing at {money(prices[0])}, which hides the arms. Workers get, {extra}."]
        listed = ", ".join(map(money, prices))
        what = (
            f"Workers choose their arm: hits that pay differently are {len(prices)} listings, with their prices "
            f"({listed}). So arms differ in who came, not only in what they did."
        )
        fix = "To have arms drawn, switch on “One listing for all arms” (one_listing)."
        return [f"{what} {fix}" if ONE_LISTING in self.form.base_fields else what]

    def endpoint(self) -> str:
        """Where calls go; empty if there are none."""
        return ""

    def balance(self, settings: Json | None = None) -> Decimal | None:
        """The money left to spend there, in USD; None if the platform does not report it in USD.

        ``settings``: a study's settings there, where they decide which of several accounts pays.
        """
        return None

    # --- publish ---

    @abstractmethod
    def plan(self, study: Study, settings: Json) -> list[Posting]:
        """The postings that are still missing, not saved yet."""

    def publish(self, posting: Posting, settings: Json) -> Sequence[Call]:
        """The calls that offer the posting, in order."""
        return ()

    @abstractmethod
    def posted(self, posting: Posting, settings: Json, results: Sequence[Json]) -> Json:
        """Values of the posting once it is offered, from the results of ``publish``: at least ``external_id``."""

    def discard(self, posting: Posting) -> None:
        """Remove what publishing made for a posting that was planned and never offered, as far as possible."""
        return

    def address(self, posting: Posting, settings: Json) -> str:
        """The address of the posting as the platform opens it, with its placeholders for the worker."""
        return posting_url(posting)

    def expire(self, posting: Posting) -> Sequence[Call]:
        """The calls that end the offer. Work in progress can still be finished."""
        return ()

    def pause(self, posting: Posting, times: int) -> Sequence[Call]:
        """The calls that stop the offer for now, for the ``times``-th time. None: the platform cannot pause."""
        return ()

    def resume(self, posting: Posting, times: int) -> Sequence[Call]:
        """The calls that offer a paused posting again."""
        return ()

    # --- workers: no connection ---

    @classmethod
    @abstractmethod
    def arrive(cls, posting: Posting, settings: Json, query: Mapping[str, str], server_origin: str) -> Claim | None:
        """The worker whom the address names; None for a preview. ``server_origin`` is as they see it.

        Raises BadArrival.
        """

    @classmethod
    @abstractmethod
    def finish(cls, work: Assignment, settings: Json) -> Finish:
        """How the worker reports to the platform that this work is done. It was sent here before."""

    @classmethod
    def payment_words(cls, settings: Json) -> str:
        """How and when workers are paid, in words for them; a study's own words replace these. ``settings`` are those
        that the study sets, without defaults."""
        return _("The site that you came from pays you when the researchers have approved your work.")

    @classmethod
    def way_back(cls, posting: Posting, settings: Json, outcome: str) -> Finish | None:
        """How a worker goes back who does not do the work; ``outcome``: NO_CONSENT, NOT_ELIGIBLE or one of
        `Participant.TurnedAway`. None: the platform needs to know nothing; they return the work there."""
        return None

    @classmethod
    def paper_name(cls, account: PlatformAccount | None = None) -> str:
        """What a paper calls it, if this account paid."""
        return cls.title

    @classmethod
    def asked_for(cls, settings: Json) -> list[tuple[str, str]]:
        """What workers must be or have done before the platform lets them in, for the methods of a paper: pairs of name
        and value. ``settings`` are those that the study sets, without defaults."""
        return []

    # --- afterwards ---

    @classmethod
    def paid_for(cls, outside: OutsideAssignment) -> Decimal:
        """USD that the platform paid for an assignment that it has approved or screened out."""
        return outside.posting.pays

    def sync(self, posting: Posting) -> Iterable[Reported]:
        """All assignments of the posting that have ended there. Raises PostingGone if it was deleted."""
        return ()

    def approve(self, outside: OutsideAssignment, *, feedback: str, override: bool) -> Sequence[Call]:
        """The calls that approve and pay sent work; ``override`` undoes a rejection."""
        raise self._cannot("approve work")

    def approve_many(self, outside: Sequence[OutsideAssignment]) -> Sequence[Call]:
        """The calls that approve up to ``most_at_once`` assignments. The platform may take a while to do it."""
        raise self._cannot("approve work in one call")

    def audience(self) -> Audience:
        """Its filters and groups of workers."""
        raise self._cannot("find workers")

    @classmethod
    def pushes(cls) -> bool:
        """Whether it tells this server about every change on the server's own account, so that polling is needed only
        now and then."""
        return False

    @classmethod
    def read_notice(cls, body: bytes, headers: Mapping[str, str]) -> Notified:
        """What a notice is about. Raises BadNotice, also if it is forged."""
        raise BadNotice(f"{cls.title} sends no notices here.")

    def notice_secret(self, settings: Json) -> str:
        """The secret with which the platform signs its notices to the account that ``settings`` choose."""
        raise self._cannot("send notices")

    def look_up(self, name: str) -> tuple[str, Reported | None]:
        """The platform's id of an assignment's posting, and the assignment as it is now; None if it is in progress.

        For platforms that push.
        """
        raise self._cannot("look up one assignment")

    def reject(self, outside: OutsideAssignment, *, feedback: str, category: str) -> Sequence[Call]:
        """The calls that refuse to pay. ``category`` is one of the platform's, or empty. Raises Invalid."""
        raise self._cannot("reject work")

    def bonus(self, outside: OutsideAssignment, *, amount: Decimal, reason: str, key: str) -> Sequence[Call]:
        """The calls that pay a bonus of ``amount`` USD. ``key`` makes them unique."""
        raise self._cannot("pay a bonus")

    def block(self, worker_id: str, *, reason: str) -> Sequence[Call]:
        """The calls that exclude a worker from all work of this account."""
        raise self._cannot("block workers")

    def qualification(self, *, key: str, name: str, description: str) -> Sequence[Call]:
        """The calls that make a qualification, once. ``name`` is unique to this server's study and purpose."""
        raise self._cannot("make qualifications")

    def qualification_id(self, results: Sequence[Json]) -> str:
        """The platform's id of the qualification, from the results of these calls."""
        raise self._cannot("make qualifications")

    def grant(self, qualification: str, worker_id: str, *, value: int, key: str) -> Sequence[Call]:
        """The calls that give a worker the qualification, or a new value of it."""
        raise self._cannot("grant qualifications")

    def revoke(self, qualification: str, worker_id: str, *, key: str) -> Sequence[Call]:
        """The calls that take the qualification from a worker."""
        raise self._cannot("take qualifications back")

    def objections(self) -> Mapping[str, str]:
        """Rejections that workers object to and nobody has decided: the address of each, by assignment id."""
        return {}

    def send_message(self, posting: Posting, worker_id: str, *, text: str, key: str) -> Sequence[Call]:
        """The calls that send a worker a message about their work on the posting. ``key`` makes them unique."""
        raise self._cannot("write to workers")

    def message(self, posting: Posting, workers: Sequence[str], *, subject: str, text: str, key: str) -> Sequence[Call]:
        """The calls that send workers, named by the platform's ids, the same message: by default, one to each.

        A platform whose messages have no subject leaves it out.
        """
        return [
            call for worker in workers for call in self.send_message(posting, worker, text=text, key=f"{key}/{worker}")
        ]

    def not_reached(self, results: Sequence[Json]) -> Mapping[str, str]:
        """The workers whom a message did not reach, with the reason, from the results of its calls."""
        return {}

    def call(self, operation: str, **params: Any) -> Json:
        """Make one call."""
        raise self._cannot("make calls")

    @staticmethod
    def kept(answer: Json) -> Json:
        """The part of an answer that is stored with the call."""
        return answer

    def _cannot(self, what: str) -> PlatformTrouble:
        return PlatformTrouble(
            f"{self.title} cannot {what} from here.",
            "Do it on its site, or mark the reward as paid.",
            may_be_done=False,
        )


class ByReward(Platform):
    """A platform on which one posting offers all hits of one reward; every worker gets the next free one."""

    def plan(self, study: Study, settings: Json) -> list[Posting]:
        price = lowest_reward(study) if settings.get(ONE_LISTING) else None
        if price is not None:
            if study.postings.filter(platform=self.name).exists():
                return []
            places = study.hits.aggregate(wanted=Sum("wanted"))["wanted"]
            return [Posting(study=study, platform=self.name, account=self.account, reward=price, wanted=places)]
        there = {posting.pays for posting in study.postings.filter(platform=self.name)}
        places = study.hits.order_by("reward").values_list("reward").annotate(wanted=Sum("wanted"))
        return [
            Posting(study=study, platform=self.name, account=self.account, reward=reward, wanted=count)
            for reward, count in places
            if reward not in there
        ]

    def cost(self, offered: Sequence[Offered], settings: Json) -> Cost:
        listings = 1 if settings.get(ONE_LISTING) else len({hits.reward for hits in offered})
        return replace(super().cost(offered, settings), hits=listings)


def posting_url(posting: Posting) -> str:
    """The address at which the posting's workers arrive. The platform adds the worker's ids."""
    return f"{django_settings.BASE_URL}{reverse('platform_arrival', args=[posting_token(posting.pk)])}"


def annotation_of(posting: Posting) -> str:
    """A text that finds the posting again on the platform. It is unique to this server and posting."""
    return f"hitserver:{posting_token(posting.pk)}"


def unposted_hits(study: Study, platform: str) -> Iterable[Hit]:
    """Hits without a posting on the platform, in order."""
    return study.hits.exclude(postings__platform=platform).order_by("position")
