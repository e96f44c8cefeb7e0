"""Whatever fails while money moves, both ledgers say the same to the cent, and nobody is paid twice.

Amounts are added up by hand. The marketplace is this server's own, called in process.
"""

from __future__ import annotations

import io
from decimal import Decimal
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from annotation.models import AuditEntry, BulkAction, Payment, PlatformCall, Posting, Study, Submission
from annotation.platforms.calls import PlatformTrouble
from annotation.platforms.mturk import api as api_module
from annotation.platforms.mturk.platform import Mturk
from annotation.recruiting import compensating, deciding_on_platform, syncing
from annotation.review import bulk_decisions
from annotation.review.pay_decisions import decide_pay
from marketplace.models import Assignment as MarketAssignment
from marketplace.models import Hit as MarketHit
from marketplace.services.hits import assignments as market
from marketplace.services.money import payments as market_payments
from tests.annotation.recruiting.faults import KINDS, Faults, Killed, paid_here, paid_there, until_done
from tests.annotation.recruiting.helpers import accept_there, posted_study, send_both, send_here
from tests.marketplace.support.checks import check_all
from tests.marketplace.support.factories import make_worker as make_market_worker

pytestmark = pytest.mark.django_db
REASON = "Your work was saved, but your time was up."


@pytest.fixture(autouse=True)
def own_marketplace(api: Mturk, monkeypatch: pytest.MonkeyPatch, settings: Any) -> None:
    """Commands use the server's own client, in process."""
    settings.MTURK_ACCESS_KEY_ID, settings.MTURK_SECRET_ACCESS_KEY = "AKIA", "secret"
    monkeypatch.setattr(api_module, "client_for", lambda account: api._client)


@pytest.fixture
def study(api: Mturk) -> Study:
    return posted_study(api, items=1, ratings_per_item=9)


@pytest.fixture
def posting(study: Study) -> Posting:
    return study.postings.get()


def act(study: Study, api: Mturk, action: str, submission: Submission, **terms: Any) -> None:
    """Confirm an action on the submission, and let processes run it until it has ended."""
    chosen = Submission.objects.filter(pk=submission.pk)
    made = bulk_decisions.plan_action(study=study, action=action, chosen=chosen, actor="ada")
    bulk_decisions.set_terms(bulk=made, **{"note": "Because."} | terms)
    bulk_decisions.confirm_action(bulk=made, actor="ada", start=lambda pk: None)
    for _ in range(8):
        done = until_done(lambda: bulk_decisions.run_action(bulk_id=made.pk, connect=lambda name, study: api))
        if done.state == BulkAction.State.DONE:
            break
    assert (done.state, done.refused) == (BulkAction.State.DONE, [])


@pytest.mark.parametrize("kind", KINDS)
def test_every_call_that_moves_money_fails_once_and_both_ledgers_agree(
    kind: str, study: Study, posting: Posting, api: Mturk, monkeypatch: pytest.MonkeyPatch
) -> None:
    approved, rewarded, rejected, forgiven = (send_both(posting).submission for _ in range(4))
    late = make_market_worker()
    timed_out = send_here(posting, late.worker_id, accept_there(posting, late).assignment_id)
    syncing.sync_study(study=study, platform=api)
    faults = Faults(kind)
    faults.install(monkeypatch)

    outside = posting.outside.get(worker_id=approved.participant.worker.platform_id)
    until_done(lambda: deciding_on_platform.approve_all(outside=[outside], platform=api, actor="ada"))
    act(study, api, "bonus", rewarded, amount=Decimal("0.37"))
    act(study, api, "bonus", rewarded, amount=Decimal("0.37"))  # the same again, on purpose
    act(study, api, "reject", rejected)
    act(study, api, "reject", forgiven)
    act(study, api, "approve", forgiven)
    terms: dict[str, Any] = {"amount": Decimal("0.25"), "reason": REASON, "platform": api, "actor": "ada"}
    owed = until_done(lambda: compensating.compensate(work=timed_out, **terms))
    only_theirs = market.accept(hit=MarketHit.objects.get(hit_id=owed.external_id), worker=late)
    market.submit(assignment_id=only_theirs.assignment_id, answers={})
    until_done(lambda: compensating.note_paid(study=study, platform=api))
    until_done(lambda: syncing.sync_study(study=study, platform=api))

    moved = {"approve_assignment": 2, "send_bonus": 2, "reject_assignment": 2, "create_hit_with_hit_type": 1}
    assert moved.items() <= faults.struck.items()
    # by hand: a reward; two bonuses; a reward after a rejection; a compensation
    amounts = {approved: "0.18", rewarded: "0.74", forgiven: "0.18", timed_out.submission: "0.25"}
    expected = {each.participant.worker.platform_id: Decimal(usd) for each, usd in amounts.items()}
    assert paid_there() == paid_here() == expected
    assert set(PlatformCall.objects.values_list("state", flat=True)) == {"done"}
    assert MarketAssignment.objects.filter(state="Rejected").count() == 1
    assert AuditEntry.objects.filter(action="reject").count() == 2
    check_all()


def test_a_bonus_that_the_endpoint_says_it_paid_before_is_recorded(
    study: Study, posting: Posting, api: Mturk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The marketplace answers BonusAlreadyGranted to a token that it knows."""
    submission = send_both(posting).submission
    syncing.sync_study(study=study, platform=api)
    Faults("repeated").install(monkeypatch)
    act(study, api, "bonus", submission, amount=Decimal("0.50"))
    assert Payment.objects.get(kind="bonus").amount == Decimal("0.50")


@pytest.mark.parametrize(
    "words",
    [
        # Seen in Dallinger/Dallinger#3109.
        'The idempotency token "3VJ4PF" has already been processed. (1626172412406)',
        # Amazon's reference, SendBonus: “an error with a message containing the request ID”.
        "This bonus exists. Request ID: 6a6d9f6e-0c7c-4c4b-9c6c-2f6c9a2f0b11",
    ],
)
def test_a_refusal_without_a_known_code_is_checked_at_the_platform(
    words: str, study: Study, posting: Posting, api: Mturk, monkeypatch: pytest.MonkeyPatch
) -> None:
    submission = send_both(posting).submission
    syncing.sync_study(study=study, platform=api)
    whole = Mturk.call

    def refuses(self: Mturk, operation: str, **params: Any) -> dict[str, Any]:
        answer = whole(self, operation, **params)
        if operation == "send_bonus":
            raise PlatformTrouble(f"The platform answered: {words}", code="RequestError")
        return answer

    monkeypatch.setattr(Mturk, "call", refuses)
    act(study, api, "bonus", submission, amount=Decimal("0.50"))
    assert paid_there() == paid_here() == {submission.participant.worker.platform_id: Decimal("0.50")}


def test_a_bonus_that_was_not_paid_stays_refused(study: Study, posting: Posting, api: Mturk, requester: Any) -> None:
    submission = send_both(posting).submission
    syncing.sync_study(study=study, platform=api)
    market_payments.withdraw(
        requester=requester, amount=market_payments.available(requester), actor="test", about="all"
    )
    made = bulk_decisions.plan_action(
        study=study, action="bonus", chosen=Submission.objects.filter(pk=submission.pk), actor="a"
    )
    bulk_decisions.set_terms(bulk=made, note="Thanks.", amount=Decimal("0.50"))
    bulk_decisions.confirm_action(bulk=made, actor="a", start=lambda pk: None)
    done = bulk_decisions.run_action(bulk_id=made.pk, connect=lambda name, study: api)
    assert done is not None
    assert "insufficient funds" in done.refused[0]
    assert paid_there() == paid_here() == {}


def test_a_sync_notes_decisions_whose_process_was_killed(
    study: Study, posting: Posting, api: Mturk, monkeypatch: pytest.MonkeyPatch
) -> None:
    rejected, forgiven = (send_both(posting).submission for _ in range(2))
    syncing.sync_study(study=study, platform=api)
    act(study, api, "reject", forgiven)
    with monkeypatch.context() as patched:
        Faults("killed after").install(patched)
        for submission, decision in ((rejected, "reject"), (forgiven, "approve")):
            with pytest.raises(Killed):
                decide_pay(
                    submission=submission, decision=decision, feedback="No.", actor="a", connect=lambda name, study: api
                )
    for _ in range(2):
        syncing.sync_study(study=study, platform=api)
    assert set(PlatformCall.objects.values_list("state", flat=True)) == {"done"}
    assert paid_there() == paid_here() == {forgiven.participant.worker.platform_id: Decimal("0.18")}
    noted = AuditEntry.objects.filter(action="reject").latest("pk")
    assert (noted.actor, noted.detail["assignment"]) == ("mturk", submission_there(rejected))
    assert AuditEntry.objects.filter(action="reject").count() == 2


def submission_there(submission: Submission) -> str:
    return submission.assignment.platform_assignment_id


def give(study: Study, *more: str) -> str:
    out = io.StringIO()
    terms = ("--amount", "0.50", "--reason", "Thanks.")
    worker = Submission.objects.filter(study=study).order_by("pk")[0].participant.pseudonym
    call_command("study", "bonus", study.slug, "--worker", worker, *terms, *more, stdout=out, stderr=out)
    return out.getvalue()


@pytest.mark.parametrize("kind", ["killed before", "killed after"])
@pytest.mark.parametrize("more", [(), ("--again",)])
def test_the_command_continues_a_bonus_that_was_interrupted(
    kind: str, more: tuple[str, ...], study: Study, posting: Posting, api: Mturk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is recorded, so nobody may say that it was paid, or advise to pay it again."""
    worker = send_both(posting).submission.participant.worker.platform_id
    syncing.sync_study(study=study, platform=api)
    with monkeypatch.context() as patched:
        Faults(kind).install(patched)
        with pytest.raises(Killed):
            give(study)
        assert not Payment.objects.exists()
        assert "may still be unpaid" in give(study, "--dry-run")
        said = until_done(lambda: give(study, *more))
    assert "What the platform has paid is recorded, not paid again" in said
    assert "Done: 1 of 1." in said
    assert paid_there() == paid_here() == {worker: Decimal("0.50")}
    with pytest.raises(CommandError, match=r"1 payment of \$0.50, the last on .* To pay it again, add --again"):
        give(study)
    give(study, "--again")
    assert paid_there() == paid_here() == {worker: Decimal("1.00")}


def test_the_command_pays_the_rest_of_a_bonus_that_was_refused(
    study: Study, posting: Posting, api: Mturk, requester: Any
) -> None:
    worker = send_both(posting).submission.participant.worker.platform_id
    syncing.sync_study(study=study, platform=api)
    rest = market_payments.available(requester)
    market_payments.withdraw(requester=requester, amount=rest, actor="test", about="all")
    assert "Refused: " in give(study)
    market_payments.deposit(requester=requester, amount=rest, actor="test")
    assert "Done: 1 of 1." in give(study)
    assert paid_there() == paid_here() == {worker: Decimal("0.50")}


def test_new_work_of_a_worker_gets_the_bonus_that_their_earlier_work_has(study: Study, api: Mturk) -> None:
    study = posted_study(api, items=2, ratings_per_item=2, slug="two")
    first, second = study.postings.order_by("pk")
    worker = make_market_worker()
    for posting in (first, second):
        accepted = accept_there(posting, worker)
        send_here(posting, worker.worker_id, accepted.assignment_id)
        market.submit(assignment_id=accepted.assignment_id, answers={"saved": ["here"]})
        syncing.sync_study(study=study, platform=api)
        give(study)
    assert paid_there() == paid_here() == {worker.worker_id: Decimal("1.00")}
