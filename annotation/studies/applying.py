"""Makes a study match its file: compares the file with what is stored, then makes all changes or none."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction

from annotation.access import Role, members_of, runs_of, studies_of
from annotation.models import Item, ItemFeed, Membership, Study
from annotation.platforms.paying_accounts import choice_problems
from annotation.studies import storing
from annotation.studies.checking import check_study
from annotation.studies.factor_notes import factor_notes
from annotation.studies.images import Images
from annotation.studies.importing_items import ItemsRead, also_in_rows, read_items, store_items
from annotation.studies.item_sources import check_run, samples_table
from annotation.studies.members import add_member
from annotation.studies.outputs import check_source, read_outputs, set_follow, store_feed
from annotation.studies.spec import StudySpec, default_values, differing, spec_of
from annotation.studies.storing import Frozen
from annotation.studies.study_documents import changes_in
from annotation.studies.study_files import FileRefused, FromFile, FromRun, FromStudy, StudyFile
from annotation.studies.wording_notes import study_warnings
from annotation.table_files import Table, TableProblems, read_table
from annotation.task_types.registry import get_type
from common.problems import Problem, unknown
from generation.models import GenerationRun

ACTOR = "manage.py study apply"
#: The parts of a study file that decide which levels its factors have.
DECIDE_LEVELS = {"task_type", "config", "arms", "items", "factors"}


@dataclass(frozen=True, slots=True)
class Difference:
    """One field that the file changes. ``old`` is None if the field is new."""

    field: str
    old: Any
    new: Any


@dataclass(frozen=True, slots=True)
class Applied:
    """What applying a file did, or would do. ``warnings``: what to know about the study as the file describes it.
    ``suggestion``: what the report compares besides the declared factors, in words."""

    study: Study | None
    created: bool
    differences: list[Difference]
    warnings: Sequence[str] = ()
    suggestion: str = ""


@dataclass(frozen=True, slots=True)
class _Feed:
    """Another study whose outputs become items. It exists, and the owner may use it."""

    source: Study
    arms: tuple[str, ...]
    kind: str
    follow: bool

    def terms(self) -> dict[str, Any]:
        return {
            "items.from_study": self.source.slug,
            "items.arms": list(self.arms),
            "items.kind": self.kind,
            "items.follow": self.follow,
        }


@dataclass(frozen=True, slots=True)
class _Described:
    """A file that can be applied: cleaned values, and its items if it names any.

    ``read`` is None if the study follows another and is no longer a draft: then items arrive automatically.
    """

    spec: StudySpec
    names_items: bool
    read: ItemsRead | None = None
    feed: _Feed | None = None


def apply(
    file: StudyFile,
    *,
    owner: User | None = None,
    dry_run: bool = False,
    progress: Callable[[int], None] | None = None,
) -> Applied:
    """Create the study or change it to match the file: completely or not at all.

    With ``dry_run``, everything is tried and then undone. Raises FileRefused, Frozen, or TableProblems for the items'
    file.
    """
    study = Study.objects.filter(slug=file.slug).first()
    return match_study(study, file, owner=owner, dry_run=dry_run, progress=progress)


def match_study(
    study: Study | None,
    file: StudyFile,
    *,
    user: User | None = None,
    owner: User | None = None,
    dry_run: bool = False,
    progress: Callable[[int], None] | None = None,
) -> Applied:
    """Like `apply`, for this study; None creates one.

    ``user``: who does it, and whose studies and runs the file may name. None: the command line, which may name all.
    """
    described = _check(file, study, owner, user)
    differences = _differences(study, described, owner)
    if not differences:
        return Applied(study, False, [], study_warnings(study) if study else ())
    if described.read is not None and not dry_run:
        described.read.images.write_files()
        described.read.recordings.write_files()
    with transaction.atomic():
        stored = _write(study, described, differences, owner, user, progress)
        warnings, suggestion = _noted(stored, differences, file.lines)
        if dry_run:
            transaction.set_rollback(True)
    about_file = described.read.notes if described.read else ()
    warnings = [*about_file, *warnings]
    return Applied(study if dry_run else stored, study is None, differences, warnings, suggestion)


def patch_study(*, study: Study, document: Mapping[str, Any], user: User, dry_run: bool = False) -> Applied:
    """Change the study where the document, some keys of a study file, differs from it: completely or not at all.

    Raises FileRefused, Invalid or Frozen.
    """
    with transaction.atomic():
        before = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
        old = spec_of(before).terms()
        changes = changes_in(document, before)
        stored = storing.change_study(study=before, visible=studies_of(user), actor=user.get_username(), **changes)
        terms = differing(old, spec_of(stored).terms())
        differences = [Difference(name, was, now) for name, (was, now) in terms.items()]
        warnings, suggestion = _noted(stored, differences, {})
        if dry_run:
            transaction.set_rollback(True)
    return Applied(study if dry_run else stored, False, differences, warnings, suggestion)


def _noted(study: Study, differences: Sequence[Difference], lines: Mapping[str, int]) -> tuple[list[str], str]:
    """What to know about the study after these changes, and what its report will compare.

    Raises FileRefused if they change the levels of factors, and its items and arms lack what the factors name.
    """
    notes = factor_notes(study)
    changed = {difference.field.partition(".")[0] for difference in differences}
    if notes.problems and changed & DECIDE_LEVELS:
        raise FileRefused(list(notes.problems), lines)
    warnings = [*study_warnings(study), *map(str, notes.problems), *notes.warnings]
    return warnings, notes.suggestion if changed & DECIDE_LEVELS else ""


# --- what the file contains ---


def _check(file: StudyFile, study: Study | None, owner: User | None, user: User | None) -> _Described:
    """Check values, settings, texts, arms and items. Raises FileRefused or TableProblems."""
    spec = replace(file.spec, values=default_values(file.spec.task_type) | dict(file.spec.values))
    instance = Study.objects.get(pk=study.pk) if study else Study()
    checked, problems = check_study(spec, instance=instance, visible=studies_of(user) if user else None)
    feed = None
    # Who may see studies and use accounts for this one; everything if it has no owner, only the command line.
    owners = [person for person in (owner, user) if person]
    if study is not None and user is None:
        owners += members_of(study, Role.OWNER)
    problems += choice_problems(checked.platforms, study.platforms if study else {}, owners or None)
    if isinstance(file.items, FromStudy):
        named, visible = file.items, Study.objects.all()
        if owners:
            seen = {pk for user in owners for pk in studies_of(user).values_list("pk", flat=True)}
            visible = visible.filter(pk__in=seen)
        source, wrong = check_source(
            task=get_type(file.spec.task_type),
            slug=file.slug,
            source_slug=named.study,
            arms=named.arms,
            visible=visible,
            kind=named.kind,
        )
        problems += wrong
        feed = _Feed(source, named.arms, named.kind, named.follow) if source else None
    if problems:
        raise FileRefused(problems, file.lines)
    if feed is not None and study is not None and study.status != Study.Status.DRAFT:
        return _Described(checked, names_items=True, feed=feed)
    return _Described(checked, file.items is not None, _read(file, checked, feed, study, user), feed)


def _read(
    file: StudyFile, checked: StudySpec, feed: _Feed | None, study: Study | None, user: User | None
) -> ItemsRead | None:
    task = get_type(file.spec.task_type)
    if feed is not None:
        return read_outputs(task=task, config=checked.config, source=feed.source, arms=feed.arms, kind=feed.kind)
    if isinstance(file.items, FromFile | Table):
        images = Images(study, file.items.path.parent if isinstance(file.items, FromFile) else None)
        try:
            table = _file_table(file, file.items) if isinstance(file.items, FromFile) else file.items
        except TableProblems as refused:
            raise also_in_rows(refused, file.spec.task_type, checked.config, images) from None
        return read_items(file.spec.task_type, checked.config, table, images)
    if isinstance(file.items, FromRun):
        named = file.items
        runs = GenerationRun.objects.all() if user is None else runs_of(user)
        run = runs.filter(name=named.run).first()
        if run is None:
            names = runs.order_by("name").values_list("name", flat=True)
            raise FileRefused([unknown("items.from_run", named.run, names)], file.lines)
        options, problems = check_run(task=task, run=run, options=named.options)
        if problems:
            raise FileRefused(problems, file.lines)
        added = _file_table(file, FromFile(named.file)) if named.file else None
        table, _ = samples_table(task=task, run=run, options=options, added=added)
        return read_items(file.spec.task_type, checked.config, table)
    return None


def _file_table(file: StudyFile, items: FromFile) -> Table:
    try:
        with items.path.open("rb") as opened:
            return read_table(opened, name=items.path.name, limit=None, options=items.options)
    except OSError as error:
        what = f"{items.path} cannot be read: {error.strerror}."
        raise FileRefused([Problem("items", what, "Check the path.")], file.lines) from None


# --- what differs ---


def _differences(study: Study | None, described: _Described, owner: User | None) -> list[Difference]:
    new = described.spec.terms()
    old: dict[str, Any] = {}
    if study is not None:
        old = spec_of(study).terms()
    if described.names_items:
        feed = ItemFeed.objects.select_related("source").filter(study=study).first() if study else None
        old |= _Feed(feed.source, tuple(feed.arms), feed.kind, feed.follow).terms() if feed else {}
        new |= described.feed.terms() if described.feed else {}
    differences = [
        Difference(name, old.get(name), new.get(name))
        for name in dict.fromkeys([*new, *old])
        if study is None or old.get(name) != new.get(name)
    ]
    read = described.read
    stored = Item.objects.filter(study=study).order_by("position")
    n_items = stored.count() if study else 0
    if study is None or study.task_type != described.spec.task_type:  # another type cannot use the stored items
        items_change = n_items > 0 or read is not None
    elif read is None:
        items_change = False
    elif study.status == Study.Status.DRAFT and n_items and study.items_read_with != read.settings:
        items_change = True
    else:
        new_items = [(item.external_id, item.payload) for item in read.items]
        items_change = list(stored.values_list("external_id", "payload")) != new_items
    if items_change:
        differences.append(Difference("items", n_items if study else None, len(read.items) if read else 0))
    owners = Membership.objects.filter(study=study, role=Membership.Role.OWNER)
    if owner is not None and not owners.filter(user=owner).exists():
        differences.append(Difference("owner", None, owner.get_username()))
    return differences


# --- writing it ---


def _write(
    study: Study | None,
    described: _Described,
    differences: list[Difference],
    owner: User | None,
    user: User | None,
    progress: Callable[[int], None] | None,
) -> Study:
    spec = described.spec
    actor, visible = (user.get_username(), studies_of(user)) if user else (ACTOR, None)
    if study is None:
        stored = storing.create_study(spec=spec, visible=visible, owner=owner, actor=actor)
    else:
        # Every change that the study no longer allows, items included, with the names in the file.
        changes = {difference.field: (difference.old, difference.new) for difference in differences}
        if problems := storing.frozen_problems(study, changes):
            raise Frozen(problems)
        stored = storing.change_study(study=study, visible=visible, actor=actor, **spec.parts())
        if owner is not None:
            add_member(study=stored, user=owner, role=Membership.Role.OWNER, actor=actor)
    feed, read = described.feed, described.read
    if feed is not None and stored.status != Study.Status.DRAFT:
        set_follow(study=stored, follow=feed.follow, actor=actor)
    elif read is not None and any(difference.field.partition(".")[0] == "items" for difference in differences):
        if feed is None:
            store_items(study=stored, read=read, actor=actor, progress=progress)
        else:
            store_feed(
                study=stored,
                read=read,
                source=feed.source,
                arms=feed.arms,
                kind=feed.kind,
                follow=feed.follow,
                actor=actor,
            )
    return stored
