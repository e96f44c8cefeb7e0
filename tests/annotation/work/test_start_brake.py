"""One address cannot take all places of an open study by starting without working; everybody else can still start."""

from __future__ import annotations

from typing import Any

import pytest
from django.conf import LazySettings
from django.db.models import F
from django.test import Client
from django.urls import reverse

from annotation.identity import SIMULATED, simulated_worker
from annotation.models import Hit, Participant, Study
from annotation.tokens import bot_token
from tests.annotation.pages import Fields, WorkerBrowser, fields
from tests.factories import make_invitation, make_study

pytestmark = pytest.mark.django_db
MOST = 3


@pytest.fixture
def study(settings: LazySettings) -> Study:
    settings.UNSENT_PER_ADDRESS = MOST
    return make_study(items=2, ratings_per_item=10, hits_per_worker=None)


def start(study: Study, *, address: str = "192.0.2.7", **query: str) -> Any:
    client = Client(REMOTE_ADDR=address)
    url = reverse("study_start", args=[study.slug])
    form: Fields = fields(client.get(url, query))
    return client.post(url + form_query(query), {"start": form.values.get("start", ""), "agree": "yes"})


def form_query(query: dict[str, str]) -> str:
    return "?" + "&".join(f"{name}={value}" for name, value in query.items()) if query else ""


def statuses(study: Study, count: int, **source: str) -> list[int]:
    return [start(study, **source).status_code for _ in range(count)]


def test_so_many_may_start_from_an_address_and_no_more(study: Study) -> None:
    assert statuses(study, MOST + 2) == [303] * MOST + [429] * 2
    assert Participant.objects.count() == MOST
    assert statuses(study, 1, address="192.0.2.8") == [303]


def test_the_page_says_what_to_do(study: Study) -> None:
    statuses(study, MOST)
    refused = start(study)
    text = fields(refused).text
    assert "3 people started this study from your network without finishing a task" in text
    assert "ask the researchers for a personal link" in text
    assert refused.headers["Retry-After"] == "600"


def test_addresses_of_one_ipv6_customer_count_together(study: Study) -> None:
    assert [start(study, address=f"2001:db8::{number}").status_code for number in range(1, 6)] == [303] * 3 + [429] * 2
    assert statuses(study, 1, address="2001:db8:0:1::1") == [303]


def test_another_study_has_its_own_count(study: Study) -> None:
    statuses(study, MOST)
    assert statuses(make_study(items=1), 1) == [303]


def test_finishing_a_task_makes_room_for_one_more_person(study: Study) -> None:
    statuses(study, MOST)
    worker = WorkerBrowser(Participant.objects.earliest("pk"))
    worker.finish()
    assert statuses(study, 2) == [303, 429]
    worker.finish()  # a second hit of the same person
    assert statuses(study, 1) == [429]


def test_pressing_the_button_twice_counts_once(study: Study) -> None:
    client = Client(REMOTE_ADDR="192.0.2.7")
    url = reverse("study_start", args=[study.slug])
    form = {"start": fields(client.get(url)).values["start"]}
    assert [client.post(url, form).status_code for _ in range(3)] == [303] * 3
    assert Participant.objects.count() == 1
    assert statuses(study, MOST) == [303, 303, 429]


def test_personal_links_and_simulated_workers_are_not_counted(study: Study) -> None:
    statuses(study, MOST)
    invitation = make_invitation(study=study)
    assert start(study, k=invitation.key).status_code == 303
    assert simulated_worker(study, "ada").platform == SIMULATED
    assert start(study, bot=bot_token(study.pk, name="ada", profile="careful")).status_code == 303
    assert statuses(study, 1) == [429]


def test_people_who_have_started_are_let_in_again(study: Study) -> None:
    first = start(study)
    statuses(study, MOST)
    assert Client(REMOTE_ADDR="192.0.2.7").get(first.headers["Location"]).status_code == 200


def test_a_study_that_admits_nobody_counts_nobody(study: Study) -> None:
    hits = Hit.objects.filter(study=study)
    hits.update(n_live=F("wanted"), n_submitted=F("wanted"))
    url = reverse("study_start", args=[study.slug])
    assert [Client(REMOTE_ADDR="192.0.2.7").get(url).status_code for _ in range(MOST + 1)] == [403] * (MOST + 1)
    hits.update(n_live=0, n_submitted=0)
    assert statuses(study, 1) == [303]


def test_without_a_limit_everybody_may_start(study: Study, settings: LazySettings) -> None:
    settings.UNSENT_PER_ADDRESS = 0
    assert statuses(study, MOST + 2) == [303] * (MOST + 2)
