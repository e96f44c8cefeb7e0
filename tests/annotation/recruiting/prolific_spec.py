"""What Prolific's published OpenAPI document refuses: fields, types, enumerations, minimums, states and transitions.

Everything here is copied by hand from “Prolific API for Data Collectors” (the OpenAPI document behind
docs.prolific.com/api-reference, also in github.com/prolific-oss/cli, contract_test/publicapi.yaml) and, where that is
silent, from the named page. Nothing is derived from this server's code. Functions return the problems by field, as the
schema `ErrorDetailDetailAnyField` has them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import sqrt
from typing import Any

Json = dict[str, Any]
Errors = dict[str, list[str]]

# Schema `StudyStatus`.
STUDY_STATUSES = {"UNPUBLISHED", "SCHEDULED", "PUBLISHING", "ACTIVE", "AWAITING REVIEW", "PAUSED", "COMPLETED"}
# “Transition a study's status”: action → statuses in which it is allowed, and the status after it.
STUDY_TRANSITIONS = {
    "PUBLISH": (("UNPUBLISHED",), "ACTIVE"),
    "PAUSE": (("ACTIVE",), "PAUSED"),
    "START": (("PAUSED",), "ACTIVE"),
    "STOP": (("ACTIVE", "PAUSED"), "COMPLETED"),
}
# Schema `SubmissionDetailStatus`.
SUBMISSION_STATUSES = {
    *("ACTIVE", "APPROVED", "PARTIALLY APPROVED", "AWAITING REVIEW", "REJECTED", "RESERVED", "RETURNED"),
    *("TIMED-OUT", "SCREENED OUT", "UNKNOWN"),
}
# Statuses of submissions that hold a place: schema `StudyShort`, places_taken (“excluding timed out and returned”), and
# “Submission object” (a rejected one's place “becomes available”); “Fixed screen out”: screened out ones are replaced.
PLACE_TAKING = {"RESERVED", "ACTIVE", "AWAITING REVIEW", "APPROVED", "PARTIALLY APPROVED"}
# Schema `SubmissionTransitionAction`, with the statuses in which the action makes sense and the status after it.
SUBMISSION_TRANSITIONS = {
    "APPROVE": ("AWAITING REVIEW", "APPROVED"),
    "REJECT": ("AWAITING REVIEW", "REJECTED"),
    "UNREJECT": ("REJECTED", "AWAITING REVIEW"),
    "UNRETURN": ("RETURNED", "AWAITING REVIEW"),
}
# Schema `SubmissionTransitionRejectionCategory`; `message`: “must be at least 100 chars long”.
REJECTION_CATEGORIES = {
    *("TOO_QUICKLY", "TOO_SLOWLY", "FAILED_INSTRUCTIONS", "INCOMP_LONGITUDINAL", "FAILED_CHECK", "LOW_EFFORT"),
    *("MALINGERING", "NO_CODE", "BAD_CODE", "NO_DATA", "UNSUPP_DEVICE", "OTHER"),
}
LEAST_MESSAGE = 100
# “Prolific's payment principles” (researcher-help.prolific.com): “we enforce a minimum hourly reward of £6.00 / $8.00”.
LEAST_PER_HOUR = {"USD": 800, "GBP": 600}
# “Update a study”: after publishing, only these fields can be updated.
UPDATABLE = {"internal_name", "total_available_places", "submissions_config", "completion_codes", "access_details"}


def is_text(value: Any) -> bool:
    return isinstance(value, str)


def is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def is_flag(value: Any) -> bool:
    return isinstance(value, bool)


def one_of(*allowed: str) -> Callable[[Any], bool]:
    return lambda value: value in allowed


def list_of(check: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, list) and all(map(check, value))


#: Schema `BaseStudy`: the type of each field. Every field may be null in a draft.
STUDY_FIELDS: dict[str, Callable[[Any], bool]] = {
    "name": is_text,
    "internal_name": is_text,
    "description": is_text,
    "external_study_url": is_text,
    "prolific_id_option": one_of("question", "url_parameters", "not_required"),
    "completion_codes": lambda value: isinstance(value, list),
    "total_available_places": is_number,
    "estimated_completion_time": is_number,
    "maximum_allowed_time": is_number,
    "reward": is_number,
    "device_compatibility": list_of(one_of("desktop", "tablet", "mobile")),
    "peripheral_requirements": list_of(one_of("audio", "camera", "download", "microphone")),
    "filters": lambda value: isinstance(value, list),
    "filter_set_id": is_text,
    "filter_set_version": is_whole,
    "naivety_distribution_rate": is_number,
    "project": is_text,
    "submissions_config": lambda value: isinstance(value, dict),
    "metadata": is_text,
    "content_warning_details": is_text,
    "is_external_study_url_secure": is_flag,
    # “Quota requirements”: the value QUOTA for a study with quotas; schema `StudyShortStudyType`: SINGLE otherwise.
    "study_type": one_of("SINGLE", "QUOTA", "UK_REP_SAMPLE", "US_REP_SAMPLE"),
}
#: “Transition a study's status”, PUBLISH: “The study must be fully configured.” “The study object” names the required.
NEEDED_TO_PUBLISH = (
    *("name", "description", "external_study_url", "prolific_id_option", "completion_codes", "reward"),
    *("total_available_places", "estimated_completion_time"),
)


def study_errors(study: Mapping[str, Any]) -> Errors:
    """What is wrong with the fields that are given, for “Create a draft study” and “Update a study”."""
    errors: Errors = {}
    for name, value in study.items():
        if name not in STUDY_FIELDS:
            errors[name] = ["Unknown field."]
        elif value is not None and not STUDY_FIELDS[name](value):
            errors[name] = [f"Not a valid value: {value!r:.80}"]
    if errors:
        return errors
    checks: tuple[tuple[str, Callable[[], list[str]]], ...] = (
        ("completion_codes", lambda: _code_errors(study["completion_codes"], study.get("reward"))),
        ("filters", lambda: _filter_errors(study["filters"])),
        ("submissions_config", lambda: _config_errors(study["submissions_config"])),
        ("maximum_allowed_time", lambda: _time_errors(study)),
        ("reward", lambda: [] if study["reward"] > 0 else ["Must be more than 0."]),
        ("total_available_places", lambda: [] if study["total_available_places"] >= 1 else ["At least 1."]),
    )
    for name, check in checks:
        if study.get(name) is not None and (found := check()):
            errors[name] = found
    if any("weightings" in each for each in study.get("filters") or ()) and study.get("study_type") != "QUOTA":
        errors["study_type"] = ["A study whose filters have weightings needs study_type QUOTA."]
    if study.get("filter_set_id") and study.get("filters"):
        errors["filter_set_id"] = ["This cannot be used in combination with additional filters."]
    return errors


def publish_errors(study: Mapping[str, Any], currency: str) -> Errors:
    """Why a draft cannot be published."""
    errors = {name: ["This field is required."] for name in NEEDED_TO_PUBLISH if not study.get(name)}
    minutes, reward = study.get("estimated_completion_time"), study.get("reward")
    if minutes and reward and reward * 60 < LEAST_PER_HOUR[currency] * minutes:
        errors["reward"] = ["The reward per hour is below the minimum."]
    return errors


def _time_errors(study: Mapping[str, Any]) -> list[str]:
    """`maximum_allowed_time`: two minutes plus two times the estimate plus two times its square root, at least."""
    minutes = study.get("estimated_completion_time") or 0
    least = 2 + 2 * minutes + 2 * sqrt(minutes)
    return [] if study["maximum_allowed_time"] >= least else [f"Must be at least {least:.2f}."]


def _config_errors(config: Json) -> list[str]:
    """Schema `BaseStudySubmissionsConfig`: −1 is unlimited, otherwise one or more."""
    limits = ("max_submissions_per_participant", "max_concurrent_submissions")
    errors = [f"{name}: unknown." for name in config if name not in (*limits, "auto_rejection_categories")]
    for name in limits:
        value = config.get(name)
        if value is not None and not (is_whole(value) and (value == -1 or value >= 1)):
            errors.append(f"{name}: -1, or at least 1.")
    return errors


#: Schemas `SelectFilter` and `RangeFilter`.
def _filter_errors(filters: list[Any]) -> list[str]:
    errors = []
    for each in filters:
        if not isinstance(each, dict) or not is_text(each.get("filter_id")):
            errors.append("filter_id is required.")
        elif "selected_values" in each:
            weights = each.get("weightings") or {}
            if not list_of(is_text)(each["selected_values"]):
                errors.append("selected_values: an array of strings.")
            if set(weights) - set(each["selected_values"]) or not all(map(is_number, weights.values())):
                errors.append("weightings: a number for each selected value.")
        else:
            ends = each.get("selected_range")
            if not isinstance(ends, dict) or all(ends.get(end) is None for end in ("lower", "upper")):
                errors.append("selected_range: at least one of lower and upper.")
        if set(each) - {"filter_id", "selected_values", "selected_range", "weightings"}:
            errors.append("Unknown field of a filter.")
    return errors


#: Schema `BaseStudyCompletionCodesItemActionsItem`: what each action needs.
_ACTIONS: dict[str, dict[str, Callable[[Any], bool]]] = {
    "AUTOMATICALLY_APPROVE": {},
    "MANUALLY_REVIEW": {},
    "DYNAMIC_PAYMENT": {},
    "ADD_TO_PARTICIPANT_GROUP": {"participant_group": is_text},
    "REMOVE_FROM_PARTICIPANT_GROUP": {"participant_group": is_text},
    "REQUEST_RETURN": {"return_reason": is_text},
    "FIXED_SCREEN_OUT_PAYMENT": {"fixed_screen_out_reward": is_whole, "slots": is_whole},
}


def _code_errors(codes: list[Any], reward: Any) -> list[str]:
    """Schema `BaseStudyCompletionCodesItem`: unique, with actions that can be used together."""
    errors = [] if codes else ["Specify at least one completion code."]
    names = [each.get("code") for each in codes if isinstance(each, dict)]
    if len(set(names)) < len(codes):
        errors.append("Each code must be unique within a study.")
    for each in codes:
        if not {"code", "code_type", "actions"} <= set(each) or not is_text(each["code_type"]):
            errors.append("code, code_type and actions are required.")
            continue
        if each["code"] is None and (len(codes) > 1 or each["actions"]):
            errors.append("A null code must be the only one, without actions.")
        if each.get("actor") not in (None, "participant", "researcher"):
            errors.append("actor: participant or researcher.")
        errors += [error for action in each["actions"] for error in _action_errors(action, reward)]
        if {"AUTOMATICALLY_APPROVE", "MANUALLY_REVIEW"} <= {action.get("action") for action in each["actions"]}:
            errors.append("AUTOMATICALLY_APPROVE and MANUALLY_REVIEW cannot be used together.")
    return errors


def _action_errors(action: Json, reward: Any) -> list[str]:
    needed = _ACTIONS.get(str(action.get("action")))
    if needed is None:
        return [f"Unknown action {action.get('action')!r}."]
    errors = [f"{name} is required." for name, check in needed.items() if not check(action.get(name))]
    if not errors and needed and is_number(reward) and action.get("fixed_screen_out_reward", -1) >= reward:
        errors.append("fixed_screen_out_reward must be less than the study reward.")
    return errors


def body_errors(given_body: Any, /, **required: Callable[[Any], bool]) -> Errors:
    """The fields of a request that are missing or of another type; for the other operations."""
    given = given_body if isinstance(given_body, dict) else {}
    return {name: ["This field is required."] for name, check in required.items() if not check(given.get(name))}
