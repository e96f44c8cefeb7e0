"""The review queue: filters, decisions on pay, and one action on many submissions with its effect in view."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from io import StringIO
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.db import IntegrityError, transaction
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotation.models import AuditEntry, BulkAction, Flag, PayDecision, Payment, Rating, Study, Submission
from annotation.platforms.calls import PlatformTrouble
from annotation.recruiting.pay_states import with_pay_state
from annotation.review import bulk_decisions
from annotation.review.pay_decisions import decide_pay, pay_bonus
from annotation.review.paying import mark_paid
from annotation.review.payments_due import due
from annotation.review.review_queue import compared_with_others, preview_of
from annotation.review.submission_lists import Filter, chosen
from annotation.task_types.simulation import PROFILES
from annotation.work.left_out import excluded_submissions
from common.problems import Invalid
from hitserver.retention import unprotected
from tests.annotation.console_helpers import as_role, make_user
from tests.factories import make_participant, make_study, make_submission

pytestmark = pytest.mark.django_db
SHORT = {"write_first": False, "rate_first": False}


def no_platform(name: str, study: Study) -> Any:
    raise AssertionError(f"{name} is not needed here")


def paid_study(**values: Any) -> Study:
    defaults: dict[str, Any] = {"items": 3, "ratings_per_item": 5, "hits_per_worker": None, "reward": "0.18"}
    return make_study(**defaults | {"config": SHORT} | values)


def states(study: Study) -> list[str]:
    return list(with_pay_state(study).order_by("pk").values_list("pay", flat=True))


def decide(submission: Submission, decision: str, feedback: str = "") -> None:
    decide_pay(submission=submission, decision=decision, feedback=feedback, actor="ada", connect=no_platform)


def run(study: Study, action: str, found: Any = None, **terms: Any) -> BulkAction:
    """Plan, set the terms, confirm and do an action."""
    ada = (User.objects.filter(username="ada").first() or make_user("ada")).username
    everything = Submission.objects.filter(study=study)
    made = bulk_decisions.plan_action(
        study=study, action=action, chosen=everything if found is None else found, actor=ada
    )
    bulk_decisions.set_terms(bulk=made, **{"note": "Because."} | terms)
    bulk_decisions.confirm_action(bulk=made, actor=ada, start=lambda pk: None)
    done = bulk_decisions.run_action(bulk_id=made.pk, connect=no_platform)
    assert done is not None
    return done


# --- decisions without a platform ---


def test_rejected_work_is_not_to_be_paid_until_it_is_approved() -> None:
    study = paid_study()
    sent = make_submission(study=study)
    assert (states(study), due(study).hits) == (["to_pay"], 1)
    with pytest.raises(Invalid, match="no reason"):
        decide(sent, "reject")
    decide(sent, "reject", "All answers are the same.")
    assert (states(study), due(study).hits) == (["rejected"], 0)
    for _ in range(2):
        decide(sent, "approve")
    assert (states(study), due(study).hits) == (["to_pay"], 1)
    assert list(PayDecision.objects.values_list("decision", flat=True)) == ["approve", "reject"]
    mark_paid(study=study, actor="ada")
    with pytest.raises(Invalid, match="has been paid"):
        decide(sent, "reject", "Too late.")


def test_whether_work_is_paid_and_whether_it_is_analysed_are_two_decisions() -> None:
    study = paid_study()
    first, second = (make_submission(study=study, seed=seed) for seed in (1, 2))
    run(study, "exclude", Submission.objects.filter(pk=first.pk))
    assert (states(study), due(study).hits) == (["excluded", "to_pay"], 1)
    decide(first, "approve")
    assert (states(study), due(study).hits) == (["to_pay", "to_pay"], 2)
    assert set(excluded_submissions(study)) == {first.pk}
    decide(second, "reject", "No.")
    assert set(excluded_submissions(study)) == {first.pk}


def test_work_waits_for_the_delay_that_the_study_sets_and_is_never_rejected_by_itself() -> None:
    study = paid_study(platforms={"link": {"approve_after_hours": 72}})
    first, second = (make_submission(study=study, seed=seed) for seed in (1, 2))
    assert (states(study), due(study).hits) == (["waiting", "waiting"], 0)
    decide(first, "approve")
    assert states(study) == ["to_pay", "waiting"]
    later = with_pay_state(study, now=second.received_at + timedelta(hours=73))
    assert set(later.values_list("pay", flat=True)) == {"to_pay"}


@pytest.mark.parametrize("change", ["update", "delete"])
def test_a_decision_on_pay_cannot_be_changed_later(change: str) -> None:
    sent = make_submission(study=paid_study())
    decide(sent, "reject", "No.")
    made = PayDecision.objects.filter(submission=sent)
    with pytest.raises(IntegrityError), transaction.atomic():
        made.update(decision="approve") if change == "update" else made.delete()
    assert made.get().decision == "reject"


def test_a_simulated_worker_is_neither_approved_nor_given_a_bonus() -> None:
    study = paid_study()
    sent = make_submission(participant=make_participant(study=study, synthetic=True))
    with pytest.raises(Invalid, match="never paid"):
        decide(sent, "approve")
    with pytest.raises(Invalid, match="never paid"):
        pay_bonus(submission=sent, amount=Decimal(1), reason="x", key="1", actor="ada", connect=no_platform)


def test_a_bonus_is_a_payment_and_its_key_is_paid_once() -> None:
    study = paid_study()
    sent = make_submission(study=study)
    for _ in range(2):
        pay_bonus(submission=sent, amount=Decimal("0.50"), reason="Thanks", key="1", actor="ada", connect=no_platform)
    [paid] = Payment.objects.all()
    assert (paid.kind, paid.amount, paid.submission, paid.reason) == ("bonus", Decimal("0.50"), sent, "Thanks")
    assert due(study).hits == 1  # the reward is another payment


# --- many at once ---


def test_a_preview_changes_nothing_and_states_effect_and_cost() -> None:
    study = paid_study()
    sent = [make_submission(study=study, seed=seed) for seed in range(4)]
    decide(sent[0], "reject", "No.")
    mark_paid(study=study, actor="ada", pseudonym=sent[1].participant.pseudonym)
    made = bulk_decisions.plan_action(
        study=study, action="reject", chosen=Submission.objects.filter(study=study), actor="ada"
    )
    found = preview_of(made)
    assert (found.submissions, found.rejected, found.rewards) == (2, 2, Decimal(0))
    assert sorted(found.left_out) == [("already paid", 1), ("already rejected", 1)]
    made = bulk_decisions.plan_action(
        study=study, action="approve", chosen=Submission.objects.filter(study=study), actor="ada"
    )
    found = preview_of(made)
    assert (found.approved, found.hand, found.total) == (3, 3, Decimal("0.54"))  # three rewards of 0.18
    assert PayDecision.objects.count() == 1


def test_the_cost_of_a_bonus_is_the_amount_for_each() -> None:
    study = paid_study()
    for seed in range(3):
        make_submission(study=study, seed=seed)
    done = run(study, "bonus", amount=Decimal("0.25"))
    assert preview_of(done).rewards == Decimal("0.75")
    assert sum(Payment.objects.values_list("amount", flat=True)) == Decimal("0.75")
    assert bulk_decisions.run_action(bulk_id=done.pk, connect=no_platform) is not None
    assert Payment.objects.count() == 3


@pytest.mark.parametrize(
    ("action", "terms", "says"),
    [
        ("reject", {"note": " "}, "no reason"),
        ("bonus", {"amount": None}, "cannot be paid"),
        ("bonus", {"amount": Decimal("0.005")}, "whole cents"),
        ("bonus", {"amount": Decimal(2_000)}, "very large"),
        ("exclude", {"note": "x" * 501}, "501 characters"),
        ("sell", {}, "no action"),
    ],
)
def test_wrong_terms_are_refused(action: str, terms: dict[str, Any], says: str) -> None:
    study = paid_study()
    make_submission(study=study)
    with pytest.raises(Invalid, match=says):
        run(study, action, **terms)


def test_an_action_on_nothing_is_refused() -> None:
    with pytest.raises(Invalid, match="No submissions are chosen"):
        run(paid_study(), "exclude")


def test_an_action_is_confirmed_once_and_leaves_a_trace() -> None:
    study = paid_study()
    make_submission(study=study)
    started: list[int] = []
    made = bulk_decisions.plan_action(study=study, action="exclude", chosen=Submission.objects.all(), actor="ada")
    assert bulk_decisions.confirm_action(bulk=made, actor="ada", start=started.append)
    assert not bulk_decisions.confirm_action(bulk=made, actor="eve", start=started.append)
    assert AuditEntry.objects.get(action="bulk exclude").actor == "ada"


class Stops:
    """A connection that fails at one submission until it is repaired."""

    def __init__(self, at: int) -> None:
        self.at, self.broken, self.done = at, True, list[int]()

    def __call__(self, *, submission: Submission, **given: Any) -> None:
        if self.broken and submission.pk == self.at:
            raise PlatformTrouble("The platform does not answer.", again=True)
        self.done.append(submission.pk)


def test_an_action_that_stops_continues_where_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    study = paid_study()
    sent = [make_submission(study=study, seed=seed).pk for seed in range(3)]
    stops = Stops(sent[1])
    monkeypatch.setattr("annotation.review.pay_decisions.decide_pay", stops)
    stopped = run(study, "approve")
    assert (stopped.state, stopped.position) == ("running", 1)
    assert (stopped.refusals, stopped.stopped) == ([], "The platform does not answer.")
    stops.broken = False
    done = bulk_decisions.run_action(bulk_id=stopped.pk, connect=no_platform)
    assert done is not None
    assert (done.state, done.refused, stops.done) == ("done", [], sent)


def test_a_refusal_that_is_worded_like_a_stop_is_shown_as_a_refusal() -> None:
    study = paid_study()
    worded = BulkAction.objects.create(
        study=study,
        action="approve",
        rows=[{"submission": 1}],
        refused=["Stopped: by the worker.", {BulkAction.STOPPED: "No answer."}],
        state="running",
        confirmed_at=timezone.now(),
        actor="ada",
    )
    address = reverse("console_action", args=[study.slug, worded.pk])
    page = as_role("owner", study).get(address).content.decode()
    assert "<li>Stopped: by the worker.</li>" in page
    assert '<p class="notice warn">No answer.</p>' in page


def test_what_is_refused_is_named_and_the_rest_is_done() -> None:
    study = paid_study()
    first, second = (make_submission(study=study, seed=seed) for seed in (1, 2))
    made = bulk_decisions.plan_action(
        study=study, action="reject", chosen=Submission.objects.filter(study=study), actor="ada"
    )
    mark_paid(study=study, actor="ada", pseudonym=first.participant.pseudonym)  # in between
    bulk_decisions.set_terms(bulk=made, note="No.")
    bulk_decisions.confirm_action(bulk=made, actor="ada", start=lambda pk: None)
    done = bulk_decisions.run_action(bulk_id=made.pk, connect=no_platform)
    assert done is not None
    assert (done.state, len(done.refused)) == ("done", 1)
    assert f"Submission {first.pk}: This work has been paid." in done.refused[0]
    assert states(study) == ["paid", "rejected"]
    assert second.pay_decisions.get().feedback == "No."


# --- what a person sees ---


def test_ratings_are_compared_with_those_of_others_on_the_same_item() -> None:
    study = paid_study(items=1)
    one, two, three = (make_submission(study=study, seed=seed) for seed in (1, 2, 3))
    values = {rating.submission_id: rating.value for rating in Rating.objects.all()}
    run(study, "exclude", Submission.objects.filter(pk=three.pk))
    [row] = compared_with_others(one)
    assert (row.own, row.others, row.n) == (values[one.pk], values[two.pk], 1)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({"pay": "rejected"}, {0}),
        ({"show": "flagged"}, {1}),
        ({"reason": "too_fast"}, {1}),
        ({"reason": "other"}, set()),
        ({"faster": "1"}, set()),
        ({"faster": "nonsense", "pay": "nonsense", "show": "nonsense"}, {0, 1, 2}),
        ({"show": "excluded"}, {2}),
        ({"show": "included"}, {0, 1}),
    ],
)
def test_the_list_is_narrowed(query: dict[str, str], expected: set[int]) -> None:
    study = paid_study()
    sent = [make_submission(study=study, seed=seed, profile=PROFILES[seed]) for seed in range(3)]
    with unprotected(Flag):
        Flag.objects.all().delete()
    Flag.objects.create(submission=sent[1], reason="too_fast")
    decide(sent[0], "reject", "No.")
    run(study, "exclude", Submission.objects.filter(pk=sent[2].pk))
    response = as_role("viewer", study).get(reverse("console_submissions", args=[study.slug]), query)
    assert {row.pk for row in response.context["rows"]} == {sent[at].pk for at in expected}


def choose(client: Client, study: Study, action: str, **given: Any) -> Any:
    return client.post(reverse("console_choose", args=[study.slug]), {"action": action} | given)


def test_an_editor_excludes_the_ticked_ones_after_seeing_the_effect(
    django_capture_on_commit_callbacks: Any,
) -> None:
    capture = django_capture_on_commit_callbacks
    study = paid_study()
    first, second = (make_submission(study=study, seed=seed) for seed in (1, 2))
    client = as_role("editor", study)
    response = choose(client, study, "exclude", ticked=[first.pk])
    page = client.get(response["Location"]).content.decode()
    assert "The report will leave out 1 submission with 1 rating." in page
    assert not list(excluded_submissions(study))
    with capture(execute=True):
        client.post(response["Location"], {"note": "Careless."})
    assert set(excluded_submissions(study)) == {first.pk}
    assert first.reviews.get().note == "Careless."
    assert "1 of 1 done" in client.get(response["Location"]).content.decode()
    again = client.post(response["Location"], {"note": "Again."}, follow=True).content.decode()
    assert "confirmed before" in again
    assert second.reviews.count() == 0


def test_all_that_match_refers_to_the_filter_not_the_page() -> None:
    study = paid_study(items=30)
    careless, careful = make_participant(study=study), make_participant(study=study)
    for seed in range(3):
        make_submission(participant=careless, seed=seed)
        make_submission(participant=careful, seed=seed)
    client = as_role("owner", study)
    response = choose(client, study, "approve", all="1", worker=careless.pseudonym, ticked=[])
    assert "3 submissions will be approved." in client.get(response["Location"]).content.decode()
    assert len(BulkAction.objects.get().rows) == 3


@pytest.mark.parametrize("action", ["approve", "reject", "bonus", "block"])
def test_decisions_about_money_are_for_owners(action: str) -> None:
    study = paid_study()
    sent = make_submission(study=study)
    assert choose(as_role("editor", study), study, action, ticked=[sent.pk]).status_code == 404
    assert choose(as_role("viewer", study), study, "exclude", ticked=[sent.pk]).status_code == 404
    url = reverse("console_decide", args=[study.slug, sent.pk])
    assert as_role("superuser", study).post(url, {"decision": "approve"}).status_code == 302
    made = bulk_decisions.plan_action(study=study, action=action, chosen=Submission.objects.all(), actor="ada")
    editor = as_role("outsider", study)
    assert editor.get(reverse("console_action", args=[study.slug, made.pk])).status_code == 404


def test_a_bonus_is_confirmed_only_with_the_cost_in_view(django_capture_on_commit_callbacks: Any) -> None:
    study = paid_study()
    sent = make_submission(study=study)
    client = as_role("owner", study)
    where = choose(client, study, "bonus", ticked=[sent.pk])["Location"]
    assert client.post(where, {"amount": "", "note": "Thanks"}).status_code == 422
    shown = client.post(where, {"amount": "0.50", "note": "Thanks"}).content.decode()
    assert "Pay $0.50 in bonuses" in shown
    assert not Payment.objects.exists()
    changed = client.post(where, {"amount": "5", "note": "Thanks"}).content.decode()
    assert "Pay $5.00 in bonuses" in changed
    assert not Payment.objects.exists()
    for _ in range(2):
        with django_capture_on_commit_callbacks(execute=True):
            client.post(where, {"amount": "5", "note": "Thanks"})
    assert [payment.amount for payment in Payment.objects.all()] == [Decimal("5.00")]


def test_the_preview_of_a_bonus_says_that_the_worker_had_the_same_before() -> None:
    study = paid_study()
    worker = make_participant(study=study)
    sent, later = (make_submission(participant=worker) for _ in range(2))
    pay_bonus(submission=sent, amount=Decimal("0.50"), reason="Thanks", key="1", actor="ada", connect=no_platform)
    day = f"{Payment.objects.get().created_at:%-d %b %Y}"
    said = f"1 worker had the same bonus before: 1 payment of $0.50 for the same reason, the last on {day}"
    client = as_role("owner", study)
    where = choose(client, study, "bonus", ticked=[later.pk])["Location"]
    assert said in client.post(where, {"amount": "0.50", "note": "Thanks"}).content.decode()
    for other in ({"amount": "0.75", "note": "Thanks"}, {"amount": "0.50", "note": "Well done"}):
        assert "the same bonus before" not in client.post(where, other).content.decode()
    out = StringIO()
    terms = ("--amount", "0.50", "--reason", "Thanks", "--dry-run")
    call_command("study", "bonus", study.slug, "--submission", str(later.pk), *terms, stdout=out)
    assert said in out.getvalue()


def test_submissions_of_another_study_are_never_touched() -> None:
    study, other = paid_study(), paid_study()
    theirs = make_submission(study=other)
    response = choose(as_role("owner", study), study, "exclude", ticked=[theirs.pk])
    assert response["Location"].startswith(reverse("console_submissions", args=[study.slug]))
    assert not BulkAction.objects.exists()
    assert [each.pk for each in chosen(other, Filter())] == [theirs.pk]


def test_a_submission_is_approved_rejected_and_shown_with_both_decisions() -> None:
    study = paid_study()
    sent = make_submission(study=study)
    client = as_role("owner", study)
    url = reverse("console_decide", args=[study.slug, sent.pk])
    refused = client.post(url, {"decision": "reject", "feedback": ""}, follow=True).content.decode()
    assert "There is no reason." in refused
    page = client.post(url, {"decision": "reject", "feedback": "Same text."}, follow=True).content.decode()
    assert "Rejected. It stays in the analysis." in page
    assert "“Same text.”" in page
    assert "Undo the rejection" in page
    client.post(reverse("console_review", args=[study.slug, sent.pk]), {"decision": "exclude"})
    page = client.get(reverse("console_submission", args=[study.slug, sent.pk])).content.decode()
    assert "Rejected</span>" in page
    assert "Excluded</span>" in page
