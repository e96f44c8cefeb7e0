"""Jobs: their progress and result, what is done when a process is killed, and the files that they make."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.urls import reverse
from django.utils import timezone

from analysis.data import read_bundle
from annotation.api import job_kinds, jobs, tasks
from annotation.models import ApiAnswer, ApiJob, BulkAction, Membership, Study
from annotation.people.redacting import redact
from annotation.results import exports
from hitserver import retention
from tests.annotation.api.running_helpers import get, post, reasons
from tests.annotation.console_helpers import as_role, make_user, signed_in
from tests.factories import make_study, make_submission

pytestmark = pytest.mark.django_db


@pytest.fixture
def study() -> Study:
    study = make_study(items=2, ratings_per_item=4, hits_per_worker=None)
    make_submission(study=study)
    return study


def content(response: Any) -> bytes:
    return b"".join(response.streaming_content)


def asked(client: Any, study: Study, **body: Any) -> int:
    """The number of a job that makes a file."""
    response = post(client, "api_exports", study.slug, **{"kind": "long", **body})
    assert response.status_code == 202, response.content
    assert response.headers["Location"] == reverse("api_job", args=[response.json()["id"]])
    return int(response.json()["id"])


def test_a_bundle_is_made_and_downloaded(study: Study, tmp_path: Path) -> None:
    client = as_role("viewer", study)
    pk = asked(client, study, kind="bundle")
    assert get(client, "api_job", pk)["state"] == "queued"
    assert tasks.run_api_job(pk)

    job = get(client, "api_job", pk)
    assert (job["state"], job["progress"]["done"]) == ("done", job["result"]["bytes"])
    file = tmp_path / "bundle.zip"
    file.write_bytes(content(client.get(job["links"]["file"])))
    assert len(read_bundle(file).ratings) == 3


def test_a_file_is_what_the_export_streams(study: Study) -> None:
    client = as_role("viewer", study)
    pk = asked(client, study, format="jsonl")
    jobs.do_job(pk)
    streamed = content(client.get(reverse("api_export", args=[study.slug, "long", "jsonl"])))
    assert content(client.get(reverse("api_job_file", args=[pk]))) == streamed
    assert len(streamed.splitlines()) == 3


def test_a_job_is_done_once(study: Study) -> None:
    pk = asked(as_role("viewer", study), study)
    assert (jobs.do_job(pk), jobs.do_job(pk)) == (True, False)


def test_a_job_whose_process_was_killed_is_done_by_another(study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    class Killed(BaseException):
        pass

    def end(*_: Any, **__: Any) -> None:
        raise Killed

    client = as_role("viewer", study)
    pk = asked(client, study)
    with monkeypatch.context() as patched, pytest.raises(Killed):
        patched.setattr(exports, "pieces", end)
        jobs.do_job(pk)
    assert get(client, "api_job", pk)["state"] == "running"
    assert not jobs.do_job(pk)  # the first may still be alive

    ApiJob.objects.update(seen_at=timezone.now() - jobs.LEASE - timedelta(seconds=1))
    sent: list[int] = []

    def sends(pk: int) -> bool:
        sent.append(pk)
        return True

    monkeypatch.setattr(jobs, "send", sends)
    assert (tasks.continue_api_jobs(), sent) == (1, [pk])
    assert jobs.do_job(pk)
    assert get(client, "api_job", pk)["state"] == "done"


def test_a_job_that_was_never_sent_is_sent_again(study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    pk = asked(as_role("viewer", study), study)
    monkeypatch.setattr(jobs, "send", lambda pk: True)
    assert jobs.send_forgotten() == 0
    ApiJob.objects.filter(pk=pk).update(asked_at=timezone.now() - timedelta(minutes=2))
    assert jobs.send_forgotten() == 1


def test_a_process_that_was_given_up_changes_nothing(study: Study) -> None:
    pk = asked(as_role("viewer", study), study)
    ApiJob.objects.update(state="running", holder="another")
    running = jobs.Running(ApiJob.objects.get(pk=pk), "given-up")
    with pytest.raises(jobs.Stopped):
        running.step(1, 1)
    running.end("failed", message="Late.")
    assert ApiJob.objects.get().state == "running"


def test_a_job_can_be_cancelled_until_it_has_ended(study: Study) -> None:
    client = as_role("viewer", study)
    pk = asked(client, study)
    cancelled = post(client, "api_cancel_job", pk)
    assert (cancelled.status_code, cancelled.json()["state"]) == (200, "cancelled")
    assert not jobs.do_job(pk)
    again = post(client, "api_cancel_job", pk)
    assert (again.status_code, reasons(again)) == (409, [("status", "The job has ended (cancelled).")])


def test_a_running_job_notices_that_it_was_cancelled(study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    client = as_role("viewer", study)
    pk = asked(client, study)
    real = exports.pieces

    def cancelled_meanwhile(*args: Any, **values: Any) -> Any:
        post(client, "api_cancel_job", pk)
        return real(*args, **values)

    monkeypatch.setattr(exports, "pieces", cancelled_meanwhile)
    assert not jobs.do_job(pk)
    assert get(client, "api_job", pk)["state"] == "cancelled"
    assert client.get(reverse("api_job_file", args=[pk])).status_code == 404


def test_decisions_cannot_be_cancelled(study: Study) -> None:
    client = as_role("editor", study)
    job = post(client, "api_exclude", study.slug, study.submissions.get().pk).json()
    response = post(client, "api_cancel_job", job["id"])
    assert (response.status_code, "cannot be cancelled" in response.json()["detail"]) == (409, True)
    assert BulkAction.objects.get().state == "running"


def test_what_went_wrong_is_in_the_job(study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    client = as_role("viewer", study)
    pk = asked(client, study)
    monkeypatch.setitem(jobs.WORK, job_kinds.EXPORT, lambda running: 1 / 0)
    assert jobs.do_job(pk)
    job = get(client, "api_job", pk)
    assert (job["state"], job["message"]) == ("failed", jobs.UNEXPECTED)
    assert "administrator" in job["fix"]


def test_simulated_workers_need_a_live_study(study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    client = as_role("editor", study)
    pk = post(client, "api_simulate", study.slug, workers=2).json()["id"]
    Study.objects.update(status="paused")
    jobs.do_job(pk)
    job = get(client, "api_job", pk)
    assert (job["state"], job["message"]) == ("failed", "The study is paused; simulated workers need a live study.")
    assert post(client, "api_simulate", study.slug, workers=2).status_code == 409
    assert post(client, "api_simulate", study.slug, workers=1_001).status_code == 422


def test_jobs_are_listed_newest_first(study: Study) -> None:
    client = as_role("viewer", study)
    first, second = asked(client, study), asked(client, study, kind="wide")
    assert [job["id"] for job in get(client, "api_jobs")["results"]] == [second, first]


def test_a_file_needs_the_membership_at_the_time_of_the_download(study: Study) -> None:
    user = make_user("leaver")
    member = Membership.objects.create(study=study, user=user, role="viewer")
    client = signed_in(user)
    pk = asked(client, study)
    jobs.do_job(pk)
    member.delete()
    assert client.get(reverse("api_job_file", args=[pk])).status_code == 404


def test_only_owners_get_workers_ids(study: Study) -> None:
    assert post(as_role("editor", study), "api_exports", study.slug, kind="long", worker_ids=True).status_code == 404
    client = as_role("owner", study)
    pk = asked(client, study, worker_ids=True)
    jobs.do_job(pk)
    assert study.participants.get().worker.platform_id.encode() in content(
        client.get(reverse("api_job_file", args=[pk]))
    )
    wide = post(client, "api_exports", study.slug, kind="wide", worker_ids=True)
    assert (wide.status_code, reasons(wide)[0][0]) == (422, "kind")


@pytest.mark.parametrize("body", [{"kind": "tall"}, {"format": "pdf"}, {"kind": "bundle", "format": "csv"}])
def test_an_export_that_does_not_exist_is_refused(body: dict[str, str], study: Study) -> None:
    response = post(as_role("viewer", study), "api_exports", study.slug, **{"kind": "long", **body})
    assert response.status_code == 422
    assert not ApiJob.objects.exists()


def test_retention_deletes_old_jobs_with_their_files(study: Study) -> None:
    client = as_role("viewer", study)
    old, new = asked(client, study), asked(client, study)
    for pk in (old, new):
        jobs.do_job(pk)
    folder = Path(settings.VAR) / "job-files" / str(study.pk)
    assert sorted(path.name for path in folder.iterdir()) == sorted([str(old), str(new)])
    ApiJob.objects.filter(pk=old).update(asked_at=timezone.now() - timedelta(days=8))
    retention.delete()
    assert [path.name for path in folder.iterdir()] == [str(new)]
    assert list(ApiJob.objects.values_list("pk", flat=True)) == [new]


def test_a_workers_data_leave_jobs_and_answers(study: Study) -> None:
    """Their pseudonym is in the stored answer, in the result of the job and in the file."""
    client = as_role("owner", study)
    person = study.participants.get()
    post(client, "api_exclude_worker", study.slug, person.pseudonym, key="k1", note="A program.")
    pk = asked(client, study)
    jobs.do_job(pk)
    ApiJob.objects.filter(pk=pk).update(message=f"About {person.pseudonym}.")
    redact(participants=[person], actor="test")
    assert person.pseudonym not in ApiAnswer.objects.get(key="k1").body
    assert person.pseudonym not in ApiJob.objects.get(pk=pk).message
    assert client.get(reverse("api_job_file", args=[pk])).status_code == 404
