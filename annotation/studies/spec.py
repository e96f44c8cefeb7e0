"""A study's description as one value: study file, console, duplicate and apply read and write it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from decimal import Decimal
from typing import Any, TypedDict, cast

from django.forms.models import model_to_dict

from annotation.models import Study
from annotation.studies.stopping_rule import StoppingForm
from annotation.study_forms import ArmForm, StudyForm
from annotation.task_types.items import Json
from annotation.task_types.questionnaire_form import QuestionnairesForm
from annotation.task_types.registry import UnknownTaskType, get_type
from annotation.work.quality_rules import initial_values, rules_of

FIELDS: tuple[str, ...] = tuple(StudyForm.Meta.fields)
ARM_FIELDS: tuple[str, ...] = tuple(ArmForm.Meta.fields)
ARM_KEYS: tuple[str, ...] = (*ARM_FIELDS, "config", "texts", "factors")
#: Where the stored settings of a factor say which place it has: PostgreSQL does not keep the order of names.
POSITION = "position"


@dataclass(frozen=True, slots=True)
class ArmSpec:
    """One arm: what it changes in the study, how many participants it should have, and its level by factor.

    Before it is checked, ``reward`` and ``wanted`` are as somebody typed them, and ``strangers`` has keys that no arm
    has.
    """

    name: str
    config: Mapping[str, Any] = field(default_factory=dict)
    texts: Mapping[str, str] = field(default_factory=dict)
    reward: Decimal | None = None
    wanted: int | None = None
    factors: Mapping[str, str] = field(default_factory=dict)
    strangers: tuple[str, ...] = ()

    @classmethod
    def of(cls, arm: Mapping[str, Any]) -> ArmSpec:
        """An arm as a study file writes it, unchecked."""
        return cls(
            name=arm.get("name") or "",
            config=arm.get("config") or {},
            texts=arm.get("texts") or {},
            reward=arm.get("reward"),
            wanted=arm.get("wanted"),
            factors=arm.get("factors") or {},
            strangers=tuple(name for name in arm if name not in ARM_KEYS),
        )

    @property
    def values(self) -> dict[str, Any]:
        """The fields of the arm's own form."""
        return {name: getattr(self, name) for name in ARM_FIELDS}

    def as_json(self) -> dict[str, Any]:
        """The arm as a study file writes it."""
        return self.values | {"config": self.config, "texts": self.texts, "factors": self.factors}


@dataclass(frozen=True, slots=True)
class StudySpec:
    """Everything that a study file says about a study, but not its items.

    ``values`` has the fields of `StudyForm`, the short name among them; missing ones get defaults, or keep what the
    study has. ``exclude_studies`` has short names. ``questionnaires`` has the fields of `QuestionnairesForm`.
    ``factors`` has the settings of each by its name (see `studies.declared_factors`).
    `studies.checking.check_study` cleans a spec: what it returns is ready to store.
    """

    task_type: str
    values: Mapping[str, Any]
    config: Json = field(default_factory=dict)
    texts: Mapping[str, str] = field(default_factory=dict)
    arms: Sequence[ArmSpec] = ()
    exclude_studies: Sequence[str] = ()
    platforms: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    quality_control: Mapping[str, Any] = field(default_factory=dict)
    exclusion: Mapping[str, Any] = field(default_factory=dict)
    factors: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    stopping: Mapping[str, Any] = field(default_factory=dict)
    interface: Mapping[str, str] = field(default_factory=dict)
    questionnaires: Mapping[str, Any] = field(default_factory=dict)

    def parts(self) -> SpecChanges:
        """The parts by name, for `change_study`."""
        return cast(SpecChanges, {part.name: getattr(self, part.name) for part in fields(self)})

    def columns(self) -> dict[str, Any]:
        """The columns of the table of studies: everything but the arms and the excluded studies."""
        parts = (
            "task_type",
            "config",
            "texts",
            "platforms",
            "quality_control",
            "exclusion",
            "stopping",
            "interface",
            "questionnaires",
        )
        factors = {
            name: {**settings, POSITION: position} for position, (name, settings) in enumerate(self.factors.items())
        }
        return {name: getattr(self, name) for name in parts} | dict(self.values) | {"factors": factors}

    def terms(self) -> dict[str, Any]:
        """Everything by its name in a study file: ``config.<name>``, ``arms.<arm>.reward`` and so on."""
        terms: dict[str, Any] = {"task_type": self.task_type, **self.values}
        terms |= {f"config.{name}": value for name, value in self.config.items()}
        terms |= {f"texts.{name}": text for name, text in self.texts.items()}
        terms |= {f"interface.{source}": wording for source, wording in self.interface.items()}
        for platform, settings in self.platforms.items():
            terms |= {f"platforms.{platform}.{name}": value for name, value in settings.items()}
        terms |= {f"quality_control.{name}": value for name, value in self.quality_control.items()}
        terms |= {f"exclude.{name}": value for name, value in self.exclusion.items()}
        terms |= {f"stopping.{name}": value for name, value in self.stopping.items()}
        terms |= self.questionnaires
        terms |= {f"factors.{name}": dict(settings) for name, settings in self.factors.items()}
        terms |= {"exclude_studies": list(self.exclude_studies), "arms": [arm.name for arm in self.arms]}
        for arm in self.arms:
            prefix = f"arms.{arm.name}."
            terms |= {f"{prefix}reward": arm.reward, f"{prefix}wanted": arm.wanted}
            terms |= {f"{prefix}config.{name}": value for name, value in arm.config.items()}
            terms |= {f"{prefix}texts.{name}": text for name, text in arm.texts.items()}
            terms |= {f"{prefix}factors.{name}": level for name, level in arm.factors.items()}
        return terms


class SpecChanges(TypedDict, total=False):
    """The parts of a `StudySpec` that a change replaces. Of ``values``, only those that are named change."""

    task_type: str
    values: Mapping[str, Any]
    config: Json
    texts: Mapping[str, str]
    arms: Sequence[ArmSpec]
    exclude_studies: Sequence[str]
    platforms: Mapping[str, Mapping[str, Any]]
    quality_control: Mapping[str, Any]
    exclusion: Mapping[str, Any]
    factors: Mapping[str, Mapping[str, Any]]
    stopping: Mapping[str, Any]
    interface: Mapping[str, str]
    questionnaires: Mapping[str, Any]


def spec_of(study: Study) -> StudySpec:
    """The study as stored. Rules that it does not store have defaults."""
    quality_control, exclusion = rules_of(study)
    return StudySpec(
        task_type=study.task_type,
        values={name: getattr(study, name) for name in FIELDS},
        config=study.config,
        texts=study.texts,
        arms=tuple(
            ArmSpec(arm.name, arm.config, arm.texts, arm.reward, arm.wanted, dict(sorted(arm.factors.items())))
            for arm in study.arms.exclude(name="").order_by("position")
        ),
        exclude_studies=tuple(study.exclude_studies.order_by("slug").values_list("slug", flat=True)),
        platforms=study.platforms,
        quality_control=quality_control,
        exclusion=exclusion,
        factors=stored_factors(study),
        stopping=stopping_of(study),
        interface=study.interface,
        questionnaires=initial_values(QuestionnairesForm) | study.questionnaires,
    )


def stored_factors(study: Study) -> dict[str, Json]:
    """The settings of the study's factors by their names, in the order in which they were declared."""
    in_order = sorted(study.factors.items(), key=lambda factor: factor[1].get(POSITION, 0))
    return {name: {key: settings[key] for key in settings if key != POSITION} for name, settings in in_order}


def stopping_of(study: Study) -> Json:
    """The rule for stopping early. What the study does not store has its default."""
    return {**initial_values(StoppingForm), **study.stopping}


def default_values(task_type: str) -> dict[str, Any]:
    """The initial value of every field of a new study of this type: its published sizes, and general defaults.

    An unknown type has general defaults alone; `check_study` refuses it.
    """
    try:
        suggested = asdict(get_type(task_type).suggested)
    except UnknownTaskType:
        suggested = {}
    return model_to_dict(Study(), fields=FIELDS) | suggested


def differing(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
    """Old and new value of each term that differs. A missing value is None."""
    names: Iterable[str] = dict.fromkeys([*new, *old])
    return {name: (old.get(name), new.get(name)) for name in names if old.get(name) != new.get(name)}
