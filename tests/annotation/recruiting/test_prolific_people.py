"""Participants on Prolific: completion codes, screening out, groups, filters, messages, notices, many approvals."""

from __future__ import annotations

import json
import re
from decimal import Decimal
from typing import Any

import pytest
from django.core.management import CommandError
from django.test import Client
from django.urls import reverse

from annotation.models import AuditEntry, Flag, OutsideAssignment, Payment, PlatformCall, Posting, Study, Submission
from annotation.platforms.base import NO_CONSENT, NOT_ELIGIBLE
from annotation.platforms.prolific.codes import code_for
from annotation.platforms.prolific.hooks import sign
from annotation.platforms.prolific.platform import Prolific
from annotation.recruiting import deciding_on_platform, job_actions, polling, publishing, syncing
from annotation.recruiting.publishing import settings_of
from annotation.review import bulk_decisions
from annotation.studies.storing import change_study
from common.problems import Invalid
from tests.annotation.console_helpers import as_role, hidden
from tests.annotation.recruiting.helpers import send_claim
from tests.annotation.recruiting.prolific_helpers import ANN, BEN, draft, run
from tests.annotation.recruiting.prolific_server import WORKSPACE
from tests.annotation.recruiting.prolific_server import Prolific as Server
from tests.factories import make_study

pytestmark = pytest.mark.django_db(transaction=True)
CODES = [
    {"outcome": "completed", "action": "approve", "add_to": "group1"},
    {"outcome": "failed_checks", "action": "review"},
    {"outcome": "no_consent", "action": "return", "reason": "Withdrew consent"},
    {"outcome": "not_eligible", "action": "screen_out"},
]
SCREENING = {"codes": CODES, "screen_out_reward": "0.20", "screen_out_places": "2"}


def posted(server: Server, chosen: dict[str, Any] | None = None, **values: Any) -> Posting:
    study = draft(live=False, slug="w", **values)
    if chosen:
        change_study(study=study, platforms={"prolific": chosen}, actor="test")
    run("publish", "w", "--platform", "prolific")
    return Posting.objects.select_related("study").get()


def address(posting: Posting, server: Server, who: str, session: str) -> str:
    url = str(server.studies[posting.external_id]["external_study_url"])
    for mark, value in {"PROLIFIC_PID": who, "STUDY_ID": posting.external_id, "SESSION_ID": session}.items():
        url = url.replace(f"{{{{%{mark}%}}}}", value)
    return re.sub(r"^https?://[^/]+", "", url)


# --- completion codes ---


def test_each_outcome_has_its_code_and_actions(server: Server) -> None:
    """Schema `BaseStudyCompletionCodesItem`; the server checks types and actions."""
    posting = posted(server, SCREENING)
    there = {each["code"]: each for each in server.studies[posting.external_id]["completion_codes"]}
    actions = {each["code_type"]: [a["action"] for a in each["actions"]] for each in there.values()}
    assert actions == {
        "COMPLETED": ["AUTOMATICALLY_APPROVE", "ADD_TO_PARTICIPANT_GROUP"],
        "FAILED_ATTENTION_CHECK": ["MANUALLY_REVIEW"],
        "NO_CONSENT": ["REQUEST_RETURN"],
        "FIXED_SCREENOUT": ["FIXED_SCREEN_OUT_PAYMENT"],
    }
    assert len(there) == 4
    (screen,) = there[code_for(posting, NOT_ELIGIBLE)]["actions"]
    assert (screen["fixed_screen_out_reward"], screen["slots"]) == (20, 2)


@pytest.mark.parametrize(
    "wrong",
    [
        {"codes": [{"outcome": "completed", "action": "screen_out"}]},
        {"codes": [{"outcome": "no_consent", "action": "return"}]},  # no reason
        {"codes": [{"outcome": "no_consent", "action": "review", "reason": "Because"}]},
        {"codes": [CODES[0], CODES[0]]},
        {"codes": [CODES[3]]},  # no pay
        {"screen_out_reward": "0.20", "screen_out_places": "2"},  # no code
    ],
)
def test_codes_that_contradict_each_other_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(Invalid):
        change_study(study=make_study(live=False), platforms={"prolific": wrong}, actor="test")


def test_screening_out_must_pay_less_than_the_reward(server: Server) -> None:
    """Schema `FixedScreenOut`: “This must be less that the study reward.”"""
    with pytest.raises(CommandError, match="not less than the reward"):
        posted(server, SCREENING | {"screen_out_reward": "1.25"})
    assert not server.studies


def test_finished_work_gets_the_code_for_its_checks(server: Server) -> None:
    posting = posted(server, SCREENING)
    work = send_claim(posting, ANN, server.submit(posting.external_id, ANN))
    settings = settings_of(posting.study, Prolific)
    assert Prolific.finish(work, settings).code == posting.code
    Flag.objects.create(submission=work.submission, reason="attention_failed", place="hit")
    finish = Prolific.finish(work, settings)
    assert finish.code == code_for(posting, "failed_checks") != posting.code
    assert finish.link.endswith(f"/submissions/complete?cc={finish.code}")


def test_who_does_not_agree_finds_the_way_back(server: Server) -> None:
    posting = posted(server, SCREENING, consent="You may stop at any time.")
    page = Client().get(address(posting, server, ANN, "s" * 24)).content.decode()
    assert f"cc={code_for(posting, NO_CONSENT)}" in page
    session = server.start(posting.external_id, ANN)
    server.complete(session, code_for(posting, NO_CONSENT))
    assert server.submissions[session]["return_requested"]


def test_who_cannot_take_part_is_screened_out_with_pay(prolific: Prolific, server: Server) -> None:
    posting = posted(server, SCREENING)
    earlier = make_study(slug="earlier")
    there = Posting.objects.create(study=earlier, platform="prolific", external_id="E", reward=earlier.reward)
    send_claim(there, ANN, "e" * 24)
    posting.study.exclude_studies.add(earlier)
    session = server.start(posting.external_id, ANN)
    answer = Client().post(address(posting, server, ANN, session))
    page, code = answer.content.decode(), code_for(posting, NOT_ELIGIBLE)
    assert answer.status_code == 403
    assert f"cc={code}" in page
    assert "You are paid $0.20 for your time." in page
    server.complete(session, code)
    syncing.sync_study(study=posting.study, platform=prolific)
    outside = OutsideAssignment.objects.get(external_id=session)
    assert (outside.state, [each.amount for each in Payment.objects.all()]) == ("screened", [Decimal("0.200")])
    assert server.taken(posting.external_id) == 0  # their place is free


def test_a_study_that_prolific_paused_after_screening_out_is_shown_as_paused(
    prolific: Prolific, server: Server
) -> None:
    """docs.prolific.com, FixedScreenOut: the study pauses after as many as it has slots, here 2."""
    posting = posted(server, SCREENING)
    url = reverse("console_platforms", args=[posting.study.slug])
    client = as_role("owner", posting.study)
    for who in ("1" * 24, "2" * 24):
        session = server.start(posting.external_id, who)
        server.complete(session, code_for(posting, NOT_ELIGIBLE))
    server.studies[posting.external_id]["status"] = "PAUSED"
    syncing.sync_study(study=posting.study, platform=prolific)
    posting.refresh_from_db()
    assert posting.state == "paused"
    page = client.get(url).content.decode()
    assert "Prolific has paused 1 study: it has screened out as many people as it pays for." in page
    server.studies[posting.external_id]["status"] = "ACTIVE"
    syncing.sync_study(study=posting.study, platform=prolific)
    posting.refresh_from_db()
    assert posting.state == "open"
    assert "Prolific has paused" not in client.get(url).content.decode()


def test_the_cost_names_what_screening_out_may_cost(server: Server) -> None:
    """By hand: 2 × $0.20 and a third of it in fees (33.3%): $0.53."""
    posting = posted(server, SCREENING)
    assert any("up to $0.53" in line for line in publishing.cost_remarks(posting.study, Prolific.offline()))


def test_a_part_of_a_quota_may_send_its_own_study_id(server: Server) -> None:
    """Schema `SubmissionDetail`: parent_study_id applies to quota studies."""
    posting = posted(server, {"filters": [{"filter": "handedness", "values": "0, 1", "weights": "1, 1"}]})
    query = {"PROLIFIC_PID": ANN, "STUDY_ID": "f" * 24, "SESSION_ID": "s" * 24}
    claim = Prolific.arrive(posting, settings_of(posting.study, Prolific), query, "")
    assert claim is not None
    assert claim.assignment_id == "s" * 24


# --- many approvals ---


def test_many_approvals_are_one_call_and_paid_once(prolific: Prolific, server: Server) -> None:
    """“Bulk approve submissions”: one request with the submissions' ids."""
    posting = posted(server)
    for who in (ANN, BEN):
        send_claim(posting, who, server.submit(posting.external_id, who))
    run("sync", "w")
    assert "Approved: 2, $2.50." in run("approve", "w")
    assert server.requests.count("POST submissions/bulk-approve/") == 1
    assert not [each for each in server.requests if each.endswith("/transition/") and "submissions" in each]
    assert [each.amount for each in Payment.objects.all()] == [Decimal("1.250")] * 2
    run("sync", "w")
    assert Payment.objects.count() == 2


def test_an_approval_of_many_in_the_console_is_one_call_for_each_page(
    prolific: Prolific, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Five submissions in pages of two: three calls, and the same record of calls as from the command."""
    monkeypatch.setattr(Prolific, "most_at_once", 2)
    posting = posted(server)
    for number in range(5):
        who = f"{number}" * 24
        send_claim(posting, who, server.submit(posting.external_id, who))
    syncing.sync_study(study=posting.study, platform=prolific)
    chosen = Submission.objects.filter(study=posting.study)
    made = bulk_decisions.plan_action(study=posting.study, action="approve", chosen=chosen, actor="ada")
    bulk_decisions.confirm_action(bulk=made, actor="ada", start=lambda pk: None)
    done = bulk_decisions.run_action(bulk_id=made.pk, connect=lambda name, study: prolific)
    assert done is not None and (done.state, done.position, done.refused) == ("done", 5, [])
    assert server.requests.count("POST submissions/bulk-approve/") == 3
    assert not [each for each in server.requests if each.endswith("/transition/") and "submissions" in each]
    assert [each.amount for each in Payment.objects.all()] == [Decimal("1.250")] * 5
    assert PlatformCall.objects.filter(operation="approve_many", state="done").count() == 3


def test_approvals_that_take_a_while_are_recorded_by_a_later_sync(prolific: Prolific, server: Server) -> None:
    posting = posted(server)
    for who in (ANN, BEN):
        send_claim(posting, who, server.submit(posting.external_id, who))
    run("sync", "w")
    server.slow_approvals = True
    assert "Still being approved there: 2 assignments." in run("approve", "w")
    assert not Payment.objects.exists()
    server.slow_approvals = False
    assert "Approved: 2, $2.50." in run("approve", "w")  # asked for again: that does no harm
    assert Payment.objects.count() == 2


# --- messages ---


def test_a_message_reaches_the_worker_once(prolific: Prolific, server: Server) -> None:
    """“Send a message”: recipient_id, body and study_id."""
    posting = posted(server)
    work = send_claim(posting, ANN, server.submit(posting.external_id, ANN))
    name = work.participant.pseudonym
    server.lose = r"POST messages/"
    with pytest.raises(CommandError, match="did not answer"):
        run("message", "w", "--worker", name, "--text", "Could you say more about text 2?")
    assert f"Sent to {name}." in run("message", "w", "--worker", name, "--text", "Could you say more about text 2?")
    assert server.messages == [(ANN, "Could you say more about text 2?")]
    with pytest.raises(CommandError, match="same message before"):
        run("message", "w", "--worker", name, "--text", "Could you say more about text 2?")
    assert AuditEntry.objects.filter(action="write to workers").count() == 1
    for wrong in ("", "x" * 5_000):
        with pytest.raises(CommandError, match="The text"):
            run("message", "w", "--worker", name, "--text", wrong)


# --- filters and groups ---


def test_filters_can_be_looked_up_with_the_number_of_eligible_people(server: Server) -> None:
    make_study(live=False, slug="w")
    shown = run("filters", "w", "left", "hand")
    assert "handedness  Handedness: Are you left or right handed?" in shown
    assert "  0: Left" in shown
    assert "  from 18 to 100" in run("filters", "w", "age")
    assert "No filter contains “zebra”." in run("filters", "w", "zebra")
    assert "100,000 people can take part" in run("filters", "w")
    chosen = [{"filter": "handedness", "values": "0, 1", "weights": "1, 1"}]
    change_study(study=Study.objects.get(), platforms={"prolific": {"filters": chosen}}, actor="test")
    assert "10,000 people can take part" in run("filters", "w")
    many = [{"filter": "age", "from": str(n)} for n in range(18, 23)]
    change_study(study=Study.objects.get(), platforms={"prolific": {"filters": many}}, actor="test")
    assert "Fewer than 25 people can take part" in run("filters", "w")


def test_a_studys_workers_become_a_group(server: Server) -> None:
    posting = posted(server)
    for who in (ANN, BEN):
        send_claim(posting, who, server.submit(posting.external_id, who))
    with pytest.raises(CommandError, match="Sync first"):
        run("group", "w", "Good writers")
    run("sync", "w")
    for _ in range(2):
        assert "“Good writers”, has 2 members." in run("group", "w", "Good writers")
    assert [each["participants"] for each in server.groups.values()] == [[ANN, BEN]]
    assert "group1  Good writers (2 members)" in run("group", "w")


# --- notices ---


@pytest.fixture
def hooks(server: Server, settings: Any) -> Server:
    server.secrets[WORKSPACE] = "the-secret"
    settings.PROLIFIC_HOOK_SECRET = "the-secret"
    settings.BASE_URL = "https://lab.example.org"
    return server


def test_publishing_subscribes_once_and_confirms(hooks: Server) -> None:
    """“Subscribing”: the X-Hook-Secret of the answer confirms the subscription."""
    posted(hooks)
    there = [(each["event_type"], each["target_url"], each["is_enabled"]) for each in hooks.subscriptions.values()]
    url = "https://lab.example.org/notices/prolific/"
    assert there == [("submission.status.change", url, True), ("study.status.change", url, True)]
    job_actions.subscribe(Study.objects.get(), Prolific.connected())
    assert len(hooks.subscriptions) == 2


def test_the_secret_of_the_workspace_stays(hooks: Server) -> None:
    assert "HITSERVER_PROLIFIC_HOOK_SECRET=the-secret" in run("hook-secret")
    hooks.secrets.clear()
    assert re.search(r"HITSERVER_PROLIFIC_HOOK_SECRET=secret-\d+", run("hook-secret"))


def tell(server: Server, payload: dict[str, Any], **how: Any) -> int:
    body, headers = server.notice(payload, **how)
    return Client().post("/notices/prolific/", body, "application/json", headers=headers).status_code


def submission_event(name: str) -> dict[str, Any]:
    return {"resource_id": name, "event_type": "submission.status.change", "participant_id": ANN, "status": "APPROVED"}


def test_a_notice_is_looked_up_and_never_believed(hooks: Server, celery_runs_now: None) -> None:
    """“Receiving”: the notice says APPROVED; what Prolific says when asked counts."""
    posting = posted(hooks)
    session = hooks.submit(posting.external_id, ANN)
    send_claim(posting, ANN, session)
    hooks.requests.clear()
    assert tell(hooks, submission_event(session)) == 204
    assert OutsideAssignment.objects.get().state == "submitted"
    assert hooks.requests == [f"GET submissions/{session}/"]  # one request, not a whole list
    hooks.submissions[session]["status"] = "APPROVED"
    for _ in range(2):  # it may come twice
        assert tell(hooks, submission_event(session)) == 204
    assert [each.amount for each in Payment.objects.all()] == [Decimal("1.250")]
    assert tell(hooks, {"resource_id": posting.external_id, "event_type": "study.status.change"}) == 204
    assert tell(hooks, submission_event("0" * 20)) == 204  # somebody else's


@pytest.mark.parametrize("how", [{"secret": "another"}, {"at": 1_000_000_000.0}])
def test_a_notice_that_is_not_prolifics_does_nothing(how: dict[str, Any], hooks: Server, celery_runs_now: None) -> None:
    posting = posted(hooks)
    session = hooks.submit(posting.external_id, ANN)
    hooks.requests.clear()
    assert tell(hooks, submission_event(session), **how) == 403
    assert Client().post("/notices/prolific/", b"{}", "application/json").status_code == 403
    assert hooks.requests == []


def test_a_changed_notice_is_refused(hooks: Server) -> None:
    body, headers = hooks.notice(submission_event("1"))
    changed = json.dumps({**json.loads(body), "resource_id": "2"}).encode()
    assert Client().post("/notices/prolific/", changed, "application/json", headers=headers).status_code == 403


def test_without_a_secret_no_notice_is_accepted(server: Server, settings: Any) -> None:
    settings.PROLIFIC_HOOK_SECRET = ""
    body, headers = server.notice(submission_event("1"), secret="a")
    headers["X-Prolific-Request-Signature"] = sign("", headers["X-Prolific-Request-Timestamp"], body)
    assert Client().post("/notices/prolific/", body, "application/json", headers=headers).status_code == 403


def test_with_notices_work_in_progress_is_not_polled_all_the_time(
    prolific: Prolific, hooks: Server, settings: Any
) -> None:
    posting = posted(hooks)
    send_claim(posting, ANN, hooks.submit(posting.external_id, ANN), pages=0)
    syncing.sync_study(study=posting.study, platform=prolific)
    assert not polling.due(posting.study).exists()
    settings.PROLIFIC_HOOK_SECRET = ""
    assert polling.due(posting.study).exists()


@pytest.fixture
def celery_runs_now(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tasks run at once."""
    from annotation.recruiting import tasks
    from annotation.recruiting.pages import notices

    class Now:
        def signature(self, name: str, args: tuple[Any, ...]) -> Any:
            class Ready:
                def delay(self) -> None:
                    tasks.look_up(*args)

            assert name == tasks.look_up.name
            return Ready()

    monkeypatch.setattr(notices, "current_app", Now())


def test_decisions_keep_their_own_kind(prolific: Prolific, server: Server) -> None:
    """What was rejected before is undone one by one, also among many."""
    posting = posted(server)
    for who in (ANN, BEN):
        send_claim(posting, who, server.submit(posting.external_id, who))
    syncing.sync_study(study=posting.study, platform=prolific)
    first, second = OutsideAssignment.objects.select_related("posting__study").order_by("pk")
    deciding_on_platform.reject(outside=first, platform=prolific, actor="t", feedback="x" * 120, category="OTHER")
    done = deciding_on_platform.approve_all(outside=[first, second], platform=prolific, actor="t")
    assert (done.count, done.total) == (2, Decimal("2.50"))
    assert {each["status"] for each in server.submissions.values()} == {"APPROVED"}


# --- the console ---


def test_the_console_shows_who_can_take_part(server: Server) -> None:
    chosen = [{"filter": "handedness", "values": "0, 1"}]
    study = change_study(
        study=make_study(live=False, slug="w"), platforms={"prolific": {"filters": chosen}}, actor="test"
    )
    server.groups["group1"] = {"name": "Good writers", "participants": [ANN]}
    client = as_role("editor", study)
    page = client.get(reverse("console_audience", args=["w", "prolific"]), {"q": "left"}).content.decode()
    for part in ("<strong>10,000</strong> people pass", "Are you left or right handed?", "<code>2</code>"):
        assert part in page
    assert "Good writers, 1 member" in page
    assert (
        "No filter contains “zebra”"
        in client.get(reverse("console_audience", args=["w", "prolific"]), {"q": "zebra"}).content.decode()
    )
    assert client.get(reverse("console_audience", args=["w", "mturk"])).status_code == 404
    assert as_role("viewer", study).get(reverse("console_audience", args=["w", "prolific"])).status_code == 404
    settings_page = client.get(reverse("console_platform", args=["w", "prolific"])).content.decode()
    assert reverse("console_audience", args=["w", "prolific"]) in settings_page


def test_the_console_says_what_was_refused_and_offers_the_settings_again(server: Server) -> None:
    study = make_study(live=False, slug="w", reward=Decimal("1.25"), estimated_minutes=5)
    server.available = 1
    client = as_role("owner", study)
    version = hidden(client.get(reverse("console_platform", args=["w", "prolific"])).content.decode())["version"]
    client.post(reverse("console_platform_publish", args=["w", "prolific"]), {"version": version})
    job_actions.do_job(study.platform_jobs.get().pk)
    study.refresh_from_db()
    assert study.status == "draft"
    page = client.get(reverse("console_platform", args=["w", "prolific"])).content.decode()
    assert "You do not have enough funds" in page
    assert "the study is a draft again" in page
    assert "Save the settings" in page
