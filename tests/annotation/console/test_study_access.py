"""Who sees which study: an owner, a teammate and an outsider."""

import pytest
from django.contrib.auth.models import AnonymousUser, User
from django.http import Http404

from annotation.access import study_for
from annotation.models import Membership, Study
from tests.factories import make_researcher, make_study

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
    return [role for role in ("viewer", "editor", "owner") if sees(user, study, role)]


def test_an_owner_may_do_everything(study: Study) -> None:
    assert may(member(study, "owner"), study) == ["viewer", "editor", "owner"]


def test_an_editor_may_look_and_edit(study: Study) -> None:
    assert may(member(study, "editor"), study) == ["viewer", "editor"]


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
    assert may(User.objects.create_superuser("root"), study) == ["viewer", "editor", "owner"]


def test_an_inactive_member_sees_nothing(study: Study) -> None:
    user = member(study, "owner")
    user.is_active = False
    user.save()
    assert may(user, study) == []


def test_a_role_that_does_not_exist_is_a_programming_error(study: Study) -> None:
    with pytest.raises(ValueError, match="boss"):
        study_for(member(study, "owner"), "theirs", "boss")
