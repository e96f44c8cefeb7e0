"""Makes judges, stops and resumes them. Each change leaves an entry in the study's log."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from decimal import Decimal
from itertools import islice

from django.db import IntegrityError, transaction
from django.utils import timezone

from annotation.audit import record
from annotation.instrument import Instrument
from annotation.judging import queueing
from annotation.judging.forecast import Forecast, forecast
from annotation.judging.judged_pages import arranged, drawn_from, has_sides
from annotation.models import Arm, Item, Judge, JudgePlace, Study
from annotation.task_types.registry import get_type
from common.problems import Problem, invalid, refuse_if_any, unknown
from common.words import counted
from generation.models import LanguageModel
from generation.registry.registration import EMBEDDED_NAMES, ensure_embedded_model

MOST_SAMPLES, MOST_TRIES, MOST_TOKENS = 100, 10, 20_000
MOST_JUDGES = 50
MOST_USD, MOST_CAP_TOKENS = 999_999, 10**15
LONGEST_INSTRUCTION = 10_000
AT_ONCE = 1_000
ACTIVE = (Judge.State.WAITING, Judge.State.RUNNING)
TRANSFORMERS = "transformers"


@dataclass(frozen=True, slots=True)
class JudgeSettings:
    """What a researcher says about a judge. ``samples`` 0: one, or two where texts stand on sides. ``items`` 0: all.
    ``method`` empty: scored for models that this server loads with transformers, else JSON."""

    model: str
    name: str = ""
    arm: str = ""
    method: str = ""
    samples: int = 0
    items: int = 0
    temperature: float = 1.0
    seed: int = 1
    max_tokens: int = 200
    max_tries: int = 3
    instruction: str = ""
    price_in: Decimal = Decimal(0)
    price_out: Decimal = Decimal(0)
    cap_usd: Decimal | None = None
    cap_tokens: int | None = None


#: Where each setting has its limits.
_RANGES: dict[str, tuple[float, float]] = {
    "samples": (0, MOST_SAMPLES),
    "items": (0, 10_000_000),
    "temperature": (0, 2),
    "seed": (0, 2**31 - 1),
    "max_tokens": (1, MOST_TOKENS),
    "max_tries": (1, MOST_TRIES),
    "price_in": (0, 100_000),
    "price_out": (0, 100_000),
}


@dataclass(frozen=True, slots=True)
class PlannedJudge:
    """A judge that is not stored, with the items in the order in which it would judge them."""

    judge: Judge
    items: Sequence[Item]
    forecast: Forecast
    instrument: Instrument


def plan_judge(*, study: Study, settings: JudgeSettings) -> PlannedJudge:
    """What a judge with these settings would do and cost. Nothing is stored. Raises Invalid with all problems."""
    refuse_if_any(_problems(study, settings))
    model = usable_model(settings.model)
    arms = {arm.name: arm for arm in study.arms.all()}
    arm = arms[settings.arm] if settings.arm else next(iter(arms.values()))
    method = settings.method or (Judge.Method.SCORED if model.backend == TRANSFORMERS else Judge.Method.JSON)
    if method == Judge.Method.SCORED and model.backend != TRANSFORMERS:
        what = (
            f"“{model.name}” runs on {model.get_backend_display()}, which does not report every answer’s probability."
        )
        raise invalid("method", what, "Choose JSON.")
    instrument = Instrument.of(study, arm)
    items = list(_items(study, arm))
    if not items:
        raise invalid("items", "The study has no items for this arm.", "Choose another arm.")
    drawn_from(settings.seed, "items").shuffle(items)
    items = items[: settings.items or None]
    sides = has_sides(instrument, items[0])
    samples = settings.samples or (2 if sides else 1)
    if sides and samples % 2:
        what = f"With {counted(samples, 'sample')}, one order of the texts would come more often than the other."
        raise invalid("samples", what, "Use an even number.")
    own = {field.name for field in fields(JudgeSettings)} - {"model", "arm", "method", "samples", "items", "name"}
    judge = Judge(
        study=study,
        name=settings.name or free_name(study, model.name),
        model=model,
        arm=arm,
        method=method,
        samples=samples,
        n_items=len(items),
        **{name: getattr(settings, name) for name in own},
    )
    orders = [arranged(instrument, item, slot=0, seed=judge.seed) for item in items[:20]]
    orders += [{}] * (len(items) - len(orders))
    expected = forecast(judge, instrument, items, orders)
    if len(expected.cannot) == expected.read:
        raise invalid("study", expected.cannot[0][1], "Judges do studies whose pages are words and plain questions.")
    return PlannedJudge(judge, items, expected, instrument)


@transaction.atomic
def create_judge(*, study: Study, settings: JudgeSettings, actor: str) -> Judge:
    """Store a judge with its places, and wake a worker for it. Raises Invalid with all problems."""
    Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    planned = plan_judge(study=study, settings=settings)
    judge = planned.judge
    if study.judges.count() >= MOST_JUDGES:
        raise invalid("study", f"This study has {MOST_JUDGES} judges.", "Duplicate the study for more.")
    judge.created_by = actor[:150]
    try:
        with transaction.atomic():
            judge.save(force_insert=True)
    except IntegrityError:
        what = f"The study has a judge “{judge.name}”."
        raise invalid("name", what, "Give this one another name.") from None
    places = _places(planned)
    while batch := list(islice(places, AT_ONCE)):
        JudgePlace.objects.bulk_create(batch)
    expected = planned.forecast
    record(
        study=study,
        actor=actor,
        action="start judge",
        judge=judge.name,
        model=judge.model.name,
        items=judge.n_items,
        samples=judge.samples,
        about_tokens=expected.tokens,
        about_cost=expected.cost,
    )
    queueing.wake_on_commit(judge.pk)
    return judge


@transaction.atomic
def stop_judge(*, judge: Judge, actor: str) -> None:
    """Stop a judge. What it has answered stays. Raises Invalid if it has ended."""
    judge = Judge.objects.select_for_update(no_key=True).get(pk=judge.pk)
    if judge.state not in ACTIVE:
        raise invalid("judge", f"“{judge.name}” has ended ({judge.get_state_display().lower()}).", "Nothing to stop.")
    judge.state, judge.ended_at, judge.leased_by, judge.leased_until = Judge.State.STOPPED, timezone.now(), "", None
    judge.save(update_fields=["state", "ended_at", "leased_by", "leased_until"])
    record(study=judge.study, actor=actor, action="stop judge", judge=judge.name)


@transaction.atomic
def resume_judge(*, judge: Judge, actor: str, cap_usd: Decimal | None = None, cap_tokens: int | None = None) -> None:
    """Continue a judge that was stopped, failed or reached a cap, which may be raised. Raises Invalid."""
    judge = Judge.objects.select_for_update(no_key=True).get(pk=judge.pk)
    if judge.state == Judge.State.DONE:
        raise invalid("judge", f"“{judge.name}” is done.", "Start another judge for more answers.")
    refuse_if_any(_cap_problems(cap_usd, cap_tokens))
    judge.cap_usd, judge.cap_tokens = cap_usd or judge.cap_usd, cap_tokens or judge.cap_tokens
    judge.state, judge.message, judge.failures, judge.ended_at = Judge.State.WAITING, "", 0, None
    judge.save(update_fields=["state", "message", "failures", "ended_at", "cap_usd", "cap_tokens"])
    record(study=judge.study, actor=actor, action="resume judge", judge=judge.name)
    queueing.wake_on_commit(judge.pk)


def usable_model(name: str) -> LanguageModel:
    """Raises Invalid: no such model, retired, or its last check failed."""
    model = LanguageModel.objects.filter(name=name).first()
    for backend, embedded in EMBEDDED_NAMES.items():
        if model is None and name == embedded:
            model = ensure_embedded_model(backend=backend, actor="judge")
    if model is None:
        names = LanguageModel.objects.filter(retired=False).order_by("name").values_list("name", flat=True)
        refuse_if_any([unknown("model", name, [*dict.fromkeys([*names, *EMBEDDED_NAMES.values()])])])
        raise AssertionError
    if model.retired:
        raise invalid("model", f"“{name}” is retired.", "Choose another model.")
    if model.check_state == LanguageModel.Check.FAILED:
        fix = f"Fix that, then run: manage.py generate check {name}"
        raise invalid("model", f"“{name}” does not work: {model.check_message}", fix)
    return model


def free_name(study: Study, model: str) -> str:
    """The model's name, with a number if the study has had a judge of that name."""
    taken = set(study.judges.values_list("name", flat=True))
    names = (model if number == 1 else f"{model}-{number}" for number in range(1, len(taken) + 2))
    return next(name[:60] for name in names if name[:60] not in taken)


def _problems(study: Study, settings: JudgeSettings) -> list[Problem]:
    problems = []
    if study.status == Study.Status.DRAFT:
        fix = "Launch it first, so that its wording stays the same for people and for judges."
        return [Problem("study", "The study is a draft.", fix)]
    task = get_type(study.task_type)
    if task.own_work:
        return [Problem("study", "Workers of this study write texts; there is nothing to judge.", "Judge its outputs.")]
    for name, (low, high) in _RANGES.items():
        value = getattr(settings, name)
        if not low <= value <= high:
            problems.append(Problem(name, f"{value} is not from {low:g} to {high:g}.", "Change it."))
    problems += _cap_problems(settings.cap_usd, settings.cap_tokens)
    if settings.cap_usd is not None and not (settings.price_in or settings.price_out):
        what = "A cap in USD needs the prices of tokens."
        problems.append(Problem("cap_usd", what, "Give prices, or a cap in tokens."))
    if len(settings.instruction) > LONGEST_INSTRUCTION:
        what = f"The instruction has {len(settings.instruction):,} characters; at most {LONGEST_INSTRUCTION:,} fit."
        problems.append(Problem("instruction", what, "Shorten it."))
    if len(settings.name) > 60:
        problems.append(Problem("name", "The name is longer than 60 characters.", "Shorten it."))
    if settings.method and settings.method not in Judge.Method.values:
        problems.append(unknown("method", settings.method, Judge.Method.values))
    arms = [arm.name for arm in study.arms.all()]
    if settings.arm and settings.arm not in arms:
        problems.append(unknown("arm", settings.arm, arms))
    return problems


def _cap_problems(cap_usd: Decimal | None, cap_tokens: int | None) -> list[Problem]:
    return [
        Problem(name, f"{cap} is not above 0 and up to {most:,}.", "Leave it empty for no cap.")
        for name, cap, most in (("cap_usd", cap_usd, MOST_USD), ("cap_tokens", cap_tokens, MOST_CAP_TOKENS))
        if cap is not None and not 0 < cap <= most
    ]


def _items(study: Study, arm: Arm) -> Iterable[Item]:
    """The main items that people in this arm get."""
    planned = Item.objects.filter(study=study, role=Item.Role.MAIN, hits__arm=arm).distinct().order_by("position")
    return planned if planned.exists() else Item.objects.filter(study=study, role=Item.Role.MAIN).order_by("position")


def _places(planned: PlannedJudge) -> Iterator[JudgePlace]:
    """All items once, then all of them again: a judge that is stopped early has judged many items, not one often."""
    judge, position = planned.judge, 0
    for sample in range(judge.samples):
        for item in planned.items:
            order = arranged(planned.instrument, item, slot=sample, seed=judge.seed)
            yield JudgePlace(judge=judge, item=item, position=position, sample=sample, order=order)
            position += 1
