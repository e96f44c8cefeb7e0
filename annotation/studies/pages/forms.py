"""The forms of a study's pages. They show next to the field what the services would refuse anyway."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django import forms
from django.contrib.auth.models import User
from django.utils.text import slugify

from accounts.models import Team
from accounts.roles import researchers
from annotation.access import Role, studies_of, teams_of
from annotation.models import Membership, Study
from annotation.shell.forms import UploadForm
from annotation.study_forms import StudyForm
from annotation.table_files import SUFFIXES
from annotation.task_types.base import TaskType
from annotation.task_types.settings import ConfigForm
from generation.models import GenerationRun

TEXT_PREFIX = "text-"
KINDS = {"turn": "Single turns of a story, each after the story before it"}


def short_name(typed: str, title: str, *, exclude: int | None = None) -> str:
    """The name typed, or one made from the title. If another study has the name made, it gets a number."""
    slug = slugify(title).replace("_", "-")[:60].strip("-")
    if title and not (typed or slug):
        raise forms.ValidationError("No short name can be made from this title. Enter one here, such as study-1.")
    if typed:
        return typed
    others = Study.objects.all() if exclude is None else Study.objects.exclude(pk=exclude)
    used_slugs = set(others.values_list("slug", flat=True))
    candidate, number = slug, 1
    while candidate in used_slugs:
        number += 1
        candidate = f"{slug[:55].rstrip('-')}-{number}"
    return candidate


class SettingsForm(StudyForm):
    """A study's own settings as a person fills them in. An empty short name is made from the title.

    ``exclude_studies`` offers the studies that ``user`` may see.
    """

    exclude_studies = forms.MultipleChoiceField(
        label="Exclude people who took part in",
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text="Their participants cannot start this study. People are recognised by personal link, browser "
        "or panel id, whichever both studies use.",
    )

    def __init__(self, *args: Any, user: User, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["slug"].required = False
        self.fields["slug"].help_text += " Leave it empty to have it made from the title."
        others = studies_of(user).exclude(pk=self.instance.pk).order_by("-pk")
        field = self.fields["exclude_studies"]
        assert isinstance(field, forms.MultipleChoiceField)  # noqa: S101 - as declared above
        field.choices = [(study.slug, f"{study.title} ({study.slug})") for study in others]
        if self.instance.pk:
            field.initial = list(self.instance.exclude_studies.values_list("slug", flat=True))

    def clean_slug(self) -> str:
        title = str(self.data.get(self.add_prefix("title"), ""))
        return short_name(self.cleaned_data["slug"], title, exclude=self.instance.pk)

    def chosen_studies(self) -> list[str]:
        """The studies to exclude: those chosen, and those that are excluded already but not shown to this user."""
        shown = {slug for slug, _ in self.fields["exclude_studies"].choices}  # type: ignore[attr-defined]
        hidden = [slug for slug in self.fields["exclude_studies"].initial or [] if slug not in shown]
        return [*self.cleaned_data["exclude_studies"], *hidden]


def type_form(task: TaskType, data: Mapping[str, Any] | None, config: Mapping[str, Any] | None = None) -> ConfigForm:
    """The type's settings, with their own prefix so that they do not clash with the study's fields."""
    return task.config_form(data, initial=dict(config or {}), prefix="config")


def typed_texts(data: Mapping[str, Any], names: Iterable[str]) -> dict[str, str]:
    """The wordings in the request. An empty one means the type's own wording."""
    typed = {name: str(data.get(TEXT_PREFIX + name, "")).replace("\r\n", "\n").strip() for name in names}
    return {name: text for name, text in typed.items() if text}


class DuplicateForm(forms.Form):
    """The name of a duplicate, and whether to copy the items."""

    title = forms.CharField(max_length=200)
    slug = forms.CharField(
        label="Short name in addresses",
        max_length=60,
        required=False,
        help_text="Lower-case letters, digits and hyphens. Leave it empty to have it made from the title.",
    )
    with_items = forms.BooleanField(label="Copy the items", required=False)

    def clean_slug(self) -> str:
        return short_name(self.cleaned_data["slug"], str(self.data.get("title", "")))


class ItemsFileForm(UploadForm):
    """A file of items, and whether to see its columns before they are imported."""

    choose_columns = forms.BooleanField(label="Choose which column is which before the import", required=False)


class OutputsForm(forms.Form):
    """The study whose outputs become items: any study that ``user`` can see and the type can judge."""

    source = forms.ChoiceField(label="Study", error_messages={"required": "Choose a study."})
    arms = forms.CharField(
        label="Only these arms",
        max_length=1000,
        required=False,
        help_text="Names of arms, separated by commas. Empty: all arms.",
    )
    kind = forms.ChoiceField(
        label="Which texts", required=False, help_text="What the other study's submissions contain."
    )
    follow = forms.BooleanField(
        label="Also add outputs that arrive after the launch",
        required=False,
        help_text="They are added every minute, as soon as they fill a hit.",
    )

    def __init__(self, *args: Any, sources: Sequence[Study], kinds: Sequence[str] = (), **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        source, kind = self.fields["source"], self.fields["kind"]
        assert isinstance(source, forms.ChoiceField)  # noqa: S101 - as declared above
        assert isinstance(kind, forms.ChoiceField)  # noqa: S101 - as declared above
        source.choices = [(study.slug, f"{study.title} ({study.slug})") for study in sources]
        kind.choices = [("", "Whole texts"), *((name, KINDS.get(name, name)) for name in kinds[1:])]
        if len(kinds) < 2:  # nothing to choose
            del self.fields["kind"]

    def clean_arms(self) -> list[str]:
        return [name.strip() for name in self.cleaned_data["arms"].split(",") if name.strip()]


class RunChoiceForm(forms.Form):
    """The generation run whose samples become items. ``adds_file`` names what a file can add to them, if anything."""

    run = forms.ChoiceField(label="Run", error_messages={"required": "Choose a run."})

    def __init__(self, *args: Any, runs: Sequence[GenerationRun], adds_file: str = "", **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if adds_file:
            self.fields["file"] = forms.FileField(
                label=f"{adds_file} (file)",
                required=False,
                help_text="Its rows join the run’s samples. It has the columns listed above.",
                error_messages={"empty": "This file is empty. Choose another one, or none."},
                widget=forms.ClearableFileInput(attrs={"accept": ",".join(SUFFIXES)}),
            )
        field = self.fields["run"]
        assert isinstance(field, forms.ChoiceField)  # noqa: S101 - as declared above
        field.choices = [(run.name, run.name) for run in runs]


class MemberForm(forms.Form):
    """A user, by name, and their role."""

    username = forms.CharField(
        label="User name", max_length=150, widget=forms.TextInput(attrs={"autocapitalize": "none"})
    )
    role = forms.ChoiceField(
        label="Role",
        choices=[
            (Membership.Role.VIEWER, "Viewer: sees everything, changes nothing"),
            (Membership.Role.PAYER, "Payer: spends money and decides what is paid, does not change the study"),
            (Membership.Role.EDITOR, "Editor: sets up, launches, reviews"),
            (Membership.Role.OWNER, "Owner: also spends money and manages members"),
        ],
    )

    def clean_username(self) -> str:
        name: str = self.cleaned_data["username"].strip()
        self.found = researchers().filter(username=name).first()
        if self.found is None:
            raise forms.ValidationError(
                "There is no researcher “%(name)s” on this server. Check the spelling, or ask an administrator "
                "to add them.",
                params={"name": name},
            )
        return name


class TeamChoiceForm(forms.Form):
    """The team that a study belongs to: one in which the user sets up studies, or none."""

    team = forms.ModelChoiceField(
        Team.objects.none(),
        label="Team",
        required=False,
        empty_label="No team",
        help_text="Its members have at least their role in the team in this study.",
    )

    def __init__(self, *args: Any, user: User, study: Study | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields["team"]
        assert isinstance(field, forms.ModelChoiceField)  # noqa: S101 - as declared above
        choosable = teams_of(user, Role.EDITOR).distinct()
        if study is not None:
            choosable |= Team.objects.filter(studies=study).distinct()
            field.initial = study.team_id
        field.queryset = choosable
