"""Who a worker is: identified by browser, by panel, or by a personal link."""

from __future__ import annotations

import pytest

from annotation.identity import browser_worker, is_browser_key, is_panel_id, link_worker, panel_worker, simulated_worker
from annotation.models import AuditEntry, Invitation, ItemFeed, Study
from annotation.people.invitations import invite, invite_participants
from common.problems import Invalid
from tests.factories import make_assignment, make_invitation, make_participant, make_study

pytestmark = pytest.mark.django_db


def names(invitations: list[Invitation]) -> list[str]:
    return [invitation.name for invitation in invitations]


# --- who a worker is ---


def test_every_visit_by_the_open_link_is_a_new_person() -> None:
    assert link_worker() != link_worker()
    assert link_worker("open-1") == link_worker("open-1")


def test_a_browser_is_one_person_and_a_panel_has_its_own_ids() -> None:
    assert browser_worker("a" * 32) == browser_worker("a" * 32)
    assert panel_worker("prolific", "5") == panel_worker("prolific", "5")
    assert len({panel_worker("prolific", "5"), panel_worker("sona", "5"), browser_worker("5" * 20)}) == 3


def test_a_simulated_worker_is_marked_and_another_one_in_each_study() -> None:
    one, other = make_study(items=0), make_study(items=0)
    assert simulated_worker(one, "bot").synthetic
    assert simulated_worker(one, "bot") == simulated_worker(one, "bot") != simulated_worker(other, "bot")


@pytest.mark.parametrize("key", ["", "short", "x" * 65, "ä" * 30, "a" * 30 + "\n", "<script>" * 4])
def test_a_posted_browser_key_must_have_the_right_form(key: str) -> None:
    assert not is_browser_key(key)
    assert is_browser_key("0123456789abcdef0123456789abcdef")


@pytest.mark.parametrize("name", ["", "{{%PROLIFIC_PID%}}", "${id}", "[ID]", "a b", "x" * 101, "ä"])
def test_a_panel_that_did_not_fill_in_its_id_names_nobody(name: str) -> None:
    assert not is_panel_id(name)
    assert is_panel_id("5f1b2c3d4e5f6a7b8c9d0e1f")


# --- invitations ---


def test_each_name_gets_one_link_and_always_the_same() -> None:
    study = make_study(items=0)
    made = invite(study=study, names=[" ann ", "bob", "", "ann"], actor="lab")
    assert names(made) == ["ann", "bob"]
    assert invite(study=study, names=["bob", "cleo", "ann"], actor="lab")[::2] == made[::-1]
    assert len({invitation.key for invitation in Invitation.objects.all()}) == 3
    assert [entry.detail["links"] for entry in AuditEntry.objects.filter(action="invite")] == [1, 2]


def test_two_studies_have_two_people_of_one_name() -> None:
    one, other = (make_invitation(study=make_study(items=0), name="anna") for _ in range(2))
    assert one.worker != other.worker


def test_the_same_name_is_the_same_person_in_a_study_that_judges_or_excludes_another() -> None:
    source, excluded, study = (make_study(items=0) for _ in range(3))
    ItemFeed.objects.create(study=study, source=source)
    study.exclude_studies.add(excluded)
    writer, taker = make_invitation(study=source, name="anna"), make_invitation(study=excluded, name="bob")
    anna, bob, cleo = invite(study=study, names=["anna", "bob", "cleo"], actor="lab")
    assert (anna.worker, bob.worker) == (writer.worker, taker.worker)
    assert cleo.worker not in (writer.worker, taker.worker)
    assert anna.key != writer.key


def test_everybody_who_took_part_elsewhere_is_invited_as_the_same_person() -> None:
    source, study = make_study(ratings_per_item=9), make_study(items=0)
    invitation = make_invitation(study=source, name="anna")
    people = [make_participant(study=source, worker=invitation.worker), make_participant(study=source)]
    make_participant(study=source)  # only looked
    robot = make_participant(study=source, synthetic=True)
    for participant in [*people, robot]:
        make_assignment(participant=participant)
    made = invite_participants(study=study, of=source, actor="lab")
    assert names(made) == ["anna", people[1].pseudonym]
    assert [each.worker for each in made] == [each.worker for each in people]
    assert invite_participants(study=study, of=source, actor="lab") == made


def test_somebody_elses_name_is_refused_for_a_participant_of_another_study() -> None:
    source, study = make_study(), make_study(items=0)
    theirs = make_invitation(study=source, name="anna")
    make_assignment(participant=make_participant(study=source, worker=theirs.worker))
    make_invitation(study=study, name="anna")
    with pytest.raises(Invalid, match="already the name of another person"):
        invite_participants(study=study, of=source, actor="lab")
    with pytest.raises(Invalid, match="its own participants"):
        invite_participants(study=study, of=study, actor="lab")


def test_names_that_cannot_be_stored_are_refused_all_at_once() -> None:
    study: Study = make_study(items=0)
    with pytest.raises(Invalid) as caught:
        invite(study=study, names=["x" * 101, "a\x00b", "fine"], actor="lab")
    assert len(caught.value.problems) == 2
    assert not Invitation.objects.exists()
