"""The small Prolific of the tests refuses what the published specification refuses."""

from __future__ import annotations

from typing import Any

import pytest

from tests.annotation.recruiting import prolific_spec as spec

STUDY: dict[str, Any] = {
    "name": "Weather",
    "internal_name": "weather",
    "description": "Rate three texts.",
    "external_study_url": "https://lab.example.org/?who={{%PROLIFIC_PID%}}",
    "prolific_id_option": "url_parameters",
    "completion_codes": [{"code": "ABC", "code_type": "COMPLETED", "actions": [{"action": "MANUALLY_REVIEW"}]}],
    "total_available_places": 6,
    "estimated_completion_time": 5,
    "maximum_allowed_time": 17,
    "reward": 67,
    "device_compatibility": ["desktop"],
    "peripheral_requirements": [],
    "filters": [],
    "submissions_config": {"max_submissions_per_participant": 1, "max_concurrent_submissions": -1},
}
CODE = STUDY["completion_codes"][0]


def code(*actions: dict[str, Any], **values: Any) -> list[dict[str, Any]]:
    return [{**CODE, "actions": list(actions), **values}]


def test_a_complete_study_is_accepted() -> None:
    assert spec.study_errors(STUDY) == {}
    assert spec.publish_errors(STUDY, "USD") == {}


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"reward": "67"}, "reward"),
        ({"reward": 0}, "reward"),
        ({"places": 6}, "places"),
        ({"prolific_id_option": "url"}, "prolific_id_option"),
        ({"device_compatibility": ["phone"]}, "device_compatibility"),
        ({"maximum_allowed_time": 16}, "maximum_allowed_time"),
        ({"total_available_places": 0}, "total_available_places"),
        ({"submissions_config": {"max_concurrent_submissions": 0}}, "submissions_config"),
        ({"submissions_config": {"max_concurrent_submissions": "-1"}}, "submissions_config"),
        ({"submissions_config": {"max_submissions": 1}}, "submissions_config"),
        ({"filters": [{"filter_id": "age", "selected_range": {}}]}, "filters"),
        ({"filters": [{"filter_id": "sex", "selected_values": [0, 1]}]}, "filters"),
        ({"filters": [{"filter_id": "sex", "selected_values": ["0"], "weightings": {"0": 1}}]}, "study_type"),
        ({"completion_codes": []}, "completion_codes"),
        ({"completion_codes": [CODE, CODE]}, "completion_codes"),
        ({"completion_codes": code({"action": "APPROVE"})}, "completion_codes"),
        ({"completion_codes": code({"action": "REQUEST_RETURN"})}, "completion_codes"),
        (
            {"completion_codes": code({"action": "AUTOMATICALLY_APPROVE"}, {"action": "MANUALLY_REVIEW"})},
            "completion_codes",
        ),
        (
            {
                "completion_codes": code(
                    {"action": "FIXED_SCREEN_OUT_PAYMENT", "fixed_screen_out_reward": 67, "slots": 1}
                )
            },
            "completion_codes",
        ),
    ],
)
def test_what_the_schema_does_not_allow_is_refused(change: dict[str, Any], field: str) -> None:
    assert list(spec.study_errors(STUDY | change)) == [field]


def test_a_draft_may_be_incomplete_and_a_published_study_may_not() -> None:
    """“The study must be fully configured.” $0.66 for five minutes is $7.92 an hour."""
    draft = {name: value for name, value in STUDY.items() if name != "description"} | {"reward": 66}
    assert spec.study_errors(draft) == {}
    assert sorted(spec.publish_errors(draft, "USD")) == ["description", "reward"]
