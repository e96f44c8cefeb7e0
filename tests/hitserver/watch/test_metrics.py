"""``/metrics``: who may read it, what it counts, and that it answers while other parts are away."""

from __future__ import annotations

import json
import re
from datetime import timedelta
from ipaddress import ip_network
from pathlib import Path
from typing import Any

import pytest
from celery import Celery
from django.db import OperationalError
from django.test import Client, RequestFactory
from django.utils import timezone

from annotation.models import Webhook, WebhookDelivery
from generation.models import GenerationRun, Suggester, Suggestion
from hitserver.models import Alarm, BackupNote, ProcessSign
from hitserver.watch import counting, figures, queues
from tests.factories import make_study, make_submission
from tests.generation.support.finished_runs import make_run
from tests.hitserver.watch.conftest import TOKEN
from tests.services import ROOT, free_port

pytestmark = pytest.mark.django_db
DEPLOYED = (ROOT / "deploy" / "prometheus" / "alarms.yml", ROOT / "deploy" / "grafana" / "hitserver.json")


def scrape(client: Client | None = None) -> dict[str, float]:
    """Every sample by its name with labels."""
    response = (client or Client()).get("/metrics", headers={"Authorization": f"Bearer {TOKEN}"})
    assert response.status_code == 200
    lines = [line for line in response.content.decode().splitlines() if not line.startswith("#")]
    return {name: float(value) for name, _, value in (line.rpartition(" ") for line in lines)}


def test_there_is_no_such_page_unless_it_is_set_up() -> None:
    assert Client().get("/metrics").status_code == 404


@pytest.mark.parametrize("header", ["", f"Bearer {TOKEN}x", f"Basic {TOKEN}", "Bearer", "Bearer \xff"])
def test_a_wrong_token_gets_nothing(metrics_open: None, header: str) -> None:
    response = Client().get("/metrics", headers={"Authorization": header})

    assert response.status_code == 401
    assert b"HITSERVER_METRICS_TOKEN" in response.content
    assert b"hitserver_" not in response.content


@pytest.mark.parametrize(
    ("direct", "forwarded", "status"),
    [
        ("10.1.2.3", "", 200),
        ("127.0.0.1", "10.1.2.3", 200),
        ("127.0.0.1", "192.0.2.7", 403),
        ("192.0.2.7", "10.1.2.3", 403),
        ("127.0.0.1", "10.1.2.3, 192.0.2.7", 403),
    ],
)
def test_allowed_addresses_are_those_that_trusted_proxies_report(
    metrics_open: None, settings: Any, direct: str, forwarded: str, status: int
) -> None:
    settings.METRICS_TOKEN, settings.METRICS_ADDRESSES = "", [ip_network("10.0.0.0/8")]
    headers = {"X-Forwarded-For": forwarded} if forwarded else {}

    assert Client(REMOTE_ADDR=direct).get("/metrics", headers=headers).status_code == status


def test_addresses_and_methods_make_no_labels(metrics_open: None) -> None:
    """Whoever asks for a thousand addresses must not make a thousand series."""
    client = Client()
    for number in range(5):
        client.get(f"/nothing-{number}/")
        client.generic(f"ODD{number}", f"/nothing/{number}/")
        client.get(f"/w/token-{number}/")
    samples = scrape(client).items()
    counts = {name: count for name, count in samples if count and name.startswith("hitserver_requests_total")}

    labels = 'hitserver_requests_total{{method="{}",route="{}",status="404"}}'
    assert counts == {
        labels.format("GET", "unknown"): 5,
        labels.format("other", "unknown"): 5,
        labels.format("GET", "work"): 5,
    }


def test_a_process_in_the_place_of_another_continues_its_counts(metrics_open: None) -> None:
    Client().get("/healthz/live")
    counting.take_place(7)
    Client().get("/healthz/live")
    counting.take_place(8)
    counting.take_place(7)
    Client().get("/healthz/live")

    assert scrape()['hitserver_requests_total{method="GET",route="live",status="200"}'] == 3


def test_a_new_process_gets_the_lowest_free_place() -> None:
    class Process:
        def __init__(self, place: int) -> None:
            self.place = place

    assert counting.free_place([]) == 0
    assert counting.free_place([Process(0), Process(2)]) == 1
    assert counting.free_place([Process(1), Process(0)]) == 2


def test_queues_are_counted_with_the_age_of_the_oldest(metrics_open: None) -> None:
    study, now = make_study(items=1), timezone.now()
    webhook = Webhook.objects.create(study=study, address="https://x.example", nonce="n", created_by="ada")
    for number, late in enumerate((300, 40, -600)):
        WebhookDelivery.objects.create(
            webhook=webhook,
            message_id=str(number),
            event="study.done",
            created_at=now - timedelta(days=1),
            next_at=now - timedelta(seconds=late),
        )
    samples = scrape()

    assert samples['hitserver_queue_waiting{kind="webhooks"}'] == 2  # the third waits for its next try
    assert samples['hitserver_queue_oldest_seconds{kind="webhooks"}'] == pytest.approx(300, abs=20)
    assert samples['hitserver_queue_waiting{kind="api_jobs"}'] == 0
    assert samples['hitserver_queue_oldest_seconds{kind="api_jobs"}'] == 0


def test_work_and_waits_are_figures_of_the_database(metrics_open: None) -> None:
    study = make_study(items=1)
    make_submission(study=study)
    run = make_run({"greedy": [["a text"]]}, name="run")
    model = run.chunks.get().model
    suggester = Suggester.objects.create(name="muse", model=model, decoder="greedy")
    now = timezone.now()
    run.chunks.update(n_tokens=600, ended_at=now)
    GenerationRun.objects.update(state="running")
    for number, seconds in enumerate((1, 2, 3)):
        Suggestion.objects.create(
            suggester=suggester,
            key=str(number),
            story="s",
            prompt="",
            seed=1,
            state="done",
            text="t",
            n_tokens=100,
            asked_at=now - timedelta(seconds=seconds + 10),
            answered_at=now - timedelta(seconds=10),
            deadline=now,
        )
    samples = scrape()

    assert samples['hitserver_studies{status="live"}'] == 1
    assert samples["hitserver_submissions_total"] >= 1
    assert samples['hitserver_suggestion_wait_seconds{quantile="0.5",suggester="muse"}'] == pytest.approx(2)
    # Between the second and the third of three values: 2 + 0.9 · 1.
    assert samples['hitserver_suggestion_wait_seconds{quantile="0.95",suggester="muse"}'] == pytest.approx(2.9)
    # Three suggestions of 100 tokens and a chunk of 600, in 300 seconds.
    assert samples[f'hitserver_model_tokens_per_second{{model="{model.name}"}}'] == pytest.approx(3)


def test_without_its_database_a_server_still_answers(metrics_open: None, monkeypatch: pytest.MonkeyPatch) -> None:
    def away(at: object) -> None:
        raise OperationalError("the server closed the connection")

    Client().get("/healthz/live")
    monkeypatch.setattr(figures, "PARTS", (away,))
    samples = scrape()

    assert samples["hitserver_database_up"] == 0
    assert samples["hitserver_disk_free_bytes"] > 0
    assert samples['hitserver_requests_total{method="GET",route="live",status="200"}'] == 1
    assert "hitserver_submissions_total" not in samples


@pytest.mark.parametrize("scheme", ["redis", "amqp"])
def test_without_its_broker_a_server_still_answers(
    metrics_open: None, settings: Any, monkeypatch: pytest.MonkeyPatch, scheme: str
) -> None:
    settings.BROKER_IS_FOLDER = False
    broker = f"{scheme}://127.0.0.1:{free_port()}/"
    monkeypatch.setattr(queues, "current_app", Celery(broker=broker, set_as_current=False))
    samples = scrape()

    assert (samples["hitserver_broker_up"], samples["hitserver_database_up"]) == (0, 1)
    assert not any(name.startswith("hitserver_tasks_waiting") for name in samples)


def test_the_dashboard_and_the_alarms_name_only_metrics_that_exist(metrics_open: None) -> None:
    now = timezone.now()
    ProcessSign.objects.create(kind="scheduler", machine="a", pid=1, version="1", started_at=now, seen_at=now)
    note = {"machine": "a", "path": "/b", "n_bytes": 1, "n_rows": 1, "made_at": now}
    BackupNote.objects.create(**note, tried_at=now, works=True)
    Alarm.objects.create(cause="disk", text="full", began_at=now)
    Client().get("/healthz/live")
    text = Client().get("/metrics", headers={"Authorization": f"Bearer {TOKEN}"}).content.decode()
    names = set(re.findall(r"^(?:# TYPE )?(\w+)", text, re.MULTILINE))
    names |= {f"hitserver_request_seconds_{part}" for part in ("bucket", "sum", "count")}
    for file in DEPLOYED:
        used = set(re.findall(r"\bhitserver_\w+", file.read_text()))
        assert len(used) > 10
        assert used <= names, f"{file.name}: {used - names}"


def test_the_dashboard_is_json_with_a_title_for_every_panel() -> None:
    dashboard = json.loads(Path(DEPLOYED[1]).read_text())

    assert all(panel["title"] and panel["targets"] for panel in dashboard["panels"])


def test_a_request_costs_no_query_for_its_count(metrics_open: None, django_assert_num_queries: Any) -> None:
    request = RequestFactory().get("/healthz/live")
    with django_assert_num_queries(0):
        counting.count(request, 200, 0.01)
