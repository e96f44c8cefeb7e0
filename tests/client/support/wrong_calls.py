"""Something wrong for each operation about the server and a draft, and what the client's exception says about it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hitserver_client import Client, Study
from tests.client.support.calls import file_in
from tests.client.support.in_process import with_token


@dataclass(frozen=True)
class World:
    """What the calls are about. The study `empty` belongs to the team `club`."""

    hits: Client
    draft: Study
    live: Study
    folder: Path


#: A call, and words of its exception.
Wrong = tuple[Callable[[World], Any], str]
BEFORE_THE_WORK: dict[str, Wrong] = {
    "jobs_list": (
        lambda w: list(w.hits.transport.rows("jobs/", limit=0)),
        "limit: “0” cannot be used. Write a whole number from 1 to 1,000.",
    ),
    "jobs_get": (lambda w: w.hits.job(999), "id: There is no job “999” that you can see. Get the list: /api/v1/jobs/"),
    "jobs_cancel": (
        lambda w: w.hits.transport.post("jobs/999/cancel/"),
        "id: There is no job “999” that you can see. Get the list: /api/v1/jobs/",
    ),
    "jobs_file": (
        lambda w: w.hits.transport.get("jobs/999/file/"),
        "id: There is no job “999” that you can see. Get the list: /api/v1/jobs/",
    ),
    "models_list": (
        lambda w: list(w.hits.transport.rows("models/", cursor="nowhere")),
        "cursor: This cursor cannot be read. Use the address in “next” as it is.",
    ),
    "platform_accounts_list": (
        lambda w: with_token("hits_wrong").platform_accounts.all(),
        "This token is unknown or revoked. Make a new one in the console: Your account.",
    ),
    "platform_accounts_add": (
        lambda w: w.hits.platform_accounts.add("crowd", ""),
        "platform: “crowd” cannot be used. Choose one of mturk, prolific.",
    ),
    "platform_accounts_get": (
        lambda w: w.hits.platform_accounts.get("lab"),
        "account: There is no platform account “lab” that you can see. Get the list: /api/v1/platform-accounts/",
    ),
    "platform_accounts_change": (
        lambda w: w.hits.platform_accounts.change("lab", titel="x"),
        "titel: There is no “titel”. Did you mean “title”?",
    ),
    "platform_accounts_delete": (
        lambda w: w.hits.platform_accounts.delete("lab"),
        "account: There is no platform account “lab” that you can see. Get the list: /api/v1/platform-accounts/",
    ),
    "platform_accounts_check": (
        lambda w: w.hits.platform_accounts.check("lab"),
        "account: There is no platform account “lab” that you can see. Get the list: /api/v1/platform-accounts/",
    ),
    "platform_accounts_replace_keys": (
        lambda w: w.hits.platform_accounts.replace_keys("lab"),
        "account: There is no platform account “lab” that you can see. Get the list: /api/v1/platform-accounts/",
    ),
    "platform_accounts_get_notices": (
        lambda w: w.hits.platform_accounts.get_notices("lab"),
        "account: There is no platform account “lab” that you can see. Get the list: /api/v1/platform-accounts/",
    ),
    "platforms_list": (
        lambda w: with_token("hits_wrong").platforms(),
        "This token is unknown or revoked. Make a new one in the console: Your account.",
    ),
    "runs_list": (
        lambda w: list(w.hits.transport.rows("runs/", limit="many")),
        "limit: “many” cannot be used. Write a whole number from 1 to 1,000.",
    ),
    "runs_create": (
        lambda w: w.hits.create_run({"name": "sweep 2", "modle": "tiny"}),
        "modle: There is no “modle”. Did you mean “models”?",
    ),
    "runs_get": (
        lambda w: w.hits.run("swoop"),
        "name: There is no run “swoop” that you can see. Get the list: /api/v1/runs/",
    ),
    "runs_cancel": (
        lambda w: w.hits.cancel_run("sweep"),
        "sweep: The run has ended (done). There is nothing to cancel.",
    ),
    "runs_resume": (lambda w: w.hits.resume_run("sweep"), "sweep: The run is done. There is nothing to resume."),
    "runs_report": (
        lambda w: w.hits.transport.get("runs/sweep/report/", older="perhaps"),
        "older: “perhaps” is neither true nor false. Write older=true, or leave it out.",
    ),
    "runs_report_page": (
        lambda w: w.hits.transport.get("runs/swoop/report.html"),
        "name: There is no run “swoop” that you can see. Get the list: /api/v1/runs/",
    ),
    "runs_samples": (
        lambda w: list(w.hits.samples("swoop")),
        "name: There is no run “swoop” that you can see. Get the list: /api/v1/runs/",
    ),
    "runs_samples_file": (
        lambda w: w.hits.download_samples("sweep", w.folder / "samples.xlsx"),
        "There is no format xlsx. Choose csv or jsonl.",
    ),
    "studies_list": (
        lambda w: list(w.hits.transport.rows("studies/", limit="-3")),
        "limit: “-3” cannot be used. Write a whole number from 1 to 1,000.",
    ),
    "studies_create": (
        lambda w: w.hits.create_study(
            {"slug": "My study", "titel": "New", "task_type": "likert", "reward": "-1"}, [{"text": ""}]
        ),
        "titel: There is no “titel”. Did you mean “title”?",
    ),
    "studies_import_ratings": (
        lambda w: w.hits.import_ratings(file_in(w.folder, "project.json", "{}"), "old"),
        "file: project.json is not an export of Label Studio, Argilla or Potato with ratings.",
    ),
    "studies_get": (
        lambda w: w.hits.study("none"),
        "slug: There is no study “none”, or your role in it does not allow this. Get the list: /api/v1/studies/",
    ),
    "suggesters_list": (
        lambda w: list(w.hits.transport.rows("suggesters/", page="2")),
        "page: This list has no page numbers. Follow the address in “next” until it is null.",
    ),
    "suggesters_create": (
        lambda w: w.hits.suggesters.create("helper", model="no-model"),
        "model: There is no “no-model”. Known: tiny.",
    ),
    "suggesters_get": (
        lambda w: w.hits.suggesters.get("helper"),
        "name: There is no suggester “helper” that you can see. Get the list: /api/v1/suggesters/",
    ),
    "suggesters_change": (
        lambda w: w.hits.suggesters.change("helper", activ=False),
        "name: There is no suggester “helper” that you can see. Get the list: /api/v1/suggesters/",
    ),
    "suggesters_fill_pool": (
        lambda w: w.hits.suggesters.fill_pool("helper"),
        "name: There is no suggester “helper” that you can see. Get the list: /api/v1/suggesters/",
    ),
    "task_types_list": (
        lambda w: list(w.hits.transport.rows("task-types/", limit=99999)),
        "limit: “99999” cannot be used. Write a whole number from 1 to 1,000.",
    ),
    "task_types_get": (
        lambda w: w.hits.task_type("likrt"),
        "There is no task type “likrt”. Known types: abs_hds, asp_hds, chat, comment_coding, con_test, cyoa,",
    ),
    "teams_list": (
        lambda w: list(w.hits.transport.rows("teams/", cursor="x")),
        "cursor: This cursor cannot be read. Use the address in “next” as it is.",
    ),
    "teams_create": (lambda w: w.hits.teams.create("The Lab", ""), "name: It is empty. Write a text."),
    "teams_get": (
        lambda w: w.hits.teams.get("lab"),
        "team: There is no team “lab”, or your role in it does not allow this. Get the list: /api/v1/teams/",
    ),
    "teams_rename": (
        lambda w: w.hits.teams.rename("crew", "x" * 300),
        "name: It has more than 80 characters. Shorten it.",
    ),
    "teams_delete": (
        lambda w: w.hits.teams.delete("club"),
        "team: The team Club still owns studies. Move or delete them first.",
    ),
    "team_members_list": (
        lambda w: w.hits.teams.members("lab").all(),
        "team: There is no team “lab”, or your role in it does not allow this. Get the list: /api/v1/teams/",
    ),
    "team_members_put": (
        lambda w: w.hits.teams.members("crew").put("bob", "king"),
        "role: “king” cannot be used. Choose one of viewer, payer, editor, owner.",
    ),
    "team_members_remove": (
        lambda w: w.hits.teams.members("crew").remove("ada"),
        "user: ada is the only owner of this team. Make somebody else an owner first.",
    ),
    "tokens_list": (
        lambda w: with_token("hits_gone").tokens.all(),
        "This token is unknown or revoked. Make a new one in the console: Your account.",
    ),
    "tokens_create": (lambda w: w.hits.tokens.create("", ["write"]), "name: It is empty. Write a text."),
    "tokens_revoke": (
        lambda w: w.hits.tokens.revoke(999),
        "id: There is no token “999” that you can see. Get the list: /api/v1/tokens/",
    ),
    "studies_replace": (
        lambda w: w.draft.replace({"slug": "draft"}),
        "task_type: The key task_type is missing. Add a line “task_type: …”.",
    ),
    "studies_update": (
        lambda w: w.draft.update(reward="much", titel="x"),
        "titel: There is no “titel”. Did you mean “title”?",
    ),
    "studies_delete": (
        lambda w: w.live.delete(),
        "status: This study is live; only a draft can be deleted. Close it instead. Its data stay.",
    ),
    "studies_spec": (
        lambda w: w.hits.transport.get("studies/draft/spec/", format="xml"),
        "format: There is no format “xml”. Write format=json or format=yaml.",
    ),
    "studies_duplicate": (
        lambda w: w.draft.duplicate("live"),
        "slug: “live”: Another study already has this name. Choose another.",
    ),
    "studies_launch": (lambda w: w.hits.study("empty").launch(), "items: The study has no items. Import items first."),
    "studies_launch_plan": (
        lambda w: w.hits.transport.get("studies/none/launch-plan/"),
        "slug: There is no study “none”, or your role in it does not allow this. Get the list: /api/v1/studies/",
    ),
    "studies_pause": (
        lambda w: w.draft.pause(),
        "status: This study is a draft; you can only pause a study that is live. Launch it first, or delete",
    ),
    "studies_resume": (
        lambda w: w.draft.resume(),
        "status: This study is a draft; you can only resume a study that is paused. Launch it first, or",
    ),
    "studies_close": (
        lambda w: w.draft.close(),
        "status: This study is a draft; you can only close a study that is live or paused. Launch it first,",
    ),
    "studies_progress": (
        lambda w: w.hits.transport.get("studies/none/progress/"),
        "slug: There is no study “none”, or your role in it does not allow this. Get the list: /api/v1/studies/",
    ),
    "studies_simulate": (lambda w: w.live.simulate(0), "workers: It is less than 1. Send 1 or more."),
    "arms_list": (
        lambda w: list(w.hits.transport.rows("studies/draft/arms/", limit=0)),
        "limit: “0” cannot be used. Write a whole number from 1 to 1,000.",
    ),
    "arms_create": (
        lambda w: w.draft.arms.create("plain", reward="x"),
        "arms.plain.reward: This is text “x”. Write a number from 0 to 99,999 with at most 3 decimals, or nothing.",
    ),
    "arms_get": (lambda w: w.draft.arms.get("none"), "This study has no arm “none”. Its arms: plain, more."),
    "arms_update": (
        lambda w: w.draft.arms.change("plain", wanted=-1),
        "arms.plain.wanted: “-1”: Ensure this value is greater than or equal to 1. Write a whole number from",
    ),
    "arms_delete": (lambda w: w.draft.arms.delete("none"), "This study has no arm “none”. Its arms: plain, more."),
    "factors_get": (
        lambda w: w.hits.transport.get("studies/none/factors/"),
        "slug: There is no study “none”, or your role in it does not allow this. Get the list: /api/v1/studies/",
    ),
    "factors_put": (
        lambda w: w.draft.set_factors({"system": {"levle": ["a"]}}),
        "factors.system.levle: There is no “levle”. Known: of, reference, parts.",
    ),
    "wording_get": (
        lambda w: w.hits.transport.get("studies/none/wording/"),
        "slug: There is no study “none”, or your role in it does not allow this. Get the list: /api/v1/studies/",
    ),
    "wording_put": (
        lambda w: w.draft.set_wording({"no_such_text": "x"}),
        "texts.no_such_text: There is no “no_such_text”. Known: instructions, own_response.question,",
    ),
    "preview_get": (lambda w: w.draft.preview(arm="none"), "This study has no arm “none”."),
    "preview_page": (lambda w: w.draft.preview_page(999), "There is no page 999. The last one is page 3."),
    "images_list": (
        lambda w: list(w.hits.transport.rows("studies/draft/images/", limit="x")),
        "limit: “x” cannot be used. Write a whole number from 1 to 1,000.",
    ),
    "images_upload": (
        lambda w: w.draft.images.upload(file_in(w.folder, "a.png"), alt=""),
        "image_alt: The image has no alternative text. Describe in a few words what it shows, for people who",
    ),
    "images_delete": (
        lambda w: w.draft.images.delete(999),
        "id: There is no image “999” that you can see. Get the list: /api/v1/studies/draft/images/",
    ),
    "items_list": (
        lambda w: list(w.hits.transport.rows("studies/draft/items/", limit=0)),
        "limit: “0” cannot be used. Write a whole number from 1 to 1,000.",
    ),
    "items_upload": (
        lambda w: w.draft.upload(file_in(w.folder, "items.csv", "a,b\n1,2\n")),
        "items, column sample_id: The column sample_id is missing; the file has a, b. Add or rename a column",
    ),
    "items_get": (lambda w: w.draft.item("nothing"), "This study has no item “nothing”."),
    "items_from_run": (lambda w: w.draft.items_from_run("swoop"), "run: There is no “swoop”. Did you mean “sweep”?"),
    "items_from_study": (
        lambda w: w.draft.items_from_study("none"),
        "items.from_study: There is no study “none”, or the owner of this study may not see it. Check the",
    ),
    "items_take_outputs": (
        lambda w: w.draft.take_outputs(),
        "items: The items of draft do not come from another study. Choose one on the Items page, or set",
    ),
    "items_follow": (
        lambda w: w.draft.follow(),
        "items: The items of draft do not come from another study. Choose one on the Items page, or set",
    ),
    "links_list": (
        lambda w: list(w.hits.transport.rows("studies/draft/links/", limit=0)),
        "limit: “0” cannot be used. Write a whole number from 1 to 1,000.",
    ),
    "links_create": (lambda w: w.draft.links.create([]), "names: It is too short. Send at least 1 entry."),
    "links_revoke": (
        lambda w: w.draft.links.revoke(999),
        "id: There is no personal link “999” that you can see. Get the list: /api/v1/studies/draft/links/",
    ),
    "members_list": (
        lambda w: list(w.hits.transport.rows("studies/none/members/")),
        "slug: There is no study “none”, or your role in it does not allow this. Get the list: /api/v1/studies/",
    ),
    "members_put": (
        lambda w: w.draft.members.put("nobody", "editor"),
        "user: There is no researcher “nobody” on this server. Check the spelling, or ask an administrator",
    ),
    "members_remove": (
        lambda w: w.draft.members.remove("ada"),
        "user: ada is the only owner of this study. Make somebody else an owner first.",
    ),
    "study_team_get": (
        lambda w: w.hits.transport.get("studies/none/team/"),
        "slug: There is no study “none”, or your role in it does not allow this. Get the list: /api/v1/studies/",
    ),
    "study_team_put": (
        lambda w: w.draft.set_team("nobodys"),
        "team: You are not an editor or an owner of a team “nobodys”. Send the short name of one of your",
    ),
    "judges_list": (
        lambda w: list(w.hits.transport.rows("studies/none/judges/")),
        "slug: There is no study “none”, or your role in it does not allow this.",
    ),
    "judges_create": (lambda w: w.live.judges.create("none"), "model: There is no “none”. Known: "),
    "judges_forecast": (lambda w: w.live.judges.forecast("none"), "model: There is no “none”. Known: "),
    "judges_get": (lambda w: w.draft.judges.get(999), "id: There is no judge “999” that you can see."),
    "judges_stop": (lambda w: w.draft.judges.stop(999), "id: There is no judge “999” that you can see."),
    "judges_resume": (lambda w: w.draft.judges.resume(999), "id: There is no judge “999” that you can see."),
    "webhooks_list": (
        lambda w: list(w.hits.transport.rows("studies/none/webhooks/")),
        "slug: There is no study “none”, or your role in it does not allow this. Get the list: /api/v1/studies/",
    ),
    "webhooks_create": (
        lambda w: w.draft.webhooks.create("http://127.0.0.1/", ["study.done"]),
        "address: This is not an https address. Enter one such as https://example.org/hooks.",
    ),
    "webhooks_get": (
        lambda w: w.draft.webhooks.get(999),
        "id: There is no webhook “999” that you can see. Get the list: /api/v1/studies/draft/webhooks/",
    ),
    "webhooks_change": (
        lambda w: w.draft.webhooks.change(999, actve=True),
        "id: There is no webhook “999” that you can see. Get the list: /api/v1/studies/draft/webhooks/",
    ),
    "webhooks_delete": (
        lambda w: w.draft.webhooks.delete(999),
        "id: There is no webhook “999” that you can see. Get the list: /api/v1/studies/draft/webhooks/",
    ),
    "webhooks_deliveries": (
        lambda w: list(w.draft.webhooks.deliveries(999)),
        "id: There is no webhook “999” that you can see. Get the list: /api/v1/studies/draft/webhooks/",
    ),
    "webhooks_redeliver": (
        lambda w: w.draft.webhooks.redeliver(999, 1),
        "id: There is no webhook “999” that you can see. Get the list: /api/v1/studies/draft/webhooks/",
    ),
    "webhooks_replace_secret": (
        lambda w: w.draft.webhooks.replace_secret(999),
        "id: There is no webhook “999” that you can see. Get the list: /api/v1/studies/draft/webhooks/",
    ),
    "webhooks_test": (
        lambda w: w.draft.webhooks.test(999),
        "id: There is no webhook “999” that you can see. Get the list: /api/v1/studies/draft/webhooks/",
    ),
}
