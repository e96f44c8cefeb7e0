"""Adding and removing members."""

import pytest
from django.contrib.auth.models import User

from annotation.models import AuditEntry, Membership, Study
from annotation.studies.members import add_member, remove_member
from common.problems import Invalid
from tests.factories import make_researcher, make_study

pytestmark = pytest.mark.django_db


@pytest.fixture
def owner() -> User:
    return make_researcher("ow")


@pytest.fixture
def mate() -> User:
    return make_researcher("mate")


@pytest.fixture
def study(owner: User) -> Study:
    return make_study(items=0, live=False, owner=owner)


def roles(study: Study) -> dict[str, str]:
    return dict(Membership.objects.filter(study=study).values_list("user__username", "role"))


def test_an_owner_adds_a_teammate_and_gives_them_another_role(study: Study, mate: User) -> None:
    add_member(study=study, user=mate, role="viewer", actor="ow")
    add_member(study=study, user=mate, role="editor", actor="ow")
    assert roles(study) == {"ow": "owner", "mate": "editor"}
    told = AuditEntry.objects.filter(study=study).order_by("pk").values_list("action", "detail")
    assert list(told) == [
        ("add member", {"user": "mate", "old": None, "new": "viewer"}),
        ("add member", {"user": "mate", "old": "viewer", "new": "editor"}),
    ]


def test_giving_the_same_role_again_leaves_no_trace(study: Study, mate: User) -> None:
    add_member(study=study, user=mate, role="viewer", actor="ow")
    add_member(study=study, user=mate, role="viewer", actor="ow")
    assert AuditEntry.objects.filter(study=study).count() == 1


def test_a_role_must_exist(study: Study, mate: User) -> None:
    with pytest.raises(Invalid, match="viewer, payer, editor, owner"):
        add_member(study=study, user=mate, role="boss", actor="ow")


def test_the_last_owner_cannot_be_removed(study: Study, owner: User) -> None:
    with pytest.raises(Invalid, match="only owner"):
        remove_member(study=study, user=owner, actor="ow")
    assert roles(study) == {"ow": "owner"}


def test_the_last_owner_cannot_become_less(study: Study, owner: User) -> None:
    with pytest.raises(Invalid, match="only owner"):
        add_member(study=study, user=owner, role="viewer", actor="ow")


def test_one_of_two_owners_can_go(study: Study, owner: User, mate: User) -> None:
    add_member(study=study, user=mate, role="owner", actor="ow")
    remove_member(study=study, user=owner, actor="mate")
    assert roles(study) == {"mate": "owner"}


def test_removing_a_member_works_and_removing_an_outsider_does_no_harm(study: Study, mate: User) -> None:
    add_member(study=study, user=mate, role="viewer", actor="ow")
    remove_member(study=study, user=mate, actor="ow")
    remove_member(study=study, user=mate, actor="ow")
    assert roles(study) == {"ow": "owner"}
    assert AuditEntry.objects.filter(study=study, action="remove member").count() == 1
