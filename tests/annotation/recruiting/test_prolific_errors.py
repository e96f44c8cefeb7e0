"""What goes wrong with Prolific's API, in plain words: what happened, and what to do."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from annotation.models import Payment, PlatformCall, Posting, Study
from annotation.platforms import PlatformTrouble
from annotation.platforms.prolific.api import Account, Api
from annotation.platforms.prolific.platform import Prolific
from tests.annotation.recruiting.prolific_server import TOKEN, Answer, prolific_server
from tests.annotation.recruiting.prolific_server import Prolific as Server
from tests.factories import make_study


@pytest.fixture
def server() -> Iterator[Server]:
    with prolific_server() as state:
        yield state


@pytest.fixture
def waits() -> list[float]:
    return []


@pytest.fixture
def api(server: Server, waits: list[float]) -> Api:
    return Api(Account(server.address, TOKEN), sleep=waits.append)


def busy(**headers: str) -> Answer:
    return Answer(429, {"error": {"title": "Too many requests"}}, headers=headers)


def failing() -> Answer:
    return Answer(502, "<html>Bad gateway</html>", "text/html")


def test_too_many_requests_are_sent_again_later(api: Api, server: Server, waits: list[float]) -> None:
    server.answer_with = [busy(), busy(), busy(**{"Retry-After": "7"}), busy(**{"Retry-After": "9999"})]
    assert api.send("GET", "users/me/")["id"] == "r"
    assert waits == [1.0, 2.0, 7.0, 60.0]


def test_after_the_last_attempt_it_gives_up(api: Api, server: Server, settings: Any) -> None:
    settings.PROLIFIC_ATTEMPTS = 2
    server.answer_with = [busy(), busy(), busy()]
    with pytest.raises(PlatformTrouble, match="status 429: Too many requests") as trouble:
        api.send("GET", "users/me/")
    assert (trouble.value.again, trouble.value.may_be_done, len(server.requests)) == (True, False, 2)


def test_a_failing_server_is_asked_again_only_where_that_is_safe(api: Api, server: Server) -> None:
    server.answer_with = [failing()]
    assert api.send("GET", "users/me/")
    server.requests.clear()
    server.answer_with = [failing()]
    with pytest.raises(PlatformTrouble, match="status 502: it sent a web page") as trouble:
        api.send("POST", "studies/", {"name": "x"}, repeat=False)
    assert (trouble.value.again, trouble.value.may_be_done, len(server.requests)) == (True, True, 1)


def test_a_refusal_after_a_lost_answer_may_still_have_had_an_effect(api: Api, server: Server) -> None:
    server.answer_with = [failing(), Answer(400, {"error": {"detail": "Done before."}})]
    with pytest.raises(PlatformTrouble, match=r"Done before\.") as trouble:
        api.send("POST", "submissions/1/transition/", {"action": "APPROVE"})
    assert trouble.value.may_be_done


def test_a_wrong_token_is_named(server: Server) -> None:
    with pytest.raises(PlatformTrouble, match=r"status 401.* Check HITSERVER_PROLIFIC_TOKEN"):
        Api(Account(server.address, "another")).send("GET", "users/me/")


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (Answer(200, "<html>Sign in</html>", "text/html"), "with a web page, not data"),
        (Answer(200, "[1,", "application/json; charset=utf-8"), "not JSON"),
        (Answer(302, "", "text/html", {"Location": "http://127.0.0.1:9/"}), "status 302"),
        (Answer(404, "<html>", "text/html"), "status 404: it sent a web page"),
        (Answer(400, {"error": {"title": "Bad Request", "detail": {"reward": ["Too low."]}}}), r"Too low\."),
        (Answer(400, ["strange"]), "strange"),
    ],
)
def test_an_answer_that_is_not_from_the_api_is_explained(answer: Answer, said: str, api: Api, server: Server) -> None:
    server.answer_with = [answer]
    with pytest.raises(PlatformTrouble, match=said) as trouble:
        api.send("GET", "users/me/")
    assert not trouble.value.again


def test_an_address_without_a_server_is_reported(waits: list[float]) -> None:
    with pytest.raises(PlatformTrouble, match=r"did not answer.* Check HITSERVER_PROLIFIC_API") as trouble:
        Api(Account("http://127.0.0.1:9/api/v1/", TOKEN), sleep=waits.append).send("POST", "studies/", {}, repeat=False)
    assert (trouble.value.again, trouble.value.may_be_done, len(waits)) == (True, False, 4)


def test_a_link_to_another_host_never_gets_the_token(api: Api) -> None:
    with pytest.raises(PlatformTrouble, match=r"a link to elsewhere\.example"):
        api.page("studies/", "https://elsewhere.example/api/v1/studies/?page=2")


def test_an_invalid_list_is_refused(api: Api, server: Server) -> None:
    server.answer_with = [Answer(200, {"results": None})]
    with pytest.raises(PlatformTrouble, match="not a list"):
        api.page("studies/")


def test_without_a_token_nothing_is_sent(settings: Any) -> None:
    settings.PROLIFIC_TOKEN = ""
    with pytest.raises(PlatformTrouble, match="set HITSERVER_PROLIFIC_TOKEN"):
        Prolific.connected()


def test_the_balance_is_in_whole_units(api: Api) -> None:
    assert str(Prolific(api).balance()) == "450.5"


def test_a_balance_in_another_currency_is_not_shown_as_dollars(api: Api, server: Server) -> None:
    server.currency = "GBP"
    assert Prolific(api).balance() is None


@pytest.mark.django_db(transaction=True)
def test_the_command_says_what_is_wrong_and_loses_nothing(server: Server, settings: Any) -> None:
    settings.PROLIFIC_API, settings.PROLIFIC_TOKEN = server.address, "wrong"
    make_study(live=False, slug="weather", reward=1, estimated_minutes=5)
    with pytest.raises(CommandError, match=r"status 401.* Check HITSERVER_PROLIFIC_TOKEN"):
        call_command("study", "publish", "weather", "--platform", "prolific")
    settings.PROLIFIC_TOKEN = TOKEN
    settings.PROLIFIC_API = server.address.replace("/api/v1/", "/elsewhere/")
    with pytest.raises(CommandError, match="status 404"):
        call_command("study", "publish", "weather", "--platform", "prolific")
    assert (Study.objects.get().status, Posting.objects.count(), PlatformCall.objects.count()) == ("draft", 0, 0)
    settings.PROLIFIC_API = server.address
    call_command("study", "publish", "weather", "--platform", "prolific")
    assert Posting.objects.get().state == "open"
    assert not Payment.objects.exists()
