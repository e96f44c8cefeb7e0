"""A worker who leaves a trace in every place that can hold one, and a search for these traces that knows no table."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from django.conf import settings
from django.contrib.auth.models import User
from django.db import connection
from django.utils import timezone

from annotation.audit import record
from annotation.instrument import live_instrument
from annotation.models import (
    Assignment,
    BulkAction,
    EventBatch,
    Flag,
    Invitation,
    Judge,
    JudgeAnswer,
    JudgePlace,
    JudgeRating,
    OutsideAssignment,
    Participant,
    Payment,
    PlatformCall,
    PlatformJob,
    Posting,
    Study,
    Submission,
    TriedPage,
    Worker,
)
from annotation.results import exports
from annotation.results.saved_reports import of_study
from annotation.review.pay_decisions import decide_pay
from annotation.studies.launching import publish
from annotation.studies.outputs import set_feed
from annotation.task_types.kinds.text import TextQuestion
from annotation.work.answers import submit_step
from annotation.work.drafts import keep_draft
from annotation.work.excluding import review_submission
from annotation.work.offers import open_page
from annotation.work.requested_offers import pull_offers
from annotation.work.taking_questionnaires import answer, save_questions_draft
from generation.models import LanguageModel
from tests.annotation.offers_helpers import pass_time
from tests.annotation.questionnaire_helpers import REMARK, stored
from tests.factories import make_assignment, make_participant, make_study, make_submission, make_worker, simulated_form
from tests.generation.support.toy_suggestions import make_pool, make_suggester

#: In everything that the worker writes, and in everything that says who they are.
WROTE, WHO = "Xyzzyqat", "plughwho"
MARKS = (WROTE, WHO)


@dataclass(frozen=True)
class Life:
    """One worker in several studies, and a study that judges a text of theirs."""

    worker: Worker
    studies: list[Study]
    judging: Study
    participants: list[Participant]
    pseudonyms: list[str]


def marked(text: str, key: str) -> str:
    """The simulated text with the mark in its first word, different for each box, so that it has as many words."""
    words = text.split()
    return " ".join([f"{WROTE}{''.join(filter(str.isalnum, key))}", *words[1:]])


def walk(work: Assignment, *, mark: bool = True, pages: int = 100) -> Submission | None:
    """Answer the pages as a simulated worker, with the mark in every text. None if pages are left."""
    instrument = live_instrument(work.participant.arm_id)
    for number in range(pages):
        page, data = _page(work, number), simulated_form(assignment=work, number=number)
        for question in page.questions:
            if mark and isinstance(question, TextQuestion) and data.get(question.key, "").strip():
                data[question.key] = marked(data[question.key], question.key)
        sent = submit_step(
            assignment_id=work.pk,
            participant_id=work.participant_id,
            number=number,
            data=data | {"feedback": f"{WROTE} was in my way on this page." if mark else ""},
            timing={},
        )
        assert sent.kind in ("stored", "submitted"), (instrument.task.name, number, sent)
        if sent.kind == "submitted":
            return Submission.objects.get(assignment=work)
    return None


def _page(work: Assignment, number: int) -> Any:
    """The page, with its suggestions: from the pool, because no model writes any."""
    about = {"assignment_id": work.pk, "hit_id": work.hit_id, "order": work.order, "number": number}
    opened = open_page(instrument=live_instrument(work.participant.arm_id), **about)
    if opened.waiting:
        pass_time(60)
        opened = open_page(instrument=live_instrument(work.participant.arm_id), **about)
    assert opened.page is not None
    return opened.page


def live_through(user: User, **values: Any) -> Life:
    """Every kind of study with free texts; the worker does a hit of each and leaves another unfinished."""
    worker = make_worker(platform="panel", name=f"sona/{WHO}-4711")
    studies = [
        make_study(
            task_type="con_test",
            items=1,
            ratings_per_item=9,
            reward=Decimal("0.30"),
            questionnaires=stored(after=[REMARK]),
            **values,
        ),
        make_study(task_type="production", items=2, ratings_per_item=9, **values),
        make_study(task_type="detection", items=4, ratings_per_item=9, **values),
        *_with_suggestions(**values),
    ]
    participants = []
    for study in studies:
        name = {"study": study, "worker": worker, "name": f"Nora {WHO}", "key": f"key-{study.pk}-{WHO}"}
        Invitation.objects.create(**name)
        participants.append(make_participant(study=study, worker=worker))
        work = make_assignment(participant=participants[-1])
        if study.task_type == "slogan":
            typed = {"keywords": f"{WROTE}, rain", "slogan": f"{WROTE} keeps you dry", "used": ""}
            pull_offers(assignment_id=work.pk, participant_id=work.participant_id, number=0, data=typed)
        sent = walk(work)
        assert sent is not None
        _leave_traces(sent, user)
    remark = {"remark": f"{WROTE} was everywhere in the texts."}
    asked: dict[str, Any] = {"participant_id": participants[0].pk, "name": "after", "attempt": 1, "data": remark}
    save_questions_draft(**asked)
    answer(**asked, timing={})
    judging = _judged(studies[0], user)
    pseudonyms = [each.pseudonym for each in participants]
    return Life(worker, studies, judging, participants, pseudonyms)


def save_reports(life: Life) -> None:
    """A saved report of each study, with a text of the worker."""
    for study in (*life.studies, life.judging):
        folder = of_study(study).home / "0123456789abcdef"
        folder.mkdir(parents=True)
        (folder / "report.html").write_text(f"<p>{WROTE}</p>")


def _with_suggestions(**values: Any) -> list[Study]:
    template = "Words: {keywords}. Slogan for {prompt}: {slogan}"
    for name in ("model-a", "model-b"):
        make_pool(make_suggester(name, wait_seconds=10.0), "A line from the pool.", "Another line from the pool.")
    for name in ("ad-a", "ad-b"):
        make_pool(make_suggester(name, template=template, wait_seconds=10.0), "From the pool.")
    return [
        make_study(task_type="cyoa", items=1, ratings_per_item=9, config={"rounds": 1, "record_edits": True}, **values),
        make_study(task_type="slogan", items=1, ratings_per_item=9, config={"suggesters": ["ad-a", "ad-b"]}, **values),
    ]


def _judged(source: Study, user: User) -> Study:
    """A study of the sets of texts; somebody else judges the worker's."""
    made = make_study(task_type="abs_hds", items=0, live=False, ratings_per_item=1, items_per_hit=2)
    set_feed(study=made, source=source, actor=user.get_username())
    publish(study=made, actor=user.get_username())
    make_submission(study=made)
    _judge_quotes(made)
    return made


def _judge_quotes(study: Study) -> None:
    """A language model judged the items, too, and quoted them."""
    model = LanguageModel.objects.create(name="quoting", backend="openai", source="m", base_url="http://127.0.0.1:9/v1")
    settings = {"name": "quoting", "method": "json", "n_items": 1}
    judge = Judge.objects.create(study=study, model=model, arm=study.arms.all()[0], **settings)
    for position, item in enumerate(item for item in study.items.all() if WROTE in str(item.payload)):
        place = JudgePlace.objects.create(judge=judge, item=item, position=position, sample=0, order={}, reason=WROTE)
        said = {"raw": f"“{WROTE}” is odd.", "answers": {"why": WROTE}, "detail": WROTE}
        JudgeAnswer.objects.create(place=place, page=0, attempt=1, prompt_hash="", **said)
        rated = {"question": "why", "scale": "text", "text": f"{WROTE} is odd."}
        JudgeRating.objects.create(judge=judge, place=place, item=item, **rated)


def _leave_traces(sent: Submission, user: User) -> None:
    """What people and the server write about a worker, and what a platform reports."""
    study, work = sent.study, sent.assignment
    worker = sent.participant.worker
    other = make_assignment(study=study)
    made = walk(other, mark=False)
    assert made is not None
    Flag.objects.create(submission=made, reason="same_text", detail=f"“{WROTE} says” is in it.", other=sent)
    Flag.objects.create(submission=sent, reason="odd", detail=f"“{WROTE} says so” is odd.")
    review_submission(submission=sent, decision="include", note=f"I know {WHO} from the lab.", user=user)
    decide_pay(submission=sent, decision="approve", feedback=f"Thank you, {WHO}.", actor="ann", connect=_no_platform)
    posting = Posting.objects.create(study=study, platform="panel", external_id=f"posted-{study.pk}")
    now = timezone.now()
    Assignment.objects.filter(pk=work.pk).update(
        posting=posting, platform_assignment_id=f"{WHO}-visit", submit_to=f"https://panel.example/{WHO}"
    )
    OutsideAssignment.objects.create(
        posting=posting, external_id="visit-1", worker_id=worker.platform_id, state="approved",
        answer=f"<answer>{WROTE}</answer>", seen_at=now,
    )  # fmt: skip
    PlatformCall.objects.create(
        study=study, posting=posting, key=f"bonus/{sent.pk}", operation="send_bonus", state="done", token="t",
        params={"WorkerId": worker.platform_id, "Reason": f"For {WHO}"}, result={"Worker": worker.platform_id},
    )  # fmt: skip
    PlatformJob.objects.create(
        study=study, kind="sync", platform="panel", actor="ann", state="failed", asked_at=now,
        said=f"No work of {worker.platform_id}.",
    )  # fmt: skip
    BulkAction.objects.create(
        study=study, action="bonus", note="Good work", rows=[{"submission": sent.pk}], actor="ann",
        refused=[f"{sent.participant.pseudonym}: no account"],
    )  # fmt: skip
    Payment.objects.create(
        study=study, kind="bonus", submission=sent, amount=Decimal("0.50"), platform="panel", actor="ann",
        worker_id=worker.platform_id, key=f"bonus/panel/{sent.pk}", reason=f"For {WHO}", created_at=now,
    )  # fmt: skip
    record(study=study, actor="ann", action="bonus", worker=sent.participant.pseudonym, reason=f"Nora {WHO}")
    view = f"{int(now.timestamp() * 1000)}-abc"
    edits = [["text", 5, 0, 0, f"{WROTE} I typed and deleted", "paste"]]
    EventBatch.objects.create(
        assignment=work, step=0, view=view, number=0, edits=edits, size=50, received_at=now - timedelta(seconds=1)
    )
    item = work.hit.items.get()
    text = f"{WROTE} before the explanation"
    row = {"question": "own", "target": "", "scale": "text", "value": None, "text": text, "right": False}
    TriedPage.objects.create(
        training=False, study=study, participant=work.participant, assignment=work, item=item, attempt=1, place=0,
        answers={"own": text}, verdicts={"own": False}, ratings=[row], received_at=now,
    )  # fmt: skip
    keep_draft(assignment_id=work.pk, number=90, data={"own": f"{WROTE} in a draft"}, late=True)


def _no_platform(name: str, study: Study) -> Any:
    raise AssertionError(f"{name} is not to be asked")


# --- the search ---


def rows_with(*marks: str) -> dict[str, int]:
    """Every column of every table that contains a mark, by plain SQL, with the number of rows."""
    postgres, found = connection.vendor == "postgresql", {}
    with connection.cursor() as cursor:
        for table in connection.introspection.table_names(cursor):
            cursor.execute(f'SELECT * FROM "{table}" LIMIT 0')  # noqa: S608 - tables
            for column in [description[0] for description in cursor.description]:
                text = f'lower(CAST("{column}" AS text))'
                contains = f"strpos({text}, lower(%s)) > 0" if postgres else f"instr({text}, lower(%s)) > 0"
                where = " OR ".join([contains] * len(marks))
                cursor.execute(f'SELECT COUNT(*) FROM "{table}" WHERE {where}', marks)  # noqa: S608 - tables
                if count := cursor.fetchone()[0]:
                    found[f"{table}.{column}"] = count
    return found


def exports_with(studies: list[Study], *marks: str) -> list[str]:
    """Every export in every format, bundles unpacked, and with workers' ids where that is possible."""
    return [name for name, data in _all_exports(studies) if any(mark.encode() in data for mark in marks)]


def _all_exports(studies: list[Study]) -> Iterator[tuple[str, bytes]]:
    for study in studies:
        for kind in exports.KINDS:
            for format in exports.FORMATS_OF[kind]:
                for ids in (False, True):
                    try:
                        out = io.BytesIO()
                        exports.export(study, kind=kind, format=format, out=out, with_worker_ids=ids)
                    except exports.ExportError:
                        continue
                    yield f"{study.slug}/{kind}.{format}", _unpacked(format, out.getvalue())
                    if format == "zip":
                        with zipfile.ZipFile(out) as archive:
                            for name in archive.namelist():
                                data = _unpacked(name.rpartition(".")[2], archive.read(name))
                                yield f"{study.slug}/{name}", data


def _unpacked(format: str, data: bytes) -> bytes:
    """The data; those of a Parquet file as text, because they are compressed there."""
    return str(pq.read_table(io.BytesIO(data)).to_pylist()).encode() if format == "parquet" else data


def files_with(folder: Path, *marks: str) -> list[str]:
    """Every file below the folder whose bytes contain a mark."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    return [str(path.relative_to(folder)) for path in files if any(m.encode() in path.read_bytes() for m in marks)]


def data_folder() -> Path:
    return Path(settings.VAR)
