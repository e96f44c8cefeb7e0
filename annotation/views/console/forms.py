"""The console's forms. They say early and beside the field what the services would refuse anyway."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django import forms
from django.contrib.auth.models import User
from django.utils.text import slugify

from annotation.forms import StudyForm
from annotation.models import Membership, Review, Study
from annotation.tables import SUFFIXES
from annotation.task_types.base import ConfigForm, TaskType
from generation.models import LanguageModel
from generation.services.models import DTYPES

TEXT_PREFIX = "text-"


class SettingsForm(StudyForm):
    """A study's own settings as a person fills them in: the short name may be made from the title."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["slug"].required = False
        self.fields["slug"].help_text += " Leave it empty to have it made from the title."

    def clean_slug(self) -> str:
        typed: str = self.cleaned_data["slug"]
        title = str(self.data.get(self.add_prefix("title"), ""))
        made = slugify(title).replace("_", "-")[:60].strip("-")
        if title and not (typed or made):
            raise forms.ValidationError("No short name can be made from this title: write one here, such as study-1.")
        return typed or self._free(made)

    def _free(self, made: str) -> str:
        """``made``, or with the first number behind it that no other study has: two studies may share a title."""
        taken = set(Study.objects.exclude(pk=self.instance.pk).values_list("slug", flat=True))
        candidate, number = made, 1
        while candidate in taken:
            number += 1
            candidate = f"{made[:55].rstrip('-')}-{number}"
        return candidate


def type_form(task: TaskType, data: Mapping[str, Any] | None, config: Mapping[str, Any] | None = None) -> ConfigForm:
    """The type's settings, under a prefix of their own so that they meet none of the study's fields."""
    return task.config_form(data, initial=dict(config or {}), prefix="config")


def typed_texts(data: Mapping[str, Any], names: Sequence[str]) -> dict[str, str]:
    """The wordings of the request; an empty one means the type's own."""
    given = {name: str(data.get(TEXT_PREFIX + name, "")).replace("\r\n", "\n").strip() for name in names}
    return {name: text for name, text in given.items() if text}


class UploadForm(forms.Form):
    """A file of items. What is in it is checked row by row elsewhere."""

    file = forms.FileField(
        label="File",
        help_text="CSV or TSV with a header row, or JSONL with one object per line; UTF-8.",
        error_messages={
            "required": "No file was chosen. Choose a .csv, .tsv or .jsonl file.",
            "empty": "This file is empty. Choose the file that holds the items.",
            "missing": "No file was chosen. Choose a .csv, .tsv or .jsonl file.",
        },
        widget=forms.ClearableFileInput(attrs={"accept": ",".join(SUFFIXES)}),
    )


class ReviewForm(forms.Form):
    """A person's decision on a submission."""

    decision = forms.ChoiceField(choices=Review.Decision.choices, widget=forms.RadioSelect)
    note = forms.CharField(
        label="Note", max_length=500, required=False, help_text="Why; kept with the decision and in the activity."
    )


class MemberForm(forms.Form):
    """A user, by name, and what they may do."""

    username = forms.CharField(
        label="User name", max_length=150, widget=forms.TextInput(attrs={"autocapitalize": "none"})
    )
    role = forms.ChoiceField(
        label="Role",
        choices=[
            (Membership.Role.VIEWER, "Viewer: sees everything, changes nothing"),
            (Membership.Role.EDITOR, "Editor: sets up, goes live, reviews"),
            (Membership.Role.OWNER, "Owner: also manages members"),
        ],
    )

    def clean_username(self) -> str:
        name: str = self.cleaned_data["username"].strip()
        self.found = User.objects.filter(username=name, is_active=True).first()
        if self.found is None:
            raise forms.ValidationError(
                "There is no user “%(name)s” on this server. Check the spelling, or have an administrator add them.",
                params={"name": name},
            )
        return name


class PersonalLinksForm(forms.Form):
    """Names of the invited, one a line."""

    MOST = 1000
    names = forms.CharField(
        label="Names or numbers of your participants, one a line",
        widget=forms.Textarea(attrs={"rows": 6}),
        help_text="Each gets a link of their own. The same name always gives the same link.",
    )

    def clean_names(self) -> list[str]:
        names = list(dict.fromkeys(line.strip() for line in self.cleaned_data["names"].splitlines() if line.strip()))
        if len(names) > self.MOST:
            raise forms.ValidationError(f"These are {len(names)} names; at most {self.MOST} fit: do it in parts.")
        return names


class RunForm(forms.Form):
    """A run file and its contexts. What they say is checked elsewhere, all at once."""

    run_file = forms.CharField(
        label="Run file",
        max_length=1024 * 1024,
        widget=forms.Textarea(attrs={"rows": 16, "spellcheck": "false", "class": "source"}),
        help_text="YAML. The example makes twenty texts; the guide to generation lists every key.",
    )
    contexts = forms.FileField(
        label="Contexts",
        required=False,
        help_text="CSV, TSV or JSON lines with a column <code>id</code> and one column per field of the template. Not "
        "needed where the run file lists its contexts itself.",
    )


class ModelForm(forms.Form):
    """A language model as it is registered. The registry checks the values."""

    name = forms.CharField(max_length=60, help_text="What run files call it, such as <code>gpt2-large</code>.")
    backend = forms.ChoiceField(choices=LanguageModel.Backend.choices)
    source = forms.CharField(
        max_length=500,
        help_text="A hub name, a folder or a GGUF file on the machines that run models; for a server, the name it "
        "knows the model by; <code>embedded</code> for the one that comes with HITServer.",
    )
    revision = forms.CharField(max_length=100, required=False, help_text="A branch, tag or commit of the hub.")
    dtype = forms.ChoiceField(choices=[(name, name) for name in DTYPES], initial="auto", label="Number format")
    device = forms.CharField(max_length=20, initial="auto", help_text="auto, cpu, cuda or cuda:N.")
    base_url = forms.CharField(
        max_length=300, required=False, label="Server address", help_text="Such as <code>http://gpu-1:8000/v1</code>."
    )
    key_variable = forms.CharField(
        max_length=100,
        required=False,
        label="Variable with the key",
        help_text="The environment variable of the workers that holds the server’s key. The key is never stored.",
    )
    chat = forms.BooleanField(required=False, label="Send prompts as a chat message")
