"""Makes a closed study of ratings that people gave in another tool: Label Studio, Argilla or Potato."""

from __future__ import annotations

import math
import random
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from annotation.audit import record
from annotation.instrument import Instrument, item_data, whole_texts
from annotation.models import Arm, Assignment, Hit, Item, Participant, Rating, Step, Study, Submission, Worker
from annotation.studies.imported_forms import ImportedForm
from annotation.studies.importing_items import ItemsRead, settings_of, store_items
from annotation.studies.launching import create_hits
from annotation.studies.spec import StudySpec
from annotation.studies.storing import create_study
from annotation.task_types.base import PlannedHit, Shown
from annotation.task_types.items import Row
from annotation.task_types.registry import get_type
from common.problems import Problem, invalid, refuse_if_any

if TYPE_CHECKING:
    from analysis.answer_files.elsewhere import Elsewhere, ForeignAnswer

#: The platform of workers who did not work here. Nothing can be posted there.
PLATFORM = "import"
FORM = "form"
BATCH = 1_000
MOST_PROBLEMS = 20
#: As in reports of the file itself.
PSEUDONYM = "person-{number}"
TOOLS = "Label Studio, Argilla or Potato"


@dataclass(frozen=True, slots=True)
class ImportedRatings:
    """The study, and what of the file is not in it, in words."""

    study: Study
    notes: Sequence[str]


def read_ratings(path: Path, name: str) -> Elsewhere:
    """The answers in a file that somebody uploaded as ``name``. Raises Invalid."""
    from analysis.answer_files.foreign_files import read_elsewhere  # loads pandas
    from analysis.input_errors import InputError

    try:
        elsewhere = read_elsewhere(str(path))
    except InputError as error:
        place = f"{name}, {error.where}" if error.where else name
        fix = error.fix or "Export it again"
        raise invalid("file", f"{place}: {error.what}.", f"{fix[:1].upper()}{fix[1:]}.") from None
    except UnicodeDecodeError:
        raise invalid("file", f"{name} is not in UTF-8.", "Export it again as JSON.") from None
    if elsewhere is None:
        what = f"{name} is not an export of {TOOLS} with ratings."
        raise invalid("file", what, "Export the annotations as JSON. “Bringing your data” lists the formats.")
    return elsewhere


@transaction.atomic
def import_ratings(
    *, elsewhere: Elsewhere, file: str, slug: str, title: str, owner: User | None, actor: str
) -> ImportedRatings:
    """Create a closed study of type `form` with the items, the people and their answers. Raises Invalid.

    Nobody is paid for it, and it is on no platform. People appear under the pseudonyms of reports of the file.
    """
    form = ImportedForm.of(elsewhere)
    raters: dict[str, dict[str, list[ForeignAnswer]]] = {name: {} for name in elsewhere.items}
    for answer in elsewhere.answers:
        raters[answer.item].setdefault(answer.worker, []).append(answer)
    spec = StudySpec(
        FORM,
        {
            "slug": slug,
            "title": title or f"{Path(file).stem} (imported from {elsewhere.tool})",
            "ratings_per_item": max(map(len, raters.values())),
            "items_per_hit": 1,
            "hits_per_worker": None,
            "reward": 0,
            "feedback_box": False,
        },
        config=form.settings,
    )
    study = create_study(spec=spec, actor=actor, owner=owner)
    _store_items(study, form, file, actor)
    study.refresh_from_db()
    arm = Arm.objects.create(study=study, position=0)
    arm.shown_config, arm.shown_texts = study.config, whole_texts(get_type(FORM), study.config, study.texts, {})
    arm.save(update_fields=["shown_config", "shown_texts"])
    items = list(Item.objects.filter(study=study).order_by("position"))
    planned = [PlannedHit([item.external_id], max(1, len(raters[item.external_id]))) for item in items]
    create_hits(study, [arm], planned, {item.external_id: item.pk for item in items}, first=0)
    # In the order of the file, as a report of the file itself numbers them.
    people = _enrol(study, arm, list(dict.fromkeys(answer.worker for answer in elsewhere.answers)))
    moments = _store_work(study, arm, form, items, raters, people)
    dated = any(answer.at for answer in elsewhere.answers)
    study.imported = {"tool": elsewhere.tool, "file": file[:200], "notes": elsewhere.notes, "dated": dated}
    study.status, study.live_at, study.closed_at = Study.Status.CLOSED, min(moments), max(moments)
    study.complete_at = timezone.now()  # nobody gets mail that all ratings are in
    study.save(update_fields=["imported", "status", "live_at", "closed_at", "complete_at"])
    record(
        study=study,
        actor=actor,
        action="import ratings",
        tool=elsewhere.tool,
        file=file[:200],
        answers=len(elsewhere.answers),
    )
    return ImportedRatings(study, elsewhere.notes)


def _store_items(study: Study, form: ImportedForm, file: str, actor: str) -> None:
    task = get_type(FORM)
    rows = [Row(number, dict(cells)) for number, cells in enumerate(form.rows, start=1)]
    items, problems = task.read_items(rows, study.config)
    if problems:
        refuse_if_any(
            [Problem("file", f"{problem.what} (item {problem.row})", problem.fix) for problem in problems[:20]]
        )
    sources = [{"file": file, "rows": list(item.rows)} for item in items]
    read = ItemsRead(items, FORM, settings_of(task, study.config), "file", file, len(rows), sources)
    store_items(study=study, read=read, actor=actor)


def _store_work(
    study: Study,
    arm: Arm,
    form: ImportedForm,
    items: Sequence[Item],
    raters: Mapping[str, Mapping[str, Sequence[ForeignAnswer]]],
    people: Mapping[str, Participant],
) -> list[datetime]:
    """Everybody's work, in the order of the items. Returns when it was sent."""
    hits = dict(Hit.objects.filter(study=study).values_list("items__external_id", "pk"))
    hit_rows = Hit.objects.in_bulk(hits.values())
    instrument, done, moments = Instrument.of(study, arm), dict.fromkeys(people, 0), []
    now = timezone.now()
    batch: list[_Work] = []
    for item in items:
        hit = hit_rows[hits[item.external_id]]
        for slot, (name, answers) in enumerate(raters[item.external_id].items()):
            done[name] += 1
            first = answers[0]
            seconds = 0.0 if first.seconds is None or math.isnan(first.seconds) else float(first.seconds)
            own = form.answers(answers)
            batch.append(_Work(item, hit, people[name], slot, done[name], own, seconds, first.moment or now))
            moments.append(batch[-1].sent_at)
            if len(batch) == BATCH:
                _write(study, instrument, batch)
                batch = []
        hit.n_live = hit.n_submitted = len(raters[item.external_id])
    _write(study, instrument, batch)
    Hit.objects.bulk_update(hit_rows.values(), ["n_live", "n_submitted"], batch_size=BATCH)
    return moments


def _enrol(study: Study, arm: Arm, names: Sequence[str]) -> dict[str, Participant]:
    """Everybody as a participant, by their names in the file, which only an owner can export."""
    workers = Worker.objects.bulk_create(
        [Worker(platform=PLATFORM, platform_id=f"{study.pk}/{name}"[:200]) for name in names], batch_size=BATCH
    )
    participants = Participant.objects.bulk_create(
        [
            Participant(
                study=study,
                worker=worker,
                arm=arm,
                pseudonym=PSEUDONYM.format(number=number),
                completion_code=secrets.token_hex(8),
            )
            for number, worker in enumerate(workers, start=1)
        ],
        batch_size=BATCH,
    )
    Arm.objects.filter(pk=arm.pk).update(n_enrolled=len(participants))
    return dict(zip(names, participants, strict=True))


@dataclass(frozen=True, slots=True)
class _Work:
    """One person's answers about one item."""

    item: Item
    hit: Hit
    person: Participant
    slot: int
    ordinal: int
    answers: Mapping[str, Any]
    seconds: float
    sent_at: datetime


def _write(study: Study, instrument: Instrument, batch: Sequence[_Work]) -> None:
    """Assignments with their steps, submissions and ratings, as if people had answered the form."""
    task = instrument.task
    shown = [_shown(instrument, study, work) for work in batch]
    pages = [instrument.pages(one, [])[:1] for one in shown]
    assignments = Assignment.objects.bulk_create(
        Assignment(
            hit=work.hit,
            participant=work.person,
            state=Assignment.State.SUBMITTED,
            slot=work.slot,
            ordinal=work.ordinal,
            seed=study.seed,
            order=one.order,
            accepted_at=work.sent_at - timedelta(seconds=work.seconds),
            expires_at=work.sent_at,
            ended_at=work.sent_at,
        )
        for work, one in zip(batch, shown, strict=True)
    )
    Step.objects.bulk_create(
        Step(assignment=assignment, number=0, name=page.name, answers=work.answers, received_at=work.sent_at)
        for assignment, work, [page] in zip(assignments, batch, pages, strict=True)
    )
    submissions = Submission.objects.bulk_create(
        Submission(
            assignment=assignment,
            study=study,
            participant=work.person,
            answers=[work.answers],
            seconds=work.seconds,
            received_at=work.sent_at,
        )
        for assignment, work in zip(assignments, batch, strict=True)
    )
    Rating.objects.bulk_create(
        Rating(
            study=study,
            submission=submission,
            participant=work.person,
            item=work.item,
            question=rating.question,
            target=rating.target,
            scale=rating.scale,
            value=rating.value,
            text=rating.text,
            created_at=work.sent_at,
        )
        for submission, work, one, of_one in zip(submissions, batch, shown, pages, strict=True)
        for rating in task.ratings(one, of_one, [work.answers])
    )


def _shown(instrument: Instrument, study: Study, work: _Work) -> Shown:
    items = [item_data(work.item)]
    rng = random.Random(f"{study.seed}/{work.person.pseudonym}/{work.item.external_id}")  # noqa: S311 - reproducible
    return instrument.shown(items, instrument.task.arrange(items, instrument.config, slot=work.slot, rng=rng))
