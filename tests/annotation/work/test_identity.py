"""How a study tells arrivals apart: not at all, by browser, or by a panel's id; and who is turned away."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotation.models import Assignment, Participant, Study, Worker
from annotation.people.invitations import invite
from annotation.tokens import bot_token, participant_token
from tests.annotation.pages import fields
from tests.factories import make_assignment, make_participant, make_study, make_submission

if TYPE_CHECKING:
    from django.test.client import _MonkeyPatchedWSGIResponse as Response  # what the test client gives

pytestmark = pytest.mark.django_db
KEY = "0123456789abcdef0123456789abcdef"


def url_of(study: Study, query: str = "") -> str:
    return reverse("study_start", args=[study.slug]) + query


def start(study: Study, query: str = "", **sent: str) -> Response:
    """Open the start page in a new browser and press its button."""
    client = Client()
    form = fields(client.get(url_of(study, query))).values
    return client.post(url_of(study, query), form | sent)


def participant(response: Response) -> Participant:
    """Whose page the start button leads to."""
    assert response.status_code == 303, response.content.decode()
    found = [each for each in Participant.objects.all() if participant_token(each.pk) in response.headers["Location"]]
    assert len(found) == 1
    return found[0]


# --- not at all ---


def test_an_open_link_makes_a_new_person_of_every_visit() -> None:
    study = make_study(ratings_per_item=9)
    assert participant(start(study)) != participant(start(study))
    assert b"work.js" not in Client().get(url_of(study)).content
    assert participant(start(study, browser=KEY)).worker.platform == "link"


# --- one participation per browser ---


def test_a_browser_is_one_person_in_all_studies_of_the_server() -> None:
    study, other = (make_study(identity="browser", ratings_per_item=9) for _ in range(2))
    first = participant(start(study, browser=KEY))
    assert participant(start(study, browser=KEY)) == first
    assert participant(start(other, browser=KEY)).worker == first.worker
    assert participant(start(study, browser=KEY[::-1])) != first


def test_the_page_has_a_place_for_the_key_and_the_script_that_fills_it() -> None:
    page = Client().get(url_of(make_study(identity="browser")))
    assert fields(page).values["browser"] == ""
    assert b"work.js" in page.content


@pytest.mark.parametrize("key", ["", "1", "x" * 5000, "<script>alert(1)</script>", "a" * 19 + "\x00"])
def test_without_a_valid_key_everybody_is_a_new_person(key: str) -> None:
    study = make_study(identity="browser", ratings_per_item=9)
    people = [participant(start(study, browser=key)) for _ in range(2)]
    assert people[0] != people[1]
    assert {person.worker.platform for person in people} == {"link"}


def test_a_known_browser_continues_after_the_study_is_closed_and_a_start_must_be_genuine() -> None:
    study = make_study(identity="browser")
    first = participant(start(study, browser=KEY))
    forged = Client().post(url_of(study), {"start": "1-1.forged", "browser": KEY[::-1]})
    assert forged.status_code == 404
    Study.objects.update(status="closed")
    assert participant(Client().post(url_of(study), {"start": "", "browser": KEY})) == first
    assert Client().post(url_of(study), {"start": "", "browser": KEY[::-1]}).status_code == 410


def test_people_who_come_back_need_not_agree_again() -> None:
    study = make_study(identity="browser", consent="We publish your answers.")
    first = participant(start(study, browser=KEY, agree="yes"))
    assert participant(start(study, browser=KEY)) == first


# --- a panel's ids ---


@pytest.fixture
def panel_study() -> Study:
    return make_panel_study()


def make_panel_study(**values: Any) -> Study:
    values = {"identity": "parameter", "identity_parameter": "PROLIFIC_PID", "panel": "prolific"} | values
    return make_study(ratings_per_item=9, **values)


def test_the_same_id_of_one_panel_is_the_same_person(panel_study: Study) -> None:
    first = participant(start(panel_study, "?PROLIFIC_PID=5f1b&STUDY_ID=9", browser=KEY))
    assert participant(start(panel_study, "?PROLIFIC_PID=5f1b", browser=KEY)) == first
    assert participant(start(panel_study, "?PROLIFIC_PID=5f1c", browser=KEY)) != first
    assert participant(start(make_panel_study(), "?PROLIFIC_PID=5f1b")).worker == first.worker
    other_panel = make_panel_study(panel="sona", identity_parameter="id")
    assert participant(start(other_panel, "?id=5f1b")).worker != first.worker


@pytest.mark.parametrize("status", ["live", "paused", "closed"])
@pytest.mark.parametrize("key", ["", KEY[::-1]], ids=["without a key", "with another key"])
def test_who_only_knows_the_id_of_somebody_gets_nothing_of_theirs(panel_study: Study, key: str, status: str) -> None:
    """Neither their page, nor whether they have started."""
    theirs = participant(start(panel_study, "?PROLIFIC_PID=5f1b", browser=KEY))
    client = Client()
    form = fields(client.get(url_of(panel_study, "?PROLIFIC_PID=5f1b"))).values
    Study.objects.filter(pk=panel_study.pk).update(status=status)
    mine, nobodys = (client.get(url_of(panel_study, f"?PROLIFIC_PID={name}")) for name in ("5f1b", "5f1c"))
    assert mine.status_code == nobodys.status_code
    assert fields(mine).text == fields(nobodys).text
    for sent in ({"browser": key}, {"browser": key, "return": "1"}):
        refused = client.post(url_of(panel_study, "?PROLIFIC_PID=5f1b"), form | sent)
        assert refused.status_code != 303
        for secret in (participant_token(theirs.pk), theirs.completion_code):
            assert secret not in mine.content.decode() + refused.content.decode()
    assert Participant.objects.count() == 1


def test_who_cannot_come_back_in_this_browser_is_told_where_they_can(panel_study: Study) -> None:
    start(panel_study, "?PROLIFIC_PID=5f1b", browser=KEY)
    refused = start(panel_study, "?PROLIFIC_PID=5f1b", browser=KEY[::-1])
    assert refused.status_code == 403
    assert "You cannot continue in this browser" in fields(refused).text
    assert "write to the researchers" in fields(refused).text


@pytest.mark.parametrize("status", ["paused", "closed"])
def test_the_browser_that_started_gets_back_when_the_study_admits_nobody_new(panel_study: Study, status: str) -> None:
    mine = participant(start(panel_study, "?PROLIFIC_PID=5f1b", browser=KEY))
    Study.objects.filter(pk=panel_study.pk).update(status=status)
    client, url = Client(), url_of(panel_study, "?PROLIFIC_PID=5f1b")
    assert b'id="known-here" hidden' in client.get(url).content
    assert participant(client.post(url, {"return": "1", "browser": KEY})) == mine


def test_the_button_can_be_pressed_twice_without_browser_storage(panel_study: Study) -> None:
    client, url = Client(), url_of(panel_study, "?PROLIFIC_PID=5f1b")
    form = fields(client.get(url)).values | {"browser": ""}
    assert participant(client.post(url, form)) == participant(client.post(url, form))


def test_what_is_stored_of_the_key_says_nothing_about_other_studies(panel_study: Study) -> None:
    others = [start(study, "?PROLIFIC_PID=5f1b", browser=KEY) for study in (panel_study, make_panel_study())]
    stored = {participant(each).returns_with for each in others}
    assert len(stored) == 2
    assert KEY not in stored


@pytest.mark.parametrize("query", ["", "?PROLIFIC_PID=", "?PROLIFIC_PID={{%25PROLIFIC_PID%25}}", "?prolific_pid=5f1b"])
def test_a_link_without_an_id_is_explained(panel_study: Study, query: str) -> None:
    client = Client()
    for response in (client.get(url_of(panel_study, query)), client.post(url_of(panel_study, query))):
        assert response.status_code == 400
        assert "Your id is missing from this link" in fields(response).text
    assert not Worker.objects.exists()


def test_the_preview_and_the_way_back_keep_the_id(panel_study: Study) -> None:
    page = Client().get(url_of(panel_study, "?PROLIFIC_PID=5f1b"))
    preview = reverse("study_preview", args=[panel_study.slug])
    assert f"{preview}?PROLIFIC_PID=5f1b" in page.content.decode()
    html = Client().get(f"{preview}?PROLIFIC_PID=5f1b").content.decode()
    assert f'href="{url_of(panel_study, "?PROLIFIC_PID=5f1b")}"' in html
    assert 'href="?step=2&amp;PROLIFIC_PID=5f1b"' in html
    assert Client().get(preview).status_code == 200


# --- who is turned away ---


def test_people_who_took_part_in_a_related_study_see_a_message() -> None:
    earlier, study = make_panel_study(), make_panel_study()
    study.exclude_studies.add(earlier)
    make_submission(participant=participant(start(earlier, "?PROLIFIC_PID=5f1b")))
    response = start(study, "?PROLIFIC_PID=5f1b")
    assert response.status_code == 403
    assert "You have already taken part in a related study" in fields(response).text
    assert participant(start(study, "?PROLIFIC_PID=5f1c"))


def test_people_who_join_a_related_study_after_the_start_keep_their_task_and_get_no_other() -> None:
    earlier, study = make_panel_study(), make_panel_study()
    study.exclude_studies.add(earlier)
    started = start(study, "?PROLIFIC_PID=5f1b")
    make_submission(participant=participant(start(earlier, "?PROLIFIC_PID=5f1b")))
    assert "Step 1 of" in fields(Client().get(started.headers["Location"])).text
    Assignment.objects.filter(hit__study=study).update(state="returned")
    page = fields(Client().get(started.headers["Location"]))
    assert "You have already taken part in a related study" in page.text
    assert "Next task" not in page.text


def test_a_complete_study_says_so_and_offers_no_start() -> None:
    study = make_study(items=1, ratings_per_item=1)
    client = Client()
    form = fields(client.get(url_of(study))).values
    make_submission(study=study)
    for response in (client.get(url_of(study)), client.post(url_of(study), form)):
        assert response.status_code == 403
        assert "all the participants it needs" in fields(response).text
        assert "you can still send the task you are working on" in fields(response).text
        assert b"<form" not in response.content
    assert Participant.objects.count() == 1


def test_a_study_whose_tasks_are_all_being_done_asks_to_look_again() -> None:
    study = make_study(items=1, ratings_per_item=1)
    assignment = make_assignment(study=study)
    response = Client().get(url_of(study))
    assert response.status_code == 403
    assert "All tasks are taken right now" in fields(response).text
    Assignment.objects.filter(pk=assignment.pk).update(expires_at=timezone.now() - timedelta(minutes=1))
    assert "start" in fields(Client().get(url_of(study))).values


def test_an_arm_that_has_its_participants_counts_as_full() -> None:
    study = make_study(items=2, ratings_per_item=3, arms=[{"name": "a", "wanted": 1}, {"name": "b", "wanted": 1}])
    make_submission(study=study)
    assert Client().get(url_of(study)).status_code == 200
    make_submission(study=study)
    assert "all the participants it needs" in fields(Client().get(url_of(study))).text


@pytest.mark.parametrize("status", ["live", "paused", "closed"])
def test_a_browser_with_an_open_task_gets_back_to_it_when_the_study_admits_nobody_new(status: str) -> None:
    study = make_study(items=1, ratings_per_item=1, identity="browser", consent="You may stop at any time.")
    mine = participant(start(study, browser=KEY, agree="yes"))
    make_assignment(participant=mine)
    Study.objects.filter(pk=study.pk).update(status=status)
    client = Client()
    page = client.get(url_of(study))
    form = fields(page).values
    assert b'id="known-here" hidden' in page.content
    assert client.post(url_of(study), form | {"browser": KEY}).headers["Location"].startswith("/w/")
    stranger = client.post(url_of(study), form | {"browser": KEY[::-1]})
    assert stranger.status_code == page.status_code
    assert "Open my page" in fields(stranger).text
    assert Participant.objects.count() == 1


# --- simulated workers ---


def test_a_bot_shows_a_token_that_only_this_server_makes() -> None:
    study = make_study(access=Study.Access.INVITED)
    token = bot_token(study.pk, name="bot-1", profile="noisy")
    bot = participant(start(study, f"?bot={token}"))
    assert (bot.synthetic, bot.worker.synthetic, bot.profile) == (True, True, "noisy")
    assert participant(start(study, f"?bot={token}")) == bot
    other = bot_token(make_study().pk, name="bot-1", profile="noisy")
    for forged in (other, token[:-1], "1~noisy~bot"):
        assert Client().get(url_of(study, f"?bot={forged}")).status_code == 404
        assert Client().post(url_of(study, f"?bot={forged}")).status_code == 404
    assert not make_participant(study=make_study()).synthetic


# --- what the start page says about arms ---


def started_links(study: Study) -> list[str]:
    """Personal links of two people who have started, the first in the first arm."""
    links = [url_of(study, f"?k={each.key}") for each in invite(study=study, names=["a", "b"], actor="test")]
    for link in links:
        start(study, link.partition("/s/" + study.slug + "/")[2])
    return links


def test_before_an_arm_is_known_the_start_page_promises_the_least_reward() -> None:
    study = make_panel_study(arms=[{"name": "low", "reward": "0.10"}, {"name": "high", "reward": "0.50"}])
    assert "Reward at least $0.10" in fields(Client().get(url_of(study, "?PROLIFIC_PID=a"))).text
    for link, reward in zip(started_links(study), ("0.10", "0.50"), strict=True):
        assert f"Reward ${reward}" in fields(Client().get(link)).text


def test_instructions_of_one_arm_are_not_shown_to_those_of_another() -> None:
    arms = [{"name": "plain"}, {"name": "told", "texts": {"instructions": "Prefer the longer set."}}]
    study = make_panel_study(arms=arms, texts={"instructions": "Read the set."})
    page = fields(Client().get(url_of(study, "?PROLIFIC_PID=a")))
    assert "Read the set." in page.text
    assert "longer" not in page.text
    for link, said in zip(started_links(study), ("Read the set.", "Prefer the longer set."), strict=True):
        assert said in fields(Client().get(link)).text
