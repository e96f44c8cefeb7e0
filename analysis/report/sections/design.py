"""What was asked: the study's set-up."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

from analysis.description import ArmDescription, StudyDescription
from analysis.quality_control.exclusion import Exclusion
from analysis.report.blocks import Block, Facts, Fold, Part, Section
from analysis.report.source import Source
from analysis.report.tables import Column, Table
from common.words import counted, moment_in_utc, money


def make_section(source: Source) -> Section:
    """The study's set-up, in words for the method section of a paper."""
    study = source.description
    parts: list[Part] = [Facts(details_of(study))]
    if study.has_arms:
        parts.append(arms_table(study.arms))
    title = "All settings, and how arms differ" if study.has_arms else "All settings"
    blocks: list[Block] = [Facts(facts_of(study)), Fold(title, parts)]
    data = {
        "task_type": study.task_type,
        "title": study.task_title,
        "source": study.source,
        "ratings_per_item": study.ratings_per_item,
        "items_per_hit": study.items_per_hit,
        "hits_per_worker": study.hits_per_worker,
        "reward": study.reward,
        "time_limit_minutes": study.time_limit_minutes,
        "seed": study.seed,
        "live_at": study.live_at,
        "closed_at": study.closed_at,
        "recruitment": list(study.recruitment),
        "conditions": dict(study.conditions),
        "minimum_hourly_pay": study.minimum_hourly_pay,
        "config": dict(study.config),
        "quality_control": dict(study.quality_control),
        "exclude": dict(study.exclude),
        "arms": list(study.arms) if study.has_arms else [],
    }
    return Section(source.key("design"), "What was asked", blocks, data)


def facts_of(study: StudyDescription) -> list[tuple[str, object]]:
    """What a reader of the results must know."""
    rewards = {arm.reward for arm in study.arms}
    per_worker = "no limit" if study.hits_per_worker is None else f"at most {study.hits_per_worker}"
    facts: list[tuple[str, object]] = [
        ("Task", f"{study.task_title}: {study.summary}"),
        ("Source", study.source or "none given"),
        ("Ratings wanted per item", study.ratings_per_item),
        ("Items per hit", study.items_per_hit),
        ("Hits per worker", per_worker),
        ("Reward per hit", "differs between arms" if len(rewards) > 1 else reward_in_words(study.reward)),
        ("Open to", study.access),
    ]
    if study.balance:
        facts.append(("Balance", study.balance))
    for way_in in study.recruitment:
        conditions = "; ".join(f"{name}: {value}" for name, value in way_in.asked_for)
        facts.append(("Offered on", f"{way_in.title} ({conditions})" if conditions else way_in.title))
    return facts + [("Excluded by rule", words) for _, words in Exclusion.of(study.exclude).in_words()]


def details_of(study: StudyDescription) -> list[tuple[str, object]]:
    moments = [("Live since", study.live_at), ("Closed", study.closed_at)]
    details: list[tuple[str, object]] = [
        ("Time limit", counted(study.time_limit_minutes, "minute")),
        (
            "Order",
            f"Hits are assigned in a random order (seed {study.seed}), those with the fewest ratings first. What a "
            "page shows in random order or on two sides is drawn for each assignment and stored with its answers.",
        ),
        ("Status", study.status),
    ]
    details += [(name, moment_in_utc(moment)) for name, moment in moments if moment]
    return [*details, *study.settings]


def reward_in_words(amount: Decimal) -> str:
    return money(amount) if amount else "none"


def arms_table(arms: Sequence[ArmDescription]) -> Table:
    """How each arm differs. Texts are only named: the last section shows them in full."""

    def differences(arm: ArmDescription) -> list[str] | str:
        settings = [f"{name}: {value}" for name, value in arm.config.items()]
        texts = [f"own text: {name.replace('_', ' ')}" for name in arm.texts]
        return settings + texts or "only what is in this table"

    def participants(arm: ArmDescription) -> str:
        return "as many as the hits need" if arm.wanted is None else f"{arm.wanted:,}"

    columns = [
        Column("Arm", "name", shows="name"),
        Column("Reward per hit", shows=lambda arm: reward_in_words(arm.reward)),
        Column("Participants wanted", shows=participants),
        Column("What differs", "texts", shows=differences),
    ]
    note = "Each participant joins the arm with the fewest participants at the time and stays in it."
    return Table("Arms", columns, arms, note)
