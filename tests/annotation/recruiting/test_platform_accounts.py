"""Platform accounts: checked when entered, sealed, never shown; chosen by those who may spend their money."""

from __future__ import annotations

import json
import pickle
from decimal import Decimal
from typing import Any

import pytest
from botocore.exceptions import EndpointConnectionError
from django.core import serializers
from django.core.management import call_command
from django.db import IntegrityError, transaction

from accounts.models import LogEntry
from annotation.models import PlatformAccount
from annotation.platforms.account_keys import Keys, keys_of, seal_keys
from annotation.platforms.calls import PlatformTrouble
from annotation.platforms.mturk import api as api_module
from annotation.platforms.paying_accounts import usable_by, visible_to
from annotation.recruiting import platform_accounts, publishing
from annotation.studies.duplicating import duplicate_study
from annotation.studies.spec import spec_of
from annotation.studies.storing import Frozen, change_study, create_study
from annotation.studies.teams import delete_team
from common.problems import Invalid
from tests.annotation.recruiting.account_helpers import (
    MARKET,
    choose,
    in_process_client,
    mturk_account,
    requester_keys,
)
from tests.factories import make_researcher, make_study, make_team

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def marketplace_in_process(monkeypatch: pytest.MonkeyPatch, settings: Any) -> None:
    settings.MTURK_ENDPOINT, settings.MTURK_CALLS_PER_SECOND = MARKET, 0
    settings.MTURK_ACCESS_KEY_ID = settings.MTURK_SECRET_ACCESS_KEY = ""
    monkeypatch.setattr(api_module, "make_client", in_process_client)
    api_module.client_for.cache_clear()


@pytest.fixture
def keys() -> Keys:
    return requester_keys("lab", dollars="25.00")[1]


def entry(**values: Any) -> platform_accounts.Entry:
    defaults = {"platform": "mturk", "title": "Lab on MTurk", "endpoint": MARKET, "region": "us-east-1"}
    owner = values.pop("owner", None) or make_researcher("ann")
    return platform_accounts.Entry(owner=owner, **defaults | values)


# --- entering keys ---


def test_right_keys_are_saved_with_the_balance(keys: Keys) -> None:
    account = platform_accounts.add_account(entry=entry(), keys=keys, actor="ann")
    account.refresh_from_db()
    assert account.slug == "lab-on-mturk"
    assert account.balance == Decimal("25.00")
    assert account.checked_at is not None
    assert account.last_four == keys.access_key_id[-4:]
    assert keys_of(account).secret == keys.secret


@pytest.mark.parametrize(
    ("change", "fix"),
    [
        ({"secret": "wrong-secret-key"}, "Check the secret access key of “Lab on MTurk”"),
        ({"access_key_id": "AKIAWRONG0000000"}, "Check the access key ID of “Lab on MTurk”"),
    ],
)
def test_keys_that_the_platform_refuses_are_not_saved(keys: Keys, change: dict[str, str], fix: str) -> None:
    wrong = Keys(**{"access_key_id": keys.access_key_id, "secret": keys.secret} | change)
    for unchecked in (False, True):
        with pytest.raises(PlatformTrouble, match=fix) as refused:
            platform_accounts.add_account(
                entry=entry(owner=make_researcher(f"u{unchecked}")), keys=wrong, unchecked=unchecked, actor="ann"
            )
        assert not refused.value.again
        assert wrong.secret not in str(refused.value)
    assert not PlatformAccount.objects.exists()


@pytest.mark.parametrize(
    ("change", "where"),
    [({"access_key_id": ""}, "access_key_id"), ({"secret": ""}, "secret"), ({"secret": "a b c d e f"}, "secret")],
)
def test_what_cannot_be_a_key_is_not_sent(
    keys: Keys, change: dict[str, str], where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(api_module, "make_client", lambda *_, **__: pytest.fail("a call was made"))
    wrong = Keys(**{"access_key_id": keys.access_key_id, "secret": keys.secret} | change)
    with pytest.raises(Invalid) as refused:
        platform_accounts.add_account(entry=entry(), keys=wrong, actor="ann")
    assert [problem.where for problem in refused.value.problems] == [where]


def test_keys_go_only_to_addresses_that_an_administrator_allows(keys: Keys, settings: Any) -> None:
    for address in ("http://169.254.169.254/latest/", "http://127.0.0.1:5432/", "https://evil.example/"):
        with pytest.raises(Invalid, match="does not send keys to that address"):
            platform_accounts.add_account(
                entry=entry(owner=make_researcher(address[-9:]), endpoint=address), keys=keys, actor="ann"
            )


def unreachable(account: Any, **_: Any) -> Any:
    client = in_process_client(account)

    def fail(**params: Any) -> None:
        raise EndpointConnectionError(endpoint_url=MARKET)

    client.get_account_balance = fail
    return client


def test_without_a_network_keys_can_be_saved_unchecked(keys: Keys, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api_module, "make_client", unreachable)
    ann = make_researcher("ann")
    with pytest.raises(PlatformTrouble, match="Check this address and that a server runs there") as trouble:
        platform_accounts.add_account(entry=entry(owner=ann), keys=keys, actor="ann")
    assert trouble.value.again
    assert not PlatformAccount.objects.exists()
    account = platform_accounts.add_account(entry=entry(owner=ann), keys=keys, unchecked=True, actor="ann")
    assert (account.checked_at, account.balance) == (None, None)
    assert "did not answer" in account.trouble
    monkeypatch.setattr(api_module, "make_client", in_process_client)
    platform_accounts.check_account(account=account)
    account.refresh_from_db()
    assert account.checked_at is not None
    assert (account.balance, account.trouble) == (Decimal("25.00"), "")


@pytest.mark.parametrize(("seconds", "words"), [(3600, "60 minutes fast"), (-900, "15 minutes slow")])
def test_a_wrong_clock_is_named(keys: Keys, seconds: int, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As Amazon answers: InvalidSignatureException with the times, and the date of its clock."""
    from datetime import timedelta
    from email.utils import format_datetime

    from botocore.exceptions import ClientError
    from django.utils import timezone

    theirs = timezone.now() - timedelta(seconds=seconds)
    answer: Any = {
        "Error": {"Code": "InvalidSignatureException", "Message": "Signature expired: 20261126T060000Z is now earlier"},
        "ResponseMetadata": {
            "HTTPStatusCode": 400,
            "HTTPHeaders": {"content-type": "application/x-amz-json-1.1", "date": format_datetime(theirs)},
        },
    }

    def skewed(account: Any, **_: Any) -> Any:
        client = in_process_client(account)

        def fail(**params: Any) -> None:
            raise ClientError(answer, "GetAccountBalance")

        client.get_account_balance = fail
        return client

    monkeypatch.setattr(api_module, "make_client", skewed)
    with pytest.raises(PlatformTrouble, match=f"Set this machine's clock: it is {words}"):
        platform_accounts.add_account(entry=entry(), keys=keys, actor="ann")


def test_new_keys_replace_the_old_ones_only_if_they_work(keys: Keys) -> None:
    account = platform_accounts.add_account(entry=entry(), keys=keys, actor="ann")
    with pytest.raises(PlatformTrouble):
        platform_accounts.replace_keys(
            account=PlatformAccount.objects.get(),
            keys=Keys(access_key_id="AKIAWRONG0000000", secret="x" * 40),
            actor="a",
        )
    assert keys_of(PlatformAccount.objects.get()).secret == keys.secret
    _, others = requester_keys("other", dollars="7.00")
    platform_accounts.replace_keys(account=account, keys=others, actor="ann")
    stored = PlatformAccount.objects.get()
    assert (keys_of(stored).secret, stored.balance) == (others.secret, Decimal("7.00"))


def test_two_accounts_of_one_title_have_two_short_names(keys: Keys) -> None:
    ann = make_researcher("ann")
    slugs = [mturk_account(ann, keys, title="Lab").slug for _ in range(3)]
    assert slugs == ["lab", "lab-2", "lab-3"]
    assert mturk_account(ann, keys, title="实验室").slug == "mturk"


# --- keys stay secret ---


def test_a_key_is_in_no_text_of_the_account(keys: Keys, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(0):
        account = platform_accounts.add_account(entry=entry(), keys=keys, actor="ann")
        platform_accounts.check_account(account=account)
    texts = [
        repr(account),
        str(vars(account)),
        repr(keys),
        str(keys),
        repr(api_module.Account.of(account)),
        serializers.serialize("json", PlatformAccount.objects.all()),
        json.dumps([row.detail for row in LogEntry.objects.all()]),
    ]
    texts += [record.getMessage() for record in caplog.records if not record.name.startswith(("botocore", "boto3"))]
    assert [text for text in texts if keys.secret in text] == []
    assert [text for text in texts if keys.access_key_id in text and "Account(" not in text] == []


def test_keys_cannot_be_pickled(keys: Keys) -> None:
    with pytest.raises(TypeError, match="pass the id of the account"):
        pickle.dumps(keys)


@pytest.mark.parametrize("change", ["row", "row of the same owner", "owner", "endpoint", "platform"])
def test_sealed_keys_copied_elsewhere_cannot_be_opened(keys: Keys, change: str) -> None:
    """Whoever can write to the database must not be able to spend another's money, or to have the key sent to them."""
    ann, ben = make_researcher("ann"), make_researcher("ben")
    account = mturk_account(ann, keys)
    other = mturk_account(ben, requester_keys("other")[1], title="Other")
    changes: dict[str, dict[str, Any]] = {
        "row": {"sealed": other.sealed},
        "row of the same owner": {"sealed": mturk_account(ann, keys, title="Third").sealed},
        "owner": {"user": ben},
        "endpoint": {"endpoint": "https://evil.example/"},
        "platform": {"platform": "prolific"},
    }
    PlatformAccount.objects.filter(pk=account.pk).update(**changes[change])
    with pytest.raises(PlatformTrouble, match="Enter the keys again under Platform accounts"):
        keys_of(PlatformAccount.objects.get(pk=account.pk))


def test_keys_survive_a_new_secret_key_and_are_sealed_again(keys: Keys, settings: Any, capsys: Any) -> None:
    account = mturk_account(make_researcher("ann"), keys)
    lost = mturk_account(make_researcher("ben"), requester_keys("b")[1], title="Lost")
    PlatformAccount.objects.filter(pk=lost.pk).update(sealed="1.AAAA")
    earlier, settings.SECRET_KEY = settings.SECRET_KEY, "n" * 60
    with pytest.raises(PlatformTrouble):
        keys_of(account)
    settings.SECRET_KEY_FALLBACKS = [earlier]
    assert keys_of(account).secret == keys.secret
    call_command("platform_accounts", "reseal")
    out = capsys.readouterr().out
    assert "1 account is sealed with the present secret key." in out
    assert "lost" in out
    settings.SECRET_KEY_FALLBACKS = []
    assert keys_of(PlatformAccount.objects.get(pk=account.pk)).secret == keys.secret


@pytest.mark.parametrize("owners", [0, 2])
def test_an_account_has_one_owner(keys: Keys, owners: int) -> None:
    ann = make_researcher("ann")
    account = mturk_account(ann, keys)
    change = {"user": None} if not owners else {"team": make_team(slug="writers")}
    with pytest.raises(IntegrityError), transaction.atomic():
        PlatformAccount.objects.filter(pk=account.pk).update(**change)


def test_a_team_with_an_account_is_deleted_after_the_account(keys: Keys) -> None:
    team = make_team(slug="writers")
    account = mturk_account(team, keys)
    with pytest.raises(Invalid, match=r"still owns platform accounts\. Move or delete them first"):
        delete_team(team=team, actor="ann")
    platform_accounts.delete_account(account=account, actor="ann")
    delete_team(team=team, actor="ann")


def test_the_command_lists_accounts_without_their_keys(keys: Keys, capsys: Any) -> None:
    call_command("platform_accounts", "list")
    assert capsys.readouterr().out == "None yet.\n"
    account = mturk_account(make_team(slug="writers"), keys)
    platform_accounts.retire_account(account=account, retired=True, actor="ann")
    call_command("platform_accounts", "list")
    out = capsys.readouterr().out
    assert " ".join(out.splitlines()[1].split()) == f"lab mturk the team Writers …{keys.access_key_id[-4:]} retired"
    assert keys.secret not in out and keys.access_key_id not in out


# --- who may use it ---


def test_own_and_teams_accounts_can_be_used_by_those_who_may_pay(keys: Keys) -> None:
    people = {role: make_researcher(role) for role in ("owner", "payer", "editor", "viewer", "outsider", "ann")}
    admin = make_researcher("admin", is_superuser=True)
    team = make_team(None, "writers", **{role: people[role] for role in ("owner", "payer", "editor", "viewer")})
    own, shared = mturk_account(people["ann"], keys, title="Own"), mturk_account(team, keys, title="Shared")
    people["admin"] = admin
    uses = {name: sorted(usable_by(user).values_list("title", flat=True)) for name, user in people.items()}
    sees = {name: sorted(visible_to(user).values_list("title", flat=True)) for name, user in people.items()}
    assert uses == {
        "owner": ["Shared"],
        "payer": ["Shared"],
        "editor": [],
        "viewer": [],
        "outsider": [],
        "ann": ["Own"],
        "admin": [],
    }
    assert sees == {
        **{role: ["Shared"] for role in ("owner", "payer", "editor", "viewer")},
        "outsider": [],
        "ann": ["Own"],
        "admin": ["Own", "Shared"],
    }
    assert (own.owner_name, shared.owner_name) == ("ann", "the team Writers")


def test_nobody_chooses_an_account_that_they_may_not_use(keys: Keys) -> None:
    ann, ben = make_researcher("ann"), make_researcher("ben")
    account = mturk_account(ann, keys)
    study = make_study(items=1, live=False)
    for actor, slug in (("ben", account.slug), ("ben", "no-such-account"), ("ann", "no-such-account")):
        with pytest.raises(Invalid, match="is no account on this platform that you can use") as refused:
            change_study(study=study, platforms={"mturk": {"account": slug}}, actor=actor)
        assert [problem.where for problem in refused.value.problems] == ["platforms.mturk.account"]
    changed = choose(study, account, actor="ann")
    # Whoever may change the study can change its other settings, and leaves the account as it is.
    settings = {**changed.platforms["mturk"], "lifetime_days": 3}
    assert (
        change_study(study=study, platforms={"mturk": settings}, actor="ben").platforms["mturk"]["lifetime_days"] == 3
    )
    assert ben.platform_accounts.count() == 0


def test_a_new_study_cannot_name_anothers_account(keys: Keys) -> None:
    account = mturk_account(make_researcher("ann"), keys)
    make_researcher("ben")
    study = choose(make_study(items=1, live=False), account)
    spec = spec_of(study)
    with pytest.raises(Invalid, match="that you can use"):
        create_study(spec=spec, actor="ben", owner=None)


def test_a_duplicate_by_somebody_else_has_no_account(keys: Keys) -> None:
    ann, ben = make_researcher("ann"), make_researcher("ben")
    study = choose(make_study(items=1, live=False), mturk_account(ann, keys), lifetime_days=3)
    of_ben = duplicate_study(study=study, slug="b", title="B", with_items=False, actor="ben", owner=ben)
    of_ann = duplicate_study(study=study, slug="a", title="A", with_items=False, actor="ann", owner=ann)
    assert (of_ben.platforms["mturk"]["account"], of_ben.platforms["mturk"]["lifetime_days"]) == ("", 3)
    assert of_ann.platforms["mturk"]["account"] == "lab"


def plan(study: Any, actor: str) -> int:
    from annotation.platforms import connect

    return publishing.plan_postings(study=study, platform=connect("mturk", study), actor=actor)


def test_only_those_who_may_spend_the_money_publish_with_it(keys: Keys) -> None:
    ann = make_researcher("ann")
    make_researcher("ben")
    make_researcher("admin", is_superuser=True)
    study = choose(make_study(items=2, reward="0.18"), mturk_account(ann, keys))
    for actor in ("ben", "admin"):
        with pytest.raises(Invalid, match="Ask ann to publish it, or choose another account"):
            plan(study, actor)
    assert plan(study, "ann") == 2


def test_the_servers_account_can_be_for_administrators_alone(settings: Any) -> None:
    _, own = requester_keys("server")
    settings.MTURK_ACCESS_KEY_ID, settings.MTURK_SECRET_ACCESS_KEY = own.access_key_id, own.secret
    settings.SERVER_ACCOUNT_FOR_ALL = False
    make_researcher("ben")
    make_researcher("admin", is_superuser=True)
    study = make_study(items=2, reward="0.18")
    with pytest.raises(Invalid, match="Only administrators can publish with this server’s account"):
        plan(study, "ben")
    assert plan(study, "admin") == 2
    settings.SERVER_ACCOUNT_FOR_ALL = True
    assert plan(make_study(items=2, reward="0.18"), "ben") == 2


def test_the_account_is_locked_when_publishing_begins(keys: Keys) -> None:
    ann = make_researcher("ann")
    first, second = mturk_account(ann, keys), mturk_account(ann, requester_keys("other")[1], title="Other")
    study = choose(make_study(items=1, reward="0.18"), first, actor="ann")
    choose(study, second, actor="ann")
    choose(study, first, actor="ann")
    study.refresh_from_db()
    plan(study, "ann")
    with pytest.raises(Frozen, match="the account that posts the work pays for it"):
        choose(study, second, actor="ann")
    with pytest.raises(Frozen):
        change_study(study=study, platforms={"mturk": {"account": ""}}, actor="ann")


# --- retired, deleted ---


def test_a_retired_account_makes_no_calls(keys: Keys) -> None:
    from annotation.platforms import connect

    ann = make_researcher("ann")
    account = mturk_account(ann, keys)
    study = choose(make_study(items=1, live=False), account)
    platform_accounts.retire_account(account=account, retired=True, actor="ann")
    with pytest.raises(PlatformTrouble, match=r"is retired.* Ann can use it again under Platform accounts"):
        connect("mturk", study)
    with pytest.raises(Invalid, match="that you can use"):
        choose(make_study(items=1, live=False), account, actor="ann")
    platform_accounts.retire_account(account=account, retired=False, actor="ann")
    assert connect("mturk", study).balance() == Decimal("25.00")
    actions = list(LogEntry.objects.filter(about="lab").order_by("pk").values_list("action", flat=True))
    assert actions == ["platform account added", "platform account retired", "platform account used again"]


def test_only_an_unused_account_can_be_deleted(keys: Keys) -> None:
    ann = make_researcher("ann")
    account, unused = mturk_account(ann, keys), mturk_account(ann, keys, title="Unused")
    choose(make_study(items=1, live=False), account)
    with pytest.raises(Invalid, match=r"1 study uses this account. .*Retire it instead"):
        platform_accounts.delete_account(account=account, actor="ann")
    platform_accounts.delete_account(account=unused, actor="ann")
    assert list(PlatformAccount.objects.values_list("slug", flat=True)) == ["lab"]


def test_a_study_whose_account_is_gone_says_what_to_do(keys: Keys) -> None:
    from annotation.platforms import connect

    account = mturk_account(make_researcher("ann"), keys)
    study = choose(make_study(items=1, live=False), account)
    PlatformAccount.objects.all().delete()
    with pytest.raises(PlatformTrouble, match=r"“lab” does not exist any more.*choose another account"):
        connect("mturk", study)


def test_sealing_needs_the_fields_it_is_bound_to(keys: Keys) -> None:
    account = mturk_account(make_researcher("ann"), keys)
    before = account.sealed
    seal_keys(account, keys)
    assert account.sealed != before
    assert keys_of(account) == keys
