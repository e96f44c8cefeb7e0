"""The console's forms. They show next to the field what the services would refuse anyway."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django import forms
from django.contrib.auth.models import User
from django.utils.text import slugify

from accounts.roles import researchers
from annotation.access import studies_of
from annotation.models import Membership, Review, Study
from annotation.study_forms import StudyForm
from annotation.table_files import SUFFIXES
from annotation.task_types.base import TaskType
from annotation.task_types.settings import ConfigForm
from generation.models import GenerationRun, LanguageModel
from generation.registry.registration import DTYPES

TEXT_PREFIX = "text-"


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


#: Kinds of outputs in words, for types that can judge more than one.
KINDS = {"turn": "Single turns of a story, each after the story before it"}


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


class UploadForm(forms.Form):
    """A file of items. Its rows are checked elsewhere."""

    file = forms.FileField(
        label="File",
        help_text="CSV or TSV with a header row, or JSONL with one object per line. UTF-8, or Unicode text from Excel.",
        error_messages={
            "required": "Choose a .csv, .tsv or .jsonl file.",
            "empty": "This file is empty. Choose the file with the items.",
            "missing": "Choose a .csv, .tsv or .jsonl file.",
        },
        widget=forms.ClearableFileInput(attrs={"accept": ",".join(SUFFIXES)}),
    )


class ReviewForm(forms.Form):
    """A person's decision on a submission."""

    decision = forms.ChoiceField(choices=Review.Decision.choices, widget=forms.RadioSelect)
    note = forms.CharField(
        label="Note", max_length=500, required=False, help_text="Why. Saved with the decision and in the activity."
    )
    release = forms.BooleanField(required=False)


class ExcludeWorkerForm(forms.Form):
    """Why a worker is excluded, and whether other workers replace them."""

    note = forms.CharField(
        label="Reason",
        max_length=500,
        help_text="Saved with each submission and in the activity.",
        error_messages={"required": "Say why: the reason is saved with each submission and in the activity."},
    )
    release = forms.BooleanField(required=False, label="Release the places, so that other workers fill them")


class MemberForm(forms.Form):
    """A user, by name, and their role."""

    username = forms.CharField(
        label="User name", max_length=150, widget=forms.TextInput(attrs={"autocapitalize": "none"})
    )
    role = forms.ChoiceField(
        label="Role",
        choices=[
            (Membership.Role.VIEWER, "Viewer: sees everything, changes nothing"),
            (Membership.Role.EDITOR, "Editor: sets up, launches, reviews"),
            (Membership.Role.OWNER, "Owner: also manages members"),
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


class PersonalLinksForm(forms.Form):
    """Names of the people to invite, one per line."""

    MOST = 1000
    names = forms.CharField(
        label="Names or numbers of your participants, one per line",
        widget=forms.Textarea(attrs={"rows": 6}),
        help_text="Each person gets a personal link. The same name always gives the same link.",
    )

    def clean_names(self) -> list[str]:
        names = list(dict.fromkeys(line.strip() for line in self.cleaned_data["names"].splitlines() if line.strip()))
        if len(names) > self.MOST:
            raise forms.ValidationError(f"There are {len(names):,} names. Enter up to {self.MOST:,} at a time.")
        return names


class InviteParticipantsForm(forms.Form):
    """The study whose participants get personal links to this one: any study that ``user`` can edit."""

    of = forms.ModelChoiceField(
        Study.objects.none(),
        label="Study",
        empty_label="Choose a study",
        help_text="Everybody who took part in that study gets a link and counts as the same person here, so "
        "nobody judges their own text.",
    )

    def __init__(self, *args: Any, user: User, study: Study, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        others = studies_of(user).exclude(pk=study.pk).filter(participants__isnull=False)
        if not user.is_superuser:
            roles = (Membership.Role.OWNER, Membership.Role.EDITOR)
            others = others.filter(memberships__user=user, memberships__role__in=roles)
        field = self.fields["of"]
        assert isinstance(field, forms.ModelChoiceField)  # noqa: S101 - as declared above
        field.queryset = others.distinct().order_by("-pk")


class RunForm(forms.Form):
    """A run file and its contexts. Their contents are checked elsewhere, all at once."""

    run_file = forms.CharField(
        label="Run file",
        max_length=1024 * 1024,
        widget=forms.Textarea(attrs={"rows": 16, "spellcheck": "false", "class": "source"}),
        help_text="YAML, as in the example. The guide to run files lists every key.",
    )
    contexts = forms.FileField(
        label="Contexts",
        required=False,
        help_text="CSV, TSV or JSON lines with a column <code>id</code> and one column for each field of the template. "
        "Leave it empty if the run file lists its contexts.",
    )


class ModelForm(forms.Form):
    """The registration of a language model. The registry checks the values."""

    name = forms.CharField(max_length=60, help_text="The name to use in run files, such as <code>gpt2-large</code>.")
    backend = forms.ChoiceField(choices=LanguageModel.Backend.choices)
    source = forms.CharField(
        max_length=500,
        help_text="A hub name, or a folder or GGUF file on the machines that run models. For a server, the model’s "
        "name there. <code>embedded</code> is the model that comes with HITServer.",
    )
    revision = forms.CharField(max_length=100, required=False, help_text="A branch, tag or commit on the hub.")
    dtype = forms.ChoiceField(choices=[(name, name) for name in DTYPES], initial="auto", label="Number format")
    device = forms.CharField(max_length=20, initial="auto", help_text="auto, cpu, cuda or cuda:N.")
    base_url = forms.CharField(
        max_length=300,
        required=False,
        label="Server address",
        help_text="Such as <code>http://127.0.0.1:8000/v1</code>. "
        "Other hosts must be listed in <code>HITSERVER_MODEL_SERVERS</code>.",
    )
    key_variable = forms.CharField(
        max_length=100,
        required=False,
        label="Variable with the key",
        help_text="The environment variable that holds the server’s key, such as "
        "<code>HITSERVER_MODEL_KEY_LAB</code>. The key is never stored.",
    )
    chat = forms.BooleanField(required=False, label="Send prompts as chat messages")
