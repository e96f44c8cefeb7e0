"""Where an item came from, in words, with links to what the user can see."""

from __future__ import annotations

from dataclasses import dataclass, field

from django.contrib.auth.models import User
from django.urls import reverse

from annotation.access import runs_of, studies_of
from annotation.models import Item, Output


@dataclass(frozen=True, slots=True)
class Source:
    """The parts of a line: ``what``, then ``name``, with a link to ``url`` if there is one, then ``detail``.

    ``links`` lead to the submissions that made the item's texts: (pseudonym, address).
    """

    what: str
    name: str
    url: str = ""
    detail: str = ""
    links: list[tuple[str, str]] = field(default_factory=list)


def source_of(item: Item, user: User) -> Source | None:
    """Where the item came from; None if that was not recorded."""
    source = item.source
    if "file" in source:
        return Source("File", source["file"], detail=_numbered("row", source["rows"]))
    if "run" in source:
        name = source["run"]
        seen = runs_of(user).filter(name=name).exists()
        url = reverse("console_run", args=[name]) if seen else ""
        return Source("Generation run", name, url, _numbered("sample", source["samples"]))
    if "study" not in source:
        return None
    slug, by_bot = source["study"], "by a simulated worker" if source.get("simulated") else ""
    if not studies_of(user).filter(slug=slug).exists():
        return Source("Study", slug, detail=by_bot)
    outputs = Output.objects.filter(pk__in=source["outputs"], study__slug=slug).order_by("pk")
    by = dict(outputs.values_list("submission_id", "submission__participant__pseudonym"))
    links = [(name, reverse("console_submission", args=[slug, pk])) for pk, name in by.items()]
    return Source("Study", slug, reverse("console_study", args=[slug]), by_bot, links)


def _numbered(what: str, numbers: list[int]) -> str:
    listed = ", ".join(map(str, numbers[:20])) + (" …" if len(numbers) > 20 else "")
    return f"{what}{'s' if len(numbers) != 1 else ''} {listed}" if numbers else ""
