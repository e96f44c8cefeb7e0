"""Many workers at once, on the real server: no place is given out twice, and nothing is missing in the end."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from annotation.work.bots import Browser, Response
from bench.load import fill
from tests.integration.racing import start, together, work_to_the_end
from tests.integration.studies import BOTH, count, count_raters, database, make_quality_study, make_study
from tests.support import Server


@BOTH
def test_twenty_workers_racing_over_twenty_items_give_exactly_three_ratings_each(
    kind: str, request: pytest.FixtureRequest, live_processes: Callable[..., Server]
) -> None:
    with database(kind, request) as env:
        server = live_processes(env=env)
        path = make_study(server, items=20, ratings=3)
        # All start before the race: a study that is complete does not admit anybody.
        started = [start(server, path, seed) for seed in range(20)]

        assert together(lambda seed: work_to_the_end(started[seed], seed, most=21), 20) == []
        found = count(server)
    assert found["ratings per item"] == [3] * 20
    assert found["hits"] == [[3, 3]] * 20
    assert found["submissions"] == 60
    assert found["states"] == {"submitted": 60}


@BOTH
def test_the_same_step_sent_ten_times_at_once_is_stored_once(
    kind: str, request: pytest.FixtureRequest, live_processes: Callable[..., Server]
) -> None:
    with database(kind, request) as env:
        server = live_processes(env=env)
        path = make_study(server, items=1, ratings=3)
        browser, address = start(server, path, 1)
        form = fill(browser.get(address).body.encode(), random.Random(1))
        answers: list[Response] = []
        assert together(lambda _: answers.append(Browser(server.base_url).post(address, form)), 10) == []
        found = count(server)
    assert {page.status for page in answers} == {303}
    assert found["submissions"] == 1
    assert found["ratings per item"] == [1]


@BOTH
def test_one_worker_opening_twelve_tabs_at_once_gets_one_hit(
    kind: str, request: pytest.FixtureRequest, live_processes: Callable[..., Server]
) -> None:
    with database(kind, request) as env:
        server = live_processes(env=env)
        path = make_study(server, items=20, ratings=3)
        browser, address = start(server, path, 1)
        assert browser  # keeps the first connection open while the tabs load
        tabs: list[Response] = []
        assert together(lambda _: tabs.append(Browser(server.base_url).get(address)), 12) == []
        found = count(server)
    assert {page.status for page in tabs} == {200}
    assert found["states"] == {"accepted": 1}
    assert sum(n_live for n_live, _ in found["hits"]) == 1


@BOTH
def test_forty_workers_starting_at_once_fill_two_arms_of_different_reward_evenly(
    kind: str, request: pytest.FixtureRequest, live_processes: Callable[..., Server]
) -> None:
    arms = [{"name": "low", "reward": "0.10"}, {"name": "high", "reward": "0.50"}]
    with database(kind, request) as env:
        server = live_processes(env=env)
        path = make_study(server, items=10, ratings=20, arms=arms)

        def work(seed: int) -> None:
            rng = random.Random(seed)
            browser, address = start(server, path, seed)
            sent = browser.post(address, fill(browser.get(address).body.encode(), rng))
            assert sent.status == 303, sent.body[:500]

        assert together(work, 40) == []
        found = count(server)
    assert [enrolled for _, enrolled, _ in found["arms"]] == [people for _, _, people in found["arms"]]
    assert abs(found["arms"][0][1] - found["arms"][1][1]) <= 1
    assert sum(people for _, _, people in found["arms"]) == found["submissions"] == 40
    assert found["rewards"] == [["high", "0.500"], ["low", "0.100"]]


@BOTH
def test_twenty_workers_racing_over_texts_in_three_hits_each_rate_no_text_twice(
    kind: str, request: pytest.FixtureRequest, live_processes: Callable[..., Server]
) -> None:
    with database(kind, request) as env:
        server = live_processes(env=env)
        path = make_quality_study(server, contexts=4, systems=15, ratings=3)  # 60 texts, 36 hits
        started = [start(server, path, seed) for seed in range(20)]

        assert together(lambda seed: work_to_the_end(started[seed], seed, most=37), 20) == []
        found = count_raters(server)
    assert found["raters"] == found["ratings"], "nobody has rated a text twice"
    assert found["raters"] == [3] * 60
    assert found["open"] == 0


@BOTH
def test_of_twenty_who_start_at_once_for_seven_places_seven_start_and_the_others_learn_it_at_once(
    kind: str, request: pytest.FixtureRequest, live_processes: Callable[..., Server]
) -> None:
    with database(kind, request) as env:
        server = live_processes(env=env)
        path = make_study(server, items=7, ratings=1)
        browsers = [Browser(server.base_url) for _ in range(20)]
        pages = [browser.get(path) for browser in browsers]
        assert all("7 tasks are free right now" in page.body for page in pages)
        answers: list[Response] = []

        def press_start(number: int) -> None:
            form = fill(pages[number].body.encode(), random.Random(number))
            answers.append(browsers[number].post(path, form))

        assert together(press_start, 20) == []
        found = count(server)
        participants = count_raters(server)["participants"]
    assert sorted(answer.status for answer in answers) == [303] * 7 + [403] * 13
    assert all("nothing about you was saved" in answer.body for answer in answers if answer.status == 403)
    assert found["states"] == {"accepted": 7}
    assert participants == 7
