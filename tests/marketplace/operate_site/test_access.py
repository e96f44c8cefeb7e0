"""Who sees which page: an operator, a requester, another requester, a worker, a user without a role, and a visitor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pytest
from django.apps import apps
from django.contrib.auth.models import User
from django.test import Client
from django.urls import get_resolver, reverse

from marketplace import clock
from marketplace.models import AccessKey, Assignment, AuditRow, LedgerEntry, Message, Payout, Requester
from marketplace.services.accounts import requester_accounts, users
from marketplace.services.hits import layouts
from marketplace.services.money import payroll
from marketplace.sites.operate import urls
from tests.marketplace.support.operate_site import (
    make_dispute,
    make_operator,
    make_paid,
    make_reply,
    make_requester,
    make_submitted,
    make_user,
    make_worker,
    signed_in,
)

pytestmark = pytest.mark.django_db

OPERATORS_PAGES = (
    "requesters", "new_requester", "requester", "workers", "worker", "invitations", "balances", "ledger", "ledger_csv",
    "payrolls", "owed", "payroll", "payroll_csv", "payments_csv", "disputes", "dispute", "replies", "reply", "log",
)  # fmt: skip
OPERATORS_ACTIONS = (
    "deposit", "withdraw", "requester_active", "make_key", "revoke_key", "attach_user", "detach_user", "user_link",
    "worker_active", "make_payroll", "pay", "payment_returned",
)  # fmt: skip
REQUESTERS_PAGES = (
    "my_hits", "my_hit", "my_assignments", "my_assignment", "my_balance", "my_keys", "my_blocks", "my_log",
    "my_layouts", "my_new_layout", "my_layout", "my_new_hit", "my_replies", "my_reply", "my_notifications",
)  # fmt: skip
REQUESTERS_ACTIONS = (
    "my_new_key", "my_revoke_key", "my_answer", "my_expire_hit", "my_reopen_hit", "my_approve", "my_bonus",
    "my_unblock",
)  # fmt: skip
OPEN_TO_ALL = {"login", "logout", "password", "home", "welcome"}
#: What workers uploaded, and the second factor, with tests of their own.
ELSEWHERE = {"my_file", "code", "confirm", "factors", "add_app", "remove_factor", "recovery_codes"}


@dataclass
class Cast:
    """One of each, and the addresses of what belongs to the requester."""

    operator: User
    requester: User
    other_requester: User
    worker: User
    stranger: User
    submitted: Assignment
    key: AccessKey
    addresses: dict[str, str]


@pytest.fixture
def cast() -> Cast:
    dispute = make_dispute()
    requester = dispute.hit.requester
    submitted = make_submitted(hit=dispute.hit)
    key = requester_accounts.create_access_key(requester=requester, actor="test").key
    layout = layouts.create_layout(requester=requester, name="Pairs", html="<p>${text}</p>", frame_height=0)
    make_paid(requester=requester)
    made = payroll.make_payroll(actor="test")
    payroll.mark_paid(payroll=made, rows=None, reference="T1", actor="test")
    worker = submitted.worker
    assert requester.user and worker.user
    arguments: dict[str, tuple[object, ...]] = {
        **dict.fromkeys(("requester", "deposit", "withdraw", "requester_active", "make_key"), (requester.pk,)),
        **dict.fromkeys(("attach_user", "detach_user", "user_link"), (requester.pk,)),
        "revoke_key": (requester.pk, key.pk),
        **dict.fromkeys(("worker", "worker_active"), (worker.worker_id,)),
        **dict.fromkeys(("payroll", "payroll_csv", "payments_csv", "pay"), (made.number,)),
        "payment_returned": (made.number, Payout.objects.get().pk),
        "dispute": (dispute.assignment_id,),
        "my_hit": (dispute.hit.hit_id,),
        "my_assignment": (submitted.assignment_id,),
        "my_answer": (dispute.assignment_id,),
        "my_revoke_key": (key.access_key_id,),
        **dict.fromkeys(("my_expire_hit", "my_reopen_hit"), (dispute.hit.hit_id,)),
        "my_bonus": (dispute.assignment_id,),
        "my_unblock": (worker.worker_id,),
        "reply": (make_reply(worker, None).message_id,),
        "my_reply": (make_reply(worker, requester).message_id,),
        "my_layout": (layout.layout_id,),
    }
    Message.objects.update(read_at=clock.now())  # opening an unread one is noted
    names = (*OPERATORS_PAGES, *OPERATORS_ACTIONS, *REQUESTERS_PAGES, *REQUESTERS_ACTIONS)
    addresses = {name: reverse(f"operate_{name}", args=arguments.get(name, ())) for name in names}
    other = make_requester().user
    assert other
    return Cast(
        make_operator(), requester.user, other, worker.user, make_user("stranger"), submitted, key, addresses
    )  # fmt: skip


def test_these_lists_name_every_address() -> None:
    known = {f"operate_{name}" for name in OPEN_TO_ALL | ELSEWHERE}
    known |= {f"operate_{n}" for n in OPERATORS_PAGES + OPERATORS_ACTIONS + REQUESTERS_PAGES + REQUESTERS_ACTIONS}
    assert known == {pattern.name for pattern in urls.urlpatterns}
    assert get_resolver()  # the addresses are part of the whole


def statuses(client: Client, cast: Cast, pages: Sequence[str], **form: str) -> dict[str, object]:
    """What each page answers: to a GET, or with a form to a GET and to a POST."""
    found: dict[str, object] = {}
    for page in pages:
        status = client.get(cast.addresses[page]).status_code
        found[page] = (status, client.post(cast.addresses[page], form).status_code) if form else status
    return found


def test_an_operator_sees_the_operators_pages(cast: Cast) -> None:
    assert statuses(signed_in(cast.operator), cast, OPERATORS_PAGES) == dict.fromkeys(OPERATORS_PAGES, 200)


@pytest.mark.parametrize("who", ["requester", "other_requester", "worker", "stranger"])
def test_nobody_else_learns_that_there_are_operators_pages(who: str, cast: Cast) -> None:
    pages = OPERATORS_PAGES + OPERATORS_ACTIONS
    found = statuses(signed_in(getattr(cast, who)), cast, pages, amount="5.00")
    assert found == dict.fromkeys(pages, (404, 404))


def test_a_requester_sees_their_own_pages(cast: Cast) -> None:
    assert statuses(signed_in(cast.requester), cast, REQUESTERS_PAGES) == dict.fromkeys(REQUESTERS_PAGES, 200)


@pytest.mark.parametrize("who", ["operator", "worker", "stranger"])
def test_requesters_pages_do_not_exist_for_others(who: str, cast: Cast) -> None:
    pages = REQUESTERS_PAGES + REQUESTERS_ACTIONS
    assert statuses(signed_in(getattr(cast, who)), cast, pages, any="") == dict.fromkeys(pages, (404, 404))


def test_another_requester_finds_nothing_where_mine_is(cast: Cast) -> None:
    pages = ("my_hit", "my_assignment", "my_answer", "my_layout")
    found = statuses(signed_in(cast.other_requester), cast, pages, do="approve", text="No.")
    assert set(found.values()) <= {(404, 404), (405, 404), (404, 405)}, found
    cast.submitted.refresh_from_db()
    assert cast.submitted.state == "Submitted"


def test_another_requester_cannot_revoke_my_key(cast: Cast) -> None:
    assert signed_in(cast.other_requester).post(cast.addresses["my_revoke_key"]).status_code == 404
    cast.key.refresh_from_db()
    assert cast.key.revoked_at is None


def test_another_requesters_lists_hold_nothing_of_mine(cast: Cast) -> None:
    client = signed_in(cast.other_requester)
    for page in ("my_hits", "my_assignments", "my_balance", "my_keys", "my_blocks", "my_log", "my_layouts"):
        answer = client.get(cast.addresses[page]).content.decode()
        for mine in (cast.submitted.assignment_id, cast.submitted.hit.hit_id, cast.key.access_key_id):
            assert mine not in answer, page


def test_nobody_gets_further_than_the_sign_in_page(cast: Cast) -> None:
    for page in OPERATORS_PAGES + OPERATORS_ACTIONS + REQUESTERS_PAGES + REQUESTERS_ACTIONS:
        for method in (Client().get, Client().post):
            answer = method(cast.addresses[page])
            assert answer.status_code == 302, page
            assert answer["Location"].startswith(reverse("operate_login")), page


def test_nothing_was_changed_by_those_who_were_turned_away(cast: Cast) -> None:
    before = (AuditRow.objects.count(), LedgerEntry.objects.count(), AccessKey.objects.count())
    for who in ("worker", "stranger"):
        for name in OPERATORS_ACTIONS + REQUESTERS_ACTIONS:
            signed_in(getattr(cast, who)).post(cast.addresses[name], {"amount": "5.00", "active": "0"})
    assert (AuditRow.objects.count(), LedgerEntry.objects.count(), AccessKey.objects.count()) == before


def test_everybody_begins_where_they_belong(cast: Cast) -> None:
    home = reverse("operate_home")
    assert "Where the money is" in signed_in(cast.operator).get(home).content.decode()
    assert signed_in(cast.requester).get(home)["Location"] == reverse("operate_my_hits")
    assert signed_in(cast.worker).get(home)["Location"] == reverse("market_home")
    nobody = signed_in(cast.stranger).get(home)
    assert nobody.status_code == 404
    assert "nothing here for you" in nobody.content.decode()
    assert Client().get(home)["Location"].startswith(reverse("operate_login"))


def test_a_deactivated_requester_is_shut_out(cast: Cast) -> None:
    requester_accounts.set_requester_active(requester=cast.key.requester, active=False, actor="test")
    assert signed_in(cast.requester).get(cast.addresses["my_hits"]).status_code == 404


def test_a_superuser_is_an_operator_and_a_deactivated_one_is_not(cast: Cast) -> None:
    root = User.objects.create_superuser("root", password="correct horse battery")
    client = signed_in(root)
    assert client.get(cast.addresses["balances"]).status_code == 200
    User.objects.filter(pk=root.pk).update(is_active=False)
    assert client.get(cast.addresses["balances"]).status_code in (302, 404)


def test_an_action_needs_the_forms_token(cast: Cast) -> None:
    for who, names in ((cast.operator, OPERATORS_ACTIONS), (cast.requester, REQUESTERS_ACTIONS)):
        client = Client(enforce_csrf_checks=True)
        client.force_login(who)
        found = {name: client.post(cast.addresses[name]).status_code for name in names}
        assert found == dict.fromkeys(names, 403)


def test_an_operator_who_is_also_a_requester_can_switch_between_the_two() -> None:
    user = make_operator("olga")
    make_requester(user=user)
    client = signed_in(user)
    assert reverse("operate_my_hits") in client.get(reverse("operate_home")).content.decode()
    assert "Run the marketplace" in client.get(reverse("operate_my_hits")).content.decode()
    plain = signed_in(make_requester().user)
    assert "Run the marketplace" not in plain.get(reverse("operate_my_hits")).content.decode()


def everything_stored() -> dict[str, list[dict[str, object]]]:
    tables = {model.__name__: model for model in apps.get_app_config("marketplace").get_models()}
    return {name: list(model._base_manager.order_by("pk").values()) for name, model in tables.items()}


@pytest.mark.parametrize("who", ["operator", "requester", "other_requester", "worker", "stranger", "nobody"])
def test_reading_writes_nothing(who: str, cast: Cast) -> None:
    client = Client() if who == "nobody" else signed_in(getattr(cast, who))
    welcome = reverse("operate_welcome", args=[users.make_password_link(requester=made_here_with_user(), actor="test")])
    before = everything_stored()
    plain = [reverse(f"operate_{name}") for name in ("home", "login", "password")]
    for address in [*cast.addresses.values(), *plain, welcome]:
        answer = client.get(address)
        assert answer.status_code in (200, 302, 404, 405), address
        if getattr(answer, "streaming", False):
            b"".join(answer.streaming_content)  # type: ignore[attr-defined]
    assert everything_stored() == before


def made_here_with_user() -> Requester:
    return requester_accounts.create_requester(
        name="Invited lab", user=make_user("ivy"), user_made_here=True, actor="test"
    )


def test_a_worker_who_is_also_a_requester_has_both(cast: Cast) -> None:
    worker = make_worker()
    both = make_requester(user=worker.user)
    assert both.user
    assert signed_in(both.user).get(reverse("operate_my_hits")).status_code == 200
