"""``manage.py marketplace``: what each subcommand does and how it refuses."""

from __future__ import annotations

import io
import re
import subprocess
import sys
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core import mail
from django.core.management import CommandError, call_command
from django.test import Client

from marketplace import access, clock
from marketplace.models import AccessKey, AuditRow, Hit, Requester
from marketplace.services.accounts import worker_accounts
from marketplace.services.money import payments
from marketplace.services.secrets import unseal
from tests.marketplace.support.operate_site import make_hit, make_requester, make_user
from tests.services import ROOT
from tests.support import clean_environment

pytestmark = pytest.mark.django_db


def run(*arguments: str) -> str:
    out = io.StringIO()
    call_command("marketplace", *arguments, stdout=out, stderr=io.StringIO())
    return out.getvalue()


def test_make_operator_makes_a_user_with_a_password_that_works() -> None:
    password = run("make-operator", "olga").rpartition(": ")[2].strip()
    assert Client().login(username="olga", password=password)
    assert access.is_operator(User.objects.get(username="olga"))
    assert AuditRow.objects.get().action == "operator made"
    assert "Password" not in run("make-operator", "olga")
    assert AuditRow.objects.count() == 1


def test_make_operator_lets_a_user_keep_their_password() -> None:
    user = make_user("ada")
    run("make-operator", "ada")
    assert access.is_operator(User.objects.get(pk=user.pk))
    assert User.objects.get(pk=user.pk).password == user.password


def test_make_requester_with_a_balance_a_user_and_a_key() -> None:
    said = run("make-requester", "Speech lab", "--balance", "20", "--user", "sue", "--email", "s@example.org")
    lab = Requester.objects.get(name="Speech lab")
    assert payments.available(lab) == Decimal("20.00")
    assert "has $20.00" in said
    assert lab.user and lab.user.username == "sue"
    lines = dict(line.split("=", 1) for line in run("make-key", "Speech lab").splitlines())
    key = AccessKey.objects.get(requester=lab)
    assert lines["AWS_ACCESS_KEY_ID"] == key.access_key_id
    assert lines["AWS_SECRET_ACCESS_KEY"] == unseal(key.secret_sealed)
    assert lines["AWS_ENDPOINT_URL_MTURK"].endswith("/marketplace/api/")


def test_a_second_requester_of_a_name_or_a_user_is_refused_and_leaves_nothing() -> None:
    lab = make_requester(name="Lab A")
    assert lab.user
    with pytest.raises(CommandError, match="already"):
        run("make-requester", "Lab A", "--user", "brand-new")
    with pytest.raises(CommandError, match="another requester"):
        run("make-requester", "Lab B", "--user", lab.user.username)
    assert not User.objects.filter(username="brand-new").exists()
    assert Requester.objects.count() == 1


def test_deposit() -> None:
    lab = make_requester(name="Lab A", balance="5.00")
    assert "has $7.50" in run("deposit", "Lab A", "2.50", "--note", "invoice 9")
    assert payments.available(lab) == Decimal("7.50")


@pytest.mark.parametrize("amount", ["0.005", "x", "0"])
def test_a_deposit_with_an_invalid_amount_is_refused(amount: str) -> None:
    lab = make_requester(name="Lab A", balance="5.00")
    with pytest.raises(CommandError):
        run("deposit", "Lab A", amount)
    assert payments.available(lab) == Decimal("5.00")


def test_an_unknown_requester_is_refused_with_the_existing_ones() -> None:
    make_requester(name="Lab A")
    with pytest.raises(CommandError, match="There are: Lab A"):
        run("make-key", "Lab B")


def test_invite_prints_links_and_sends_one() -> None:
    links = run("invite", "--count", "2").split()
    assert len(set(links)) == 2
    assert worker_accounts.find_invitation(links[0].rstrip("/").rpartition("/")[2])
    run("invite", "--email", "ann@example.org")
    assert mail.outbox[0].to == ["ann@example.org"]
    for wrong in (["--count", "0"], ["--days", "0"], ["--email", "a@example.org", "--count", "2"]):
        with pytest.raises(CommandError):
            run("invite", *wrong)


def test_upkeep_does_everything_that_is_due() -> None:
    hit = make_hit()
    past = clock.now() - timedelta(minutes=1)
    Hit.objects.filter(pk=hit.pk).update(expires_at=past, due_at=past)
    assert run("upkeep").startswith("1 HIT brought")
    hit.refresh_from_db()
    assert hit.state == "Reviewable"


def test_the_clock_moves_only_with_test_controls(settings: Any) -> None:
    settings.MARKETPLACE_TEST_CONTROLS = False
    with pytest.raises(CommandError, match="HITSERVER_MARKETPLACE_TEST_CONTROLS"):
        run("clock", "--forward", "3d")
    settings.MARKETPLACE_TEST_CONTROLS = True
    before = clock.now()
    assert "3 days" in run("clock", "--forward", "3d")
    assert clock.now() - before > timedelta(days=2, hours=23)
    run("clock", "--forward", "12h")
    assert clock.offset() == timedelta(days=3, hours=12)
    assert re.fullmatch(r"\S+ \S+ UTC\n", run("clock", "--reset"))
    with pytest.raises(CommandError):
        run("clock", "--forward", "soon")


def test_a_mistyped_amount_is_explained_without_a_stack_trace(tmp_path: Path) -> None:
    environment = clean_environment({"HITSERVER_VAR": str(tmp_path)})
    command = [sys.executable, "manage.py", "marketplace", "deposit", "Lab A", "five"]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode != 0
    assert "“five” is not an amount" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_key_comes_with_addresses_that_keep_it_away_from_amazon(settings: Any) -> None:
    """A client of SNS or SQS without an address would send Amazon a request that this key signs."""
    make_requester(name="Lab A")

    def addresses() -> dict[str, str]:
        printed = dict(line.split("=", 1) for line in run("make-key", "Lab A").splitlines() if "=" in line)
        return {name: printed[f"AWS_ENDPOINT_URL_{name}"] for name in ("MTURK", "SNS", "SQS")}

    ours = addresses()["MTURK"]
    assert ours.endswith("/marketplace/api/")
    assert set(addresses().values()) == {ours}
    settings.MARKETPLACE_SNS_URL = "http://127.0.0.1:4566"
    settings.MARKETPLACE_SQS_URL = "https://sqs.us-east-1.amazonaws.com"
    assert addresses() == {"MTURK": ours, "SNS": "http://127.0.0.1:4566", "SQS": ours}
