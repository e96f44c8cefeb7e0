"""Teams: who joins and leaves, which studies they own, and what their members see."""

from __future__ import annotations

import pytest
from django.conf import LazySettings
from django.contrib.auth.models import User
from django.core import mail
from django.test import Client
from django.urls import reverse

from accounts.models import LogEntry, Team, TeamMember
from annotation.access import members_of
from annotation.models import AuditEntry, Membership, Participant, Study
from annotation.review.completion import tell_of_complete_studies
from annotation.studies import teams as service
from annotation.studies.members import remove_member
from annotation.work.member_work import reasons_not_to_start, start_member_work, works_blind
from common.problems import Invalid
from tests.annotation.coding_helpers import coding_study
from tests.annotation.console_helpers import make_user, settings_form, signed_in
from tests.factories import make_study, make_submission, make_team

pytestmark = pytest.mark.django_db


@pytest.fixture
def ann() -> User:
    return make_user("ann", email="ann@example.org")


@pytest.fixture
def ben() -> User:
    return make_user("ben")


@pytest.fixture
def lab(ann: User) -> Team:
    return make_team(owner=ann)


def roles(team: Team) -> dict[str, str]:
    return dict(TeamMember.objects.filter(team=team).values_list("user__username", "role"))


def add(client: Client, team: Team, username: str, role: str) -> str:
    form = {"username": username, "role": role}
    return client.post(reverse("console_team", args=[team.slug]), form, follow=True).content.decode()


# --- the service


def test_whoever_makes_a_team_owns_it(ann: User) -> None:
    team = service.create_team(name="Writing lab", slug="writing-lab", owner=ann, actor="ann")
    assert roles(team) == {"ann": "owner"}
    entry = LogEntry.objects.get(kind="teams")
    assert (entry.actor, entry.action, entry.about) == ("ann", "team created", "writing-lab")
    with pytest.raises(Invalid, match="Another team already has the name"):
        service.create_team(name="Writing lab", slug="other", owner=ann, actor="ann")


def test_only_researchers_are_members(lab: Team) -> None:
    worker = make_user("worker", researcher=False)
    with pytest.raises(Invalid, match="not a researcher"):
        service.add_team_member(team=lab, user=worker, role="viewer", actor="ann")
    with pytest.raises(Invalid, match="no role “boss”"):
        service.add_team_member(team=lab, user=make_user("eve"), role="boss", actor="ann")


def test_the_last_owner_can_neither_leave_nor_become_an_editor(lab: Team, ann: User, ben: User) -> None:
    with pytest.raises(Invalid, match="ann is the only owner of this team"):
        service.remove_team_member(team=lab, user=ann, actor="ann")
    with pytest.raises(Invalid, match="ann is the only owner of this team"):
        service.add_team_member(team=lab, user=ann, role="editor", actor="ann")
    service.add_team_member(team=lab, user=ben, role="owner", actor="ann")
    service.remove_team_member(team=lab, user=ann, actor="ann")
    assert roles(lab) == {"ben": "owner"}


def test_a_team_with_a_study_cannot_be_deleted(lab: Team) -> None:
    study = make_study(items=0, live=False)
    service.set_team(study=study, team=lab, actor="ann")
    with pytest.raises(Invalid, match="still owns studies"):
        service.delete_team(team=lab, actor="ann")
    Study.objects.update(team=None)
    service.delete_team(team=lab, actor="ann")
    assert not Team.objects.exists()
    assert LogEntry.objects.get(action="team deleted").detail == {"members": ["ann"]}


def test_a_study_leaves_its_team_only_if_it_has_an_owner_itself(lab: Team, ben: User) -> None:
    study = make_study(items=0, live=False)
    service.set_team(study=study, team=lab, actor="ann")
    with pytest.raises(Invalid, match="this study has no owner"):
        service.set_team(study=study, team=None, actor="ann")
    Membership.objects.create(study=study, user=ben, role="owner")
    assert service.set_team(study=study, team=None, actor="ann").team is None
    entries = AuditEntry.objects.filter(action="change team").order_by("pk")
    assert [entry.detail for entry in entries] == [{"old": None, "new": "lab"}, {"old": "lab", "new": None}]


def test_the_last_owner_of_a_study_can_leave_it_to_a_team(lab: Team, ben: User) -> None:
    study = make_study(items=0, live=False)
    Membership.objects.create(study=study, user=ben, role="owner")
    with pytest.raises(Invalid, match="ben is the only owner of this study"):
        remove_member(study=study, user=ben, actor="ben")
    service.set_team(study=study, team=lab, actor="ben")
    remove_member(study=study, user=ben, actor="ben")
    assert [user.username for user in members_of(study, "owner")] == ["ann"]


# --- coding, and mail


def test_a_member_of_the_team_codes_until_they_leave_and_continues_when_they_are_back(lab: Team, ben: User) -> None:
    study = coding_study(items=1)
    assert [problem.what for problem in reasons_not_to_start(study, ben)] == [
        "Only members of the study can code, and you are not one."
    ]
    service.set_team(study=study, team=lab, actor="ann")
    service.add_team_member(team=lab, user=ben, role="viewer", actor="ann")
    start_member_work(study=study, user=ben)
    assert works_blind(study, ben)
    service.remove_team_member(team=lab, user=ben, actor="ann")
    assert Participant.objects.get().excluded_at is not None
    service.add_team_member(team=lab, user=ben, role="viewer", actor="ann")
    assert Participant.objects.get().excluded_at is None


def test_a_coder_keeps_their_work_while_one_of_two_memberships_remains(lab: Team, ben: User) -> None:
    study = coding_study(items=1)
    service.set_team(study=study, team=lab, actor="ann")
    service.add_team_member(team=lab, user=ben, role="viewer", actor="ann")
    Membership.objects.create(study=study, user=ben, role="viewer")
    start_member_work(study=study, user=ben)
    service.remove_team_member(team=lab, user=ben, actor="ann")
    assert Participant.objects.get().excluded_at is None
    service.add_team_member(team=lab, user=ben, role="viewer", actor="ann")
    remove_member(study=study, user=ben, actor="ann")
    assert Participant.objects.get().excluded_at is None
    Membership.objects.create(study=study, user=make_user("cat"), role="owner")
    service.set_team(study=study, team=None, actor="ann")
    assert Participant.objects.get().excluded_at is not None


def test_owners_of_the_team_see_answers_and_its_editors_code_blind(lab: Team, ann: User, ben: User) -> None:
    study = coding_study(items=1)
    service.set_team(study=study, team=lab, actor="ann")
    service.add_team_member(team=lab, user=ben, role="editor", actor="ann")
    assert (works_blind(study, ann), works_blind(study, ben)) == (False, True)


def test_owners_of_the_team_get_the_mail_that_all_ratings_are_in(lab: Team, settings: LazySettings) -> None:
    settings.EMAIL_HOST = "mail.example.org"
    study = make_study(items=1, ratings_per_item=1)
    service.set_team(study=study, team=lab, actor="ann")
    make_submission(study=study)
    assert tell_of_complete_studies() == 1
    assert mail.outbox[0].bcc == ["ann@example.org"]


# --- the pages


def test_a_team_is_made_filled_and_left_in_the_console(ann: User, ben: User) -> None:
    client = signed_in(ann)
    form = {"name": "Writing lab", "slug": "writing-lab"}
    page = client.post(reverse("console_teams"), form, follow=True).content.decode()
    assert "Add its members" in page
    team = Team.objects.get()
    assert "ben is now a payer of the team" in add(client, team, "ben", "payer")
    assert "no researcher “nobody”" in add(client, team, "nobody", "viewer")
    page = signed_in(ben).get(reverse("console_teams")).content.decode()
    assert "Writing lab" in page
    assert "Payer" in page
    leave = reverse("console_remove_team_member", args=[team.slug, ben.pk])
    assert "You are no longer a member" in signed_in(ben).post(leave, follow=True).content.decode()
    assert roles(team) == {"ann": "owner"}
    leave = reverse("console_remove_team_member", args=[team.slug, ann.pk])
    assert "ann is the only owner" in client.post(leave, follow=True).content.decode()
    client.post(reverse("console_delete_team", args=[team.slug]))
    assert not Team.objects.exists()


@pytest.mark.parametrize(
    ("form", "message"),
    [
        ({"name": "", "slug": "lab-2"}, "This field is required"),
        ({"name": "Lab 2", "slug": "Lab 2"}, "Use lower-case letters"),
        ({"name": "Lab 2", "slug": "lab"}, "already exists"),
    ],
)
def test_a_team_needs_names_that_are_free(lab: Team, ann: User, form: dict[str, str], message: str) -> None:
    response = signed_in(ann).post(reverse("console_teams"), form)
    assert response.status_code == 422
    assert message in response.content.decode()
    assert Team.objects.count() == 1


@pytest.mark.parametrize("role", ["viewer", "payer", "editor"])
def test_only_owners_change_a_team(lab: Team, ann: User, ben: User, role: str) -> None:
    service.add_team_member(team=lab, user=ben, role=role, actor="ann")
    client, one = signed_in(ben), [lab.slug]
    assert "Add a member" not in client.get(reverse("console_team", args=one)).content.decode()
    assert client.post(reverse("console_team", args=one), {"username": "ben", "role": "owner"}).status_code == 404
    assert client.post(reverse("console_remove_team_member", args=[lab.slug, ann.pk])).status_code == 404
    assert client.post(reverse("console_delete_team", args=one)).status_code == 404
    assert roles(lab) == {"ann": "owner", "ben": role}


def test_for_an_outsider_a_team_does_not_exist(lab: Team, ann: User, ben: User) -> None:
    client, one = signed_in(ben), [lab.slug]
    assert client.get(reverse("console_team", args=one)).status_code == 404
    assert client.post(reverse("console_remove_team_member", args=[lab.slug, ann.pk])).status_code == 404
    assert "Lab" not in client.get(reverse("console_teams")).content.decode().split("<main")[1]
    assert Client().get(reverse("console_team", args=one)).status_code == 302
    assert signed_in(make_user("root", is_superuser=True)).get(reverse("console_team", args=one)).status_code == 200


def test_a_new_study_goes_to_a_team_in_which_one_edits(lab: Team, ann: User, ben: User) -> None:
    address = reverse("console_new_settings", args=["abs_hds"])
    assert signed_in(ann).post(address, settings_form(team=lab.pk)).status_code == 302
    study = Study.objects.get()
    assert study.team == lab
    assert "Lab" in signed_in(ann).get(reverse("console_studies")).content.decode()
    service.add_team_member(team=lab, user=ben, role="payer", actor="ann")
    response = signed_in(ben).post(address, settings_form(team=lab.pk, title="Other"))
    assert response.status_code == 422
    assert "Select a valid choice" in response.content.decode()
    assert Study.objects.count() == 1


def test_an_owner_gives_a_study_to_a_team_and_sees_who_that_adds(lab: Team, ann: User, ben: User) -> None:
    study = make_study(items=0, live=False)
    Membership.objects.create(study=study, user=ben, role="owner")
    client, address = signed_in(ben), reverse("console_change_team", args=[study.slug])
    assert "choose a team" in client.post(address, {"team": lab.pk}, follow=True).content.decode()
    service.add_team_member(team=lab, user=ben, role="editor", actor="ann")
    assert "belongs to the team “Lab” now" in client.post(address, {"team": lab.pk}, follow=True).content.decode()
    members = client.get(reverse("console_members", args=[study.slug])).content.decode()
    assert "ann" in members
    assert "From the team" in members
    assert "belongs to no team now" in client.post(address, {"team": ""}, follow=True).content.decode()


def test_an_editor_of_a_study_does_not_choose_its_team(lab: Team, ben: User) -> None:
    study = make_study(items=0, live=False)
    Membership.objects.create(study=study, user=ben, role="editor")
    service.add_team_member(team=lab, user=ben, role="editor", actor="ann")
    response = signed_in(ben).post(reverse("console_change_team", args=[study.slug]), {"team": lab.pk})
    assert response.status_code == 404
    assert Study.objects.get().team is None
