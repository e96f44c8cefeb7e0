"""How many requests the marketplace answers, with its real processes on this machine.

    python -m bench.marketplace [--seconds 10] [--clients 4] [--assignments 10000] [--rate-limit 0]

Measures CreateHIT, ListAssignmentsForHIT (all pages of one HIT's assignments) and accept+submit, each over HTTP (the
last one by the workers' site's own services, in this process, on the same database: it is what a page does without its
template). DATABASE_URL chooses PostgreSQL; without it a fresh SQLite database is used.
"""

import argparse
import os
import statistics
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

QUESTION = (
    '<ExternalQuestion xmlns="http://mechanicalturk.amazonaws.com/AWSMechanicalTurkDataSchemas/2006-07-14/'
    'ExternalQuestion.xsd"><ExternalURL>https://example.org/work</ExternalURL><FrameHeight>600</FrameHeight>'
    "</ExternalQuestion>"
)
HIT = {
    "Title": "Rate ten sentences",
    "Description": "Read ten sentences and say how natural they are.",
    "Reward": "0.05",
    "AssignmentDurationInSeconds": 3600,
    "LifetimeInSeconds": 7 * 24 * 3600,
    "MaxAssignments": 3,
    "Question": QUESTION,
}


@dataclass(frozen=True)
class Measure:
    """What was done how often in how long; `times` are single calls in seconds."""

    name: str
    times: list[float]
    seconds: float

    def __str__(self) -> str:
        cuts = statistics.quantiles(self.times, n=100) if len(self.times) > 1 else self.times * 99
        rate = len(self.times) / self.seconds
        return f"{self.name:<42} {rate:9.1f}/s   median {cuts[49] * 1e3:7.1f} ms   p95 {cuts[94] * 1e3:7.1f} ms"


def measure(name: str, act: Callable[[int], None], *, clients: int, seconds: float) -> Measure:
    """Lets so many threads act over and over until the time is up. The first failure ends it."""
    times: list[float] = []
    failures: list[BaseException] = []
    begin = time.perf_counter()

    def go(number: int) -> None:
        try:
            while time.perf_counter() - begin < seconds and not failures:
                started = time.perf_counter()
                act(number)
                times.append(time.perf_counter() - started)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=go, args=(number,)) for number in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
    return Measure(name, times, time.perf_counter() - begin)


def client(base_url: str, key_id: str, secret: str) -> Any:
    import boto3
    from botocore.config import Config

    return boto3.session.Session().client(
        "mturk",
        endpoint_url=f"{base_url}/marketplace/api/",
        region_name="us-east-1",
        aws_access_key_id=key_id,
        aws_secret_access_key=secret,
        config=Config(max_pool_connections=64),
    )


def create_hits(base_url: str, key: tuple[str, str], options: argparse.Namespace) -> Measure:
    clients = [client(base_url, *key) for _ in range(options.clients)]
    return measure(
        f"CreateHIT, {options.clients} clients",
        lambda number: clients[number].create_hit(**HIT),
        clients=options.clients,
        seconds=options.seconds,
    )


def list_assignments(base_url: str, key: tuple[str, str], hit_id: str, options: argparse.Namespace) -> list[Measure]:
    mturk, found = client(base_url, *key), 0
    times: list[float] = []
    token: dict[str, str] = {}
    begin = time.perf_counter()
    while True:
        started = time.perf_counter()
        page = mturk.list_assignments_for_hit(HITId=hit_id, MaxResults=100, **token)
        times.append(time.perf_counter() - started)
        found += len(page["Assignments"])
        if not page.get("NextToken"):
            break
        token = {"NextToken": page["NextToken"]}
    if found != options.assignments:
        raise AssertionError(f"{found} assignments were listed, not {options.assignments}.")
    seconds = time.perf_counter() - begin
    print(f"All {found} assignments of a HIT in {seconds:.2f} s.")
    return [Measure("ListAssignmentsForHIT, a page of 100", times, seconds)]


def submitted_assignments(requester: Any, hit_id: str, number: int) -> None:
    """Fills a HIT with submitted assignments, written as rows: the workers are not what is measured."""
    from django.db import transaction

    from marketplace import clock
    from marketplace.models import Assignment, Hit, Worker

    now = clock.now()
    with transaction.atomic():
        hit = Hit.objects.select_for_update().get(hit_id=hit_id)
        workers = Worker.objects.bulk_create(
            (Worker(worker_id=f"ABENCH{each:08d}", joined_at=now) for each in range(number)), batch_size=1000
        )
        Assignment.objects.bulk_create(
            (
                Assignment(
                    assignment_id=f"3BENCH{each:024d}",
                    hit=hit,
                    worker=worker,
                    state=Assignment.State.SUBMITTED,
                    reward=Decimal("0.05"),
                    fee=Decimal("0.02"),
                    accepted_at=now,
                    deadline=now + timedelta(hours=1),
                    submitted_at=now + timedelta(microseconds=each),
                    auto_approve_at=now + timedelta(days=30),
                    answer="<QuestionFormAnswers/>",
                )
                for each, worker in enumerate(workers)
            ),
            batch_size=1000,
        )
        hit.n_available, hit.n_submitted = 0, number
        hit.save(update_fields=["n_available", "n_submitted"])


def work(base_url: str, key: tuple[str, str], options: argparse.Namespace) -> Measure:
    """Workers who accept and submit one HIT with many places, each worker on another HIT at a time."""
    from django.db import connection

    from marketplace.models import Hit
    from marketplace.services import accounts, assignments

    mturk = client(base_url, *key)
    many = {**HIT, "MaxAssignments": 2000}
    hits = [Hit.objects.get(hit_id=mturk.create_hit(**many)["HIT"]["HITId"]) for _ in range(options.clients)]
    workers = [
        [accounts.create_worker(name=f"b{number}-{each}", actor="bench") for each in range(2000)]
        for number in range(options.clients)
    ]

    def act(number: int) -> None:
        worker = workers[number].pop()
        assignment = assignments.accept(hit=hits[number], worker=worker)
        assignments.submit(assignment_id=assignment.assignment_id, worker=worker, answers={"rating": "4"})

    done = measure(f"accept+submit, {options.clients} workers", act, clients=options.clients, seconds=options.seconds)
    connection.close()
    return done


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--clients", type=int, default=4)
    parser.add_argument("--assignments", type=int, default=10_000)
    parser.add_argument("--rate-limit", type=int, default=0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        environment = {"HITSERVER_VAR": folder, "HITSERVER_MARKETPLACE_RATE_LIMIT": str(options.rate_limit)}
        if url := os.environ.get("DATABASE_URL"):
            environment["DATABASE_URL"] = url
        os.environ |= environment
        os.environ.setdefault("DJANGO_SETTINGS_MODULE", "hitserver.settings")
        run(Path(folder), environment, options)


def run(folder: Path, environment: dict[str, str], options: argparse.Namespace) -> None:
    from tests.support import running_server

    with running_server(folder, env=environment) as server:
        import django

        django.setup()
        from marketplace.services import accounts, payments

        requester = accounts.create_requester(name=f"Bench {time.time():.0f}", actor="bench")
        payments.deposit(requester=requester, amount=Decimal(1_000_000), actor="bench")
        made = accounts.create_access_key(requester=requester, actor="bench")
        key = (made.key.access_key_id, made.secret)
        print(create_hits(server.base_url, key, options), flush=True)
        many = {**HIT, "MaxAssignments": options.assignments}
        hit_id = client(server.base_url, *key).create_hit(**many)["HIT"]["HITId"]
        submitted_assignments(requester, hit_id, options.assignments)
        for each in list_assignments(server.base_url, key, hit_id, options):
            print(each, flush=True)
        print(work(server.base_url, key, options), flush=True)


if __name__ == "__main__":
    main()
