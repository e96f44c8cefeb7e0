"""The operations of the small Prolific in `prolific_server`: what each answers, and what it refuses."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from tests.annotation.recruiting import prolific_spec as spec
from tests.annotation.recruiting.prolific_server import PER_PAGE, PROJECT, WORKSPACE, Answer, Json, Prolific


def error(status: int, title: str, detail: Any) -> Answer:
    """Schemas `Error` and `ErrorDetail`."""
    return Answer(status, {"error": {"status": status, "title": title, "detail": detail, "error_code": status * 1000}})


def _refused(errors: spec.Errors) -> Answer:
    return error(400, "Bad Request", errors)


def _missing(what: str) -> Answer:
    return error(404, "Not Found", f"No {what} with this id.")


def _page(state: Prolific, path: str, rows: list[Json], query: Json) -> Answer:
    """Lists have `results` and, in `_links`, the address of the next page."""
    number = int(query.get("page", ["1"])[0])
    following = f"{state.address}{path}?page={number + 1}" if number * PER_PAGE < len(rows) else None
    links = {"next": {"href": following, "title": "Next"}}
    part = rows[(number - 1) * PER_PAGE : number * PER_PAGE]
    return Answer(200, {"results": part, "_links": links, "meta": {"count": len(rows)}})


# --- the account ---


def _me(state: Prolific, query: Json, body: Any) -> Answer:
    """“Retrieve a user”: schema `User` has nothing about money."""
    return Answer(200, {"id": "r", "email": "ada@example.org"})


def _workspaces(state: Prolific, query: Json, body: Any) -> Answer:
    """“Get all a user's workspaces”."""
    return Answer(200, {"results": [{"id": name, "title": name.title()} for name in state.workspaces]})


def _balance(state: Prolific, name: str, query: Json, body: Any) -> Answer:
    """“Get the balance of a workspace”: amounts in cents; available is what no active study has reserved."""
    if name not in state.workspaces:
        return _missing("workspace")
    money = {"total_balance": state.available + 9_000, "available_balance": state.available}
    return Answer(200, {"currency_code": state.currency, **money})


def _project(state: Prolific, name: str, query: Json, body: Any) -> Answer:
    """“Get project”. This account has one project in each workspace: project1 in workspace1, and so on."""
    workspace = name.replace("project", "workspace")
    if workspace not in state.workspaces:
        return _missing("project")
    return Answer(200, {"id": name, "title": "Writing", "type": "PRIVATE", "workspace": workspace})


def _calculated(state: Prolific, query: Json, body: Any) -> Answer:
    """“Calculate the study cost”: total_cost in cents, with fees and VAT. The fee of this account is a third."""
    if errors := spec.body_errors(body, reward=spec.is_number, total_available_places=spec.is_number):
        return _refused(errors)
    rewards = body["reward"] * body["total_available_places"]
    return Answer(200, {"total_cost": round(rewards + rewards / 3 * (1 + state.vat / 100))})


# --- studies ---


def _create(state: Prolific, query: Json, body: Any) -> Answer:
    """“Create a draft study”: it is UNPUBLISHED. Without a project, “your first created project” is used."""
    if errors := spec.study_errors(body):
        return _refused(errors)
    name = f"{len(state.studies) + 1:024x}"
    made = {"project": PROJECT, "study_type": "SINGLE", **body, "id": name, "status": "UNPUBLISHED"}
    state.studies[name] = made | {"presentment_currency_code": state.currency}
    return Answer(201, state.studies[name])


def _studies(state: Prolific, *_project: str, query: Json, body: Any) -> Answer:
    """“List all studies”: schema `StudyShort`."""
    shown = ("id", "name", "internal_name", "status", "study_type", "total_available_places", "reward")
    rows = [{name: each.get(name) for name in shown} for each in state.studies.values()]
    return _page(state, "studies/", rows, query)


def _study(state: Prolific, name: str, query: Json, body: Any) -> Answer:
    found = state.studies.get(name)
    return Answer(200, found) if found else _missing("study")


def _delete_study(state: Prolific, name: str, query: Json, body: Any) -> Answer:
    """“Delete a study”: “Published studies cannot be deleted, but you can delete draft studies”."""
    study = state.studies.get(name)
    if study is None:
        return _missing("study")
    if study["status"] != "UNPUBLISHED":
        return error(400, "Bad Request", "Published studies cannot be deleted.")
    del state.studies[name]
    return Answer(204, None)


def _transition_study(state: Prolific, name: str, query: Json, body: Any) -> Answer:
    study = state.studies.get(name)
    if study is None:
        return _missing("study")
    if body.get("action") not in spec.STUDY_TRANSITIONS:
        return _refused({"action": ["Not a valid choice."]})
    allowed, after = spec.STUDY_TRANSITIONS[body["action"]]
    if study["status"] not in allowed:
        return error(400, "Bad Request", f"You cannot {body['action']} a study that is {study['status']}.")
    if body["action"] == "PUBLISH":
        if errors := spec.publish_errors(study, state.currency):
            return _refused(errors)
        cost = study["reward"] * study["total_available_places"] * 4 / 3
        if cost > state.available:  # “Studies”: “Checking if your account has sufficient balance”
            return error(400, "Bad Request", "You do not have enough funds to publish this study.")
    study["status"] = after
    return Answer(200, study)


def _update_study(state: Prolific, name: str, query: Json, body: Any) -> Answer:
    """“Update a study”: any field of a draft; of a published study few fields, and only more places.

    “A completed study will become active again and resume recruiting of participants.”
    """
    study = state.studies.get(name)
    if study is None:
        return _missing("study")
    draft = study["status"] == "UNPUBLISHED"
    if not draft and (locked := set(body) - spec.UPDATABLE):
        return _refused({field: ["This cannot be updated after the study was published."] for field in sorted(locked)})
    if errors := spec.study_errors({field: study.get(field) for field in spec.STUDY_FIELDS} | body):
        return _refused(errors)
    places = body.get("total_available_places")
    if not draft and places is not None and places < study["total_available_places"]:
        return _refused({"total_available_places": ["Only increasing is allowed."]})
    grows = places is not None and places > study["total_available_places"]
    study.update(body)
    if grows and study["status"] in ("COMPLETED", "AWAITING REVIEW"):
        study["status"] = "ACTIVE"
    return Answer(200, study)


# --- submissions ---


def _submissions_of(state: Prolific, study: str, query: Json, body: Any) -> Answer:
    """“List study submissions”: schema `SubmissionShort`."""
    if study not in state.studies:
        return _missing("study")
    shown = ("id", "participant_id", "status", "started_at", "completed_at", "has_siblings", "study_code")
    rows = [{name: each[name] for name in shown} for each in state.submissions.values() if each["study_id"] == study]
    return _page(state, f"studies/{study}/submissions/", rows, query)


def _submission(state: Prolific, name: str, query: Json, body: Any) -> Answer:
    """“Retrieve a submission”: schema `SubmissionDetail`; bonus payments in cents."""
    found = state.submissions.get(name)
    return Answer(200, _detail(found)) if found else _missing("submission")


def _detail(row: Json) -> Json:
    shown = ("id", "status", "study_id", "started_at", "completed_at", "bonus_payments", "return_requested")
    other = {"participant": row["participant_id"], "entered_code": row["study_code"]}
    return {name: row[name] for name in shown} | other


def _transition_submission(state: Prolific, name: str, query: Json, body: Any) -> Answer:
    """“Approve or reject a submission”: idempotent; a rejection needs a category and 100 characters."""
    row = state.submissions.get(name)
    if row is None:
        return _missing("submission")
    if body.get("action") not in spec.SUBMISSION_TRANSITIONS:
        return _refused({"action": ["Not a valid choice."]})
    before, after = spec.SUBMISSION_TRANSITIONS[body["action"]]
    if body["action"] == "REJECT":
        short = len(body.get("message") or "") < spec.LEAST_MESSAGE
        if short or body.get("rejection_category") not in spec.REJECTION_CATEGORIES:
            return error(400, "Bad Request", "A rejection needs a message of at least 100 characters and a category.")
    if row["status"] not in (before, after):
        return error(400, "Bad Request", f"The submission is {row['status']}.")
    row["status"] = after
    state.settle(row["study_id"])
    return Answer(200, _detail(row))


def _bulk_approve(state: Prolific, query: Json, body: Any) -> Answer:
    """“Bulk approve submissions”: a list of submission ids, approved in the background; “a maximum of 1,000”."""
    ids = body.get("submission_ids")
    if not spec.list_of(spec.is_text)(ids) or not ids or len(ids) > 1_000:
        return _refused({"submission_ids": ["Give 1 to 1,000 submission ids."]})
    if strange := [each for each in ids if each not in state.submissions]:
        return error(400, "Bad Request", f"Unknown submissions: {', '.join(strange)}")
    for each in ids:
        row = state.submissions[each]
        if row["status"] == "AWAITING REVIEW" and not state.slow_approvals:
            row["status"] = "APPROVED"
    return Answer(200, "Bulk approve in progress")


def _request_return(state: Prolific, name: str, query: Json, body: Any) -> Answer:
    """“Request the participant who submitted the response to return their response”."""
    row = state.submissions.get(name)
    if row is None:
        return _missing("submission")
    if errors := spec.body_errors(body, request_return_reasons=spec.list_of(spec.is_text)):
        return _refused(errors)
    row["return_requested"] = "2026-11-22T12:00:00Z"
    state.messages.append((row["participant_id"], *body["request_return_reasons"]))
    return Answer(200, _detail(row))


def _set_up_bonus(state: Prolific, query: Json, body: Any) -> Answer:
    """“Set up bonuses”: pays nothing; ids that took no part in the study are refused with 400."""
    if errors := spec.body_errors(body, study_id=spec.is_text, csv_bonuses=spec.is_text):
        return _refused(errors)
    rows = [line.split(",") for line in body["csv_bonuses"].split("\n")]
    strange = [
        who for who, _ in rows if state.submissions.get(who, {}).get("study_id") != body["study_id"]
    ]  # this server names submissions, not participants
    if strange:
        return error(400, "Bad Request", f"These ids took no part in the study: {', '.join(strange)}")
    name = f"bonus-{len(state.bonuses) + 1}"
    state.bonuses[name] = {"rows": rows, "paid": 0}
    return Answer(201, {"id": name, "study": body["study_id"], "amount": 50, "fees": 17, "total_amount": 67})


def _pay_bonus(state: Prolific, name: str, query: Json, body: Any) -> Answer:
    """“Pay bonuses”: 202 with a text; not idempotent, the same request pays again."""
    for who, amount in state.bonuses[name]["rows"]:
        state.submissions[who]["bonus_payments"].append(round(float(amount) * 100))
    state.bonuses[name]["paid"] += 1
    return Answer(202, f"Bulk bonus payment with ID {name} is being processed asynchronously.")


# --- messages, groups, filters ---


def _message(state: Prolific, query: Json, body: Any) -> Answer:
    """“Send a message”: 204."""
    if errors := spec.body_errors(body, recipient_id=spec.is_text, body=spec.is_text, study_id=spec.is_text):
        return _refused(errors)
    if body["study_id"] not in state.studies:
        return _missing("study")
    state.messages.append((body["recipient_id"], body["body"]))
    return Answer(204, None)


def _messages(state: Prolific, query: Json, body: Any) -> Answer:
    """“Retrieve messages”: `user_id` or `created_after` is needed. Schema `Message`."""
    who = query.get("user_id", [""])[0]
    if not who and not query.get("created_after"):
        return error(400, "Bad Request", "Provide user_id or created_after.")
    rows = [
        {"id": str(at), "sender_id": "r", "body": text, "sent_at": datetime.now(UTC).isoformat(), "channel_id": to}
        for at, (to, text) in enumerate(state.messages)
        if who in ("", to)
    ]
    return Answer(200, {"results": rows})


def _groups(state: Prolific, query: Json, body: Any) -> Answer:
    """“Get a list of all participant groups within a project or workspace”."""
    if not query.get("workspace_id") and not query.get("project_id"):
        return error(400, "Bad Request", "Give workspace_id or project_id.")
    return Answer(200, {"results": [_group_of(name, each) for name, each in state.groups.items()]})


def _group_of(name: str, group: Json) -> Json:
    named = {"id": name, "name": group["name"], "workspace_id": WORKSPACE, "is_deleted": False}
    return named | {"participant_count": len(group["participants"])}


def _create_group(state: Prolific, query: Json, body: Any) -> Answer:
    """“Create a new participant group within a workspace”: a name, and a workspace or an organisation."""
    if errors := spec.body_errors(body, name=spec.is_text, workspace_id=spec.is_text):
        return _refused(errors)
    name = f"group{len(state.groups) + 1}"
    state.groups[name] = {"name": body["name"], "participants": list(body.get("participant_ids") or ())}
    return Answer(201, _group_of(name, state.groups[name]))


def _add_to_group(state: Prolific, name: str, query: Json, body: Any) -> Answer:
    """“Add participants to a participant group”: those that are members already are ignored."""
    if name not in state.groups:
        return _missing("participant group")
    if errors := spec.body_errors(body, participant_ids=spec.list_of(spec.is_text)):
        return _refused(errors)
    members = state.groups[name]["participants"]
    members += [each for each in body["participant_ids"] if each not in members]
    rows = [{"participant_id": each, "datetime_created": "2026-11-22T12:00:00Z"} for each in members]
    return Answer(200, {"results": rows})


#: “List all filters”, with the example of “Filters Overview”.
FILTERS: list[Json] = [
    {
        "filter_id": "handedness",
        "title": "Handedness",
        "description": "",
        "question": "Are you left or right handed?",
        "type": "select",
        "data_type": "ChoiceID",
        "choices": {"0": "Left", "1": "Right", "2": "Ambidextrous"},
    },
    {
        "filter_id": "age",
        "title": "Age",
        "description": "",
        "question": "What is your date of birth?",
        "type": "range",
        "data_type": "integer",
        "min": 18,
        "max": 100,
    },
]


def _filters(state: Prolific, query: Json, body: Any) -> Answer:
    return Answer(200, {"results": FILTERS, "_links": {}, "meta": {}})


def _eligible(state: Prolific, query: Json, body: Any) -> Answer:
    """“Count participants”: zero means fewer than 25. Each filter here leaves a tenth."""
    if errors := spec.study_errors({"filters": body.get("filters"), "study_type": "QUOTA"}):
        return _refused(errors)
    count = 100_000 // 10 ** len(body["filters"])
    return Answer(200, {"count": count if count >= 25 else 0})


# --- webhooks ---


def _secrets(state: Prolific, query: Json, body: Any) -> Answer:
    """“List all secrets” of a workspace."""
    name = query.get("workspace_id", [""])[0]
    if not name:
        return _refused({"workspace_id": ["This field is required."]})
    rows = [{"id": "s1", "value": value, "workspace_id": key} for key, value in state.secrets.items() if key == name]
    return Answer(200, {"results": rows})


def _create_secret(state: Prolific, query: Json, body: Any) -> Answer:
    """“Create/replace a secret”: the old one is deleted."""
    state.secrets[body["workspace_id"]] = f"secret-{len(state.requests)}"
    return Answer(201, {"id": "s1", "value": state.secrets[body["workspace_id"]], "workspace_id": body["workspace_id"]})


def _subscriptions(state: Prolific, query: Json, body: Any) -> Answer:
    """“List all subscriptions”: the enabled ones."""
    return Answer(200, {"results": [each for each in state.subscriptions.values() if each["is_enabled"]]})


def _subscribe(state: Prolific, query: Json, body: Any) -> Answer:
    """“Create a subscription”: a secret must exist; `target_url` must be https; X-Hook-Secret confirms it."""
    fields = {"event_type": spec.is_text, "target_url": spec.is_text, "workspace_id": spec.is_text}
    if errors := spec.body_errors(body, **fields):
        return _refused(errors)
    if body["workspace_id"] not in state.secrets:
        return error(400, "Bad Request", "Create a secret for your workspace first.")
    if not body["target_url"].startswith("https://"):
        return _refused({"target_url": ["Must use https."]})
    name = f"sub{len(state.subscriptions) + 1}"
    state.subscriptions[name] = {"id": name, **body, "is_enabled": False}
    return Answer(201, state.subscriptions[name], headers={"X-Hook-Secret": f"confirm-{name}"})


def _confirm(state: Prolific, name: str, query: Json, body: Any) -> Answer:
    """“Confirm a subscription” with the secret that came in X-Hook-Secret."""
    if name not in state.subscriptions or body.get("secret") != f"confirm-{name}":
        return error(400, "Bad Request", "The secret is wrong.")
    state.subscriptions[name]["is_enabled"] = True
    return Answer(200, state.subscriptions[name])


ROUTES: list[tuple[str, str, Any]] = [
    (r"users/me/", "GET", _me),
    (r"workspaces/", "GET", _workspaces),
    (r"workspaces/(\w+)/balance/", "GET", _balance),
    (r"projects/(\w+)/", "GET", _project),
    (r"study-cost-calculator/", "POST", _calculated),
    (r"studies/", "POST", _create),
    (r"studies/", "GET", _studies),
    (r"projects/(\w+)/studies/", "GET", _studies),
    (r"studies/(\w+)/", "GET", _study),
    (r"studies/(\w+)/", "PATCH", _update_study),
    (r"studies/(\w+)/", "DELETE", _delete_study),
    (r"studies/(\w+)/transition/", "POST", _transition_study),
    (r"studies/(\w+)/submissions/", "GET", _submissions_of),
    (r"submissions/bulk-approve/", "POST", _bulk_approve),
    (r"submissions/bonus-payments/", "POST", _set_up_bonus),
    (r"submissions/(\w+)/", "GET", _submission),
    (r"submissions/(\w+)/transition/", "POST", _transition_submission),
    (r"submissions/(\w+)/request-return/", "POST", _request_return),
    (r"bulk-bonus-payments/([\w-]+)/pay/", "POST", _pay_bonus),
    (r"messages/", "POST", _message),
    (r"messages/", "GET", _messages),
    (r"participant-groups/", "GET", _groups),
    (r"participant-groups/", "POST", _create_group),
    (r"participant-groups/(\w+)/participants/", "POST", _add_to_group),
    (r"filters/", "GET", _filters),
    (r"eligibility-count/", "POST", _eligible),
    (r"hooks/secrets/", "GET", _secrets),
    (r"hooks/secrets/", "POST", _create_secret),
    (r"hooks/subscriptions/", "GET", _subscriptions),
    (r"hooks/subscriptions/", "POST", _subscribe),
    (r"hooks/subscriptions/(\w+)/", "POST", _confirm),
]
