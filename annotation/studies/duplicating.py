"""Duplicates a study as a draft: for a second round, or for the main study after a pilot."""

from __future__ import annotations

from dataclasses import replace

from django.contrib.auth.models import User
from django.db import transaction

from annotation.audit import record
from annotation.models import Item, ItemAuthor, ItemFeed, Study
from annotation.platforms.paying_accounts import ACCOUNT, choice_problems
from annotation.studies.images import copy_media
from annotation.studies.spec import spec_of
from annotation.studies.storing import create_study

BATCH = 1_000


@transaction.atomic
def duplicate_study(*, study: Study, slug: str, title: str, with_items: bool, actor: str, owner: User | None) -> Study:
    """A draft with the settings, texts, arms and excluded studies of ``study``, and its items if ``with_items``.

    Nothing that workers did is copied, and only ``owner`` becomes a member. Platform accounts that they may not use are
    left out. Raises Invalid.
    """
    spec = spec_of(study)
    # Without accounts that the owner of the duplicate may not use: they choose another.
    refused = {
        problem.where.split(".")[1] for problem in choice_problems(spec.platforms, {}, [owner] if owner else None)
    }
    spec = replace(
        spec,
        values=dict(spec.values) | {"slug": slug, "title": title},
        platforms={
            name: dict(settings) | ({ACCOUNT: ""} if name in refused else {})
            for name, settings in spec.platforms.items()
        },
    )
    draft = create_study(spec=spec, actor=actor, owner=owner)
    draft.duplicated_from = study
    draft.save(update_fields=["duplicated_from"])
    count = _copy_items(study, draft) if with_items else 0
    record(study=draft, actor=actor, action="duplicate", of=study.slug, items=count)
    draft.refresh_from_db()
    return draft


def _copy_items(study: Study, draft: Study) -> int:
    """Copy the items with their sources and authors, so that nobody judges their own text here either."""
    feed = ItemFeed.objects.filter(study=study).first()
    if feed:
        ItemFeed.objects.create(study=draft, source=feed.source, arms=feed.arms, kind=feed.kind, follow=feed.follow)
    copy_media(study=study, to=draft)
    count = 0
    items = Item.objects.filter(study=study).order_by("position")
    while batch := list(items[count : count + BATCH]):
        copies = Item.objects.bulk_create(
            Item(
                study=draft,
                external_id=item.external_id,
                payload=item.payload,
                role=item.role,
                source=item.source,
                position=item.position,
            )
            for item in batch
        )
        copy_of = {item.pk: copy.pk for item, copy in zip(batch, copies, strict=True)}
        authors = ItemAuthor.objects.filter(item__in=copy_of).values_list("item_id", "worker_id")
        ItemAuthor.objects.bulk_create(ItemAuthor(item_id=copy_of[item], worker_id=worker) for item, worker in authors)
        count += len(batch)
    draft.items_read_with = study.items_read_with
    draft.has_authors = study.has_authors
    draft.save(update_fields=["items_read_with", "has_authors"])
    return count
