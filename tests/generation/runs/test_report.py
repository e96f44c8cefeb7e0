"""What the report of a run is made from."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from generation.runs.report import SAMPLE_COLUMNS, sample_frame, sweep_data
from tests.generation.support.finished_runs import make_run

pytestmark = pytest.mark.django_db


def test_the_frame_needs_one_query_whatever_the_size() -> None:
    small, large = make_run({"greedy": [["a"]]}), make_run({"greedy": [["a"]] * 20}, name="large")
    counts = []
    for run in (small, large):
        with CaptureQueriesContext(connection) as queries:
            sample_frame(run)
        counts.append(len(queries))
    assert counts == [1, 1]


def test_a_run_without_samples_has_a_frame_with_all_columns() -> None:
    frame = sample_frame(make_run({}))
    assert (tuple(frame.columns), len(frame)) == (SAMPLE_COLUMNS, 0)


def test_the_report_gets_the_samples_so_far_and_what_their_decoders_sweep() -> None:
    pytest.importorskip("analysis.report.sweep")
    run = make_run({"temperature=0.5": [["a b"]], "ancestral": [["b"]], "greedy": [["c"]]}, n_wanted=5)
    data = sweep_data(run)
    assert (data.name, data.state, len(data.samples), data.n_wanted) == ("sweep", "Done", 3, 5)
    assert data.labels == {"temperature=0.5": ("temperature", 0.5), "ancestral": ("temperature", 1.0), "greedy": None}
    facts = dict(data.facts)
    assert (facts["Samples"], facts["Models"], facts["Limits"]) == ("3 of 5", "tiny", "max_new_tokens: 10")
    assert "Assignment" not in facts


def test_an_assigned_run_says_so() -> None:
    pytest.importorskip("analysis.report.sweep")
    run = make_run({"greedy": [["a"]]})
    run.spec["assign"] = "one_per_context"
    assert dict(sweep_data(run).facts)["Assignment"] == "Each context has one model and one decoder"
