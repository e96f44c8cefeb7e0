"""A server's data at size, written by the database itself: many studies, one of them with half of all submissions.

`fill` writes studies of the type absHDS: ten ratings an item, two ratings a submission, work of 60 days by at most
5,000 workers, of whom some are simulated; flags, exclusions, comments, places that were given back, timed out or given
out again; rewards and bonuses that were paid. The second study is on a platform that confirms and pays. A million
submissions take some minutes, because every row is made by INSERT … SELECT from a series of numbers.
"""

# ruff: noqa: E501, S608 - statements that only this script makes

from __future__ import annotations

import json
import time
from datetime import timedelta
from typing import Any

RATERS_PER_ITEM, OPEN_HITS, MOST_WORKERS, DAYS = 10, 500, 5_000, 60
BATCH = 2_000
CONFIG = {"generation_task": "response", "write_first": False, "rate_first": False, "empty_responses": "keep"}
ORDER = json.dumps({"items": [0], "shown": [{"responses": [3, 1, 4, 0, 2]}]})


def fill(submissions: int, studies: int) -> None:
    """The data, and a superuser ``bench``. The study with half of all is ``bench``, the one on a platform ``bench-1``."""
    from django.contrib.auth import get_user_model
    from django.core.management import call_command
    from django.db import connection, transaction

    from annotation.models import Worker

    call_command("migrate", verbosity=0)
    call_command("collectstatic", verbosity=0, interactive=False)
    with connection.cursor() as cursor:
        if connection.vendor == "sqlite":
            cursor.execute("PRAGMA synchronous=OFF")
            cursor.execute("PRAGMA cache_size=-500000")
        else:
            cursor.execute("SET synchronous_commit TO off")
    user = get_user_model().objects.create_superuser("bench")
    # Every sixth worker comes from the platform, and every 25th is simulated.
    workers = Worker.objects.bulk_create(
        (Worker(platform=platform, platform_id=f"{platform}-{n:x}", synthetic=platform == "bot")
         for n in range(max(RATERS_PER_ITEM, min(MOST_WORKERS, submissions // 20)))
         for platform in ["bot" if n % 25 == 7 else "link"]),
        batch_size=BATCH,
    )  # fmt: skip
    sizes = [submissions] if studies == 1 else [submissions // 2, *_shares(submissions - submissions // 2, studies - 1)]
    first = 1
    for number, size in enumerate(sizes):
        with transaction.atomic():
            _write_study(number, size, first, workers, user)
        first += size
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            for model in ("assignment", "submission", "rating", "outsideassignment"):
                cursor.execute(
                    f"SELECT setval(pg_get_serial_sequence('annotation_{model}', 'id'), MAX(id)) FROM annotation_{model}"
                )
            cursor.execute("VACUUM ANALYZE")
        else:
            cursor.execute("ANALYZE")
    call_command("totals", verbosity=0)  # as the scheduler would have


def _shares(total: int, studies: int) -> list[int]:
    """Mixed sizes that sum to about ``total``: the k-th is in proportion to 1 / (k + 3)."""
    weights = [1 / (number + 3) for number in range(1, studies + 1)]
    return [max(20, round(total * weight / sum(weights))) for weight in weights]


def _write_study(number: int, size: int, first: int, workers: list[Any], user: Any) -> None:
    from annotation.instrument import whole_texts
    from annotation.models import Arm, Hit, HitItem, Item, Participant, Posting, Study
    from annotation.task_types.registry import get_type

    slug, posted = f"bench-{number}" if number else "bench", number == 1
    study = Study.objects.create(
        slug=slug, title=slug, task_type="abs_hds", config=CONFIG, status="live", reward="0.25",
        ratings_per_item=RATERS_PER_ITEM,
    )  # fmt: skip
    arm = Arm.objects.create(
        study=study, position=0, shown_config=CONFIG, shown_texts=whole_texts(get_type("abs_hds"), CONFIG)
    )
    n_hits = -(-size // RATERS_PER_ITEM) + (OPEN_HITS if size > 10_000 else 5)
    items = Item.objects.bulk_create(
        (Item(study=study, external_id=f"context-{n:06}", payload=payload(n), position=n) for n in range(n_hits)),
        batch_size=BATCH,
    )
    hits = Hit.objects.bulk_create(
        (Hit(study=study, arm=arm, position=n, wanted=RATERS_PER_ITEM, reward="0.25",
             **dict.fromkeys(("n_live", "n_submitted"), max(0, min(size - RATERS_PER_ITEM * n, 10))))
         for n in range(n_hits)),
        batch_size=BATCH,
    )  # fmt: skip
    pairs = zip(hits, items, strict=True)
    HitItem.objects.bulk_create((HitItem(hit=hit, item=item, position=0) for hit, item in pairs), batch_size=BATCH)
    people = workers[: max(RATERS_PER_ITEM, min(len(workers), size // 20))]
    participants = Participant.objects.bulk_create(
        (Participant(study=study, arm=arm, worker=worker, pseudonym=f"w-{number:03}{worker.pk:06}",
                     synthetic=worker.synthetic, completion_code=f"C{number:03}{worker.pk:06}")
         for worker in people),
        batch_size=BATCH,
    )  # fmt: skip
    posting = Posting.objects.create(study=study, platform="prolific", external_id=f"p{number}") if posted else None
    _write_work(study, size, first, hits[0].pk, participants[0].pk, len(participants), user, posting)


def _write_work(
    study: Any, size: int, first: int, hit: int, participant: int, people: int, user: Any, posting: Any
) -> None:
    """The rows of one study. The n-th submission has the id ``first`` + n, and its ratings twice that."""
    from django.db import connection

    postgres = connection.vendor == "postgresql"
    begin = time.time() - timedelta(days=DAYS).total_seconds()
    step = timedelta(days=DAYS).total_seconds() / size
    names = {
        "series": f"generate_series(0, {size - 1}) AS s(n)" if postgres else "s",
        "when": f"to_timestamp({begin} + n * {step})" if postgres
        else f"strftime('%Y-%m-%d %H:%M:%f000', {begin} + n * {step}, 'unixepoch')",
        "accepted": f"to_timestamp({begin} - 120 + n * {step})" if postgres
        else f"strftime('%Y-%m-%d %H:%M:%f000', {begin} - 120 + n * {step}, 'unixepoch')",
        "json": "::jsonb" if postgres else "",
        "id": f"({first} + n)", "hit": f"({hit} + n / {RATERS_PER_ITEM})", "who": f"({participant} + n % {people})",
        "study": study.pk, "user": user.pk, "order": ORDER, "people": people,
        "posting": posting.pk if posting else "NULL", "outside": f"({first} + n)" if posting else "NULL",
        "true": "TRUE", "false": "FALSE", "title": study.title,
    }  # fmt: skip
    with connection.cursor() as cursor:
        for text, only in STATEMENTS:
            if only == "posted" and posting is None:
                continue
            query = text.format(**names)
            if not postgres:
                series = f"WITH RECURSIVE s(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM s WHERE n < {size - 1}) "
                query = query.replace("SELECT", f"{series}SELECT", 1)
            cursor.execute(query)


STATEMENTS = (
    ("""INSERT INTO annotation_outsideassignment (id, posting_id, external_id, worker_id, state, answer,
     objection_url, seen_at)
     SELECT {id}, {posting}, 'o' || {id}, 'x' || {who},
     CASE n % 4 WHEN 0 THEN 'submitted' ELSE 'approved' END, '', '', {when} FROM {series}""", "posted"),
    ("""INSERT INTO annotation_assignment (id, hit_id, participant_id, posting_id, platform_assignment_id, outside_id,
     submit_to, state, slot, ordinal, attempt, extra, seed, "order", accepted_at, expires_at, ended_at)
     SELECT {id}, {hit}, {who}, {posting}, '', {outside}, '',
     CASE WHEN n % 1000 = 500 THEN 'released' ELSE 'submitted' END, n % 10, 1 + n / {people}, 1, {false}, n,
     '{order}'{json}, {accepted}, {when}, {when} FROM {series}""", ""),
    ("""INSERT INTO annotation_assignment (id, hit_id, participant_id, platform_assignment_id,
     submit_to, state, slot, ordinal, attempt, extra, seed, "order", accepted_at, expires_at, ended_at)
     SELECT 100000000 + {id}, {hit}, {who}, '', '', CASE n % 40 WHEN 0 THEN 'returned' ELSE 'abandoned' END, n % 10,
     1 + n / {people}, 2, {false}, n, '{order}'{json}, {accepted}, {when}, {when} FROM {series}
     WHERE n % 20 = 0""", ""),
    ("""INSERT INTO annotation_submission (id, assignment_id, study_id, participant_id, answers, feedback, seconds,
     received_at) SELECT {id}, {id}, {study}, {who}, '[]'{json}, CASE WHEN n % 100 = 0 THEN 'Clear.' ELSE '' END,
     40 + (n * 19) % 4001 / 100.0, {when} FROM {series}""", ""),
    ("""INSERT INTO annotation_rating (id, study_id, submission_id, participant_id, item_id, question, target, scale,
     value, text, seconds, created_at) SELECT 2 * {id}, {study}, {id}, {who},
     (SELECT item_id FROM annotation_hititem WHERE hit_id = {hit}), 'quality', '0', 'quality', 1 + n % 9 / 2.0, '', 12.5,
     {when} FROM {series}""", ""),
    ("""INSERT INTO annotation_rating (id, study_id, submission_id, participant_id, item_id, question, target, scale,
     value, text, seconds, created_at) SELECT 2 * {id} + 1, {study}, {id}, {who},
     (SELECT item_id FROM annotation_hititem WHERE hit_id = {hit}), 'diversity', '', 'diversity', 1 + n % 5, '', 12.5,
     {when} FROM {series}""", ""),
    ("""INSERT INTO annotation_flag (submission_id, reason, detail, created_at)
     SELECT {id}, CASE n % 100 WHEN 0 THEN 'fast' ELSE 'same_text' END, '', {when} FROM {series} WHERE n % 50 = 0""", ""),
    ("""INSERT INTO annotation_review (submission_id, decision, note, user_id, created_at)
     SELECT {id}, 'exclude', '', {user}, {when} FROM {series} WHERE n % 400 = 0 OR n % 1000 = 500""", ""),
    # Two thirds of the work by people is paid, and some has a bonus.
    ("""INSERT INTO annotation_payment (study_id, kind, submission_id, amount, platform, platform_id, worker_id, key,
     reason, actor, created_at) SELECT {study}, 'reward', {id}, 0.25, 'link', '', '', '', '', 'bench', {when}
     FROM {series} WHERE n % 3 > 0 AND n % 400 > 0 AND n % 1000 <> 500
     AND (SELECT synthetic FROM annotation_participant WHERE id = {who}) = {false}""", ""),
    ("""INSERT INTO annotation_payment (study_id, kind, submission_id, amount, platform, platform_id, worker_id, key,
     reason, actor, created_at) SELECT {study}, 'bonus', {id}, 0.10, 'link', '', '', 'bonus/' || {id}, 'Good', 'bench',
     {when} FROM {series} WHERE n % 100 = 1""", ""),
    ("""INSERT INTO annotation_auditentry (study_id, actor, action, detail, created_at)
     SELECT {study}, 'bench', 'review', '{{}}'{json}, {when} FROM {series} WHERE n % 400 = 0""", ""),
)  # fmt: skip


def payload(number: int) -> dict[str, Any]:
    return {
        "sample_id": f"context-{number:06}",
        "context": f"Comment number {number}, which is as long as comments are, more or less.",
        "responses": [f"Reply {place} to comment {number}, with some words in it." for place in range(5)],
        "label_name": "temp",
        "label_value": 0.7,
        "label_text": "0.7",
        "extra": [],
    }
