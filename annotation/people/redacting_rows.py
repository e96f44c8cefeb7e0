"""What becomes of each table's rows when a participant's data are deleted. Runs in the redaction's transaction."""

from __future__ import annotations

import json
import secrets
from collections import defaultdict
from collections.abc import Iterator, Sequence

from django.db.models import Q, QuerySet
from django.utils import timezone

from annotation.models import (
    Adjudication,
    ApiAnswer,
    ApiJob,
    Assignment,
    AuditEntry,
    BulkAction,
    Compensation,
    DeletionRequest,
    Draft,
    EventBatch,
    Flag,
    Invitation,
    Item,
    ItemAuthor,
    JudgeAnswer,
    JudgePlace,
    JudgeRating,
    Offer,
    Output,
    OutsideAssignment,
    Participant,
    PayDecision,
    Payment,
    PlatformCall,
    PlatformJob,
    Pull,
    QuestionnaireDraft,
    QuestionnaireReply,
    Rating,
    Review,
    Step,
    Submission,
    TextPrint,
    TriedPage,
    Worker,
)
from annotation.people.redacting_traces import NOBODY, REMOVED, Traces, clean_rows, leaves, without
from annotation.platforms import platform_class
from annotation.recruiting.pay_states import in_state
from annotation.work.cancelling_offers import requests_of
from annotation.work.ending import return_assignment
from annotation.work.excluding import release_places
from generation.suggestions.asking import delete_suggestions

State = Assignment.State
#: The note of the reviews that exclude submissions without ratings.
WHY_LEFT_OUT = "The worker asked for the deletion of their data."
#: Keys of log entries with texts that people wrote.
REMARKS = ("note", "reason", "feedback")
Counts = dict[str, int]


def redact_participant(participant: Participant, traces: Traces, *, actor: str) -> Counts:
    """Remove everything about one participant from their study. Returns the number of rows of each kind."""
    counts: Counts = {}
    # The participant holds these places without having sent anything.
    for pk in _mine(participant).filter(state=State.ACCEPTED).order_by("pk").values_list("pk", flat=True):
        return_assignment(assignment_id=pk, participant_id=participant.pk)
    if not participant.study.keep_ratings:
        _leave_out(participant, actor)
    _delete_work(participant, counts)
    _blank_work(participant, counts)
    _blank_decisions(participant)
    # A worker on the same platform who stands for nobody. A worker who was redacted before already does.
    nobody = worker = participant.worker
    if not worker.platform_id.startswith(NOBODY):
        nobody = Worker.objects.create(
            platform=worker.platform, platform_id=f"{NOBODY}{secrets.token_hex(8)}", synthetic=worker.synthetic
        )
    _blank_platform(participant, nobody)
    counts["items made of their texts"] = _clean_items(participant, nobody, traces)
    _forget_person(participant, nobody)
    _clean_logs(participant, traces)
    DeletionRequest.objects.filter(participant=participant, done_at=None).update(done_at=timezone.now())
    return {what: count for what, count in counts.items() if count}


# --- work ---


def _mine(participant: Participant) -> QuerySet[Assignment]:
    return Assignment.objects.filter(participant=participant)


def _sent(participant: Participant) -> QuerySet[Submission]:
    return Submission.objects.filter(participant=participant)


def _leave_out(participant: Participant, actor: str) -> None:
    """Exclude submissions whose ratings are removed, and free their places. What is owed for them stays owed."""
    study, submissions = participant.study, list(_sent(participant).select_related("study").order_by("pk"))
    owed = set(in_state(study, "to_pay", "waiting"))
    now = timezone.now()
    PayDecision.objects.bulk_create(
        PayDecision(submission=submission, decision=PayDecision.Decision.APPROVE, actor=actor[:150], created_at=now)
        for submission in submissions
        if submission.pk in owed
    )
    release_places(submissions=submissions, actor=actor)
    Review.objects.bulk_create(
        Review(submission=submission, decision=Review.Decision.EXCLUDE, note=WHY_LEFT_OUT, user=None, created_at=now)
        for submission in submissions
        if not submission.reviews.filter(note=WHY_LEFT_OUT).exists()
    )


def _delete_work(participant: Participant, counts: Counts) -> None:
    """Delete sent pages, questionnaires, tries, drafts, edits, requests for suggestions, fingerprints and, unless they
    stay, ratings."""
    mine, submissions = _mine(participant), _sent(participant)
    for what, model in (
        ("pages sent", Step),
        ("drafts", Draft),
        ("batches of edits", EventBatch),
        ("requests for suggestions", Pull),
    ):
        deleted = model._default_manager.filter(assignment__in=mine).delete()[1]
        counts[what] = deleted.get(model._meta.label, 0)
    questionnaires = QuestionnaireReply.objects.filter(participant=participant)
    counts["questionnaires"] = questionnaires.delete()[0]
    counts["drafts"] += QuestionnaireDraft.objects.filter(participant=participant).delete()[0]
    tried = TriedPage.objects.filter(participant=participant)
    counts["practice answers and tries"] = tried.delete()[0]
    TextPrint.objects.filter(submission__in=submissions).delete()
    ratings = Rating.objects.filter(submission__in=submissions)
    if participant.study.keep_ratings:
        counts["texts among the ratings"] = ratings.exclude(text="").count()
        ratings.filter(value=None).delete()
        ratings.exclude(text="").update(text="")
    else:
        counts["ratings"] = ratings.delete()[0]


def _blank_work(participant: Participant, counts: Counts) -> None:
    """Empty the rows that other rows refer to: submissions, outputs and suggestions that were shown."""
    mine, submissions = _mine(participant), _sent(participant)
    counts["submissions"] = submissions.update(answers=[], feedback="")
    for pk, texts in list(Output.objects.filter(submission__in=submissions).values_list("pk", "texts")):
        Output.objects.filter(pk=pk).update(texts=[REMOVED] * len(texts), context="")
    counts["texts for other studies"] = Output.objects.filter(submission__in=submissions).count()
    offers = Offer.objects.filter(assignment__in=mine)
    offers.update(suggestion=None)
    counts["suggestions shown"] = offers.exclude(source=Offer.Source.NONE).update(text=REMOVED)
    for pk in mine.values_list("pk", flat=True):
        delete_suggestions(writer=requests_of(pk))


def _blank_decisions(participant: Participant) -> None:
    """Remove what people and this server wrote about the work. The decisions themselves stay."""
    submissions = _sent(participant)
    Flag.objects.filter(submission__in=submissions).update(detail="")
    others = Flag.objects.filter(other__in=submissions).exclude(submission__in=submissions)
    others.update(detail="The same text was in a submission whose worker had their data deleted.")
    Review.objects.filter(submission__in=submissions).exclude(note__in=["", WHY_LEFT_OUT]).update(note=REMOVED)
    PayDecision.objects.filter(submission__in=submissions).exclude(feedback="").update(feedback=REMOVED)


# --- who it was ---


def _blank_platform(participant: Participant, nobody: Worker) -> None:
    """Remove the worker from what the platform reported and what was paid. Amounts, keys and assignment ids stay."""
    study, worker = participant.study, participant.worker
    posted = _mine(participant).filter(posting__isnull=False)
    ids = list(posted.exclude(platform_assignment_id="").values_list("platform_assignment_id", flat=True))
    reported = OutsideAssignment.objects.filter(posting__study=study, worker_id=worker.platform_id)
    ids += list(reported.values_list("external_id", flat=True))
    reported.update(worker_id=nobody.platform_id, answer="", objection_url="")
    of_worker = Q(submission__participant=participant) | Q(worker_id=worker.platform_id)
    Payment.objects.filter(of_worker, study=study).exclude(worker_id="").update(worker_id=nobody.platform_id)
    Payment.objects.filter(of_worker | Q(worker_id=nobody.platform_id), study=study).exclude(reason="").update(
        reason=REMOVED
    )
    Compensation.objects.filter(assignment__participant=participant).update(
        worker_id=nobody.platform_id, reason=REMOVED
    )
    for pk, params, result in list(
        PlatformCall.objects.filter(study=study).values_list("pk", "params", "result").order_by("pk")
    ):
        if not {worker.platform_id, *ids}.isdisjoint(leaves((params, result))):
            PlatformCall.objects.filter(pk=pk).update(params={}, result={}, error="")
    posted.update(submit_to="")
    for work in posted.select_related("posting"):
        # Without a platform that confirms them, these ids are the panel's names for a person or their visit.
        if work.posting and not platform_class(work.posting.platform).confirms:
            _mine(participant).filter(pk=work.pk).update(platform_assignment_id=f"deleted-{work.pk}")


def _clean_items(participant: Participant, nobody: Worker, traces: Traces) -> int:
    """Remove the worker's texts from other studies' items and from copies of those. They keep their ids and ratings."""
    outputs = set(Output.objects.filter(submission__participant=participant).values_list("pk", flat=True))
    slug, changed = participant.study.slug, 0
    rows = Item.objects.filter(source__study=slug).values_list("pk", "source")
    item_ids = [pk for pk, source in rows.iterator() if outputs & set(source.get("outputs", ()))]
    for item in Item.objects.filter(pk__in=item_ids).order_by("pk"):
        changed += clean_rows(Item.objects.filter(pk=item.pk), ["payload"], (*traces.names, *traces.texts))
        Item.objects.filter(pk=item.pk).update(source=item.source | {"redacted": True})
    ItemAuthor.objects.filter(item__in=item_ids, worker=participant.worker).update(worker=nobody)
    _blank_notes(item_ids)
    # What judges wrote about these items may quote them. Their numbers stay.
    JudgeAnswer.objects.filter(place__item__in=item_ids).exclude(raw="").update(raw=REMOVED, detail="", answers={})
    JudgeRating.objects.filter(item__in=item_ids).exclude(text="").update(text=REMOVED)
    JudgePlace.objects.filter(item__in=item_ids).exclude(reason="").update(reason=REMOVED)
    return len(item_ids)


def _blank_notes(items: Sequence[int]) -> None:
    """What members of other studies wrote when they settled labels of these items: it may quote the text. The labels
    stay."""
    Adjudication.objects.filter(item__in=items).exclude(note="").update(note=REMOVED)
    names: dict[int, set[str]] = defaultdict(set)
    for study, name in Item.objects.filter(pk__in=items).values_list("study", "external_id"):
        names[study].add(name)
    for entry in AuditEntry.objects.filter(study__in=names, action="settle").order_by("pk"):
        if entry.study_id in names and entry.detail.get("item") in names[entry.study_id] and entry.detail.get("note"):
            AuditEntry.objects.filter(pk=entry.pk).update(detail=entry.detail | {"note": REMOVED})


def affected_studies(participant: Participant) -> Iterator[int]:
    """The numbers of the participant's study and of those with items made from their texts."""
    yield participant.study_id
    outputs = set(Output.objects.filter(submission__participant=participant).values_list("pk", flat=True))
    rows = Item.objects.filter(source__study=participant.study.slug).values_list("study", "source")
    yield from {study for study, source in rows.iterator() if outputs & set(source.get("outputs", ()))}


def _forget_person(participant: Participant, nobody: Worker) -> None:
    """Unlink the participant from the person. Their completion code stays, because it is needed to pay what is owed."""
    worker = participant.worker
    Invitation.objects.filter(study=participant.study_id, worker=worker).delete()
    if worker == nobody:
        Participant.objects.filter(pk=participant.pk, redacted_at=None).update(
            redacted_at=timezone.now(), returns_with=None
        )
        return
    Participant.objects.filter(pk=participant.pk).update(
        worker=nobody, pseudonym=f"{NOBODY}{secrets.token_hex(5)}", redacted_at=timezone.now(), returns_with=None
    )
    left = (worker.participations, worker.invitations, worker.authored)
    if not any(rows.exists() for rows in left):
        worker.delete()


def _clean_logs(participant: Participant, traces: Traces) -> None:
    """Remove the worker's names and words from the study's log and from lists of actions."""
    study, needles = participant.study, (*traces.names, *traces.texts)
    # What people wrote about the worker or to them, in entries about their work.
    submissions = set(_sent(participant).values_list("pk", flat=True))
    identifiers = {participant.pseudonym, *_mine(participant).values_list("platform_assignment_id", flat=True)} - {""}
    for pk, detail in list(AuditEntry.objects.filter(study=study).values_list("pk", "detail")):
        mentions_worker = (
            detail.get("submission") in submissions or {detail.get("worker"), detail.get("assignment")} & identifiers
        )
        remarks = {name: REMOVED for name in REMARKS if detail.get(name)}
        if mentions_worker and remarks:
            AuditEntry.objects.filter(pk=pk).update(detail=detail | remarks)
    clean_rows(AuditEntry.objects.filter(study=study), ["detail"], needles)
    clean_rows(Flag.objects.filter(submission__study=study), ["detail"], traces.names)
    clean_rows(BulkAction.objects.filter(study=study), ["note", "refused", "rows"], needles)
    clean_rows(PlatformJob.objects.filter(study=study), ["params", "said", "fix"], needles)
    clean_rows(PlatformCall.objects.filter(study=study), ["error"], needles)
    clean_rows(ApiJob.objects.filter(study=study), ["params", "result", "message", "fix"], needles)
    # Without the study, an answer may be about several.
    for answer in list(ApiAnswer.objects.filter(Q(study=study) | Q(study=None)).exclude(body="")):
        body = json.dumps(without(json.loads(answer.body), needles), ensure_ascii=False)
        ApiAnswer.objects.filter(pk=answer.pk).update(body=body)
