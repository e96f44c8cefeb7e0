"""Which submissions no figure includes: one definition for pages, exports, the report and the API.

`excluded_submissions` are those that a person excluded. Pay and platforms look only at these. `left_out_submissions`
adds those that the platform has not confirmed, extra ones, and those that the study's exclusion rules leave out;
everything that computes or exports figures uses it. `paid_work` is for figures of time and pay.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import CharField, Exists, F, Max, Min, OuterRef, Q, QuerySet, Value

from analysis.quality_control.answer_rules import Rated
from analysis.quality_control.exclusion import Exclusion, excluded_by
from analysis.quality_control.work import Check, gold_tally
from annotation.many_ids import among
from annotation.models import Arm, Item, Rating, Review, Study, Submission, TriedPage
from annotation.task_types.checks import CHECK
from annotation.task_types.checks import ROLES as CHECK_ROLES
from annotation.work.confirmation import is_posted, unconfirmed_submissions


def excluded_submissions(study: Study, of: Collection[int] | None = None) -> QuerySet[Review, int]:
    """Ids of the submissions whose newest review is “exclude”: a query, for use in another query or as a set.

    It finds the newest reviews once for the study. With a subquery per submission, PostgreSQL may read all reviews each
    time. ``of``, here and below: only work of these participants, at most a few hundred.
    """
    reviews = Review.objects.filter(submission__study=study)
    if of is not None:
        reviews = reviews.filter(submission__participant__in=of)
    newest = reviews.order_by().values("submission").annotate(last=Max("pk"))
    excluding = Review.objects.filter(pk__in=newest.values("last"), decision=Review.Decision.EXCLUDE)
    return excluding.order_by().values_list("submission_id", flat=True)


def extra_submissions(study: Study, of: Collection[int] | None = None) -> QuerySet[Submission, int]:
    """Ids of the submissions that came late, when somebody else had the place, and that no person has reviewed.

    If the newest review includes one, the analysis uses it; if it excludes it, it is excluded like any other.
    """
    reviewed = Exists(Review.objects.filter(submission=OuterRef("pk")))
    extra = _work_of(study, of).filter(~reviewed, assignment__extra=True)
    return extra.order_by().values_list("pk", flat=True)


def left_out_submissions(study: Study, of: Collection[int] | None = None) -> QuerySet[Submission, int]:
    """Ids of the submissions that the analysis leaves out: excluded by a person or a rule, extra, or not confirmed
    (yet).

    A query, for use in another query or as a set. Building it takes one query, and up to four for exclusion rules.
    """
    return _left_out(study, excluded_by_rule(study, of), posted=is_posted(study), of=of)


def not_left_out(left_out: QuerySet[Submission, int], submission: str = "pk") -> Any:
    """A condition for rows whose submission, in the column ``submission``, is not in `left_out_submissions`.

    With “not in”, PostgreSQL may go through all of ``left_out`` for every row: in a study with half a million
    submissions, such a query did not end.
    """
    return ~Exists(left_out.filter(pk=OuterRef(submission)))


def _work_of(study: Study, of: Collection[int] | None) -> QuerySet[Submission]:
    submissions = Submission.objects.filter(study=study)
    return submissions if of is None else submissions.filter(participant__in=of)


def _unconfirmed(study: Study, of: Collection[int] | None) -> QuerySet[Submission]:
    unconfirmed = unconfirmed_submissions(study).order_by()
    return unconfirmed if of is None else unconfirmed.filter(participant__in=of)


def _left_out(
    study: Study, by_rule: Mapping[int, Any], *, posted: bool, of: Collection[int] | None = None
) -> QuerySet[Submission, int]:
    out = Q(pk__in=excluded_submissions(study, of)) | Q(pk__in=extra_submissions(study, of))
    if by_rule:
        out |= Q(pk__in=among(by_rule))
    if posted:
        out |= Q(pk__in=_unconfirmed(study, of).values("pk"))
    return _work_of(study, of).filter(out).order_by().values_list("pk", flat=True)


def paid_work(study: Study, of: Collection[int] | None = None) -> QuerySet[Submission]:
    """People's submissions that count in figures of time and pay: the platform has confirmed them, and no person
    excluded them. What a rule excludes is paid like all other work, so its time and its reward count.
    """
    submissions = _work_of(study, of).filter(participant__synthetic=False)
    submissions = submissions.exclude(pk__in=excluded_submissions(study, of))
    return submissions.exclude(pk__in=_unconfirmed(study, of).values("pk"))


def excluded_by_rule(study: Study, of: Collection[int] | None = None) -> dict[int, list[str]]:
    """By submission, the study's rules that exclude it. No query if the study has no such rules."""
    rules = Exclusion.of(study.exclusion)
    if not rules:
        return {}
    submissions = _work_of(study, of)
    worker_of: dict[int, str] = {}
    flags: list[tuple[int, str]] = []
    for pk, worker, reason in submissions.order_by("pk").values_list("pk", "participant__pseudonym", "flags__reason"):
        worker_of[pk] = worker
        if reason is not None:
            flags.append((pk, reason))
    return excluded_by(
        rules,
        worker_of=worker_of,
        flags=flags,
        gold=gold_answers(study, of) if rules.gold_share_below is not None else {},
    )


@dataclass(frozen=True, slots=True)
class LeftOut:
    """What no figure of a study includes, read once for a page: submissions by reason, one reason each, and ratings.

    ``by_person``: how many submissions a person excluded, whatever else leaves them out. ``submissions`` is the query
    of `left_out_submissions`.
    """

    by_reason: Mapping[str, set[int]]
    by_person: int
    repeated: Sequence[int]
    submissions: QuerySet[Submission, int]

    @property
    def any(self) -> bool:
        """Whether any submission is left out."""
        return any(self.by_reason.values())

    def counts(self) -> dict[str, int]:
        """The same numbers as `analysis.data.StudyData.left_out`."""
        counts = {reason: len(ids) for reason, ids in self.by_reason.items()}
        return counts | {"repeated_ratings": len(self.repeated)}


def read_left_out(
    study: Study,
    *,
    posted: bool | None = None,
    shares_items: bool | None = None,
    by_rule: Mapping[int, Sequence[str]] | None = None,
    of: Collection[int] | None = None,
) -> LeftOut:
    """Three queries; one more if items lie in several hits, and up to three for exclusion rules. ``posted``,
    ``shares_items``, ``by_rule``: whether the study is on a platform, whether items lie in several hits, and
    `excluded_by_rule`, if that is known."""
    by_rule = excluded_by_rule(study, of) if by_rule is None else by_rule
    posted = is_posted(study) if posted is None else posted
    parts: list[QuerySet[Any, Any]] = [
        excluded_submissions(study, of).annotate(why=_reason("excluded")).values_list("submission_id", "why"),
        extra_submissions(study, of).annotate(why=_reason("extra")).values_list("pk", "why"),
    ]
    if posted:
        unconfirmed_there = _unconfirmed(study, of).annotate(why=_reason("unconfirmed"))
        parts.append(unconfirmed_there.values_list("pk", "why"))
    ids_by_reason: dict[str, set[int]] = {"unconfirmed": set(), "excluded": set(), "extra": set()}
    for pk, why in parts[0].union(*parts[1:], all=True):
        ids_by_reason[why].add(pk)
    unconfirmed, excluded, extra = ids_by_reason["unconfirmed"], ids_by_reason["excluded"], ids_by_reason["extra"]
    by_reason = {
        "unconfirmed": unconfirmed,
        "excluded": excluded - unconfirmed,
        "extra": extra - unconfirmed - excluded,
        "excluded_by_rule": set(by_rule) - unconfirmed - excluded - extra,
    }
    submissions = _left_out(study, by_rule, posted=posted, of=of)
    repeated = [] if shares_items is False else repeated_ratings(study, submissions, shares_items, of=of)
    return LeftOut(by_reason, len(excluded), repeated, submissions)


class Reasons:
    """Why the figures leave an answer out, at the time this was made: one key for each answer.

    ``unconfirmed``, ``excluded`` (by a person), ``extra``, ``rule: KEY`` with the keys of `Exclusion.in_words`, or
    ``repeated``: the same worker answered about the same item in an earlier submission. The number of queries is
    constant; memory grows only with what is left out.
    """

    def __init__(self, study: Study) -> None:
        by_rule = excluded_by_rule(study)
        left_out = read_left_out(study, by_rule=by_rule)
        self._of_submission = {pk: reason for reason, ids in left_out.by_reason.items() for pk in ids}
        self._of_submission |= {pk: f"rule: {' '.join(by_rule[pk])}" for pk in left_out.by_reason["excluded_by_rule"]}
        self._repeated = frozenset(repeated_ratings(study, left_out.submissions, numeric=False))

    def of(self, submission: int, rating: int) -> str:
        """Empty if the figures include the answer."""
        reason = self._of_submission.get(submission, "")
        return reason or ("repeated" if rating in self._repeated else "")


def _reason(name: str) -> Value:
    return Value(name, output_field=CharField())


def repeated_ratings(
    study: Study,
    left_out: QuerySet[Submission, int] | None = None,
    shares_items: bool | None = None,
    *,
    numeric: bool = True,
    of: Collection[int] | None = None,
) -> list[int]:
    """Ids of the ratings of main items that their worker had rated in an earlier submission that counts.

    The database refuses such submissions now. One query in a study in which every item lies in one hit only.
    ``left_out``: `left_out_submissions`, ``shares_items``: whether items lie in several hits, if they are known.
    ``numeric``: only ratings in numbers.
    """
    if shares_items is None:
        shares_items = Arm.objects.filter(study=study, shares_items=True).exists()
    if not shares_items:
        return []
    counting = Rating.objects.filter(study=study, item__role=Item.Role.MAIN)
    counting = counting.filter(value__isnull=False) if numeric else counting
    counting = counting if of is None else counting.filter(submission__participant__in=of)
    left_out = left_out_submissions(study) if left_out is None else left_out
    counting = counting.filter(not_left_out(left_out, "submission")).order_by()
    first = counting.values("participant", "item").annotate(first=Min("submission"), last=Max("submission"))
    several = {(who, item): first for who, item, first, last in first.filter(last__gt=F("first")).values_list(*_FIRST)}
    if not several:
        return []
    rows = counting.filter(participant__in=among({who for who, _ in several})).values_list(
        "pk", "participant", "item", "submission"
    )
    return [pk for pk, who, item, submission in rows if submission > several.get((who, item), submission)]


_FIRST = ("participant", "item", "first", "last")


def gold_answers(study: Study, of: Collection[int] | None = None) -> dict[str, tuple[int, int]]:
    """By pseudonym, how many answers to gold items are right, and how many there are."""
    items = Item.objects.filter(study=study, role=Item.Role.GOLD).values_list("pk", "payload")
    checks = {pk: check for pk, payload in items if (check := Check.of(payload.get(CHECK))) is not None}
    ratings: QuerySet[Rating, Any] = Rating.objects.filter(item__in=among(checks)).order_by("pk")
    if of is not None:
        ratings = ratings.filter(submission__participant__in=of)
    rows = ratings.values_list(
        "submission_id", "participant__pseudonym", "item_id", "question", "target", "value", "text"
    )
    rated = (
        (submission, who, item or 0, Rated(question, target, value, text))
        for submission, who, item, question, target, value, text in rows.iterator(10_000)
    )
    return gold_tally(rated, checks, tries_of(study, checks))


def tries_of(study: Study, items: Collection[int]) -> dict[tuple[int, Any], list[tuple[int, Rated]]]:
    """By submission and item, the ratings of every try at pages that can come back with an explanation. One query, or
    none if no items explain."""
    modes = (study.quality_control.get(f"{role}_mode") for role in CHECK_ROLES)
    if "loud" not in modes:
        return {}
    tried = TriedPage.objects.filter(study=study, training=False, item__in=among(items))
    rows = tried.exclude(assignment__submission=None).order_by("pk")
    tries: dict[tuple[int, Any], list[tuple[int, Rated]]] = {}
    for submission, item, attempt, ratings in rows.values_list(
        "assignment__submission", "item_id", "attempt", "ratings"
    ):
        of_item = tries.setdefault((submission, item), [])
        of_item += [(attempt, Rated(row["question"], row["target"], row["value"], row["text"])) for row in ratings]
    return tries
