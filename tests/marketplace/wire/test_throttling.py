"""The limit on requests: processes share it exactly, with Redis and without, and clients recover from it."""

import multiprocessing
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
import redis
from botocore.exceptions import ClientError

from marketplace.wire import throttling
from marketplace.wire.errors import ThrottlingError
from tests.marketplace.support.clients import Key, boto3_client, call

RATE, BURST, SECONDS, PROCESSES = 50, 100, 1.0, 4
Taker = Callable[[], bool]


# --- Several processes at once ------------------------------------------------------------------------------


def from_file(path: str) -> bool:
    return throttling.taken_from_file(Path(path), rate=RATE, burst=BURST)


def from_redis(address: str, key: str) -> bool:
    return throttling.taken_from_redis(address, key, rate=RATE, burst=BURST)


def ask_until(end: float, take: Callable[..., bool], arguments: tuple[str, ...]) -> int:
    """How many tokens one process gets by asking without a pause."""
    taken = 0
    while time.time() < end:
        taken += take(*arguments)
    return taken


def taken_by_all(take: Callable[..., bool], *arguments: str) -> tuple[int, float]:
    """How many tokens all processes got together, and in how many seconds."""
    with multiprocessing.get_context("spawn").Pool(PROCESSES) as pool:
        pool.starmap(ask_until, [(time.time() + 0.2, bool, ())] * PROCESSES)  # all have started and imported
        begin = time.time()
        jobs = [pool.apply_async(ask_until, (begin + SECONDS, take, arguments)) for _ in range(PROCESSES)]
        return sum(job.get(timeout=60) for job in jobs), time.time() - begin


def assert_exact(taken: int, seconds: float) -> None:
    """A full bucket and what flowed in meanwhile: no token was taken twice."""
    assert BURST <= taken <= BURST + RATE * seconds + 1


def test_processes_of_one_machine_share_a_bucket_exactly(tmp_path: Path) -> None:
    assert_exact(*taken_by_all(from_file, str(tmp_path / "bucket")))


@pytest.mark.redis
def test_processes_share_a_bucket_in_redis_exactly(redis_url: str, bucket: str) -> None:
    assert_exact(*taken_by_all(from_redis, redis_url, bucket))


@pytest.fixture
def bucket(redis_url: str) -> Iterator[str]:
    """The key of a bucket that nobody else uses."""
    key = f"hitserver:test:{uuid.uuid4()}"
    yield key
    redis.Redis.from_url(redis_url).delete(key)


@pytest.mark.redis
def test_a_bucket_in_redis_is_forgotten_when_it_must_be_full_again(redis_url: str, bucket: str) -> None:
    throttling.taken_from_redis(redis_url, bucket, rate=10, burst=100)

    assert 60 < redis.Redis.from_url(redis_url).ttl(bucket) <= 70


@pytest.mark.redis
def test_a_bucket_in_redis_fills_at_the_rate(redis_url: str, bucket: str) -> None:
    def take() -> bool:
        return throttling.taken_from_redis(redis_url, bucket, rate=4, burst=2)

    assert [take(), take(), take()] == [True, True, False]
    time.sleep(0.3)
    assert [take(), take()] == [True, False]


# --- One process --------------------------------------------------------------------------------------------


@pytest.fixture
def now() -> Iterator[Any]:
    with patch("marketplace.wire.throttling.time.time", return_value=1000.0) as clock:
        yield clock


def test_a_bucket_fills_at_the_rate_and_no_further_than_the_burst(tmp_path: Path, now: Any) -> None:
    def take() -> bool:
        return throttling.taken_from_file(tmp_path / "bucket", rate=2, burst=3)

    assert [take() for _ in range(4)] == [True, True, True, False]
    now.return_value += 0.5
    assert [take(), take()] == [True, False]
    now.return_value += 3600
    assert [take() for _ in range(4)] == [True, True, True, False]


def test_a_clock_that_is_set_back_neither_fills_nor_empties_a_bucket(tmp_path: Path, now: Any) -> None:
    def take() -> bool:
        return throttling.taken_from_file(tmp_path / "bucket", rate=1, burst=2)

    assert take()
    now.return_value -= 3600
    assert [take(), take()] == [True, False]
    now.return_value += 1
    assert [take(), take()] == [True, False]


def test_a_bucket_that_was_half_written_is_full(tmp_path: Path) -> None:
    (tmp_path / "bucket").write_bytes(b"\x01\x02")

    assert throttling.taken_from_file(tmp_path / "bucket", rate=1, burst=1)


def test_without_a_rate_there_is_no_limit(settings: Any, tmp_path: Path) -> None:
    settings.VAR, settings.MARKETPLACE_RATE_LIMIT, settings.MARKETPLACE_RATE_BURST = tmp_path, 0, 1

    for _ in range(5):
        throttling.take_token(1)
    assert list(tmp_path.iterdir()) == []


def test_redis_that_is_away_stops_nobody(settings: Any, caplog: pytest.LogCaptureFixture, tmp_path: Path) -> None:
    cache = {"BACKEND": "django.core.cache.backends.redis.RedisCache", "LOCATION": "redis://127.0.0.1:1"}
    settings.CACHES, settings.VAR = {"default": cache}, tmp_path
    settings.MARKETPLACE_RATE_LIMIT, settings.MARKETPLACE_RATE_BURST = 1, 2
    throttling.outage.forget()

    throttling.take_token(1)
    throttling.take_token(1)
    with pytest.raises(ThrottlingError):  # counted on this machine
        throttling.take_token(1)
    assert [record.levelname for record in caplog.records] == ["WARNING"]


def test_installations_that_share_a_redis_have_their_own_buckets(settings: Any) -> None:
    one = throttling._bucket_key(1)
    settings.SECRET_KEY = "another" * 10

    assert throttling._bucket_key(1) != one


# --- As clients see it --------------------------------------------------------------------------------------


@pytest.mark.django_db
def test_more_requests_than_allowed_are_refused_until_time_has_passed(
    client: Any, stranger: Any, settings: Any, now: Any
) -> None:
    settings.MARKETPLACE_RATE_BURST, settings.MARKETPLACE_RATE_LIMIT = 3, 1
    for _ in range(3):
        client.get_account_balance()
    with pytest.raises(ClientError) as refused:
        client.get_account_balance()
    stranger.get_account_balance()
    now.return_value += 1
    client.get_account_balance()

    assert refused.value.response["Error"] == {"Code": "ThrottlingException", "Message": "Rate exceeded"}
    assert refused.value.response["ResponseMetadata"]["HTTPStatusCode"] == 400


@pytest.mark.django_db
def test_the_refusal_is_the_one_that_amazon_gives(base_url: str, key: Key, settings: Any) -> None:
    """Its type and words are in allenai/amti#12; HTTP 400 in AWS's list of errors that all services share."""
    settings.MARKETPLACE_RATE_BURST, settings.MARKETPLACE_RATE_LIMIT = 1, 1
    call(base_url, key, "GetAccountBalance")

    answer = call(base_url, key, "GetAccountBalance")

    assert (answer.status, answer.json()) == (400, {"__type": "ThrottlingException", "message": "Rate exceeded"})


@pytest.mark.django_db
@pytest.mark.parametrize("mode", ["legacy", "standard", "adaptive"])
def test_every_retry_mode_of_boto3_survives_it(base_url: str, key: Key, settings: Any, mode: str) -> None:
    settings.MARKETPLACE_RATE_BURST, settings.MARKETPLACE_RATE_LIMIT = 2, 5
    patient = boto3_client(base_url, key, attempts=10, mode=mode)

    answers = [patient.get_account_balance() for _ in range(6)]

    assert [answer["AvailableBalance"] for answer in answers] == ["1000.00"] * 6
    assert sum(answer["ResponseMetadata"]["RetryAttempts"] for answer in answers) > 0
