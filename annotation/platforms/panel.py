"""Any site that sends people to an address with their ids in it, and accepts a completion code.

For example CloudResearch, Sona or a course. Such a site confirms nothing, so its work counts as claimed, and people are
paid by hand.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote, urlsplit

from django import forms
from django.core.exceptions import ValidationError

from annotation.identity import PANEL, is_panel_id, panel_id
from annotation.languages import gettext as _
from annotation.languages import marked
from annotation.models import Assignment, PlatformAccount, Posting, Study
from annotation.platforms.base import BadArrival, ByReward, Claim, Finish, posting_url
from annotation.platforms.calls import Call, Json
from annotation.platforms.changes import Changes
from annotation.platforms.costs import Offered
from annotation.platforms.link import decided_by, decision_time
from annotation.study_forms import PARAMETER, TAKEN_PARAMETERS
from annotation.task_types.settings import ConfigForm
from common.problems import Problem

#: What a return address may contain.
MARKS = ("{code}", "{worker}", "{session}")
_MARK = re.compile(r"\{[^{}]*\}?|\}")


class PanelForm(ConfigForm):
    """Settings for a panel: which parameters it adds to the address, and where its people return to."""

    panel = forms.CharField(
        max_length=40,
        help_text="Whose ids these are, such as sona: the same id of the same panel is the same person in all studies.",
    )
    worker_parameter = forms.CharField(
        label="Parameter with the person’s id",
        max_length=40,
        initial="worker",
        validators=[PARAMETER],
        help_text="Name of the parameter with a person's id.",
    )
    session_parameter = forms.CharField(
        label="Parameter with the session’s id",
        required=False,
        max_length=40,
        validators=[PARAMETER],
        help_text="Name of the parameter with the id of one participation, if the panel has one.",
    )
    study_parameter = forms.CharField(
        label="Parameter with the study’s id",
        required=False,
        max_length=40,
        validators=[PARAMETER],
        help_text="Name of the parameter with the panel's id of the study, if it is to be checked.",
    )
    study_id = forms.CharField(
        label="The study’s id on the panel",
        required=False,
        max_length=100,
        help_text="The panel's id of this study. Another id in the address is refused.",
    )
    return_url = forms.CharField(
        label="Return address",
        required=False,
        max_length=400,
        help_text="Where people go afterwards. {code}, {worker} and {session} are replaced. Empty: they see the code.",
    )
    completion_code = forms.RegexField(
        r"^[A-Za-z0-9_-]+\Z",
        label="One completion code for everybody",
        required=False,
        max_length=40,
        help_text="A code that is the same for everybody. Empty: each person has their own.",
    )

    approve_after_hours = decision_time()

    def clean_panel(self) -> str:
        return " ".join(str(self.cleaned_data["panel"]).split())

    def clean_return_url(self) -> str:
        url = str(self.cleaned_data["return_url"]).strip()
        strange = [mark for mark in _MARK.findall(url) if mark not in MARKS]
        if strange:
            raise ValidationError(f"{strange[0][:40]} is not one of {', '.join(MARKS)}.", code="mark")
        try:
            parts = urlsplit(url)
        except ValueError:
            parts = urlsplit("")
        if url and (parts.scheme not in ("http", "https") or not parts.netloc or "{" in parts.netloc):
            raise ValidationError("This is not an address that begins with https://.", code="address")
        return url

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        names = [cleaned.get(f"{kind}_parameter") for kind in ("worker", "session", "study")]
        used = [str(name) for name in names if name]
        for name in used:
            if name.lower() in TAKEN_PARAMETERS:
                raise ValidationError(f"The server uses the parameter {name} itself. Choose another name.")
        if len(set(used)) < len(used):
            raise ValidationError("Two parameters have the same name. Each id needs its own.")
        if bool(cleaned.get("study_parameter")) != bool(cleaned.get("study_id")):
            raise ValidationError("study_parameter and study_id belong together: set both, or neither.")
        return cleaned


class PanelChanges(Changes):
    """A panel gets no calls. Places that are added here must be added on its site by hand, too."""

    grows = True

    def may_hold(self, posting: Posting, places: int) -> bool:
        return True

    def grow(self, posting: Posting, places: int) -> Sequence[Call]:
        return ()


class Panel(ByReward):
    """A site that only knows addresses and codes."""

    name = PANEL
    title = "The panel"
    choice = "Another panel"
    form = PanelForm
    later = frozenset({"return_url"})
    unit = "address"
    units = "addresses"
    way_out = marked("Please go back to the site that you came from, and give the task back there if you can.")
    confirms = False
    pays = False
    by_hand = True

    @classmethod
    def connected(cls, account: PlatformAccount | None = None) -> Panel:
        return cls()

    def problems(self, study: Study, settings: Json, offered: Sequence[Offered]) -> list[Problem]:
        if settings["session_parameter"] or study.hits_per_worker == 1:
            return []
        what = "A worker may do several hits, and only a session's id tells these apart."
        return [Problem("platforms.panel.session_parameter", what, "Set it, or set hits_per_worker to 1.")]

    def posted(self, posting: Posting, settings: Json, results: Sequence[Json]) -> Json:
        return {"external_id": f"{posting.study.slug}/{posting.pk}", "code": settings["completion_code"]}

    def address(self, posting: Posting, settings: Json) -> str:
        names = [settings[f"{kind}_parameter"] for kind in ("worker", "session")]
        query = [f"{name}=…" for name in names if name]
        if settings["study_parameter"]:
            query.append(f"{settings['study_parameter']}={quote(settings['study_id'], safe='')}")
        return f"{posting_url(posting)}?{'&'.join(query)}"

    @classmethod
    def arrive(cls, posting: Posting, settings: Json, query: Mapping[str, str], server_origin: str) -> Claim | None:
        names = {kind: settings[f"{kind}_parameter"] for kind in ("worker", "session", "study")}
        values = {kind: query.get(name, "").strip() if name else "" for kind, name in names.items()}
        if not any(values.values()):
            raise BadArrival(
                marked("Your id is missing from this link"),
                marked(
                    "The site that sent you here did not add it. Open the study again from that site. If you see this "
                    "page again, write to the researchers."
                ),
            )
        if names["study"] and values["study"] != settings["study_id"]:
            raise BadArrival(
                marked("This link belongs to another study"),
                marked("Open the study again from the site that sent you here."),
            )
        session = values["session"] if names["session"] else values["worker"]
        if not (is_panel_id(values["worker"]) and is_panel_id(session)):
            raise BadArrival(
                marked("This address is not complete"),
                marked("The site that sent you here did not add who you are. Open the study again from that site."),
            )
        return Claim(PANEL, panel_id(settings["panel"], values["worker"]), session)

    @classmethod
    def payment_words(cls, settings: Json) -> str:
        where = _("Enter the completion code that you get for your work on the site that you came from.")
        pay = _("The researchers pay you, and this code shows them which work is yours.")
        return f"{where} {pay} {decided_by(settings)}"

    @classmethod
    def finish(cls, work: Assignment, settings: Json) -> Finish:
        shared = work.posting.code if work.posting else ""
        code = shared or work.participant.completion_code
        values = (code, work.participant.worker.platform_id.rpartition("/")[2], work.platform_assignment_id)
        link = str(settings["return_url"])
        for mark, value in zip(MARKS, values, strict=True):
            link = link.replace(mark, quote(value, safe=""))
        return Finish(code, link=link)
