"""The steps to the launch of a study, and which of them is open."""

from __future__ import annotations

from dataclasses import dataclass

from django.urls import reverse

from annotation.models import Item, Study

STEPS = (
    ("type", "Type", "console_type"),
    ("settings", "Settings", "console_settings"),
    ("items", "Items", "console_upload"),
    ("preview", "Preview", "console_preview"),
    ("publish", "Launch", "console_publish"),
)


@dataclass(frozen=True, slots=True)
class StepLink:
    """One step: its address (empty while it cannot be opened), and whether it is done or open."""

    name: str
    label: str
    url: str
    current: bool
    done: bool


def stepper(study: Study | None, current: str) -> list[StepLink]:
    """All steps. Before the first save, only the type step can be opened again."""
    if study is None or study.pk is None:
        back = {"type": reverse("console_new")} if current != "type" else {}
        return [
            StepLink(name, label, back.get(name, ""), name == current, name == "type" and current != "type")
            for name, label, _ in STEPS
        ]
    has_items = Item.objects.filter(study=study).exists()
    done = {"type": True, "settings": True, "items": has_items}
    return [
        StepLink(
            name,
            label,
            reverse(view, args=[study.slug]) if has_items or name in done else "",
            name == current,
            done.get(name, False),
        )
        for name, label, view in STEPS
    ]
