"""Work that members do in the console: who codes, where they start, and differences side by side."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotation.access import Capability, capabilities_in, members_of
from annotation.models import Item, Study
from annotation.review.adjudicating import MAX_NOTE, adjudicated_question, settle
from annotation.shell.page import SignedIn, member, say_refused, study_page
from annotation.task_types.kinds.choices import ChoicesQuestion
from annotation.task_types.registry import get_type
from annotation.tokens import participant_token
from annotation.work.coded_items import CodedItem, coded_items, coders_of
from annotation.work.member_work import reasons_not_to_start, start_member_work, works_blind
from common.problems import Refused

#: What the page calls the states of an item, in the order of its filter.
STATES = {
    "differ": "To settle",
    "settled": "Settled",
    "agree": "All agree",
    "waiting": "Not coded by everybody yet",
}


@dataclass(frozen=True, slots=True)
class LabelRow:
    """One label and each coder's decision about it. ``group`` is the category, but only for its first label."""

    key: str
    label: str
    description: str
    group: str
    given: Sequence[bool]
    final: bool
    differs: bool


def _for_members(study: Study) -> None:
    if not get_type(study.task_type).for_members:
        raise Http404("Members do not do the work of this study.")


@require_safe
@member()
def coding(request: SignedIn, study: Study) -> HttpResponse:
    _for_members(study)
    items, coders = coded_items(study), coders_of(study)
    blind = works_blind(study, request.user)
    counts = Counter(item.state for item in items)
    shown = request.GET.get("state", "differ")
    own_share = next((coder for coder in coders if coder.user_id == request.user.pk), None)
    context = {
        "coders": coders,
        "own": own_share,
        "reasons": reasons_not_to_start(study, request.user),
        "n_items": len(items),
        "n_final": counts["settled"] + counts["agree"],
        "missing": max(0, study.ratings_per_item - len([coder for coder in coders if coder.active])),
        "n_members": members_of(study).count(),
        "blind": blind,
        "settles": bool(get_type(study.task_type).adjudicates) and not blind,
        "states": [(key, name, counts[key]) for key, name in STATES.items()],
        "shown": shown if shown in STATES else "differ",
        "items": [item for item in items if item.state == shown],
        "next": next((item for item in items if item.state == "differ"), None),
    }
    return study_page(request, study, "review/coding.html", context, section="coding")


@require_POST
@member(write="viewer")
def start(request: SignedIn, study: Study) -> HttpResponse:
    _for_members(study)
    try:
        participant = start_member_work(study=study, user=request.user)
    except Refused as refused:
        say_refused(request, refused)
        return redirect("console_coding", study.slug)
    return redirect("work", participant_token(participant.pk))


@require_http_methods(["GET", "HEAD", "POST"])
@member(answers=True)
def adjudicate(request: SignedIn, study: Study, pk: int) -> HttpResponse:
    """One item: what each coder chose, side by side, and the final labels."""
    _for_members(study)
    question = adjudicated_question(study)
    if question is None:
        raise Http404("This type settles nothing.")
    item = get_object_or_404(Item, pk=pk, study=study, role=Item.Role.MAIN)
    if request.method == "POST":
        chosen = [option.key for option in question.options if request.POST.get(question.field(option))]
        try:
            settle(item=item, chosen=chosen, note=request.POST.get("note", ""), user=request.user)
        except Refused as refused:
            say_refused(request, refused)
            return redirect("console_adjudicate", study.slug, item.pk)
        messages.success(request, f"Saved the final labels of {item.external_id}.")
        # The next item to settle, after this one or else from the start.
        items = coded_items(study)
        start = next((index for index, coded in enumerate(items) if coded.pk == item.pk), 0)
        left = [coded for coded in [*items[start:], *items[:start]] if coded.state == "differ"]
        if left:
            return redirect("console_adjudicate", study.slug, left[0].pk)
        return redirect("console_coding", study.slug)
    coded = coded_items(study, only=item.pk)[0]
    names = {coder.participant_id: coder.name for coder in coders_of(study)}
    task = get_type(study.task_type)
    facts = task.describe_item(item.payload)
    context = {
        "item": item,
        "coded": coded,
        "text": facts.texts[0][0],
        "cells": [(name, cell) for name, cell in task.export_columns(item.payload).items() if cell.strip()],
        "coders": [names.get(person, "a simulated worker") for person in coded.given],
        "rows": label_rows(question, coded),
        "question": question,
        "max_note": MAX_NOTE,
        "may_settle": Capability.COLLECT in capabilities_in(study, request.user),
        "state": STATES[coded.state],
    }
    return study_page(request, study, "review/adjudicate.html", context, section="coding")


def label_rows(question: ChoicesQuestion, coded: CodedItem) -> list[LabelRow]:
    """The labels with everybody's decisions. Until there is a final answer, the labels that all chose are ticked."""
    chosen_by_coder = list(coded.given.values())
    final = coded.final
    if final is None:
        final = frozenset.intersection(*chosen_by_coder) if chosen_by_coder else frozenset()
    rows: list[LabelRow] = []
    group = ""
    for option in question.options:
        decided = [option.key in chosen for chosen in chosen_by_coder]
        heading = option.group if option.group != group else ""
        group = option.group
        differs = len(set(decided)) > 1
        rows.append(
            LabelRow(
                question.field(option),
                option.label,
                option.description,
                heading,
                decided,
                option.key in final,
                differs,
            )
        )
    return rows
