"""A panel that uses only addresses and codes: its ids, its return address, and work that nobody confirms."""

from __future__ import annotations

import io
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client

from analysis.report import PAGE, write_report
from annotation.identity import panel_worker
from annotation.models import Assignment, Posting, Study
from annotation.recruiting import differences
from annotation.results.frames import study_data
from annotation.review import payments_due
from annotation.studies.storing import change_study
from annotation.tokens import posting_token
from annotation.work import confirmation
from common.problems import Invalid
from tests.annotation.recruiting.helpers import finish_assignment
from tests.factories import make_study

pytestmark = pytest.mark.django_db
SONA = {
    "panel": "sona",
    "worker_parameter": "id",
    "session_parameter": "survey_code",
    "return_url": "https://lab.example/webstudy_credit.aspx?survey_code={session}&who={worker}&code={code}",
}


def run(*arguments: str) -> str:
    out = io.StringIO()
    call_command("study", *arguments, stdout=out, stderr=out)
    return out.getvalue()


def on_panel(settings: dict[str, Any] = SONA, **values: Any) -> Posting:
    defaults: dict[str, Any] = {"items": 2, "ratings_per_item": 2, "reward": Decimal("0.50"), "live": False}
    study = make_study(**defaults | values)
    change_study(study=study, platforms={"panel": settings}, actor="test")
    run("publish", study.slug, "--platform", "panel")
    return Posting.objects.select_related("study").get(study=study)


def visit(posting: Posting, query: str, method: str = "post") -> Any:
    return getattr(Client(), method)(f"/p/{posting_token(posting.pk)}/?{query}")


def work(posting: Posting, query: str) -> tuple[Assignment, str]:
    """Do the hit. Returns the assignment and what the last page shows."""
    token = visit(posting, query)["Location"]
    made = finish_assignment(Assignment.objects.latest("pk"))
    return made, Client().get(f"{token}done").content.decode()


def test_publishing_prints_the_address_to_enter_there() -> None:
    study = make_study(live=False, items=2, ratings_per_item=2, reward=Decimal("0.50"), slug="weather")
    said = run("publish", "weather", "--platform", "panel", "--set", "panel=sona", "--set", "study_parameter=s",
               "--set", "study_id=a b")  # fmt: skip
    posting = Posting.objects.get(study=study)
    assert f"{posting.url}?worker=…&s=a%20b  (4 submissions, $0.50 each)" in said
    assert (posting.state, posting.wanted) == ("open", 4)
    assert "1 address, 4 assignments: $2.00 in rewards and $0.00 in fees" in said


def test_a_worker_goes_back_with_their_ids_and_code() -> None:
    posting = on_panel()
    made, page = work(posting, "id=p%2B1&survey_code=77")
    code = made.participant.completion_code
    where = f"https://lab.example/webstudy_credit.aspx?survey_code=77&amp;who=p%2B1&amp;code={code}"
    assert f'href="{where}"' in page
    assert f'<span class="code">{code}</span>' in page


def test_without_a_return_address_there_is_only_the_code() -> None:
    posting = on_panel({"panel": "course", "completion_code": "SAME-FOR-ALL"})
    _, page = work(posting, "worker=student-1")
    assert '<span class="code">SAME-FOR-ALL</span>' in page
    assert 'href="http' not in page.split("<h1>")[1]


def test_a_return_address_can_be_corrected_while_the_study_is_live() -> None:
    posting = on_panel()
    change_study(
        study=posting.study, platforms={"panel": SONA | {"return_url": "https://lab.example/?c={code}"}}, actor="t"
    )
    _, page = work(posting, "id=p1&survey_code=77")
    assert 'href="https://lab.example/?c=' in page
    with pytest.raises(ValueError, match="Locked when the study was posted"):
        change_study(study=posting.study, platforms={"panel": SONA | {"worker_parameter": "pid"}}, actor="t")


def test_the_same_id_is_the_same_person_as_by_the_studys_link() -> None:
    made, _ = work(on_panel(), "id=p1&survey_code=77")
    assert made.participant.worker == panel_worker("sona", "p1")


def test_the_same_person_with_the_same_or_another_session() -> None:
    posting = on_panel(hits_per_worker=1)
    first, _ = work(posting, "id=p1&survey_code=77")
    assert Client().get(visit(posting, "id=p1&survey_code=77")["Location"]).status_code == 303  # to their last page
    assert b"all the tasks that one person can do here" in visit(posting, "id=p1&survey_code=78").content
    assert Assignment.objects.get() == first


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("", b"Your id is missing"),
        ("id=&survey_code=", b"Your id is missing"),
        ("id=p1", b"not complete"),
        ("survey_code=77", b"not complete"),
        ("id=%24%7Bid%7D&survey_code=77", b"not complete"),  # ${id}: a placeholder that nobody replaced
        ("id=a%2Fb&survey_code=77", b"not complete"),
    ],
)
def test_an_address_without_ids_gives_out_nothing(query: str, said: bytes) -> None:
    posting = on_panel()
    for method in ("get", "post"):
        answer = visit(posting, query, method)
        assert (answer.status_code, said in answer.content) == (400, True)
    assert not Assignment.objects.exists()


def test_another_study_of_the_panel_is_refused() -> None:
    posting = on_panel({"panel": "sona", "study_parameter": "s", "study_id": "12"})
    assert b"another study" in visit(posting, "worker=p1&s=13").content
    assert visit(posting, "worker=p1&s=12").status_code == 303


def test_its_work_counts_is_owed_and_is_marked_as_claimed(tmp_path: Path) -> None:
    posting = on_panel()
    for number in (1, 2):
        work(posting, f"id=p{number}&survey_code=7{number}")
    study = Study.objects.get(pk=posting.study_id)
    assert confirmation.claimed_submissions(study).count() == 2
    assert not confirmation.unconfirmed_submissions(study).exists()
    assert not differences.differences(study).here_only
    assert payments_due.due(study).total == Decimal("1.00")
    data = study_data(study)
    assert (len(data.submissions), data.description.claimed) == (2, 2)
    write_report(data, out_dir=tmp_path, draws=10)
    report = (tmp_path / PAGE).read_text()
    assert "2 submissions from a site that cannot confirm which worker sent them" in report
    assert "2 submissions counted as the workers' browsers said" in run("sync", study.slug)
    assert "study payments" in run("approve", study.slug)
    assert "1 address ended" in run("end", study.slug)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({}, "panel"),
        ({"panel": "x", "return_url": "javascript:alert(1)"}, "begins with https://"),
        ({"panel": "x", "return_url": "lab.example/?c={code}"}, "begins with https://"),
        ({"panel": "x", "return_url": "https://{worker}/"}, "begins with https://"),
        ({"panel": "x", "return_url": "https://lab.example/?c={kode}"}, "{kode} is not one of"),
        ({"panel": "x", "return_url": "https://lab.example/?c={code"}, "{code is not one of"),
        ({"panel": "x", "worker_parameter": "id", "session_parameter": "id"}, "same name"),
        ({"panel": "x", "worker_parameter": "k"}, "uses the parameter k itself"),
        ({"panel": "x", "worker_parameter": "a b"}, "letters, digits"),
        ({"panel": "x", "study_parameter": "s"}, "belong together"),
        ({"panel": "x", "completion_code": "with space"}, "completion_code"),
        ({"panel": "x", "wrong": "1"}, "There is no “wrong”"),
    ],
)
def test_wrong_settings_are_explained(settings: dict[str, str], said: str) -> None:
    with pytest.raises(Invalid) as refused:
        change_study(study=make_study(live=False), platforms={"panel": settings}, actor="test")
    assert said in str(refused.value)
    assert "platforms.panel" in json.dumps([problem.where for problem in refused.value.problems])


def test_several_hits_per_worker_need_the_id_of_a_session() -> None:
    with pytest.raises(Exception, match=r"session_parameter|Nothing was written"):
        on_panel({"panel": "x"}, hits_per_worker=None)
