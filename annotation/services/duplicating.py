"""Duplicates a study as a draft: for a second round, or for the main study after a pilot."""

from __future__ import annotations

from collections.abc import Sequence

from django.contrib.auth.models import User
from django.db import transaction

from annotation.models import Item, ItemAuthor, ItemFeed, Study
from annotation.services.audit import record
from annotation.services.media import copy_media
from annotation.services.studies import arm_as_given, create_study, stored_parts

BATCH = 1_000


@transaction.atomic
def duplicate_study(*, study: Study, slug: str, title: str, with_items: bool, actor: str, owner: User | None) -> Study:
    """A draft with the settings, texts, arms and excluded studies of ``study``, and its items if ``with_items``.

    Nothing that workers did is copied, and only ``owner`` becomes a member. Raises Invalid.
    """
    parts = stored_parts(study)
    made = create_study(
        slug=slug,
        task_type=study.task_type,
        values={name: value for name, value in parts.values.items() if name != "slug"} | {"title": title},
        config=parts.config,
        texts=parts.texts,
        arms=[arm_as_given(arm) for arm in parts.arms],
        exclude_studies=parts.exclude_studies,
        platforms=parts.platforms,
        quality_control=parts.quality_control,
        exclusion=parts.exclusion,
        actor=actor,
        owner=owner,
    )
    made.duplicated_from = study
    made.save(update_fields=["duplicated_from"])
    count = _copy_items(study, made) if with_items else 0
    record(study=made, actor=actor, action="duplicate", of=study.slug, items=count)
    made.refresh_from_db()
    return made


def _copy_items(study: Study, made: Study) -> int:
    """Copy the items with their sources and authors, so that nobody judges their own text here either."""
    feed = ItemFeed.objects.filter(study=study).first()
    if feed:
        ItemFeed.objects.create(study=made, source=feed.source, arms=feed.arms, kind=feed.kind, follow=feed.follow)
    copy_media(study=study, to=made)
    count = 0
    items = Item.objects.filter(study=study).order_by("position")
    while batch := list(items[count : count + BATCH]):
        copies = Item.objects.bulk_create(
            Item(
                study=made,
                external_id=item.external_id,
                payload=item.payload,
                role=item.role,
                source=item.source,
                position=item.position,
            )
            for item in batch
        )
        _copy_authors(batch, copies)
        count += len(batch)
    made.items_read_with = study.items_read_with
    made.has_authors = study.has_authors
    made.save(update_fields=["items_read_with", "has_authors"])
    return count


def _copy_authors(items: Sequence[Item], copies: Sequence[Item]) -> None:
    copy_of = {item.pk: copy.pk for item, copy in zip(items, copies, strict=True)}
    authors = ItemAuthor.objects.filter(item__in=copy_of).values_list("item_id", "worker_id")
    ItemAuthor.objects.bulk_create(ItemAuthor(item_id=copy_of[item], worker_id=worker) for item, worker in authors)
