"""What gives a study's data meaning: questions with their scales, scores, sections of the report, the design.

Plain Python, quick to import. Task types use these classes for their declarations, and a bundle stores them as JSON.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from decimal import Decimal
from typing import Any, Literal, Protocol

Level = Literal["ordinal", "nominal", "interval", "pairwise", "text"]
#: The kind of a question: the name of a module of `analysis.kinds`. The kinds are an open registry.
Kind = str


@dataclass(frozen=True, slots=True)
class Point:
    """One point of a scale. ``label`` is empty for an unnamed point such as a half step.

    ``description`` is the line that an instrument prints next to the name, if any.
    """

    value: float
    label: str = ""
    description: str = ""

    @property
    def key(self) -> str:
        """The value as forms send it: 3 for 3.0, 3.5 for 3.5."""
        return f"{self.value:g}"

    @property
    def text(self) -> str:
        """What a screen reader reads aloud: the number, then the name, if any."""
        return f"{self.key} {self.label}".strip()


@dataclass(frozen=True, slots=True)
class Scale:
    """A named scale. Its measurement level decides how it is analysed; its points are in the order shown."""

    name: str
    level: Level
    points: tuple[Point, ...] = ()

    @classmethod
    def of(
        cls,
        name: str,
        level: Level,
        labels: Sequence[str],
        *,
        half_steps: bool = False,
        descriptions: Sequence[str] = (),
    ) -> Scale:
        """Points from the highest down: ``labels[0]`` names the highest whole number, ``labels[-1]`` names 1.

        With ``half_steps`` there is an unnamed point between neighbouring named ones.
        """
        top = len(labels)
        points: list[Point] = []
        for index, label in enumerate(labels):
            points.append(Point(float(top - index), label, descriptions[index] if descriptions else ""))
            if half_steps and index < top - 1:
                points.append(Point(top - index - 0.5))
        return cls(name, level, tuple(points))

    @classmethod
    def numbered(cls, name: str, points: int, *, low: str, high: str, level: Level = "ordinal") -> Scale:
        """Points from 1 up to ``points``; only the two ends have names."""
        ends = {1: low, points: high}
        return cls(name, level, tuple(Point(float(value), ends.get(value, "")) for value in range(1, points + 1)))

    @property
    def low(self) -> float:
        return min(point.value for point in self.points)

    @property
    def high(self) -> float:
        return max(point.value for point in self.points)


TEXT = Scale("text", "text")


@dataclass(frozen=True, slots=True)
class QuestionDescription:
    """One question in the analysis, with the same ``topic`` for every item, target and page that asks it.

    ``bounds`` holds the limits of a text (``min_words``, ``max_words``, ``min_chars``, ``max_chars``) or of a number
    (``min_value``, ``max_value``), if any.
    ``targets`` names the options of a question with several choices and of a ranking, by the ratings' targets.
    ``stored_scale`` is for ratings stored under different names from those that workers read (“Set 1” for “Set A”): the
    same values with the names that figures show. None: the names that workers read.
    """

    topic: str
    label: str
    scale: Scale = TEXT
    kind: Kind = "scale"
    help: str = ""
    bounds: Mapping[str, float] = field(default_factory=dict)
    stored_scale: Scale | None = None
    targets: Mapping[str, str] = field(default_factory=dict)

    @property
    def ratings_scale(self) -> Scale:
        """The scale of the ratings with the names that figures show."""
        return self.stored_scale or self.scale


@dataclass(frozen=True, slots=True)
class Term:
    """A part of a score: the ratings of a question, times ``weight``."""

    topic: str
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class Score:
    """How an item's ratings on one topic become its score: ``sign`` × their mean.

    ``over`` says how the parts (targets) of an item combine. ``mean``: each part counts the same, the score is the mean
    over parts of the mean over workers. ``sum``: each worker's answer is the sum over the parts, the score is their
    mean. ``part``: each part has a score of its own. The standard deviation is over the workers' own scores with n in
    the denominator, as in the released diversity-eval files. Only `analysis.scores.item_scores` computes it.

    ``terms`` compute the answers from those to several questions: of each part, their weighted sum. The topic is then
    the score's own; no question has it. A worker who left out a term has no answer, unless ``absent``: then parts and
    terms that a worker did not rate count as 0, as long as the worker answered anything about the item.

    ``middle``, for an item that compares two things, is the rating for no difference between them: score − sign ×
    middle is the difference. None for everything else. ``low`` and ``high`` are the lowest and highest rating that the
    question allows, which the interval of a score never leaves; None if they are not known.
    """

    topic: str
    title: str
    sign: Literal[1, -1] = 1
    middle: float | None = None
    low: float | None = None
    high: float | None = None
    over: Literal["mean", "sum", "part"] = "mean"
    absent: bool = False
    terms: Sequence[Term] = ()

    def __post_init__(self) -> None:
        if (self.over == "sum" or self.absent) and not self.terms:
            what = "sums parts" if self.over == "sum" else "counts what is absent"
            raise ValueError(f"the score {self.topic} {what}: name its terms, and give it a topic of its own")

    def answered(self) -> Score:
        """The same score for answers that its terms have been combined into."""
        return replace(self, over="part" if self.over == "part" else "mean", absent=False, terms=())

    def within(self, scale: Scale) -> Score:
        """The same score with limits at least as wide as this scale. A scale without points leaves them as they are."""
        if not scale.points:
            return self
        low = scale.low if self.low is None else min(self.low, scale.low)
        high = scale.high if self.high is None else max(self.high, scale.high)
        return replace(self, low=low, high=high)


@dataclass(frozen=True, slots=True)
class Factor:
    """A named attribute with levels: what findings compare.

    ``of``: what has a level.

    - item: the cell of the item's column ``name``, or its parameter of that name.
    - part: a part of an item. ``parts`` is the item's column for each target of a rating, such as
      ``{"0": "system_0", "1": "system_1"}`` of a best–worst set. If ratings have no target, because the question
      compares two parts, it has two columns: first the part that a positive rating favours, then the other. Without
      ``parts``, the level is in the target: what follows its last slash, such as the label of a span.
    - arm: ``factors`` of the arm, or its setting of that name, or, for the factor ``arm``, its name.
    - worker: what the worker answered to the question with the topic ``name``, which is about no item.

    ``reference``: the level with which others are compared; empty: every level with every other.
    """

    name: str
    of: Literal["item", "part", "arm", "worker"] = "item"
    reference: str = ""
    parts: Mapping[str, str] = field(default_factory=dict)


def arm_level(factor: str, factors: Mapping[str, str], config: Mapping[str, Any]) -> str:
    """An arm's level: what it names itself, or else its value of the setting with the name of the factor."""
    value = config.get(factor)
    if isinstance(value, bool):
        value = "yes" if value else "no"
    return factors.get(factor, "") or (f"{value}" if isinstance(value, str | int | float) else "")


@dataclass(frozen=True, slots=True)
class ReportSection:
    """A section of `analysis.report.build.SECTIONS` by its name, with its parameters (JSON values)."""

    name: str
    parameters: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ArmDescription:
    """A between-subjects condition: how it differs from the study itself. ``name`` is empty in a study without arms.

    ``reward`` is per hit in USD; ``wanted`` counts participants (None: as many as the hits need). ``factors`` are its
    levels by factor: arms of a factorial design share some.
    """

    name: str
    reward: Decimal
    wanted: int | None = None
    config: Mapping[str, Any] = field(default_factory=dict)
    texts: Mapping[str, str] = field(default_factory=dict)
    factors: Mapping[str, str] = field(default_factory=dict)


class Comparable(Protocol):
    """What decides which factors a study has, besides its items: a `StudyDescription`, or a part of one."""

    @property
    def config(self) -> Mapping[str, Any]: ...
    @property
    def arms(self) -> Sequence[ArmDescription]: ...
    @property
    def questions(self) -> Sequence[QuestionDescription]: ...
    @property
    def worker_questions(self) -> Sequence[QuestionDescription]: ...
    @property
    def suggested_factors(self) -> Sequence[Factor]: ...


@dataclass(frozen=True, slots=True)
class QuestionnaireDescription:
    """Questions around the tasks of a study: ``before`` the first, the ``comprehension`` check, ``after`` the last.

    ``tries``: how many tries there are, where answers can be wrong.
    """

    name: str
    title: str
    questions: Sequence[QuestionDescription] = ()
    tries: int = 1


@dataclass(frozen=True, slots=True)
class TrainingDescription:
    """The training round before the first task: ``needed`` of ``items`` must be right in one of ``tries`` rounds.

    ``skipped`` counts the participants who began their tasks without it, because they had passed that of one of the
    studies in ``skip_if_passed``.
    """

    items: int
    needed: int
    tries: int
    show_right: bool = False
    skip_if_passed: Sequence[str] = ()
    skipped: int = 0


@dataclass(frozen=True, slots=True)
class StoppingRule:
    """When a study stops before all planned ratings are in: as soon as every difference of ``factor`` on ``criterion``
    is settled, as `analysis.findings.looks` has it.

    ``smallest``: the smallest difference that matters; None: only a difference settles. ``first``: the share of the
    planned ratings at the first look, in percent; ``every``: after how many percent more there is another.
    """

    factor: str
    criterion: str
    smallest: float | None = None
    first: int = 20
    every: int = 5

    def looks_by(self, share: float) -> int:
        """How many looks there are until this share of the planned ratings, from 0 to 1, has arrived."""
        return max(0, math.floor((100 * share - self.first) / self.every + 1e-9) + 1)


@dataclass(frozen=True, slots=True)
class Recruitment:
    """One way in for workers. ``name`` and ``title`` are those of the platform, the latter for people.

    ``asked_for``: what the platform let only such workers in for, as pairs of name and value that people read.
    ``confirms``: whether it can say who sent what.
    """

    name: str
    title: str
    asked_for: Sequence[tuple[str, str]] = ()
    confirms: bool = False


@dataclass(frozen=True, slots=True)
class StudyDescription:
    """Everything about a study that is not data. Sequences of pairs are (name, value) as people read them.

    ``status`` and ``access`` are words. ``reward`` is in USD per hit. ``settings`` are the task type's, labelled;
    ``config`` holds them as stored. ``texts`` are what workers read, ``consent`` first if there is one. ``assignments``
    counts them by state. ``claimed`` counts submissions whose platform cannot confirm who sent them. ``unconfirmed``
    counts those that their platform could confirm and has not (they are not in the data), ``rejected`` those in the
    analysis whose pay was refused.
    ``quality_control`` has the settings of `analysis.quality_control.rules`, ``exclude`` the rules that exclude
    submissions; both as stored. ``own_work``: workers answer about what they wrote themselves, so that their answers
    about one item are about different texts, and there is no agreement. ``factors``: what findings compare, declared by
    the researcher; where nobody declared any, ``suggested_factors`` of the task type, and others that are suggested
    from the items and arms (`analysis.factors`).

    ``questionnaires``: what people were asked around their tasks; ``screening`` says whose answers turned them away,
    and ``turned_away`` counts them by reason (``screened_out``, ``not_understood``, ``not_trained``), ``simulated`` of
    them programs. Nobody who was turned away rated anything. ``training`` is None without one, and so is ``stopping``,
    the rule by which the study stops early.

    For a paper: ``recruitment`` has the ways in, ``conditions`` who may take part and on what terms besides,
    ``balance`` a sentence on what is shown in random or balanced order. ``minimum_hourly_pay`` is in USD, None if it is
    not known; ``for_members``: members of the study did the work. ``imported_from``: the tool that collected the
    answers, if it was not HITServer; then nothing is known of its pages, its pay and its workers. Both moments are
    None unless the answers have dates.
    """

    slug: str
    title: str
    status: str
    task_type: str
    task_title: str
    summary: str
    source: str
    ratings_per_item: int
    items_per_hit: int
    hits_per_worker: int | None
    reward: Decimal
    time_limit_minutes: int
    access: str
    seed: int
    live_at: datetime | None = None
    closed_at: datetime | None = None
    config: Mapping[str, Any] = field(default_factory=dict)
    settings: Sequence[tuple[str, str]] = ()
    arms: Sequence[ArmDescription] = ()
    questions: Sequence[QuestionDescription] = ()
    scores: Sequence[Score] = ()
    sections: Sequence[ReportSection] = ()
    texts: Sequence[tuple[str, str]] = ()
    assignments: Mapping[str, int] = field(default_factory=dict)
    claimed: int = 0
    unconfirmed: int = 0
    rejected: int = 0
    quality_control: Mapping[str, Any] = field(default_factory=dict)
    exclude: Mapping[str, Any] = field(default_factory=dict)
    own_work: bool = False
    factors: Sequence[Factor] = ()
    suggested_factors: Sequence[Factor] = ()
    recruitment: Sequence[Recruitment] = ()
    conditions: Sequence[tuple[str, str]] = ()
    balance: str = ""
    minimum_hourly_pay: Decimal | None = None
    for_members: bool = False
    imported_from: str = ""
    questionnaires: Sequence[QuestionnaireDescription] = ()
    screening: Sequence[str] = ()
    turned_away: Mapping[str, int] = field(default_factory=dict)
    training: TrainingDescription | None = None
    stopping: StoppingRule | None = None

    @property
    def worker_questions(self) -> Sequence[QuestionDescription]:
        """The questions whose answers can be levels of workers: all of the tasks, and those around them."""
        asked = (question for questionnaire in self.questionnaires for question in questionnaire.questions)
        return [*self.questions, *asked]

    @property
    def has_arms(self) -> bool:
        return len(self.arms) > 1
