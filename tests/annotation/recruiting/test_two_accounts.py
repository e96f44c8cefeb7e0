"""Two studies with two accounts: each call goes to the right one with the right keys, under pollers and jobs too."""

from __future__ import annotations

import json
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest
from django.core.management import CommandError
from django.test import Client
from django.utils import timezone

from annotation.models import (
    Commitment,
    OutsideAssignment,
    Payment,
    PlatformAccount,
    PlatformCall,
    PlatformJob,
    Posting,
    QualificationType,
    Study,
)
from annotation.platforms import connect, connect_account
from annotation.platforms.account_keys import Keys, keys_of
from annotation.platforms.changes import Notice
from annotation.platforms.mturk import api as api_module
from annotation.platforms.mturk import queue
from annotation.platforms.mturk.platform import Mturk
from annotation.recruiting import job_requests, platform_accounts, polling, tasks
from annotation.recruiting.deciding_on_platform import block_worker
from annotation.review.pay_decisions import decide_pay, pay_bonus
from annotation.review.tasks import grant_qualifications
from marketplace.models import Hit as MarketHit
from marketplace.models import HITType, Requester, WorkerBlock
from marketplace.models import QualificationType as MarketQualification
from tests.annotation.recruiting.account_helpers import (
    MARKET,
    choose,
    in_process_client,
    mturk_account,
    requester_keys,
)
from tests.annotation.recruiting.helpers import send_both, send_claim
from tests.annotation.recruiting.prolific_helpers import run
from tests.annotation.recruiting.prolific_server import PROJECT, WORKSPACE, prolific_server
from tests.annotation.recruiting.prolific_server import Prolific as ProlificServer
from tests.factories import make_researcher, make_study

pytestmark = pytest.mark.django_db
Kind = PlatformJob.Kind


@pytest.fixture
def used(monkeypatch: pytest.MonkeyPatch, settings: Any) -> list[str]:
    """The access key ids with which calls are made, in order. The server itself has no keys."""
    settings.MTURK_ENDPOINT, settings.MTURK_CALLS_PER_SECOND = MARKET, 0
    settings.MTURK_ACCESS_KEY_ID = settings.MTURK_SECRET_ACCESS_KEY = ""
    calls: list[str] = []

    def noting(account: Any, **_: Any) -> Any:
        client = in_process_client(account)
        client.meta.events.register_first("before-send.mturk.*", lambda **_: calls.append(account.access_key_id))
        return client

    monkeypatch.setattr(api_module, "make_client", noting)
    api_module.client_for.cache_clear()
    return calls


class Lab:
    """A researcher with an account of their own, and a study that it pays."""

    def __init__(self, name: str, **values: Any) -> None:
        self.user = make_researcher(name)
        self.requester, self.keys = requester_keys(name)
        self.account = mturk_account(self.user, self.keys, title=name)
        defaults: dict[str, Any] = {"items": 2, "ratings_per_item": 2, "reward": "0.18", "hits_per_worker": None}
        self.study = choose(make_study(**defaults | values), self.account)

    def work(self, kind: str, **params: Any) -> PlatformJob:
        """Has a job done as a worker process would."""
        job = job_requests.request_job(
            study=self.study, kind=kind, platform="mturk", actor=self.user.username, params=params
        )
        tasks.run_job(job.pk)
        job.refresh_from_db()
        return job


@pytest.fixture
def labs(used: list[str], monkeypatch: pytest.MonkeyPatch) -> tuple[Lab, Lab]:
    monkeypatch.setattr(job_requests, "send", lambda job_id: True)
    return Lab("ann"), Lab("ben")


def published(labs: tuple[Lab, Lab]) -> None:
    for lab in labs:
        assert lab.work(Kind.PUBLISH).state == "done"


def hits_of(requester: Requester) -> int:
    return MarketHit.objects.filter(requester=requester).count()


def test_each_study_is_posted_by_its_own_account(labs: tuple[Lab, Lab], used: list[str]) -> None:
    published(labs)
    for lab in labs:
        assert hits_of(lab.requester) == 2
        assert set(lab.study.postings.values_list("account", flat=True)) == {lab.account.pk}
        names = set(lab.study.postings.values_list("external_id", flat=True))
        assert names == set(MarketHit.objects.filter(requester=lab.requester).values_list("hit_id", flat=True))
    assert set(used) == {lab.keys.access_key_id for lab in labs}


def test_due_syncs_and_objections_use_each_ones_account(labs: tuple[Lab, Lab], used: list[str]) -> None:
    published(labs)
    sent = {lab.study.pk: send_both(lab.study.postings.first()) for lab in labs}  # type: ignore[arg-type]
    Posting.objects.update(synced_at=None)
    assert polling.request_due_syncs() == 2
    for lab in labs:
        used.clear()
        job = PlatformJob.objects.get(study=lab.study, kind=Kind.SYNC)
        assert tasks.run_job(job.pk)
        assert set(used) == {lab.keys.access_key_id}
        reported = OutsideAssignment.objects.get(posting__study=lab.study)
        assert reported.external_id == sent[lab.study.pk].platform_assignment_id
    OutsideAssignment.objects.update(state="rejected", seen_at=timezone.now())
    used.clear()
    polling.look_for_objections()
    assert used == [lab.keys.access_key_id for lab in labs]


def test_an_objection_on_one_account_stays_when_the_other_is_asked(labs: tuple[Lab, Lab]) -> None:
    published(labs)
    for lab in labs:
        send_both(lab.study.postings.first())  # type: ignore[arg-type]
        lab.work(Kind.SYNC)
    OutsideAssignment.objects.update(state="rejected", seen_at=timezone.now())
    of_ann = OutsideAssignment.objects.filter(posting__study=labs[0].study)
    of_ann.update(objection_url="https://market.example/1", objected_at=timezone.now())
    labs[1].work(Kind.SYNC, due=False)
    from annotation.recruiting import syncing

    syncing.note_objections(platform=connect("mturk", labs[1].study))
    assert of_ann.get().objection_url == "https://market.example/1"


def test_decisions_bonuses_and_blocks_are_made_with_the_studys_account(labs: tuple[Lab, Lab], used: list[str]) -> None:
    published(labs)
    for lab in labs:
        sent = send_both(lab.study.postings.first())  # type: ignore[arg-type]
        lab.work(Kind.SYNC)
        used.clear()
        submission = sent.submission
        decide_pay(submission=submission, decision="approve", feedback="", actor="x", connect=connect)
        pay_bonus(submission=submission, amount=Decimal("0.50"), reason="Thanks", key="1", actor="x", connect=connect)
        block_worker(participant=sent.participant, reason="Copied texts.", actor="x", connect=connect)
        assert set(used) == {lab.keys.access_key_id}
        paid = Payment.objects.filter(study=lab.study).order_by("pk").values_list("amount", flat=True)
        assert list(paid) == [Decimal("0.180"), Decimal("0.500")]
    assert set(WorkerBlock.objects.values_list("requester", flat=True)) == {lab.requester.pk for lab in labs}


def test_both_accounts_can_block_the_same_worker(labs: tuple[Lab, Lab]) -> None:
    published(labs)
    first = send_both(labs[0].study.postings.first())  # type: ignore[arg-type]
    worker = first.participant.worker
    block_worker(participant=first.participant, reason="Copied.", actor="x", connect=connect)
    twin = send_claim(labs[1].study.postings.first(), worker.platform_id, "3" * 30)  # type: ignore[arg-type]
    block_worker(participant=twin.participant, reason="Copied.", actor="x", connect=connect)
    assert WorkerBlock.objects.count() == 2


def test_qualifications_for_anothers_study_are_made_by_the_account_that_asks(
    labs: tuple[Lab, Lab], used: list[str]
) -> None:
    """Ben's study bars who took part in Ann's. Both accounts bar them, each with its own qualification."""
    ann, ben = labs
    also_ann = Lab("cat")
    for lab in (ben, also_ann):
        lab.study.exclude_studies.add(ann.study)
    ann.work(Kind.PUBLISH)
    send_both(ann.study.postings.first())  # type: ignore[arg-type]
    ann.work(Kind.SYNC)
    for lab in (ben, also_ann):
        assert lab.work(Kind.PUBLISH).state == "done"
        kind = QualificationType.objects.get(study=ann.study, account=lab.account)
        assert MarketQualification.objects.get(type_id=kind.external_id).requester == lab.requester
        asked = HITType.objects.get(requester=lab.requester).requirements
        assert kind.external_id in json.dumps(asked)
    used.clear()
    send_both(ann.study.postings.last())  # type: ignore[arg-type]
    ann.work(Kind.SYNC)
    used.clear()
    assert grant_qualifications() == 2
    assert set(used) == {ben.keys.access_key_id, also_ann.keys.access_key_id}


def test_money_is_limited_for_each_account(labs: tuple[Lab, Lab], settings: Any) -> None:
    """Two hits of two ratings cost 4 × ($0.18 + $0.04), with the marketplace's fee of 20% rounded to cents: $0.88."""
    settings.MONTHLY_BUDGET = Decimal("1.00")
    published(labs)
    names = {row.account.name for row in Commitment.objects.select_related("account")}
    assert names == {"mturk account ann", "mturk account ben"}
    third = choose(make_study(items=2, ratings_per_item=2, reward="0.18"), labs[0].account)
    job = job_requests.request_job(study=third, kind=Kind.PUBLISH, platform="mturk", actor="ann", params={})
    tasks.run_job(job.pk)
    job.refresh_from_db()
    assert job.state == "failed"
    assert "only $0.12 is left of the $1.00 that all studies of the account “ann” may cost" in job.said


def test_a_retired_account_stops_its_study_alone_and_says_what_to_do(labs: tuple[Lab, Lab], used: list[str]) -> None:
    published(labs)
    ann, ben = labs
    platform_accounts.retire_account(account=ann.account, retired=True, actor="ann")
    Posting.objects.update(synced_at=None)
    used.clear()
    assert polling.request_due_syncs() == 1
    job = PlatformJob.objects.get(study=ann.study, kind=Kind.SYNC)
    assert (job.state, job.fix) == (
        "failed",
        "Ann can use it again under Platform accounts. Then this continues.",
    )
    assert "“ann” is retired" in job.said
    assert ann.work(Kind.SYNC).state == "failed"
    assert used == []
    assert tasks.run_job(PlatformJob.objects.get(study=ben.study, kind=Kind.SYNC).pk)
    platform_accounts.retire_account(account=ann.account, retired=False, actor="ann")
    assert ann.work(Kind.SYNC).state == "done"


def test_keys_that_cannot_be_opened_stop_the_study_and_new_ones_let_it_continue(
    labs: tuple[Lab, Lab], settings: Any
) -> None:
    published(labs)
    ann = labs[0]
    PlatformAccount.objects.filter(pk=ann.account.pk).update(sealed=labs[1].account.sealed)
    Posting.objects.update(synced_at=None)
    polling.request_due_syncs()
    job = PlatformJob.objects.get(study=ann.study, kind=Kind.SYNC)
    assert (job.state, job.fix) == ("failed", "Enter the keys again under Platform accounts.")
    platform_accounts.replace_keys(account=PlatformAccount.objects.get(pk=ann.account.pk), keys=ann.keys, actor="ann")
    assert ann.work(Kind.SYNC).state == "done"


def test_a_study_without_an_account_is_paid_by_the_servers(labs: tuple[Lab, Lab], settings: Any) -> None:
    requester, keys = requester_keys("server")
    settings.MTURK_ACCESS_KEY_ID, settings.MTURK_SECRET_ACCESS_KEY = keys.access_key_id, keys.secret
    published(labs)
    study = make_study(items=1, ratings_per_item=1, reward="0.18")
    job = job_requests.request_job(study=study, kind=Kind.PUBLISH, platform="mturk", actor="ann", params={})
    tasks.run_job(job.pk)
    assert hits_of(requester) == 1
    assert study.postings.get().account is None


def test_notifications_are_polled_with_each_ones_account_and_a_retired_one_blocks_nobody(
    labs: tuple[Lab, Lab], used: list[str], settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server reads the queue with its own keys. One message names HITs of both accounts."""
    _, keys = requester_keys("server")
    settings.MTURK_ACCESS_KEY_ID, settings.MTURK_SECRET_ACCESS_KEY = keys.access_key_id, keys.secret
    settings.MTURK_QUEUE_URL = "https://sqs.us-east-1.amazonaws.com/1/hits"
    ann, ben = labs
    published(labs)
    handled: list[bool] = []
    hits = [lab.study.postings.values_list("external_id", flat=True)[0] for lab in labs]
    monkeypatch.setattr(queue, "receive", lambda: iter([Notice(hits, lambda: handled.append(True))]))
    used.clear()
    assert polling.handle_notices() == 2
    assert used == [ann.keys.access_key_id, ben.keys.access_key_id]
    platform_accounts.retire_account(account=ann.account, retired=True, actor="ann")
    used.clear()
    assert polling.handle_notices() == 1
    assert used == [ben.keys.access_key_id]
    assert handled == [True, True]


def test_no_call_and_no_message_contains_a_key(labs: tuple[Lab, Lab], monkeypatch: pytest.MonkeyPatch) -> None:
    from celery import Task

    messages: list[str] = []
    monkeypatch.setattr(Task, "apply_async", lambda self, *args, **more: messages.append(repr((args, more))))
    published(labs)
    send_both(labs[0].study.postings.first())  # type: ignore[arg-type]
    labs[0].work(Kind.SYNC)
    texts = [json.dumps([call.params, call.result, call.error]) for call in PlatformCall.objects.all()]
    texts += [json.dumps([job.params, job.said]) for job in PlatformJob.objects.all()] + messages
    assert texts
    assert [text for text in texts for lab in labs if lab.keys.secret in text] == []


# --- Prolific: two accounts whose ids are the same ---


@pytest.fixture
def servers() -> Iterator[tuple[ProlificServer, ProlificServer]]:
    with prolific_server(token="token-of-ann") as one, prolific_server(token="token-of-ben") as two:
        yield one, two


@pytest.fixture
def prolific_labs(
    servers: tuple[ProlificServer, ProlificServer], settings: Any, monkeypatch: pytest.MonkeyPatch
) -> list[tuple[ProlificServer, Study, PlatformAccount]]:
    """The server itself has no token. Both small Prolifics count their ids from 0, so that they are the same."""
    settings.PROLIFIC_TOKEN = settings.PROLIFIC_HOOK_SECRET = ""
    settings.BASE_URL = "https://lab.example.org"
    monkeypatch.setattr(job_requests, "send", lambda job_id: True)
    rows = []
    for name, server in zip(("ann", "ben"), servers, strict=True):
        settings.PROLIFIC_API = server.address
        server.secrets[WORKSPACE] = f"hook-of-{name}"
        entry = platform_accounts.Entry(
            owner=make_researcher(name),
            platform="prolific",
            title=name,
            endpoint=server.address,
            project=PROJECT if name == "ann" else "",
        )
        keys = Keys(token=f"token-of-{name}", hook_secret=f"hook-of-{name}")
        account = platform_accounts.add_account(entry=entry, keys=keys, actor=name)
        assert account.balance == Decimal("450.50")
        study = choose(
            make_study(items=2, ratings_per_item=1, reward="1.25", estimated_minutes=5, time_limit_minutes=30), account
        )
        job = job_requests.request_job(study=study, kind=Kind.PUBLISH, platform="prolific", actor=name, params={})
        tasks.run_job(job.pk)
        job.refresh_from_db()
        assert (job.state, job.said) == ("done", "Prolific has 1 of 1 Prolific study.")
        rows.append((server, study, account))
    settings.PROLIFIC_API = "http://127.0.0.1:9/"
    return rows


def test_two_prolific_accounts_may_give_the_same_ids(
    prolific_labs: list[tuple[ProlificServer, Study, PlatformAccount]],
) -> None:
    names = [study.postings.get().external_id for _, study, _ in prolific_labs]
    assert names[0] == names[1]
    assert [len(server.studies) for server, _, _ in prolific_labs] == [1, 1]
    # The account's project is that of a study that names none.
    [posted, _] = [study for server, _, _ in prolific_labs for study in server.studies.values()]
    assert posted["project"] == PROJECT


def test_a_notice_belongs_to_the_account_whose_secret_signed_it(
    prolific_labs: list[tuple[ProlificServer, Study, PlatformAccount]], monkeypatch: pytest.MonkeyPatch
) -> None:
    from annotation.recruiting.pages import notices

    arrived: list[tuple[Any, ...]] = []

    class Now:
        def signature(self, name: str, args: tuple[Any, ...]) -> Any:
            arrived.append(args)
            return type("Ready", (), {"delay": staticmethod(lambda: tasks.look_up(*args))})

    monkeypatch.setattr(notices, "current_app", Now())
    for server, study, account in prolific_labs:
        session = server.submit(study.postings.get().external_id, "a" * 24)
        for other, _, _ in prolific_labs:
            other.requests.clear()
        event = {"resource_id": session, "event_type": "submission.status.change"}
        body, headers = server.notice(event, secret=f"hook-of-{account.slug}")
        answer = Client().post("/notices/prolific/", body, "application/json", headers=headers)
        assert answer.status_code == 204
        assert [len(other.requests) for other, _, _ in prolific_labs] == [int(server is o) for o, _, _ in prolific_labs]
        assert OutsideAssignment.objects.get(posting__study=study).external_id == session
        assert arrived[-1] == ("prolific", "submission", session, account.pk)
    assert "hook-of" not in json.dumps(arrived)


def test_a_notice_signed_by_nobodys_secret_is_refused(
    prolific_labs: list[tuple[ProlificServer, Study, PlatformAccount]],
) -> None:
    server, _, account = prolific_labs[0]
    for secret in ("another", ""):
        body, headers = server.notice({"resource_id": "1", "event_type": "study.status.change"}, secret=secret or "x")
        assert Client().post("/notices/prolific/", body, "application/json", headers=headers).status_code == 403
    platform_accounts.retire_account(account=account, retired=True, actor="ann")
    body, headers = server.notice({"resource_id": "1", "event_type": "study.status.change"}, secret="hook-of-ann")
    assert Client().post("/notices/prolific/", body, "application/json", headers=headers).status_code == 403


def test_an_account_with_a_secret_for_notices_is_not_polled_all_the_time(
    prolific_labs: list[tuple[ProlificServer, Study, PlatformAccount]],
) -> None:
    server, study, account = prolific_labs[0]
    posting = study.postings.get()
    send_claim(posting, "a" * 24, server.submit(posting.external_id, "a" * 24), pages=0)
    Posting.objects.update(synced_at=timezone.now())
    assert not polling.due(study).exists()
    PlatformAccount.objects.filter(pk=account.pk).update(hears=False)
    assert polling.due(study).exists()


def test_a_wrong_token_is_refused_and_the_project_is_named(
    servers: tuple[ProlificServer, ProlificServer], settings: Any
) -> None:
    from annotation.platforms.calls import PlatformTrouble

    settings.PROLIFIC_API = servers[0].address
    entry: dict[str, Any] = {
        "owner": make_researcher("ann"),
        "platform": "prolific",
        "title": "Ours",
        "endpoint": servers[0].address,
    }
    with pytest.raises(PlatformTrouble, match="Check the token of “Ours”: it may be wrong or deleted"):
        platform_accounts.add_account(
            entry=platform_accounts.Entry(**entry), keys=Keys(token="a-wrong-token"), actor="ann"
        )
    with pytest.raises(PlatformTrouble, match="Check the project “nowhere”"):
        platform_accounts.add_account(
            entry=platform_accounts.Entry(**entry, project="nowhere"), keys=Keys(token="token-of-ann"), actor="ann"
        )


def test_prolific_bars_participants_of_the_accounts_own_studies_alone(
    prolific_labs: list[tuple[ProlificServer, Study, PlatformAccount]],
) -> None:
    (server, ours, account), (_, theirs, _) = prolific_labs
    study = choose(
        make_study(items=1, ratings_per_item=1, reward="1.25", estimated_minutes=5, time_limit_minutes=30), account
    )
    study.exclude_studies.set([ours, theirs])
    Posting.objects.filter(study=theirs).update(external_id="f" * 24)
    job = job_requests.request_job(study=study, kind=Kind.PUBLISH, platform="prolific", actor="ann", params={})
    tasks.run_job(job.pk)
    [barred] = [row for row in list(server.studies.values())[-1]["filters"] if "blocklist" in row["filter_id"]]
    assert barred["selected_values"] == [ours.postings.get().external_id]


def test_connecting_with_no_account_uses_the_settings(settings: Any, used: list[str]) -> None:
    _, keys = requester_keys("server")
    settings.MTURK_ACCESS_KEY_ID, settings.MTURK_SECRET_ACCESS_KEY = keys.access_key_id, keys.secret
    platform = connect_account("mturk", None)
    assert isinstance(platform, Mturk)
    assert platform.account is None
    assert platform.balance() == Decimal("100.00")
    assert used == [keys.access_key_id]


def test_notices_of_an_account_can_be_switched_on_with_one_button(
    servers: tuple[ProlificServer, ProlificServer], settings: Any
) -> None:
    """“Create a secret”: a workspace without one gets one."""
    settings.PROLIFIC_API = servers[0].address
    entry = platform_accounts.Entry(
        owner=make_researcher("ann"), platform="prolific", title="Ours", endpoint=servers[0].address
    )
    account = platform_accounts.add_account(entry=entry, keys=Keys(token="token-of-ann"), actor="ann")
    assert not account.hears
    platform_accounts.get_notices(account=account, actor="ann")
    stored = PlatformAccount.objects.get()
    assert stored.hears
    assert keys_of(stored) == Keys(token="token-of-ann", hook_secret=servers[0].secrets[WORKSPACE])
    platform_accounts.replace_keys(account=stored, keys=Keys(token="token-of-ann"), actor="ann")
    assert keys_of(PlatformAccount.objects.get()).hook_secret == servers[0].secrets[WORKSPACE]


# --- the command ---


def test_the_command_publishes_with_an_account(labs: tuple[Lab, Lab]) -> None:
    study = make_study(items=2, reward="0.18", slug="by-command", live=False)
    with pytest.raises(CommandError, match="no account on this platform that you can use"):
        run("publish", "by-command", "--platform", "mturk", "--account", "nobody", "--yes")
    out = run("publish", "by-command", "--platform", "mturk", "--account", "ann", "--dry-run")
    assert "Account: ann (ann), of ann" in out
    assert hits_of(labs[0].requester) == 0
    run("publish", "by-command", "--platform", "mturk", "--account", "ann", "--yes")
    assert hits_of(labs[0].requester) == 2
    assert {posting.account for posting in study.postings.all()} == {labs[0].account}
    with pytest.raises(CommandError, match="need --platform"):
        run("publish", "by-command", "--account", "ann")


def test_a_study_file_names_the_account_of_the_person_who_applies_it(labs: tuple[Lab, Lab], tmp_path: Any) -> None:
    file = tmp_path / "study.yaml"
    file.write_text("slug: texts\ntask_type: abs_hds\ntitle: Texts\nplatforms:\n  mturk:\n    account: ben\n")
    with pytest.raises(CommandError, match=r"line 6, platforms.mturk.account: “ben” is no account on this platform"):
        run("apply", str(file), "--owner", "ann")
    run("apply", str(file), "--owner", "ben")
    assert Study.objects.get(slug="texts").platforms["mturk"]["account"] == "ben"
