"""How many requests the marketplace answers: ``python -m bench.marketplace [--seconds 10] [--clients 1,4]``.

Starts the real server as ``script/marketplace`` does, with a separate database (SQLite in a temporary folder; with
``--postgres URL``, a PostgreSQL database that is made and dropped), and measures over HTTP

- CreateHIT and ApproveAssignment with boto3, for each number of simultaneous clients, one process each;
- ListAssignmentsForHIT with boto3 over all assignments of one HIT, 100 a page: the last page must take no longer than
  the first;
- accept, open and submit on the workers' site, with ``--workers`` simultaneous workers, all on one group;
- the workers' list of groups, each with two qualification requirements.

Clients, server and database share the machine, so the figures apply to this machine under this load. ``client`` and
``server`` are milliseconds of processor time per call. They depend less on other programs, and show how much of a call
botocore spends on building, signing and parsing. Neither includes the database server's own time.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil

from bench.marketplace_clients import Target, Visitor, boto3_client, calls_at_once, work_at_once
from bench.serve import own_database
from tests.support import Server, running_server

if TYPE_CHECKING:
    from marketplace.models import Hit, Requester, Worker

SCHEMA = "http://mechanicalturk.amazonaws.com/AWSMechanicalTurkDataSchemas/2006-07-14/ExternalQuestion.xsd"
QUESTION = (
    f'<ExternalQuestion xmlns="{SCHEMA}"><ExternalURL>https://example.org/work</ExternalURL>'
    "<FrameHeight>600</FrameHeight></ExternalQuestion>"
)
HIT: dict[str, Any] = {
    "Title": "Rate ten sentences",
    "Description": "Read ten sentences and say how natural they are.",
    "Reward": "0.05",
    "AssignmentDurationInSeconds": 3600,
    "LifetimeInSeconds": 7 * 24 * 3600,
    "MaxAssignments": 3,
    "Question": QUESTION,
}
ANSWER = "<QuestionFormAnswers>" + "<Answer>4</Answer>" * 20 + "</QuestionFormAnswers>"
PAGE = 100
ROUNDS = 3  # of reading a whole list, and of opening a page
GROUPS = 100
HITS_TO_WORK_ON = 400
PLACES = 9
MOST_CALLS = 20_000  # of one client


def line(name: str, times: Sequence[float], seconds: float, *cells: str) -> None:
    cuts = statistics.quantiles(times, n=100) if len(times) > 1 else [*times] * 99 or [float("nan")] * 99
    figures = f"{len(times) / seconds:8.1f}/s {cuts[49] * 1e3:8.1f} {cuts[94] * 1e3:8.1f}"
    print(f"{name:<40} {figures} {' '.join(f'{cell:>8}' for cell in cells)}".rstrip(), flush=True)


def show_errors(errors: Sequence[str]) -> None:
    for error in sorted(set(errors))[:3]:
        print(f"  {errors.count(error)} × {error}", file=sys.stderr, flush=True)


def processor_seconds(server: Server) -> float:
    total = 0.0
    for process in server.processes():
        with suppress(psutil.NoSuchProcess):
            spent = process.cpu_times()
            total += spent.user + spent.system
    return total


# --- With boto3 ---------------------------------------------------------------------------------------------


def measure_calls(
    name: str, server: Server, target: Target, operation: str, jobs: Sequence[Sequence[dict[str, Any]]], seconds: float
) -> None:
    before = processor_seconds(server)
    done, elapsed = calls_at_once(target, operation, jobs, seconds=seconds)
    spent = processor_seconds(server) - before
    times = [each for client in done for each in client.times]
    of_clients = sum(client.cpu for client in done)
    calls = max(1, len(times))
    clients = f"{len(jobs)} client{'s' if len(jobs) > 1 else ''}"
    line(f"{name}, {clients}", times, elapsed, f"{of_clients / calls * 1e3:.1f}", f"{spent / calls * 1e3:.1f}")
    show_errors([error for client in done for error in client.errors])


def measure_creation(server: Server, target: Target, options: argparse.Namespace) -> None:
    for clients in options.clients:
        jobs = [[HIT] * MOST_CALLS for _ in range(clients)]
        measure_calls("CreateHIT", server, target, "create_hit", jobs, options.seconds)


def measure_lists(server: Server, target: Target, hit: Hit, options: argparse.Namespace) -> None:
    """Read all pages several times. Raises AssertionError if an assignment is missing or appears twice."""
    client, rounds = boto3_client(target), []
    before = processor_seconds(server)
    for _ in range(ROUNDS):
        token: dict[str, str] = {}
        times: list[float] = []
        found: list[str] = []
        while len(found) < options.assignments:
            started = time.perf_counter()
            page = client.list_assignments_for_hit(HITId=hit.hit_id, MaxResults=PAGE, **token)
            times.append(time.perf_counter() - started)
            assert page["Assignments"], f"The list ended after {len(found)} assignments."
            found += [each["AssignmentId"] for each in page["Assignments"]]
            token = {"NextToken": page["NextToken"]} if "NextToken" in page else {}
        assert len(found) == len(set(found)) == options.assignments
        rounds.append(times)
    spent = processor_seconds(server) - before
    every, total = [each for one in rounds for each in one], min(sum(one) for one in rounds)
    line(f"ListAssignmentsForHIT, {PAGE} a page", every, sum(every), "", f"{spent / len(every) * 1e3:.1f}")
    first, last = (statistics.median(one[number] for one in rounds) * 1e3 for number in (0, -1))
    print(
        f"  all {options.assignments} in {total:.2f} s; first page {first:.1f} ms, last page {last:.1f} ms", flush=True
    )


def measure_approvals(server: Server, target: Target, hit: Hit, options: argparse.Namespace) -> None:
    waiting = list(hit.assignments.order_by("pk").values_list("assignment_id", flat=True))
    share = len(waiting) // len(options.clients)
    for number, clients in enumerate(options.clients):
        ours = waiting[number * share : (number + 1) * share]
        jobs = [[{"AssignmentId": each} for each in ours[client::clients]] for client in range(clients)]
        measure_calls("ApproveAssignment, one HIT", server, target, "approve_assignment", jobs, options.seconds)


# --- On the workers' site -----------------------------------------------------------------------------------


def measure_work(server: Server, requester: Requester, options: argparse.Namespace) -> None:
    hit_type = make_hits(requester, HITS_TO_WORK_ON)
    sessions = [session_of(number) for number in range(options.workers)]
    before = processor_seconds(server)
    worked, elapsed = work_at_once(server.base_url, sessions, hit_type, seconds=options.seconds)
    spent = (processor_seconds(server) - before) / max(1, len(worked.submits)) * 1e3
    whole = [sum(parts) for parts in zip(worked.accepts, worked.pages, worked.submits, strict=False)]
    line(f"accept, open, submit, {options.workers} workers", whole, elapsed, "", f"{spent:.1f}")
    for name in ("accepts", "pages", "submits"):
        line(f"  {name}", getattr(worked, name), elapsed)
    show_errors(worked.errors)


def measure_groups(server: Server, requester: Requester) -> None:
    make_groups(requester, GROUPS)
    visitor = Visitor(server.base_url, session_of(10_000))
    times: list[float] = []
    visitor.ask("/marketplace/")
    before = processor_seconds(server)
    for _ in range(10 * ROUNDS):
        times.append(visitor.ask("/marketplace/")[1])
    spent = (processor_seconds(server) - before) / len(times) * 1e3
    line(f"List of {GROUPS} groups", times, sum(times), "", f"{spent:.1f}")


# --- The work, written by the services in this process ------------------------------------------------------


def session_of(number: int) -> str:
    """A new, signed-in worker."""
    from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
    from django.contrib.auth.models import User
    from django.contrib.sessions.backends.db import SessionStore

    from marketplace.services.accounts import worker_accounts

    user = User.objects.create(username=f"bench{number}")
    worker_accounts.create_worker(user=user, country="DE", actor="bench")
    session = SessionStore()
    session[SESSION_KEY] = str(user.pk)
    session[BACKEND_SESSION_KEY] = "django.contrib.auth.backends.ModelBackend"
    session[HASH_SESSION_KEY] = user.get_session_auth_hash()
    session.save()
    return str(session.session_key)


def make_hits(requester: Requester, number: int, *, places: int = PLACES, **of_type: Any) -> str:
    """Makes a number of new HITs and returns the id of their group."""
    from marketplace.services.hits import posting

    given: dict[str, Any] = {
        "title": "Rate one sentence",
        "description": "Read a sentence and say how natural it is.",
        "reward": Decimal("0.05"),
        "assignment_duration": 3600,
    } | of_type
    hit_type = posting.create_hit_type(requester=requester, properties=posting.Properties(**given))
    work = posting.Work(question=QUESTION, lifetime=7 * 24 * 3600, max_assignments=places)
    for _ in range(number):
        posting.create_hit(requester=requester, hit_type=hit_type, work=work)
    return hit_type.type_id


def make_groups(requester: Requester, number: int) -> None:
    from marketplace.services.qualifications import qualification_types

    terms = qualification_types.Terms(description="Knows it.", status="Active")
    for each in range(number):
        wanted = qualification_types.create_type(requester=requester, name=f"Skill {each}", terms=terms)
        needed = {"QualificationTypeId": wanted.type_id, "Comparator": "Exists"}
        country = {
            "QualificationTypeId": "00000000000000000071",
            "Comparator": "In",
            "LocaleValues": [{"Country": "DE"}, {"Country": "US"}],
        }
        make_hits(requester, 1, title=f"Group {each}", requirements=[needed, country])


def submitted_work(target: Target, number: int) -> Hit:
    """A HIT with all work submitted, written directly as rows, because this does not measure the workers."""
    from django.db import transaction

    from marketplace import clock
    from marketplace.models import Assignment, Hit, Worker

    hit_id = boto3_client(target).create_hit(**HIT | {"MaxAssignments": number})["HIT"]["HITId"]
    now = clock.now()

    def row(each: int, worker: Worker) -> Assignment:
        return Assignment(
            assignment_id=f"3BENCH{each:024d}",
            hit=hit,
            worker=worker,
            state=Assignment.State.SUBMITTED,
            reward=Decimal("0.05"),
            fee=Decimal("0.02"),  # 40 percent: ten assignments or more
            accepted_at=now,
            deadline=now + timedelta(hours=1),
            submitted_at=now + timedelta(microseconds=each),
            auto_approve_at=now + timedelta(days=30),
            answer=ANSWER,
        )

    with transaction.atomic():
        hit = Hit.objects.select_for_update().get(hit_id=hit_id)
        new = (Worker(worker_id=f"ABENCH{each:08d}", joined_at=now) for each in range(number))
        workers = Worker.objects.bulk_create(new, batch_size=500)
        Assignment.objects.bulk_create((row(each, one) for each, one in enumerate(workers)), batch_size=500)
        # Money was held for the open places and is now held for the work, so the accounts stay correct.
        hit.n_available, hit.n_submitted, hit.held_open = 0, number, Decimal(0)
        hit.state = Hit.State.REVIEWABLE
        hit.save(update_fields=["n_available", "n_submitted", "held_open", "state"])
    return hit


# --- All of it ----------------------------------------------------------------------------------------------


def run(name: str, url: str, options: argparse.Namespace) -> None:
    """Measure one database in this process only, because Django is set up once for it."""
    with tempfile.TemporaryDirectory(prefix="hitserver-bench-") as folder:
        environment = {
            "HITSERVER_VAR": folder,
            "HITSERVER_PARTS": "marketplace",
            "HITSERVER_WORKER_QUEUES": "default",
            "HITSERVER_MARKETPLACE_RATE_LIMIT": str(options.rate_limit),
        } | ({"DATABASE_URL": url} if url else {})
        os.environ.update(environment)
        os.environ["DJANGO_SETTINGS_MODULE"] = "hitserver.settings"
        with running_server(Path(folder), env=environment, worker=True) as server:
            import django

            django.setup()
            print(f"{name:<40} {'calls':>10} {'median':>8} {'p95':>8} {'client':>8} {'server':>8}   (ms)", flush=True)
            measure_all(server, options)


def measure_all(server: Server, options: argparse.Namespace) -> None:
    from django.db import connection

    from marketplace.services.accounts import requester_accounts
    from marketplace.services.money import payments

    requester = requester_accounts.create_requester(name="Bench", actor="bench")
    payments.deposit(requester=requester, amount=Decimal(1_000_000), actor="bench")
    made = requester_accounts.create_access_key(requester=requester, actor="bench")
    target = Target(server.base_url, made.key.access_key_id, made.secret)
    try:
        measure_creation(server, target, options)
        hit = submitted_work(target, options.assignments)
        measure_lists(server, target, hit, options)
        measure_approvals(server, target, hit, options)
        measure_work(server, requester, options)
        measure_groups(server, requester)
        print(f"  the ledger's entries add up to {payments.imbalance()}")
    finally:
        connection.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--seconds", type=float, default=10, help="length of each measurement (default 10)")
    parser.add_argument("--clients", type=lambda text: [int(part) for part in text.split(",")], default=[1, 4])
    parser.add_argument("--workers", type=int, default=8, help="simultaneous workers on the workers' site (default 8)")
    parser.add_argument(
        "--assignments", type=int, default=10_000, help="assignments of the HIT that is listed and approved"
    )
    parser.add_argument(
        "--rate-limit",
        type=int,
        default=0,
        help="requests per second that one requester may make (default 0: no limit)",
    )
    parser.add_argument("--postgres", default="", help="address of a server on which to make a database")
    options = parser.parse_args()
    if not 100 <= options.assignments <= 100_000 or not 0 < options.seconds <= 120:
        parser.error("--assignments takes 100 to 100000, --seconds at most 120.")
    if not options.postgres:
        run("SQLite", "", options)
        return
    with own_database(options.postgres) as url:
        run("PostgreSQL", url, options)


if __name__ == "__main__":
    main()
