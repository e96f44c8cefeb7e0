"""The log of edits: what is stored, what is refused, and the text that results."""

from __future__ import annotations

import csv
import io
import json
import re
import zipfile
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import IntegrityError, OperationalError, transaction
from django.db.models import ProtectedError
from django.urls import reverse
from django.utils import timezone
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from analysis.data import read_bundle, read_events
from annotation.models import EventBatch, Participant, Step, Study
from annotation.results.exports import ExportError, export, kinds_of
from annotation.studies.checking import default_config
from annotation.studies.pages.launch_plan import RECORDED, plan_of
from annotation.task_types.registry import get_type
from annotation.task_types.wording import RECORDING
from annotation.work import edit_log as service
from annotation.work.edit_log import Edit, edits_by_page, final_text
from annotation.work.pages import edits as work_events
from hitserver import retention
from tests.annotation.console_helpers import as_role
from tests.annotation.offers_helpers import FIRST, story_study
from tests.annotation.pages import WorkerBrowser
from tests.factories import make_assignment, make_participant, make_study, make_submission

pytestmark = pytest.mark.django_db


@pytest.fixture
def study() -> Study:
    return story_study(record_edits=True)


class Writer(WorkerBrowser):
    """A worker's browser whose page records edits."""

    def __init__(self, participant: Participant) -> None:
        super().__init__(participant)
        self.events_url = reverse("work_events", args=[self.token])
        self.key = ""

    def open(self) -> str:
        """Loads the page and takes its token. Returns the page."""
        page = self.get().content.decode()
        found = re.search(r'data-events="([^"]+)" data-recorded="([^"]+)"', page)
        self.key = found[1] if found else ""
        return page

    def batch(self, number: int, *edits: Sequence[Any], load: str = "a1", token: str | None = None) -> int:
        sent = {"token": self.key if token is None else token, "load": load, "number": number, "edits": edits}
        return self.raw(json.dumps(sent))

    def raw(self, body: str | bytes) -> int:
        return self.client.post(self.events_url, body, content_type="text/plain;charset=UTF-8").status_code


@pytest.fixture
def writer(study: Study) -> Writer:
    writer = Writer(make_participant(study=study))
    writer.open()
    return writer


START = ["turn", 0, 0, 0, "", "start"]


def typed(text: str, at: int = 100, position: int = 0) -> list[Any]:
    return ["turn", at, position, 0, text, "type"]


# --- what a page receives ---


def test_workers_read_about_it_before_they_agree_and_on_the_page(study: Study) -> None:
    client = WorkerBrowser(make_participant(study=study)).client
    assert RECORDING in client.get(reverse("study_start", args=[study.slug])).content.decode()
    assert RECORDING in client.get(reverse("study_preview", args=[study.slug])).content.decode()
    assert RECORDING in Writer(make_participant(study=study)).open()


@pytest.mark.parametrize("task_type", ["cyoa", "mil_story", "slogan", "production", "con_test"])
def test_typing_is_recorded_only_where_the_study_asks_for_it(task_type: str) -> None:
    task = get_type(task_type)
    config = default_config(task)
    assert not task.records_edits(config)
    assert "recording" not in {text.name for text in task.texts(config)}
    assert "recording" in {text.name for text in task.texts(config | {"record_edits": True})}


def test_the_notice_can_be_worded_by_the_study() -> None:
    study = story_study(record_edits=True, live=False, arms=())
    study.texts = {"recording": "We watch how this text grows."}
    study.save()
    page = as_role("editor", study).get(reverse("study_preview", args=[study.slug])).content.decode()
    assert "We watch how this text grows." in page
    assert RECORDING not in page


def test_the_launch_page_says_that_typing_is_recorded() -> None:
    recording, other = (
        story_study(record_edits=True, live=False, arms=()),
        make_study(task_type="production", live=False, arms=()),
    )
    assert RECORDED in [check.text for check in plan_of(recording).checks]
    assert RECORDED not in [check.text for check in plan_of(other).checks]


def test_a_study_that_records_nothing_has_no_script_and_says_nothing() -> None:
    study = story_study()
    writer = Writer(make_participant(study=study))
    page = writer.open()
    assert not writer.key
    assert "events.js" not in page
    assert RECORDING not in page
    other = WorkerBrowser(make_participant(study=make_study(task_type="abs_hds")))
    assert "events.js" not in other.get().content.decode()


# --- batches ---


def test_batches_are_stored_once_and_read_in_order(writer: Writer) -> None:
    assert writer.batch(0, START, typed("ac")) == 204
    assert writer.batch(2, typed("d", 300, 3)) == 204
    assert writer.batch(1, typed("b", 200, 1)) == 204
    assert writer.batch(1, typed("X", 200, 1)) == 204  # sent again with other contents: the first counts
    assert EventBatch.objects.count() == 3
    assert whole(EventBatch.objects.all()) == "abcd"


def whole(batches: Any) -> str:
    """The text of the only box on the first page."""
    return final_text(edits_by_page(batches)[0])


def test_a_page_that_is_loaded_again_shows_what_was_there(writer: Writer) -> None:
    writer.batch(0, START, typed("Once"))
    before = writer.key
    writer.open()
    assert writer.key != before
    assert writer.batch(0, ["turn", 0, 0, 0, "Once", "start"], typed(" upon", 50, 4), load="b2") == 204
    assert whole(EventBatch.objects.all()) == "Once upon"


def forged(writer: Writer, other: Writer) -> dict[str, int]:
    """What a person who forges a log might send, with the status that each gets."""
    assert writer.batch(0, START) == 204
    return {
        "no token": writer.batch(1, START, token=""),
        "a changed token": writer.batch(1, START, token=writer.key[:-1] + ("a" if writer.key[-1] != "a" else "b")),
        "another worker's token": writer.batch(1, START, token=other.key),
        "another worker's address": other.batch(1, START, token=writer.key),
        "a form's token": writer.batch(1, START, token=writer.form()),
        "a box that is not recorded": writer.batch(1, ["pick", 0, 0, 0, "x", "type"]),
        "a later page": writer.batch(400, START),
    }


def test_forged_batches_are_refused(writer: Writer, study: Study) -> None:
    other = Writer(make_participant(study=study))
    other.open()
    assert forged(writer, other) == {
        "no token": 404,
        "a changed token": 404,
        "another worker's token": 409,
        "another worker's address": 409,
        "a form's token": 404,
        "a box that is not recorded": 400,
        "a later page": 429,
    }
    assert EventBatch.objects.count() == 1


MALFORMED = [
    "",
    "null",
    "[]",
    "{",
    "[" * 100_000,
    '{"token": 3}',
    b"\xff\xfe",
]
BAD_EDITS: list[Any] = [
    [],
    [3],
    [["turn", 0, 0, 0, ""]],
    [["turn", -1, 0, 0, "", "type"]],
    [["turn", 0, -1, 0, "", "type"]],
    [["turn", 0, 0, 0.5, "", "type"]],
    [["turn", 0, True, 0, "", "type"]],
    [["turn", 0, 0, 0, 7, "type"]],
    [["turn", 0, 0, 0, "", "magic"]],
    [["turn", 0, 10**9, 0, "", "type"]],
    [[["turn"], 0, 0, 0, "", "type"]],
]


@pytest.mark.parametrize("body", MALFORMED)
def test_an_invalid_batch_is_refused(body: str | bytes, writer: Writer) -> None:
    assert writer.raw(body) in (400, 404)
    assert not EventBatch.objects.exists()


@pytest.mark.parametrize("edits", BAD_EDITS)
def test_an_invalid_edit_is_refused(edits: list[Any], writer: Writer) -> None:
    assert writer.batch(0, *edits) == 400
    assert not EventBatch.objects.exists()


def test_a_megabyte_is_refused(writer: Writer) -> None:
    assert writer.batch(0, typed("x" * 1_000_000)) == 413
    assert writer.raw(b"x" * 4_000_000) == 413
    assert not EventBatch.objects.exists()


def test_a_page_has_only_so_much_room(writer: Writer) -> None:
    for number in range(service.MOST_PAGE_BYTES // 450_000):
        assert writer.batch(number, typed("x" * 450_000)) == 204
    assert writer.batch(30, typed("x" * 450_000)) == 409


def test_batches_may_come_at_the_pace_of_a_page_and_no_faster(writer: Writer) -> None:
    batch = service.read_batch(
        {"token": writer.key, "load": "a", "number": service.SPARE_BATCHES + 100, "edits": [START]}, size=10
    )
    person, loaded = Participant.objects.get(), batch.token.made_at / 1000
    at = datetime.fromtimestamp(loaded, UTC)
    assert service.store_batch(batch=batch, participant_id=person.pk, now=at + timedelta(seconds=24.9)) == "early"
    assert service.store_batch(batch=batch, participant_id=person.pk, now=at + timedelta(seconds=25)) == "stored"


def test_after_the_page_was_sent_only_what_was_on_its_way_is_taken(writer: Writer) -> None:
    writer.batch(0, START)
    assert writer.send(turn=FIRST).status_code == 303
    assert writer.batch(1, typed("late")) == 204
    late = timezone.now() - service.LATE - timedelta(seconds=1)
    with transaction.atomic(), unprotected(Step):
        Step.objects.update(received_at=late)
    assert writer.batch(2, typed("too late")) == 409


def unprotected(model: Any) -> Any:
    return retention.unprotected(model)


def test_a_task_that_was_given_back_accepts_no_more_answers(writer: Writer) -> None:
    writer.give_back(writer.form())
    assert writer.batch(0, START) == 409


def test_characters_that_no_database_stores_are_replaced_one_for_one(writer: Writer) -> None:
    assert (
        writer.raw(json.dumps({"token": writer.key, "load": "a", "number": 0, "edits": [typed("a\x00b\ud83dc\rd")]}))
        == 204
    )
    assert EventBatch.objects.get().edits[0][4] == "a�b�c�d"


def test_the_log_is_written_once(writer: Writer) -> None:
    writer.batch(0, START)
    for change in (lambda: EventBatch.objects.update(size=1), lambda: EventBatch.objects.all().delete()):
        with pytest.raises((IntegrityError, OperationalError)), transaction.atomic():
            change()


# --- with the form ---


def log(writer: Writer, *batches: list[Any]) -> str:
    return json.dumps({"token": writer.key, "load": "a1", "batches": list(enumerate(batches))})


def test_edits_that_were_not_sent_come_with_the_form(writer: Writer) -> None:
    writer.batch(0, START)
    sent = log(writer, [START], [typed(FIRST)])
    assert writer.post(writer.form(), turn=FIRST, edit_log=sent).status_code == 303
    assert EventBatch.objects.count() == 2
    assert whole(EventBatch.objects.all()) == FIRST


NONSENSE = ["x", "[]", "null", '{"token": "x", "load": "a", "batches": [[0, []]]}', "x" * 600_000]


@pytest.mark.parametrize("sent", NONSENSE)
def test_an_invalid_log_never_stops_an_answer(sent: str, writer: Writer) -> None:
    assert writer.post(writer.form(), turn=FIRST, edit_log=sent).status_code == 303
    assert Step.objects.get().answers["turn"] == FIRST
    assert not EventBatch.objects.exists()


def test_a_database_that_fails_here_does_not_lose_the_answer(writer: Writer, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(**_: Any) -> str:
        raise OperationalError("locked")

    monkeypatch.setattr(work_events, "store_batch", fail)
    assert writer.post(writer.form(), turn=FIRST, edit_log=log(writer, [START])).status_code == 303
    assert Step.objects.exists()


def test_the_page_for_an_error_shows_the_log_to_nobody(writer: Writer) -> None:
    page = writer.post(writer.form(), turn="short", edit_log=log(writer, [START])).content.decode()
    assert "edit_log" not in page
    assert EventBatch.objects.exists()


# --- the text that results from a log ---

CHARACTERS = st.text(st.sampled_from("ab 😀é\u0301👨\u200d👩🇳🇱\n한"), max_size=6)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])  # a busy machine
@given(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 10), CHARACTERS), max_size=25))
def test_edits_give_the_text_that_a_browser_has(changes: list[tuple[int, int, str]]) -> None:
    """The reference is a text as browsers have it, in UTF-16 code units, changed by a slice of its bytes."""
    units, edits = b"", []
    for place, length, inserted in changes:
        now = units.decode("utf-16-le")
        start = min(place, len(now))
        deleted = min(length, len(now) - start)
        before, gone = (len(part.encode("utf-16-le")) for part in (now[:start], now[start : start + deleted]))
        units = units[:before] + inserted.encode("utf-16-le") + units[before + gone :]
        edits.append(Edit("turn", 0, start, deleted, inserted, "type", "v", timezone.now()))
    assert final_text(edits) == units.decode("utf-16-le")


# --- export, bundle, replay, retention ---


def rows_of(study: Study, **options: Any) -> list[dict[str, str]]:
    out = io.BytesIO()
    export(study, kind="events", out=out, **options)
    return list(csv.DictReader(io.StringIO(out.getvalue().decode())))


def test_the_export_has_a_row_per_edit_and_says_where_nothing_was_recorded(study: Study, writer: Writer) -> None:
    writer.batch(0, START, typed(FIRST[:5], 100), ["turn", 900, 5, 0, FIRST[5:], "paste"])
    writer.post(writer.form(), turn=FIRST)
    without_script = WorkerBrowser(make_participant(study=study))
    without_script.send(turn=FIRST)
    rows = rows_of(study)
    assert [(row["page"], row["question"], row["recorded"], row["matches"]) for row in rows] == [
        *[("1", "turn", "true", "true")] * 3,
        ("1", "turn", "false", ""),
    ]
    assert [row["how"] for row in rows] == ["start", "type", "paste", ""]
    assert [row["at"] for row in rows] == ["0", "100", "900", ""]
    assert rows[2]["inserted"] == FIRST[5:]


def test_a_log_that_leads_elsewhere_is_marked(study: Study, writer: Writer) -> None:
    writer.batch(0, START, typed("Something else entirely."))
    writer.post(writer.form(), turn=FIRST)
    assert {row["matches"] for row in rows_of(study)} == {"false"}


def test_a_bundle_has_the_log_and_reads_it_only_when_asked(study: Study, writer: Writer, tmp_path: Path) -> None:
    writer.batch(0, START, typed("=1+1 is what she wrote on the wall."))
    path = tmp_path / "bundle.zip"
    with path.open("wb") as out:
        export(study, kind="bundle", out=out)
    with zipfile.ZipFile(path) as archive:
        assert "events.csv" in archive.namelist()
    assert list(read_events(path)["inserted"]) == ["", "=1+1 is what she wrote on the wall."]
    assert not hasattr(read_bundle(path), "events")


def test_a_study_without_a_log_has_no_such_export() -> None:
    study = make_study(items=1)
    assert "events" not in kinds_of(study)
    with pytest.raises(ExportError, match="records no edits"):
        rows_of(study)


def test_the_console_replays_and_says_when_nothing_was_recorded() -> None:
    study = make_study(task_type="con_test", items=1)
    study.config |= {"record_edits": True}
    study.save()
    study.arms.update(shown_config=study.config)
    submission = make_submission(study=study)
    client = as_role("viewer", study)
    shown = client.get(reverse("console_submission", args=[study.slug, submission.pk])).content.decode()
    assert "Replay how the texts were written" in shown
    replay = client.get(reverse("console_replay", args=[study.slug, submission.pk]))
    assert replay.status_code == 200
    assert "Nothing was recorded on this page." in replay.content.decode()


def test_a_study_that_records_nothing_has_no_replay() -> None:
    submission = make_submission()
    client = as_role("viewer", submission.study)
    assert client.get(reverse("console_replay", args=[submission.study.slug, submission.pk])).status_code == 404


def test_old_logs_go_if_the_settings_say_so_and_stay_protected(settings: Any, writer: Writer) -> None:
    writer.batch(0, START)
    old = timezone.now() - timedelta(days=10)
    with transaction.atomic(), retention.unprotected(EventBatch):
        EventBatch.objects.update(received_at=old)
    retention.delete()
    assert EventBatch.objects.exists()
    settings.KEEP_EDITS_DAYS = 9
    retention.delete()
    assert EventBatch.objects.exists()  # the task is in progress
    writer.give_back(writer.form())
    retention.delete()
    assert not EventBatch.objects.exists()


def test_a_batch_needs_few_queries(writer: Writer, django_assert_max_num_queries: Any) -> None:
    writer.batch(0, START)
    with django_assert_max_num_queries(4):  # two for the log, two around them
        assert writer.batch(1, typed("x")) == 204


def test_an_assignment_with_a_log_is_never_deleted() -> None:
    assignment = make_assignment()
    EventBatch.objects.create(
        assignment=assignment, step=0, view="1-a", number=0, edits=[], size=2, received_at=timezone.now()
    )
    with pytest.raises(ProtectedError):
        assignment.delete()
