"""The console's report: for members, saved until the data change, never with a script."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.test import Client
from kombu.exceptions import OperationalError

from analysis.report import write_report
from annotation.models import Flag, Membership, Study, Submission
from annotation.results import saved_reports as kept
from annotation.results import tasks as tasks
from annotation.work.excluding import review_submission
from tests.factories import make_participant, make_researcher, make_study, make_submission
from tests.report_data import a_set, rated_study

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def var(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(settings, "VAR", tmp_path)
    return tmp_path


@pytest.fixture
def study() -> Study:
    return rated_study([a_set("one"), a_set("two")], {("one", "anna"): 2.0, ("one", "ben"): 4.0})


def member(study: Study, role: str = "viewer") -> Client:
    user = make_researcher(f"{role}-{study.pk}")
    Membership.objects.create(study=study, user=user, role=role)
    return signed_in(user)


def signed_in(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def url(study: Study, name: str = "") -> str:
    return f"/console/studies/{study.slug}/report/{name}"


class Builds:
    """Counts what ``write_report`` does, or breaks it."""

    def __init__(self) -> None:
        self.count = 0
        self.broken = False
        self.real = write_report

    def __call__(self, *args: Any, **more: Any) -> Path:
        self.count += 1
        if self.broken:
            raise RuntimeError("a bug")
        return self.real(*args, draws=10, **more)


@pytest.fixture
def builds(monkeypatch: pytest.MonkeyPatch) -> Builds:
    counting = Builds()
    monkeypatch.setattr(kept, "write_report", counting)
    return counting


@pytest.fixture
def large(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Every study counts as large; the ids that were handed to the background."""
    handed: list[int] = []
    monkeypatch.setattr(kept, "MOST_RATINGS_AT_ONCE", 0)
    monkeypatch.setattr(tasks.make_report, "delay", handed.append)
    return handed


def test_a_viewer_sees_the_report(study: Study) -> None:
    response = member(study).get(url(study))

    assert response.status_code == 200
    page = response.content.decode()
    assert study.title in page
    assert f'href="/console/studies/{study.slug}/"' in page
    assert f'href="{url(study, "report.json")}"' in page
    assert f'href="/console/studies/{study.slug}/exports/long.csv"' in page


def test_its_style_is_allowed_and_no_script(study: Study) -> None:
    response = member(study).get(url(study))

    policy = response.headers["Content-Security-Policy"]
    assert "style-src 'self' 'unsafe-inline'" in policy
    assert "default-src 'none'" in policy
    assert "script-src" not in policy
    assert "frame-ancestors 'none'" in policy
    assert "<script" not in response.content.decode()


def test_other_pages_keep_the_strict_policy(study: Study) -> None:
    response = member(study).get(f"/console/studies/{study.slug}/")

    assert "unsafe-inline" not in response.headers["Content-Security-Policy"]


@pytest.mark.parametrize("name", ["", "report.html", "report.json"])
def test_others_read_that_there_is_no_such_study(study: Study, name: str) -> None:
    response = signed_in(make_researcher("outsider")).get(url(study, name))

    assert response.status_code == 404


@pytest.mark.parametrize("name", ["", "report.html", "report.json"])
def test_visitors_are_asked_to_sign_in(study: Study, name: str) -> None:
    response = Client().get(url(study, name))

    assert response.status_code == 302
    assert response.headers["Location"].startswith("/console/login/")


def test_a_member_of_another_study_is_an_outsider(study: Study) -> None:
    other = rated_study([a_set("one")], {("one", "anna"): 2.0})

    assert member(other).get(url(study)).status_code == 404


def test_the_report_is_only_read(study: Study) -> None:
    assert member(study).post(url(study)).status_code == 405


def test_files_come_as_downloads(study: Study) -> None:
    client = member(study)

    page, numbers = client.get(url(study, "report.html")), client.get(url(study, "report.json"))

    assert page.headers["Content-Disposition"] == f'attachment; filename="{study.slug}-report.html"'
    html = page.getvalue().decode()
    assert "/console/" not in html
    told = json.loads(numbers.getvalue())
    assert told["study"]["slug"] == study.slug


def first_png(page: str) -> str:
    """The address of the first figure's PNG, relative to the page."""
    link = re.search(r'<a download="[\w-]+\.png" href="(figures/[\w-]+\.png)">PNG</a>', page)
    assert link is not None
    return link[1]


def test_a_figure_is_drawn_as_a_png_when_it_is_first_wanted(study: Study, var: Path) -> None:
    client = member(study)
    address = url(study, first_png(client.get(url(study)).content.decode()))
    assert not list(var.rglob("*.png"))

    response = client.get(address)

    assert response.headers["Content-Type"] == "image/png"
    assert response.headers["Content-Disposition"].startswith(f'attachment; filename="{study.slug}-')
    content = response.getvalue()
    assert content.startswith(b"\x89PNG")
    (drawn,) = var.rglob("*.png")
    drawn.write_bytes(b"drawn before")
    assert client.get(address).getvalue() == b"drawn before"


def test_a_figure_is_for_those_who_may_see_the_report(study: Study) -> None:
    owner = member(study, "owner")
    address = url(study, first_png(owner.get(url(study)).content.decode()))

    assert owner.get(address).status_code == 200
    assert member(study, "viewer").get(address).status_code == 200
    assert signed_in(make_researcher("outsider")).get(address).status_code == 404
    assert Client().get(address).headers["Location"].startswith("/console/login/")
    assert owner.get(url(study, "figures/none.png")).status_code == 404


def test_a_figure_leads_to_the_report_while_there_is_none(study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "look", lambda subject: kept.Kept(None, fresh=True, building=False, failed=False))

    assert member(study).get(url(study, "figures/q-bars.png")).headers["Location"] == url(study)


def test_the_downloaded_page_needs_no_other_file(study: Study) -> None:
    page = member(study).get(url(study, "report.html")).getvalue().decode()

    assert "figures/" not in page
    assert "data:image/svg+xml" in page


def test_the_command_makes_the_same_report_from_the_bundle(study: Study, tmp_path: Path) -> None:
    client, bundle, out = member(study), tmp_path / "bundle.zip", tmp_path / "out"
    download = client.get(f"/console/studies/{study.slug}/exports/bundle.zip")
    assert download.headers["Content-Type"] == "application/zip"
    bundle.write_bytes(download.getvalue())

    command = [sys.executable, "-m", "analysis", "report", str(bundle), "--out", str(out)]
    subprocess.run(command, check=True, cwd=settings.BASE_DIR, capture_output=True)

    shown = json.loads(client.get(url(study, "report.json")).getvalue())
    made = json.loads((out / "report.json").read_text("utf-8"))
    assert "made_at" in shown
    assert made | {"made_at": ""} == shown | {"made_at": ""}


@pytest.mark.parametrize("name", ["report.txt", "secret_key", "..%2Fsecret_key", ".building"])
def test_no_other_file_can_be_had(study: Study, name: str) -> None:
    assert member(study).get(url(study, name)).status_code == 404


def test_looking_again_builds_nothing(study: Study, builds: Builds) -> None:
    client = member(study)

    for _ in range(3):
        assert client.get(url(study)).status_code == 200

    assert builds.count == 1


def change_by_submission(study: Study) -> None:
    make_submission(study=study, participant=make_participant(study=study))


def change_by_review(study: Study) -> None:
    review_submission(
        submission=Submission.objects.filter(study=study)[0],
        decision="exclude",
        note="",
        user=make_researcher("reviewer"),
    )


def change_by_flag(study: Study) -> None:
    Flag.objects.create(submission=Submission.objects.filter(study=study)[0], reason="copied")


def change_by_arm(study: Study) -> None:
    study.arms.update(reward="0.500")


def change_by_title(study: Study) -> None:
    Study.objects.filter(pk=study.pk).update(title="A new title")


@pytest.mark.parametrize(
    "change", [change_by_submission, change_by_review, change_by_flag, change_by_title, change_by_arm]
)
def test_a_change_makes_a_new_report_and_drops_the_old(study: Study, builds: Builds, change: Any, var: Path) -> None:
    client = member(study)
    before = client.get(url(study)).content
    for path in (var / "reports" / str(study.pk)).iterdir():
        os.utime(path, (time.time() - 60, time.time() - 60))

    change(study)
    after = client.get(url(study)).content

    assert before != after
    assert builds.count == 2
    assert len(list((var / "reports" / str(study.pk)).iterdir())) == 1


def test_a_large_study_is_built_in_the_background(study: Study, builds: Builds, large: list[int]) -> None:
    client = member(study)

    first, second = client.get(url(study)), client.get(url(study))

    assert (first.status_code, second.status_code) == (202, 202)
    assert '<meta http-equiv="refresh" content="3">' in first.content.decode()
    assert large == [study.pk]  # once, though two looked

    assert tasks.make_report(study.pk) is True
    assert client.get(url(study)).status_code == 200
    assert builds.count == 1


def test_the_last_report_of_a_large_study_is_shown_meanwhile(study: Study, builds: Builds, large: list[int]) -> None:
    client = member(study)
    client.get(url(study))
    tasks.make_report(study.pk)

    change_by_flag(study)
    page = client.get(url(study))

    assert page.status_code == 200
    assert "There are new data since this report" in page.content.decode()
    assert large == [study.pk, study.pk]
    tasks.make_report(study.pk)
    assert "There are new data" not in client.get(url(study)).content.decode()


def test_downloading_a_report_that_is_not_built_leads_to_the_page_that_builds_it(
    study: Study, large: list[int]
) -> None:
    response = member(study).get(url(study, "report.json"))

    assert response.headers["Location"] == url(study)
    assert large == [study.pk]


def test_a_task_that_runs_twice_builds_once(study: Study, builds: Builds) -> None:
    assert tasks.make_report(study.pk) is True
    assert tasks.make_report(study.pk) is True
    assert builds.count == 1


def test_a_task_for_a_study_that_is_gone_does_nothing(builds: Builds) -> None:
    assert tasks.make_report(999_999) is True
    assert builds.count == 0


def test_a_failed_job_is_reported_and_tried_again_later(
    study: Study, builds: Builds, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = member(study)
    builds.broken = True

    first, second = client.get(url(study)), client.get(url(study))

    assert (first.status_code, second.status_code) == (202, 202)
    assert "could not be built" in first.content.decode()
    assert "refresh" not in first.content.decode()
    assert builds.count == 1
    assert "a bug" in caplog.text

    builds.broken = False
    monkeypatch.setattr(kept, "TRY_AGAIN_AFTER", 0)
    assert client.get(url(study)).status_code == 200


def test_a_builder_that_died_is_given_up(study: Study, builds: Builds, large: list[int], var: Path) -> None:
    client = member(study)
    client.get(url(study))
    (mark,) = (var / "reports" / str(study.pk)).glob("*.building")
    long_ago = time.time() - kept.GIVEN_UP_AFTER - 1
    os.utime(mark, (long_ago, long_ago))

    client.get(url(study))

    assert large == [study.pk, study.pk]


@pytest.mark.parametrize("fails", [False, True])
def test_a_builder_does_not_take_the_mark_of_another(
    tmp_path: Path, fails: bool, caplog: pytest.LogCaptureFixture
) -> None:
    home, state = tmp_path / "home", ["older"]

    def build(folder: Path) -> None:
        state.append("newer")  # the data change, and another process claims the next report
        kept.claim(subject)
        later = time.time()
        os.utime(home / "newer.building", (later, later))  # the file system's clock is a little behind
        if fails:
            raise RuntimeError("a bug")

    subject = kept.Subject("news", home, lambda: state[-1], lambda: True, build)
    kept.claim(subject)
    assert kept.make(subject) is not fails
    older, newer = ((home / f"{name}.building").exists() for name in ("older", "newer"))
    assert (older, newer) == (False, True)
    assert not kept.claim(subject)  # nobody builds the newer report a second time


def test_without_a_broker_the_page_says_so(
    study: Study, monkeypatch: pytest.MonkeyPatch, large: list[int], caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(study_id: int) -> None:
        raise OperationalError("connection refused")

    monkeypatch.setattr(tasks.make_report, "delay", refuse)
    response = member(study).get(url(study))

    assert response.status_code == 202
    assert "could not be built" in response.content.decode()
    assert "connection refused" in caplog.text


def test_a_report_that_waits_says_why(study: Study, large: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    assert "This study is large" in member(study).get(url(study)).content.decode()
    monkeypatch.setattr(kept, "why_slow", lambda study: "texts")
    waits = member(study, "editor").get(url(study)).content.decode()
    assert "This study is large" not in waits
    assert "It measures how far apart texts are, which takes a while" in waits


def test_a_few_submissions_with_many_texts_are_not_a_large_study(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "MOST_TEXTS_AT_ONCE", 1)
    writing = make_study(task_type="production", items=1, ratings_per_item=2)
    for seed in (1, 2):
        make_submission(study=writing, seed=seed)
    assert kept.why_slow(writing) == "texts"
    monkeypatch.setattr(kept, "MOST_RATINGS_AT_ONCE", 0)
    assert kept.why_slow(writing) == "large"
    monkeypatch.setattr(kept, "MOST_RATINGS_AT_ONCE", 100)
    monkeypatch.setattr(kept, "MOST_TEXTS_AT_ONCE", 100)
    assert kept.why_slow(writing) == ""


def test_a_report_is_made_again_when_the_ratings_of_words_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study, file = make_study(), tmp_path / "words.csv"
    states = [kept.fingerprint(study)]
    monkeypatch.setattr(settings, "CONCRETENESS", str(file))
    states.append(kept.fingerprint(study))
    for second in (1, 2):
        file.write_text("word,rating\ndog,4.8\n")
        os.utime(file, (second, second))
        states.append(kept.fingerprint(study))
    assert len(set(states)) == 4
    assert kept.fingerprint(study) == states[-1]
