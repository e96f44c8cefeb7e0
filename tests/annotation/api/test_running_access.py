"""Who may send which request, with which token: every address of what happens once a study runs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from accounts.models import ApiToken
from annotation.api import running_urls
from annotation.models import ApiJob, Judge, Membership, Study
from generation.models import GenerationRun, LanguageModel, Suggester
from tests.annotation.api.running_helpers import program, send
from tests.annotation.console_helpers import as_role, make_user, signed_in
from tests.factories import make_study, make_submission
from tests.generation.support.finished_runs import make_run

pytestmark = pytest.mark.django_db
ROLES = ("viewer", "editor", "owner")


@dataclass(frozen=True)
class Row:
    """A request about a study: the least role that may send it, and the scope that a token needs."""

    method: str
    name: str
    role: str = "viewer"
    scope: str = "read"
    body: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.method} {self.name}"


def write(address: str, role: str, scope: str = "collect", **body: Any) -> Row:
    return Row("POST", address, role, scope, body)


OF_A_STUDY = [
    Row("GET", "api_study_platform"),
    Row("GET", "api_differences", "editor"),
    write("api_publish", "owner", "pay", platform="mturk"),
    write("api_platform_continue", "owner", "pay"),
    write("api_platform_sync", "editor"),
    write("api_platform_replace", "owner", "pay"),
    write("api_platform_extend", "owner", "pay", days=1),
    write("api_platform_end", "owner"),
    write("api_platform_delete", "owner"),
    write("api_add_ratings", "owner", "pay", ratings=9),
    Row("PUT", "api_budget", "owner", "pay", {"budget": "5.00"}),
    write("api_fetch_work", "editor", outside=1),
    write("api_compensate", "owner", "pay", assignment=1, amount="0.50", reason="Sorry."),
    Row("GET", "api_submissions"),
    Row("GET", "api_submission"),
    write("api_exclude_many", "editor", ids=[1]),
    write("api_include_many", "editor", ids=[1]),
    write("api_approve_many", "owner", "pay", ids=[1]),
    write("api_reject_many", "owner", "pay", ids=[1], reason="Too fast."),
    write("api_bonus_many", "owner", "pay", ids=[1], reason="Thanks.", amount="0.10"),
    write("api_exclude", "editor"),
    write("api_include", "editor"),
    write("api_approve", "owner", "pay"),
    write("api_reject", "owner", "pay", reason="Too fast."),
    write("api_bonus", "owner", "pay", reason="Thanks.", amount="0.10"),
    Row("GET", "api_workers"),
    Row("GET", "api_worker"),
    write("api_exclude_worker", "editor"),
    write("api_include_worker", "editor"),
    write("api_message_workers", "owner", subject="Hello", text="There."),
    write("api_message_worker", "owner", subject="Hello", text="There."),
    Row("GET", "api_payments", "editor"),
    Row("GET", "api_payment_totals", "editor"),
    Row("GET", "api_payments_due", "editor"),
    Row("GET", "api_payment_file", "editor"),
    write("api_mark_paid", "editor", "pay", hits=1, total="0.000"),
    Row("GET", "api_quality"),
    Row("GET", "api_quality_rules"),
    Row("PUT", "api_quality_rules", "editor", "collect", {"quality_control": {"too_fast": 1}}),
    write("api_quality_check", "editor"),
    Row("GET", "api_review_queue"),
    Row("GET", "api_exports"),
    Row("POST", "api_exports", "viewer", "read", {"kind": "long"}),
    Row("GET", "api_export"),
    write("api_simulate", "editor", workers=1),
    Row("GET", "api_judges"),
    write("api_judges", "editor", model="m"),
    write("api_judges_forecast", "editor", model="m"),
    Row("GET", "api_judge"),
    write("api_stop_judge", "editor"),
    write("api_resume_judge", "editor"),
    Row("GET", "api_report"),
    Row("GET", "api_report_page"),
    Row("GET", "api_paper"),
    Row("GET", "api_edits"),
]
OF_A_CODING_STUDY = [Row("GET", "api_coding"), write("api_settle", "editor", chosen=["x"])]
#: Of the user's own run, suggester or job; and lists that every researcher reads.
OF_A_USER = [
    Row("GET", "api_run"),
    write("api_cancel_run", ""),
    write("api_resume_run", ""),
    Row("GET", "api_samples"),
    Row("GET", "api_samples_file"),
    Row("GET", "api_run_report"),
    Row("GET", "api_run_report_page"),
    Row("PATCH", "api_suggester", "", "collect", {"tries": 2}),
    write("api_fill_pool", "", texts=[{"text": "It rained."}]),
    Row("GET", "api_job"),
    write("api_cancel_job", ""),
    Row("GET", "api_job_file"),
]
OF_EVERYBODY = [
    Row("GET", "api_jobs"),
    Row("GET", "api_platforms"),
    Row("GET", "api_models"),
    Row("GET", "api_runs"),
    write("api_runs", "", name="r"),
    Row("GET", "api_suggesters"),
    Row("GET", "api_suggester"),
    write("api_suggesters", "", name="s"),
]


@pytest.fixture(autouse=True)
def nothing_is_queued(monkeypatch: pytest.MonkeyPatch) -> None:
    for method in ("celery.app.task.Task.apply_async", "celery.app.base.Celery.send_task"):
        monkeypatch.setattr(method, lambda *_, **__: None)


@pytest.fixture
def study() -> Study:
    study = make_study(items=1, ratings_per_item=3, hits_per_worker=None)
    make_submission(study=study)
    model = LanguageModel.objects.create(name="judging", backend="transformers", source="x")
    Judge.objects.create(study=study, name="a", model=model, arm=study.arms.get(), method="json", n_items=1)
    return study


def arguments(row: Row, study: Study) -> list[Any]:
    if row.name in ("api_submission", "api_exclude", "api_include", "api_approve", "api_reject", "api_bonus"):
        return [study.slug, study.submissions.get().pk]
    if row.name in ("api_worker", "api_exclude_worker", "api_include_worker", "api_message_worker"):
        return [study.slug, study.participants.get().pseudonym]
    if row.name in ("api_judge", "api_stop_judge", "api_resume_judge"):
        return [study.slug, study.judges.get().pk]
    return [study.slug, "long", "csv"] if row.name == "api_export" else [study.slug]


def test_every_address_has_a_row() -> None:
    rows = [*OF_A_STUDY, *OF_A_CODING_STUDY, *OF_A_USER, *OF_EVERYBODY]
    assert {row.name for row in rows} == {str(pattern.name) for pattern in running_urls.urlpatterns}


@pytest.mark.parametrize("row", OF_A_STUDY, ids=str)
def test_each_role_may_do_what_the_console_lets_it_do(row: Row, study: Study) -> None:
    statuses = {
        role: send(as_role(role, study), row.method, row.name, *arguments(row, study), **row.body).status_code
        for role in ("anonymous", "outsider", *ROLES)
    }
    assert (statuses["anonymous"], statuses["outsider"]) == (401, 404)
    for role in ROLES:
        if ROLES.index(role) < ROLES.index(row.role):
            assert statuses[role] == 404, role
        elif row.name not in ("api_fetch_work", "api_compensate"):  # of which there is nothing here
            assert statuses[role] in (200, 202, 409, 422), role


@pytest.mark.parametrize("row", [*OF_A_STUDY, *OF_EVERYBODY], ids=str)
@pytest.mark.parametrize("scope", ["read", "collect", "pay"])
def test_a_token_needs_the_scope(row: Row, scope: str, study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ApiToken, "allows", lambda self, wanted: wanted == scope, raising=False)
    user = make_user("programmer")
    Membership.objects.create(study=study, user=user, role="owner")
    Suggester.objects.create(name="model-a", model=_model(), created_by=user.get_username())
    args = arguments(row, study) if row in OF_A_STUDY else ["model-a"] if row.name == "api_suggester" else []
    response = send(program(user), row.method, row.name, *args, **row.body)
    if scope == row.scope:
        assert response.status_code != 403
    else:
        assert (response.status_code, f"“{row.scope}”" in response.json()["detail"]) == (403, True)


def _model() -> Any:
    make_run({"greedy": [["a text"]]}, name="first-run")
    return GenerationRun.objects.get(name="first-run").samples.all()[0].model


@pytest.mark.parametrize("row", OF_A_USER, ids=str)
def test_what_belongs_to_somebody_else_does_not_exist(row: Row, study: Study) -> None:
    owner = make_user("its-owner")
    Suggester.objects.create(name="model-a", model=_model(), created_by=owner.get_username())
    GenerationRun.objects.update(created_by=owner.get_username())
    job = _job(owner, study)
    args: list[Any] = ["first-run", "csv"] if row.name == "api_samples_file" else ["first-run"]
    args = ["model-a"] if row.name in ("api_suggester", "api_fill_pool") else args
    args = [job.pk] if "_job" in row.name else args

    assert send(Client(), row.method, row.name, *args, **row.body).status_code == 401
    assert send(signed_in(make_user("other")), row.method, row.name, *args, **row.body).status_code == 404
    own = send(signed_in(owner), row.method, row.name, *args, **row.body).status_code
    assert own in ((404,) if row.name == "api_job_file" else (200, 202, 422))


def _job(owner: User, study: Study) -> ApiJob:
    from django.utils import timezone

    return ApiJob.objects.create(user=owner, study=study, kind="export", asked_at=timezone.now())


@pytest.mark.parametrize("row", OF_A_CODING_STUDY, ids=str)
def test_only_coding_studies_have_coded_items(row: Row, study: Study) -> None:
    args = [study.slug, "s0"] if row.name == "api_settle" else [study.slug]
    response = send(as_role("owner", study), row.method, row.name, *args, **row.body)
    assert (response.status_code, "no answers to settle" in response.json()["detail"]) == (404, True)


def test_an_account_that_is_no_researchers_is_refused(study: Study) -> None:
    user = make_user("worker", researcher=False)
    response = signed_in(user).get(reverse("api_jobs"))
    assert (response.status_code, "not a researcher" in response.json()["detail"]) == (403, True)
