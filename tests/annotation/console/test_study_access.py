"""Who sees which study: an owner, a teammate and an outsider."""

import pytest
from django.contrib.auth.models import AnonymousUser, User
from django.http import Http404
from pytest_django import DjangoAssertNumQueries

from accounts.models import TeamMember
from annotation.access import capabilities_in, members_of, studies_of, study_for, team_for, teams_of
from annotation.models import Membership, Study
from tests.factories import make_researcher, make_study, make_team

pytestmark = pytest.mark.django_db


@pytest.fixture
def study() -> Study:
    return make_study(items=0, live=False, slug="theirs")


def member(study: Study, role: str) -> User:
    user = make_researcher(f"{role}-{study.slug}")
    Membership.objects.create(study=study, user=user, role=role)
    return user


def sees(user: User | AnonymousUser, study: Study, role: str) -> bool:
    try:
        return study_for(user, study.slug, role) == study
    except Http404:
        return False


def may(user: User | AnonymousUser, study: Study) -> list[str]:
    return [role for role in ("viewer", "payer", "editor", "owner") if sees(user, study, role)]


def test_an_owner_may_do_everything(study: Study) -> None:
    assert may(member(study, "owner"), study) == ["viewer", "payer", "editor", "owner"]


def test_an_editor_may_look_and_edit(study: Study) -> None:
    assert may(member(study, "editor"), study) == ["viewer", "editor"]


def test_a_payer_may_look_and_spend(study: Study) -> None:
    assert may(member(study, "payer"), study) == ["viewer", "payer"]


def test_one_of_several_roles_is_enough(study: Study) -> None:
    payer, viewer = member(study, "payer"), member(study, "viewer")
    assert study_for(payer, "theirs", ("editor", "payer")) == study
    with pytest.raises(Http404):
        study_for(viewer, "theirs", ("editor", "payer"))


def test_a_viewer_can_look(study: Study) -> None:
    assert may(member(study, "viewer"), study) == ["viewer"]


def test_viewing_is_the_default(study: Study) -> None:
    assert study_for(member(study, "viewer"), "theirs") == study


def test_an_outsider_cannot_find_out_that_the_study_exists(study: Study) -> None:
    outsider = member(make_study(items=0, live=False), "owner")
    with pytest.raises(Http404) as theirs:
        study_for(outsider, "theirs")
    with pytest.raises(Http404) as nobodys:
        study_for(outsider, "no-such-study")
    assert str(theirs.value) == str(nobodys.value)


def test_somebody_who_is_not_signed_in_sees_nothing(study: Study) -> None:
    assert may(AnonymousUser(), study) == []


def test_a_superuser_sees_all(study: Study) -> None:
    assert may(User.objects.create_superuser("root"), study) == ["viewer", "payer", "editor", "owner"]


def test_an_inactive_member_sees_nothing(study: Study) -> None:
    user = member(study, "owner")
    user.is_active = False
    user.save()
    assert may(user, study) == []


def test_a_role_that_does_not_exist_is_a_programming_error(study: Study) -> None:
    with pytest.raises(ValueError, match="boss"):
        study_for(member(study, "owner"), "theirs", "boss")


# --- teams


@pytest.mark.parametrize(
    ("role", "rights"),
    [
        ("viewer", ["viewer"]),
        ("payer", ["viewer", "payer"]),
        ("editor", ["viewer", "editor"]),
        ("owner", ["viewer", "payer", "editor", "owner"]),
    ],
)
def test_a_member_of_the_team_may_do_what_their_role_allows(study: Study, role: str, rights: list[str]) -> None:
    mate, team = make_researcher("mate"), make_team(study)
    TeamMember.objects.create(team=team, user=mate, role=role)
    assert may(mate, study) == rights
    assert list(studies_of(mate)) == [study]
    assert list(members_of(study)) == [mate]


def test_whoever_has_two_roles_may_do_what_either_allows(study: Study) -> None:
    payer = member(study, "payer")
    TeamMember.objects.create(team=make_team(study), user=payer, role="editor")
    assert may(payer, study) == ["viewer", "payer", "editor"]
    assert capabilities_in(Study.objects.get(), payer) == {"read", "collect", "pay"}
    assert list(studies_of(payer)) == [study]


def test_a_member_of_another_team_finds_nothing(study: Study) -> None:
    make_team(study)
    outsider, other = make_researcher("out"), make_team(make_study(items=0, live=False), "other-team")
    TeamMember.objects.create(team=other, user=outsider, role="owner")
    assert may(outsider, study) == []
    assert list(teams_of(outsider)) == [other]
    with pytest.raises(Http404):
        team_for(outsider, "lab")


def test_access_to_a_study_takes_one_query(study: Study, django_assert_num_queries: DjangoAssertNumQueries) -> None:
    mate = make_researcher("mate")
    TeamMember.objects.create(team=make_team(study), user=mate, role="editor")
    assert may(mate, study)  # which also asks, once, whether mate is a researcher
    with django_assert_num_queries(1):
        capabilities_in(study_for(mate, "theirs", "editor"), mate)
