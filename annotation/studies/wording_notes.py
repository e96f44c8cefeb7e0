"""Texts of a draft that are still the instrument's English although its pages are in another language."""

from __future__ import annotations

from annotation.languages import ENGLISH, LANGUAGES
from annotation.models import Study
from annotation.studies.link_identity import identity_warnings
from annotation.task_types.registry import UnknownTaskType, get_type
from common.words import counted

MOST_NAMED = 12


def untranslated_texts(study: Study) -> list[str]:
    """The names of texts that some worker of this draft would read in the type's own English; none in English."""
    if study.language == ENGLISH or study.status != Study.Status.DRAFT:
        return []
    try:
        task = get_type(study.task_type)
    except UnknownTaskType:
        return []
    names: dict[str, None] = {}
    for arm_config, arm_texts in [(arm.config, arm.texts) for arm in study.arms.order_by("position")] or [({}, {})]:
        for text in task.texts(study.config | arm_config):
            own = arm_texts.get(text.name, "") or study.texts.get(text.name, "")
            if not own.strip() and any(letter.isalpha() for letter in text.default):
                names[text.name] = None
    return list(names)


def wording_warnings(study: Study) -> list[str]:
    """One sentence about `untranslated_texts`, for pages and commands; none if there are none."""
    names = untranslated_texts(study)
    if not names:
        return []
    language = LANGUAGES[study.language].name
    shown = ", ".join(names[:MOST_NAMED]) + (f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else "")
    are, them = ("is", "it") if len(names) == 1 else ("are", "them")
    return [
        f"The interface is in {language}, but {counted(len(names), 'text')} of the task {are} still in English: "
        f"{shown}. Word {them} yourself: in the console under Wording, in a study file below texts."
    ]


def study_warnings(study: Study) -> list[str]:
    """What to know about a study before and after its launch, for commands."""
    return [*identity_warnings(study), *wording_warnings(study)]
