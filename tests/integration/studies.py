"""Studies on a real server, and people who send forms to it over HTTP."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import psycopg2
import pytest

from tests.support import Server

#: For a test that gives its ``kind`` to `database`.
BOTH = pytest.mark.parametrize("kind", ["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
MAKE = """
import json
from annotation.studies import importing_items, launching, storing
from annotation.studies.spec import ArmSpec, StudySpec
from annotation.table_files import Table
from annotation.task_types.items import Row
texts = {{f"resp_{{k}}": f"I heard that it would rain in town {{k}} tomorrow." for k in range(5)}}
cells = lambda n: {{"sample_id": str(n), "context": f"What about the weather in town {{n}}?"}} | texts
rows = [Row(n + 1, cells(n)) for n in range({items})]
values = {{"slug": "load", "title": "Load", "ratings_per_item": {ratings}, "hits_per_worker": None, "seed": 1}}
spec = StudySpec("abs_hds", values, {{"write_first": {warm_up}, "rate_first": {warm_up}}},
    arms=[ArmSpec.of(arm) for arm in {arms}],
    quality_control={{"too_fast": None}})  # these workers answer within milliseconds
study = storing.create_study(spec=spec, actor="test", owner=None)
importing_items.import_items(study=study, table=Table(list(rows[0].cells), rows), actor="test")
launching.publish(study=study, actor="test")
"""
MAKE_QUALITY = """
from annotation.studies import importing_items, launching, storing
from annotation.studies.spec import ArmSpec, StudySpec
from annotation.table_files import Table
from annotation.task_types.items import Row
cells = lambda c, s: {{"sample_id": f"{{c}}-{{s}}", "context": f"It rained in town {{c}}", "text": f"and then {{s}}",
    "system": f"top_p={{s}}"}}
places = [(c, s) for c in range({contexts}) for s in range({systems})]
rows = [Row(at + 1, cells(*place)) for at, place in enumerate(places)]
values = {{"slug": "load", "title": "Load", "ratings_per_item": {ratings}, "items_per_hit": 5, "hits_per_worker": None,
    "seed": 1}}
study = storing.create_study(spec=StudySpec("quality", values, quality_control={{"too_fast": None}}), actor="test",
    owner=None)
importing_items.import_items(study=study, table=Table(list(rows[0].cells), rows), actor="test")
launching.publish(study=study, actor="test")
"""
RATERS = """
import json
from django.db.models import Count
from annotation.models import Hit, Participant, Rating
rated = Rating.objects.filter(question="quality").values_list("item")
print(json.dumps({
    "ratings": sorted(rated.annotate(n=Count("pk")).values_list("n", flat=True)),
    "raters": sorted(rated.annotate(n=Count("participant", distinct=True)).values_list("n", flat=True)),
    "open": Hit.objects.exclude(n_submitted=1).count(),
    "participants": Participant.objects.count(),
}))
"""
COUNT = """
import json
from django.db.models import Count
from annotation.models import Arm, Assignment, Hit, Rating, Submission
print(json.dumps({
    "ratings per item": sorted(Rating.objects.filter(question="diversity").values_list("item").annotate(n=Count("pk"))
        .values_list("n", flat=True)),
    "hits": sorted(Hit.objects.values_list("n_live", "n_submitted")),
    "states": dict(Assignment.objects.values_list("state").annotate(n=Count("pk")).values_list("state", "n")),
    "submissions": Submission.objects.count(),
    "arms": [[arm.name, arm.n_enrolled, arm.participants.count()] for arm in Arm.objects.all()],
    "rewards": sorted({(hit.arm.name, str(hit.reward)) for hit in Hit.objects.filter(assignments__isnull=False)}),
    "codes": sorted(Submission.objects.values_list("feedback", flat=True)),
}))
"""


def make_study(
    server: Server, *, items: int, ratings: int, warm_up: bool = False, arms: Sequence[Mapping[str, Any]] = ()
) -> str:
    """The path of a live absHDS study's first page."""
    code = MAKE.format(items=items, ratings=ratings, warm_up=warm_up, arms=list(arms))
    server.manage("shell", "-c", code)
    return "/s/load/"


def make_quality_study(server: Server, *, contexts: int, systems: int, ratings: int) -> str:
    """The path of the first page of a live study whose texts lie in several hits each."""
    code = MAKE_QUALITY.format(contexts=contexts, systems=systems, ratings=ratings)
    server.manage("shell", "-c", code)
    return "/s/load/"


def count_raters(server: Server) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(server.manage("shell", "-v", "0", "-c", RATERS).strip().splitlines()[-1])
    return found


def count(server: Server) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(server.manage("shell", "-v", "0", "-c", COUNT).strip().splitlines()[-1])
    return found


@contextmanager
def database(kind: str, request: pytest.FixtureRequest) -> Iterator[dict[str, str]]:
    """The environment of a server with this kind of database."""
    if kind == "sqlite":
        yield {}
    else:
        url = request.getfixturevalue("postgres_url")
        psycopg2.connect(url).close()
        yield {"DATABASE_URL": url}
