"""The console's forms. They say early and beside the field what the services would refuse anyway."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django import forms
from django.conf import settings
from django.contrib.auth.models import User
from django.core.files.uploadedfile import UploadedFile
from django.utils.text import slugify

from annotation.models import Membership, Review, Study
from annotation.task_types.base import ConfigForm, TaskType

SUFFIXES = (".csv", ".tsv", ".jsonl")
TEXT_PREFIX = "text-"


class StudyForm(forms.ModelForm[Study]):
    """A study's own settings; those of its task type are a form of the type's."""

    slug = forms.SlugField(
        label="Short name in addresses",
        max_length=60,
        required=False,
        help_text="Workers see it in the study link. Leave it empty to have it made from the title.",
    )

    class Meta:
        model = Study
        fields = (
            "title",
            "slug",
            "contact",
            "consent",
            "ratings_per_item",
            "items_per_hit",
            "hits_per_worker",
            "reward",
            "time_limit_minutes",
            "access",
            "feedback_box",
            "seed",
        )
        labels = {
            "contact": "Contact for workers",
            "consent": "Consent text",
            "ratings_per_item": "Ratings wanted per item",
            "items_per_hit": "Items per hit",
            "hits_per_worker": "Hits per worker at most",
            "reward": "Reward per hit (USD)",
            "time_limit_minutes": "Time limit per hit (minutes)",
            "access": "Who may take part",
            "feedback_box": "Ask for feedback at the end",
            "seed": "Seed",
        }
        help_texts = {
            "title": "Workers see it at the top of every page.",
            "contact": "Whom workers write to, such as an e-mail address.",
            "consent": "Shown before anything else; workers have to agree. Left out when empty.",
            "ratings_per_item": "By as many different workers.",
            "items_per_hit": "A hit is what one worker does at one go and is paid for.",
            "hits_per_worker": "Empty: no limit.",
            "reward": "Zero for volunteers or a course.",
            "time_limit_minutes": "After that, an unfinished hit goes to somebody else.",
            "feedback_box": "An optional box on the last page of a hit.",
            "seed": "Fixes the order in which items are given out, so that the plan can be made again.",
        }
        widgets = {"consent": forms.Textarea(attrs={"rows": 5})}

    def clean_slug(self) -> str:
        return self.cleaned_data["slug"] or slugify(self.data.get(self.add_prefix("title"), ""))[:60].strip("-")


def type_form(task: TaskType, data: Mapping[str, Any] | None, config: Mapping[str, Any] | None = None) -> ConfigForm:
    """The type's settings, under a prefix of their own so that they meet none of the study's fields."""
    if data is not None:
        return task.config_form(data, prefix="config")
    return task.config_form(initial=config or {}, prefix="config")


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

    def clean_file(self) -> UploadedFile:
        file: UploadedFile = self.cleaned_data["file"]
        name, size = file.name or "", file.size or 0
        if not name.lower().endswith(SUFFIXES):
            raise forms.ValidationError(
                "“%(name)s” is no kind of file that can be read. Save it as CSV (UTF-8), TSV or JSONL and choose that.",
                params={"name": name[:100]},
            )
        if size > settings.MAX_UPLOAD_BYTES:
            raise forms.ValidationError(
                "The file has %(size)s MB; at most %(limit)s MB can be sent. Split it, or use the command line.",
                params={"size": -(-size // 1024**2), "limit": settings.MAX_UPLOAD_BYTES // 1024**2},
            )
        return file


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
            raise forms.ValidationError(f"These are {len(names)} names; at most {self.MOST} fit at once. Do it in parts.")
        long = next((name for name in names if len(name) > 100), "")
        if long:
            raise forms.ValidationError(f"“{long[:30]}…” is longer than 100 characters. Use a shorter name.")
        return names
