"""Going live: the hits are planned from the seed, the wording is fixed, and the study is offered by its link."""

from __future__ import annotations

import random
from collections.abc import Sequence

from django.db import transaction
from django.utils import timezone

from annotation.models import AuditEntry, Hit, HitItem, Item, Posting, Study
from annotation.platforms import link
from annotation.services.audit import record
from annotation.services.checking import check_study
from annotation.services.importing import settings_read_otherwise
from annotation.services.refusals import FieldProblem, Invalid
from annotation.task_types.registry import get_type

Status = Study.Status
ACTION = "publish"
BATCH = 2_000


@transaction.atomic
def publish(*, study: Study, actor: str) -> Posting:
    """Plan the hits and open the study under its link. Doing it again changes nothing.

    Raises Invalid with everything that is in the way.
    """
    now = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    if now.status == Status.LIVE:
        return _posting(now)
    problems = reasons_not_to_publish(now)
    if problems:
        raise Invalid(problems)
    task = get_type(now.task_type)
    worded = sorted(now.texts)
    ids = dict(Item.objects.filter(study=now).order_by("position").values_list("external_id", "pk"))
    rng = random.Random(now.seed)  # noqa: S311 - the plan must be reproducible, not unpredictable
    bundles = task.plan(list(ids), items_per_hit=now.items_per_hit, config=now.config, rng=rng)
    _refuse_bad_plan(bundles, set(ids))
    _create_hits(now, bundles, ids)
    now.status = Status.LIVE
    now.live_at = timezone.now()
    # The wording as it is shown from now on: a newer version of the type may word its own texts otherwise.
    now.texts = task.default_texts(now.config) | now.texts
    now.save(update_fields=["status", "live_at", "texts"])
    record(study=now, actor=actor, action=ACTION, hits=len(bundles), items=len(ids), seed=now.seed, texts=worded)
    study.refresh_from_db()
    return _posting(now)


def _posting(study: Study) -> Posting:
    posting, _ = Posting.objects.get_or_create(
        platform=link.PLATFORM,
        external_id=study.slug,
        defaults={"study": study, "url": link.study_url(study)},
    )
    return posting


def reasons_not_to_publish(study: Study) -> list[FieldProblem]:
    """Everything that keeps this draft from going live; nothing means that it can."""
    if study.status != Status.DRAFT:
        mend = "Resume it." if study.status == Status.PAUSED else "Make a new study."
        return [FieldProblem("status", f"The study is {study.get_status_display().lower()}, no draft.", mend)]
    copy = Study.objects.get(pk=study.pk)
    _, problems = check_study(
        instance=copy, values={}, task_type=study.task_type, config=study.config, texts=study.texts
    )
    n_items = Item.objects.filter(study=study).count()
    if not n_items:
        problems.append(FieldProblem("items", "The study has no items.", "Import a file of items first."))
    elif study.items_per_hit > n_items:
        what = f"A hit of {study.items_per_hit} items cannot be made of {n_items}."
        problems.append(FieldProblem("items_per_hit", what, f"Write a number from 1 to {n_items}."))
    for name, (then, now) in settings_read_otherwise(study).items() if n_items else ():
        what = f"The items were read with {name} {then!r}; it is {now!r} now."
        problems.append(FieldProblem("items", what, "Import the items again, or change the setting back."))
    return problems


def _refuse_bad_plan(bundles: Sequence[Sequence[str]], ids: set[str]) -> None:
    """A mistake in a type's own ``plan`` must not go live: an item left out would never be rated."""
    planned = {name for bundle in bundles for name in bundle}
    whole = planned == ids and all(bundle and len(set(bundle)) == len(bundle) for bundle in bundles)
    if not whole:
        missing = len(ids - planned)
        what = f"The task type's plan is not sound: {missing} items are in no hit, or a hit has one twice or none."
        raise Invalid([FieldProblem("task_type", what, "Try another number of items per hit.")])


def _create_hits(study: Study, bundles: Sequence[Sequence[str]], ids: dict[str, int]) -> None:
    hits = Hit.objects.bulk_create(
        (Hit(study=study, position=at, wanted=study.ratings_per_item) for at in range(len(bundles))), batch_size=BATCH
    )
    HitItem.objects.bulk_create(
        (
            HitItem(hit=hit, item_id=ids[name], position=at)
            for hit, bundle in zip(hits, bundles, strict=True)
            for at, name in enumerate(bundle)
        ),
        batch_size=BATCH,
    )


def worded_texts(study: Study) -> dict[str, str]:
    """The texts that the study words itself, without those that going live took over from its type."""
    if study.status == Status.DRAFT:
        return dict(study.texts)
    entry = AuditEntry.objects.filter(study=study, action=ACTION).order_by("-pk").first()
    own = entry.detail.get("texts") if entry else None
    return {name: text for name, text in study.texts.items() if own is None or name in own}
