"""A study's data as `StudyData` or as a bundle: the only place where database rows become frames or files of frames.

Workers appear under their pseudonyms in the study. The number of queries does not depend on the number of rows.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import Any, BinaryIO

from django.db.models import OuterRef, Subquery, Sum

from analysis.data import EXTRA, StudyData, make_study_data, write_bundle_tables
from analysis.description import StudyDescription
from analysis.study_tables import (
    TABLES,
    AdjudicationRow,
    FlagRow,
    ItemRow,
    JudgeRatingRow,
    JudgeRow,
    OfferRow,
    OwnRatingRow,
    QuestionnaireRow,
    RatingRow,
    StoppedRow,
    SubmissionRow,
    TryRow,
)
from annotation.models import (
    Adjudication,
    Assignment,
    Flag,
    HitItem,
    Item,
    ItemFeed,
    Media,
    Offer,
    Output,
    PartPayment,
    Rating,
    Review,
    Study,
    Submission,
)
from annotation.results.answers_around_tasks import questionnaire_rows
from annotation.results.description import describe_study
from annotation.results.judged_rows import judge_rating_rows, judge_rows
from annotation.results.tried_answers import try_rows
from annotation.results.worker_pages import worker_pages
from annotation.review.adjudicating import adjudicated_question
from annotation.studies.image_files import file_of
from annotation.studies.images import unused
from annotation.studies.provenance import provenance_columns
from annotation.task_types.checks import CHECK
from annotation.task_types.registry import get_type
from annotation.work.confirmation import is_posted, unconfirmed_submissions
from annotation.work.left_out import left_out_submissions, not_left_out

CHUNK = 10_000
#: The kind of outputs that are whole texts.
TEXT = "text"


def study_data(study: Study) -> StudyData:
    """Everything that reports, bundles and notebooks need. Submissions that a review excluded are included and marked.

    Submissions that the platform has not confirmed are missing. A submission that arrives while this runs is left out
    with all its ratings.
    """
    description = describe_study(study)
    return make_study_data(description, read_codes=None, **StudyRows(study, description).tables())


def write_study_bundle(study: Study, out: BinaryIO, files: Mapping[str, Iterable[bytes]] | None = None) -> int:
    """Write the bundle of what `study_data` returns, without loading all rows. Returns the number of ratings.

    ``files`` are added to the bundle next to the tables, and so are the images that items show and the pages that
    workers saw.
    """
    description = describe_study(study)
    shown = Media.objects.filter(study=study).exclude(unused()).order_by("name").values_list("name", "key")
    images = {name: _content(key) for name, key in shown}
    tables = StudyRows(study, description).tables()
    return write_bundle_tables(description, tables, out, {**(files or {}), **images}, worker_pages(study))


def _content(key: str) -> Iterator[bytes]:
    """An image or a recording, read piece by piece when it is written."""
    with file_of(key).open("rb") as file:
        yield from iter(partial(file.read, 1024**2), b"")


def _number(value: float | None) -> float:
    return math.nan if value is None else value


class StudyRows:
    """The rows of a study's tables, each from the method that has the name of its table in `TABLES`.

    They must be read in the order of `TABLES`: rows about a submission that was not read are left out.
    """

    def __init__(self, study: Study, description: StudyDescription) -> None:
        self.study, self.description = study, description
        self.task = get_type(study.task_type)
        self._submissions_read: set[int] = set()
        self._names: dict[int, str] = {}  # of items, by their number in the database

    def tables(self) -> dict[str, Iterator[tuple[Any, ...]]]:
        return {name: getattr(self, name)() for name in TABLES}

    def submissions(self) -> Iterator[SubmissionRow]:
        latest = Review.objects.filter(submission=OuterRef("pk")).order_by("-pk").values("decision")[:1]
        rows = Submission.objects.filter(study=self.study).annotate(decision=Subquery(latest)).order_by("pk")
        if is_posted(self.study):
            rows = rows.exclude(pk__in=unconfirmed_submissions(self.study).values("pk"))
        columns = (
            *("pk", "participant__pseudonym", "participant__synthetic", "participant__profile"),
            *("participant__arm__name", "assignment__hit_id", "seconds", "received_at", "feedback", "decision"),
            *("assignment__hit__reward", "assignment__extra"),
        )
        for row in rows.values(*columns).iterator(CHUNK):
            self._submissions_read.add(row["pk"])
            yield SubmissionRow(
                submission=row["pk"],
                worker=row["participant__pseudonym"],
                synthetic=row["participant__synthetic"],
                profile=row["participant__profile"],
                arm=row["participant__arm__name"],
                hit=row["assignment__hit_id"],
                # Times that a file of another tool lacks are stored as 0.
                seconds=math.nan if self.study.imported and not row["seconds"] else row["seconds"],
                received_at=row["received_at"],
                has_feedback=bool(row["feedback"].strip()),
                decision=row["decision"] or (EXTRA if row["assignment__extra"] and row["decision"] is None else ""),
                reward=str(row["assignment__hit__reward"]),
            )

    def items(self) -> Iterator[ItemRow]:
        """In the order of the file. Among the cells are the columns that say where an item's texts come from."""
        planned = HitItem.objects.filter(hit__study=self.study).values_list("item").annotate(wanted=Sum("hit__wanted"))
        wanted = dict(planned.order_by())
        origins = provenance_columns(self.study)
        rows = Item.objects.filter(study=self.study).order_by("position")
        for pk, name, role, payload in rows.values_list("pk", "external_id", "role", "payload").iterator(CHUNK):
            self._names[pk] = name
            facts = self.task.describe_item(payload)
            parameter, value = facts.parameter or ("", math.nan)
            yield ItemRow(
                item=name,
                role=role,
                context=facts.context,
                parameter=parameter,
                parameter_value=value,
                texts=[list(group) for group in facts.texts],
                responses=list(facts.responses),
                metrics=dict(facts.metrics),
                wanted=wanted.get(pk, 0),
                cells={**self.task.export_columns(payload), **origins.get(pk, {})},
                check=payload.get(CHECK, {}),
            )

    def ratings(self) -> Iterator[RatingRow]:
        rows = Rating.objects.filter(study=self.study).order_by("pk")
        for submission, item, question, target, scale, value, text, seconds in rows.values_list(
            "submission_id", "item_id", "question", "target", "scale", "value", "text", "seconds"
        ).iterator(CHUNK):
            if submission in self._submissions_read:
                name = "" if item is None else self._names[item]
                yield RatingRow(submission, name, question, target, scale, _number(value), text, _number(seconds))

    def flags(self) -> Iterator[FlagRow]:
        rows = Flag.objects.filter(submission__study=self.study).order_by("pk")
        for submission, reason, detail, value, threshold in rows.values_list(
            "submission_id", "reason", "detail", "value", "threshold"
        ).iterator(CHUNK):
            if submission in self._submissions_read:
                yield FlagRow(submission, reason, detail, _number(value), _number(threshold))

    def offers(self) -> Iterator[OfferRow]:
        """Those of finished hits. No query if no page asks for offers."""
        config = dict(self.description.config)
        if not any(
            self.task.suggesters(config | dict(arm)) for arm in ({}, *(arm.config for arm in self.description.arms))
        ):
            return
        rows = Offer.objects.filter(
            study=self.study, assignment__submission__isnull=False, assignment__participant__redacted_at=None
        )
        columns = (
            *("assignment__submission__pk", "item__external_id", "step", "round", "side", "number", "suggester"),
            *("model", "decoder", "seed", "source", "latency", "asked_at", "shown_at", "text", "chosen", "switches"),
        )
        for row in rows.order_by("pk").values(*columns).iterator(CHUNK):
            if row["assignment__submission__pk"] not in self._submissions_read:
                continue
            yield OfferRow(
                submission=row["assignment__submission__pk"],
                item=row["item__external_id"] or "",
                step=row["step"],
                round=row["round"],
                side=row["side"],
                number=row["number"],
                suggester=row["suggester"],
                model=row["model"],
                decoder=row["decoder"],
                seed="" if row["seed"] is None else str(row["seed"]),
                source=row["source"],
                latency=_number(row["latency"]),
                asked_at=row["asked_at"],
                shown_at=row["shown_at"],
                text=row["text"],
                chosen=bool(row["chosen"]),
                switches=row["switches"] or 0,
            )

    def own_ratings(self) -> Iterator[OwnRatingRow]:
        """How writers rated the texts that became items of this study.

        Only questions that this study asks, too, and only whole texts, which is what writers rate. Writers whose
        submission the analysis leaves out are missing. No query for types that judge no whole texts.
        """
        if TEXT not in self.task.takes_outputs:
            return
        feed = ItemFeed.objects.filter(study=self.study).select_related("source").first()
        topics = [question.topic for question in self.description.questions]
        if feed is None or not topics:
            return
        items = Item.objects.filter(study=self.study).order_by("position").values_list("external_id", "source")
        item_of = {output: name for name, source in items for output in source.get("outputs", ())}
        outputs = Output.objects.filter(
            not_left_out(left_out_submissions(feed.source), "submission"), study=feed.source, kind=TEXT
        )
        name_of = {
            (submission, item): item_of[output]
            for output, submission, item in outputs.values_list("pk", "submission_id", "item_id")
            if output in item_of
        }
        rows = Rating.objects.filter(study=feed.source, question__in=topics, target="", value__isnull=False)
        for submission, item, writer, question, value in (
            rows.order_by("pk")
            .values_list("submission_id", "item_id", "participant__pseudonym", "question", "value")
            .iterator(CHUNK)
        ):
            if (submission, item) in name_of:
                yield OwnRatingRow(name_of[submission, item], writer, question, _number(value))

    def adjudications(self) -> Iterator[AdjudicationRow]:
        """Those of the newest decision about each item. No query for types that settle nothing."""
        question = adjudicated_question(self.study)
        if question is None:
            return
        rows = Adjudication.objects.filter(study=self.study, question=question.topic).order_by("pk")
        newest: dict[str, list[str]] = dict(rows.values_list("item__external_id", "chosen"))
        for item, chosen in newest.items():
            for option in question.options:
                yield AdjudicationRow(item, question.topic, option.key, float(option.key in chosen))

    def stopped(self) -> Iterator[StoppedRow]:
        """No query if nobody has stopped.

        What was paid for a stopped hit is part pay by hand, or a compensation that the worker has accepted: never both.
        """
        if not self.description.assignments.get(Assignment.State.STOPPED):
            return
        rows = PartPayment.objects.filter(assignment__hit__study=self.study).order_by("pk")
        rows = rows.filter(assignment__participant__turned_away=None)  # paid for answers, not for a stopped hit
        columns = (
            *("assignment__participant__pseudonym", "assignment__participant__synthetic", "steps_done", "steps_in_all"),
            *("assignment__participant__arm__name", "assignment__hit_id", "amount", "created_at", "payments__amount"),
            *("assignment__compensation__amount", "assignment__compensation__paid_at"),
        )
        for row in rows.values(*columns).iterator(CHUNK):
            is_accepted = bool(row["assignment__compensation__paid_at"])
            paid = (row["payments__amount"] or 0) + (row["assignment__compensation__amount"] if is_accepted else 0)
            yield StoppedRow(
                worker=row["assignment__participant__pseudonym"],
                synthetic=row["assignment__participant__synthetic"],
                arm=row["assignment__participant__arm__name"],
                hit=row["assignment__hit_id"],
                steps_done=row["steps_done"],
                steps_in_all=_number(row["steps_in_all"]),
                owed=str(row["amount"]),
                paid=f"{paid:.2f}",
                stopped_at=row["created_at"],
            )

    def judges(self) -> Iterator[JudgeRow]:
        """Judges that have answered something."""
        return judge_rows(self.study)

    def judge_ratings(self) -> Iterator[JudgeRatingRow]:
        return judge_rating_rows(self.study)

    def questionnaires(self) -> Iterator[QuestionnaireRow]:
        """Also of people who could not take part. No query if nothing is asked around the tasks."""
        return questionnaire_rows(self.study)

    def tries(self) -> Iterator[TryRow]:
        """Also of people who could not take part. No query if nothing can be tried."""
        return try_rows(self.study)
