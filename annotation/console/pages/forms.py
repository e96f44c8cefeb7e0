"""The forms that make personal links."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib.auth.models import User

from annotation.access import studies_of
from annotation.models import Membership, Study


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
