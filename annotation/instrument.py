"""One arm of a study, as the code that shows and scores it needs it: type, config, texts and items together.

Each process caches an arm's config and texts and a hit's items here. Once a study is live, they never change, except
that a worker's texts can be deleted from items.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial

from django.conf import settings

from analysis.quality_control.rules import Settings
from annotation import sql
from annotation.languages import Voice
from annotation.models import Arm, Assignment, Item, Pull, Study
from annotation.redaction_journal import NAME as REDACTIONS
from annotation.task_types.base import Answers, FixedPages, Page, Shown, TaskType
from annotation.task_types.checks import ROLES as CHECK_ROLES
from annotation.task_types.items import ItemData, Json
from annotation.task_types.offers import OfferData, Offers, PullData
from annotation.task_types.questionnaires import Questionnaires
from annotation.task_types.registry import get_type


@dataclass(frozen=True, slots=True)
class Instrument:
    """The task type with the config and texts of one arm of one study."""

    task: TaskType
    config: Json
    texts: dict[str, str]
    arm: str = ""
    quality: Settings = Settings.of({})  # noqa: RUF009 - frozen
    gold_feedback: bool = False
    voice: Voice = Voice("en")  # noqa: RUF009 - frozen
    asked: Questionnaires = Questionnaires.NONE
    #: The roles of items whose pages come back once with an explanation, if an answer is not right.
    loud: frozenset[str] = frozenset()
    #: Whether pages may ask for live suggestions.
    asks: bool = field(init=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "asks", bool(self.task.suggesters(self.config)))

    @classmethod
    def of(cls, study: Study, arm: Arm | None = None) -> Instrument:
        """The instrument of ``arm``, or of the study's first arm. For a draft, it uses what is stored so far."""
        task = get_type(study.task_type)
        arm = arm or study.arms.first()
        if study.status != Study.Status.DRAFT and arm is not None:
            return cls(task, arm.shown_config, arm.shown_texts, arm.name, *_common(study))
        config = study.config | (arm.config if arm else {})
        texts = whole_texts(task, config, study.texts, arm.texts if arm else {})
        return cls(task, config, texts, arm.name if arm else "", *_common(study))

    def shown(self, items: Sequence[ItemData], order: Json, offers: Offers = Offers()) -> Shown:  # noqa: B008 - frozen
        return Shown(items, self.config, self.texts, order, self.arm, offers)

    @property
    def records_edits(self) -> bool:
        """Whether pages may record how workers type."""
        return self.task.records_edits(self.config)

    def walk(self, shown: Shown) -> Walk:
        return Walk(self.task, shown)

    def page(self, shown: Shown, number: int, answers: Callable[[], Sequence[Answers]]) -> Page | None:
        """Page ``number``, from 0; None after the last. ``answers`` reads the earlier answers, only if they matter."""
        return self.walk(shown).page(number, answers)

    def pages(self, shown: Shown, answers: Sequence[Answers]) -> list[Page]:
        """The pages that ``answers`` answer, and the one after them if there is one."""
        walk = self.walk(shown)
        pages, following = walk.answered(answers), walk.page(len(answers), lambda: answers)
        return pages if following is None else [*pages, following]


def _common(study: Study) -> tuple[Settings, bool, Voice, Questionnaires, frozenset[str]]:
    """What all arms have in common: rules of quality control, feedback on gold items, language, questionnaires, and
    which items explain."""
    stored = study.quality_control
    loud = frozenset(role for role in CHECK_ROLES if stored.get(f"{role}_mode") == "loud")
    return Settings.of(stored), bool(stored.get("gold_feedback")), study.voice(), asked_around(study), loud


def asked_around(study: Study) -> Questionnaires:
    """What the study asks before and after its tasks."""
    return Questionnaires.of(study.questionnaires, study.language)


class Walk:
    """The pages of one hit, one at a time. Answers are read only where pages depend on them."""

    def __init__(self, task: TaskType, shown: Shown) -> None:
        self.task, self.shown = task, shown
        self.fixed = task if isinstance(task, FixedPages) else None
        self._made: dict[int, Page | None] = {}

    @property
    def length(self) -> int | None:
        """How many pages there are; None if that depends on the answers."""
        return self.task.length(self.shown)

    def page(self, number: int, answers: Callable[[], Sequence[Answers]]) -> Page | None:
        """Page ``number``, from 0; None after the last. ``answers`` reads the earlier answers."""
        if not self.fixed:
            return with_image(self.task.next_page(self.shown, answers()), self.shown)
        if number not in self._made:
            self._made[number] = with_image(self.fixed.page_at(self.shown, number), self.shown)
        return self._made[number]

    def lacks_offers(self, page: Page, number: int) -> bool:
        """Whether page ``number`` needs suggestions that it has not shown yet."""
        return bool(page.asks) and not {ask.side for ask in page.asks} <= set(self.shown.offers.at(number))

    def is_complete(self, answers: Sequence[Answers]) -> bool:
        """Whether all pages are answered."""
        length = self.length if self.fixed else None
        return self.task.next_page(self.shown, answers) is None if length is None else len(answers) >= length

    def answered(self, answers: Sequence[Answers]) -> list[Page]:
        """The pages that ``answers`` answer."""
        pages: list[Page] = []
        for number in range(len(answers)):
            page = self.page(number, partial(list, answers[:number]))
            if page is None:
                break
            pages.append(page)
        return pages


def with_image(page: Page | None, shown: Shown) -> Page | None:
    """The page with its item's image as ``item_image``, unless the type has put ``image`` into the context itself."""
    if page is None or page.item is None or "image" in page.context:
        return page
    payload = shown.items[page.item].payload
    if "image_size" not in payload:
        return page
    image = {name: payload[name] for name in ("image", "image_alt", "image_size")}
    return replace(page, context={**page.context, "item_image": image})


def whole_texts(task: TaskType, config: Json, *worded: dict[str, str]) -> dict[str, str]:
    """Every text of the type, in the arm's wording if it has one, else in the study's, else in the type's."""
    texts = {text.name: text.default for text in task.texts(config)}
    for wording in worded:
        texts |= {name: text for name, text in wording.items() if name in texts and text.strip()}
    return texts


@lru_cache(maxsize=1024)
def live_instrument(arm_id: int) -> Instrument:
    """The instrument of an arm of a study that has gone live. Never call this for a draft: a draft may still change."""
    arm = Arm.objects.select_related("study").get(pk=arm_id)
    return Instrument.of(arm.study, arm)


def item_data(item: Item) -> ItemData:
    return ItemData(item.external_id, item.payload, item.role)  # type: ignore[arg-type]  # a choice of the model


_HIT_ITEMS = """
SELECT i.id, i.external_id, i.payload, i.role FROM annotation_hititem p JOIN annotation_item i ON i.id = p.item_id
WHERE p.hit_id = %s ORDER BY p.position
"""


@dataclass(frozen=True, slots=True)
class HitItems:
    """The items of a hit, in order: their database ids, and what is shown of each."""

    ids: tuple[int, ...]
    items: tuple[ItemData, ...]


def hit_items(hit_id: int) -> HitItems:
    """The items of a hit.

    They are cached until a worker's texts are deleted: nothing else changes items that somebody may have seen.
    """
    return _hit_items(hit_id, _texts_epoch())


def _texts_epoch() -> int:
    """A number that is different after each redaction. Machines that share VAR share it."""
    try:
        # Asked several times for each page of a worker.
        return os.stat(f"{settings.VAR}/{REDACTIONS}").st_mtime_ns  # noqa: PTH116 - a Path takes ten times as long
    except FileNotFoundError:
        return 0


@lru_cache(maxsize=20_000)
def _hit_items(hit_id: int, epoch: int) -> HitItems:
    rows = sql.fetch_all(_HIT_ITEMS, hit_id)
    items = (ItemData(name, sql.from_json(Item, "payload", payload), role) for _, name, payload, role in rows)
    return HitItems(tuple(pk for pk, *_ in rows), tuple(items))


def shown_items(hit_id: int) -> list[ItemData]:
    return list(hit_items(hit_id).items)


@lru_cache(maxsize=1024)
def check_items(arm_id: int) -> tuple[int, ...]:
    """Ids of the gold and attention items of a live arm's study. Hits planned after the launch use the same ones."""
    items = Item.objects.filter(study__arms=arm_id, role__in=CHECK_ROLES).order_by("pk")
    return tuple(items.values_list("pk", flat=True))


def training_items(arm_id: int) -> HitItems:
    """The items of the training round of a live arm's study, in the order of the file. Cached as `hit_items` are."""
    return _training_items(arm_id, _texts_epoch())


@lru_cache(maxsize=1024)
def _training_items(arm_id: int, epoch: int) -> HitItems:
    rows = list(Item.objects.filter(study__arms=arm_id, role=Item.Role.TRAINING).order_by("position"))
    return HitItems(tuple(row.pk for row in rows), tuple(item_data(row) for row in rows))


_OFFERS = """
SELECT step, side, suggester, text, source, number FROM annotation_offer WHERE assignment_id = %s
ORDER BY step, number, side
"""
_PULLS = "SELECT step, number, typed FROM annotation_pull WHERE assignment_id = %s ORDER BY step, number"


def offers_to(assignment_id: int, instrument: Instrument) -> Offers:
    """The suggestions that this assignment has shown so far. No query if the type asks for none."""
    if not instrument.asks:
        return Offers()
    shown = tuple(OfferData(*row) for row in sql.fetch_all(_OFFERS, assignment_id))
    if not instrument.task.has_pulls:
        return Offers(shown)
    rows = sql.fetch_all(_PULLS, assignment_id)
    pulls = tuple(PullData(step, number, sql.from_json(Pull, "typed", typed)) for step, number, typed in rows)
    return Offers(shown, pulls)


def asks_for_offers(study: Study) -> bool:
    """Whether pages of the study, in any of its arms, ask for live suggestions."""
    task = get_type(study.task_type)
    configs = [study.config | arm.config for arm in study.arms.all()] or [study.config]
    return any(task.suggesters(config) for config in configs)


def shown_to(assignment: Assignment, instrument: Instrument) -> Shown:
    """What this assignment shows, in its recorded order."""
    offers = offers_to(assignment.pk, instrument)
    return instrument.shown(shown_items(assignment.hit_id), assignment.order, offers)


def clear_caches() -> None:
    """Empty the caches. For tests, which create and drop databases within one process."""
    live_instrument.cache_clear()
    _hit_items.cache_clear()
    check_items.cache_clear()
    _training_items.cache_clear()
