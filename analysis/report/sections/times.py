"""How long ratings and submissions took, and the resulting pay per hour."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from functools import partial
from typing import Any

import pandas as pd

from analysis.estimate import Estimate
from analysis.inference import Dimensions, median_estimate
from analysis.report.blocks import Facts, Figure, Fold, Highlight, Note, Part, Section
from analysis.report.estimates import attempt, number, with_interval
from analysis.report.figures import seconds_histogram
from analysis.report.source import Source, of_people
from analysis.report.tables import estimates_table
from common.words import counted, money

#: Pay is folded with more arms, and the times of questions with more of them.
MOST_FACTS, MOST_MEDIANS = 4, 6


def make_section(source: Source) -> Section:
    """Seconds per rating and per submission, and the resulting pay per hour. The page draws the first question's."""
    section = Section(source.key("time"), "Time")
    medians: dict[str, Estimate] = {}
    histograms: list[Figure] = []
    for topic in source.questions:
        timed = of_people(source.answers_to(topic).dropna(subset="seconds"))
        seconds = timed["seconds"]
        median = attempt(partial(median_estimate, seconds, source.dimensions_of(timed)), n_of="ratings")
        medians[f"One rating of “{topic}”"] = replace(median, n_of="ratings")
        if topic in source.scored_topics and len(seconds) and not histograms:
            histograms.append(
                seconds_histogram(
                    f"time-{source.scored_topics.index(topic)}",
                    f"Seconds per rating of {topic}",
                    seconds,
                    unit="rating",
                    caption=f"Time per rating of “{topic}”",
                    beyond="longer than",
                    note="took longer",
                )
            )
            section.highlights.append(Highlight("Median time", f"{number(float(seconds.median()), 1)} s", topic))
    note = (
        "Times of single ratings are measured in the worker’s browser; a submission lasts from acceptance to its end. "
        "The intervals are about new workers, and about new items where a question is about items. "
        "Times of simulated workers are left out where people took part."
    )
    fold = len(medians) >= MOST_MEDIANS
    timed = of_people(source.data.used.dropna(subset="seconds"))
    if len(timed) and timed["synthetic"].all():
        note += " How long simulated workers took for a whole submission says nothing, so it is not shown."
    else:
        by_worker = Dimensions.of(workers=timed["worker"])
        median = attempt(lambda: median_estimate(timed["seconds"], by_worker), n_of="submissions")
        medians["A whole submission"] = replace(median, n_of="submissions")
        if fold:
            whole = medians["A whole submission"]
            section.add(Facts([("Median of a whole submission", f"{with_interval(whole, 1)} s")]))
    section.add(estimates_table("Median seconds", medians, digits=1, note=note, fold=fold))
    section.data = {"median_seconds": medians}
    add_pay(source, section)
    if histograms:
        section.add(Fold("How the times are distributed", histograms))
        section.data["histograms"] = {figure.table.caption: figure.table.rows for figure in histograms}
    return section


def add_pay(source: Source, section: Section) -> None:
    """Reward divided by the median time of submissions by people; by arm in a study with arms.

    Exclusion rules do not change pay, so what they leave out of the analysis counts here.
    """
    has_arms = source.description.has_arms
    by_people = source.data.reviewed[~source.data.reviewed["synthetic"]]
    facts, usd_per_hour = [], {}
    least = source.description.minimum_hourly_pay
    pay: list[dict[str, Any]] = []
    for arm in source.arms if has_arms else [""]:
        submissions = by_people[by_people["arm"] == arm] if has_arms else by_people
        median = submissions["seconds"].median()
        reward = source.reward_of(arm)
        if submissions.empty or not reward or not median > 0:
            continue
        usd_per_hour[arm] = float(reward) * 3600 / float(median)
        hourly = money(Decimal(f"{usd_per_hour[arm]:.2f}"))
        name = f"Pay at the median time, arm {arm}" if arm else "Pay at the median time"
        facts.append((name, f"{hourly} an hour ({counted(len(submissions), 'submission')} by people)"))
        rates = per_worker(submissions)
        below = None if least is None else int((rates < float(least)).sum())
        pay.append(
            {
                "arm": arm,
                "reward": reward,
                "submissions": len(submissions),
                "workers": len(rates),
                "median_seconds": float(median),
                "usd_per_hour": usd_per_hour[arm],
                "workers_below_minimum": below,
                "share_below_minimum": None if below is None or not len(rates) else below / len(rates),
            }
        )
        if least and below is not None:
            who = f"{below:,} of {counted(len(rates), 'worker')}"
            facts.append((f"Below {money(least)} an hour", f"{who}, from all their rewards and all their time"))
    if facts:
        note = Note(
            "Pay counts all submissions by people that no person excluded, also those that an exclusion rule leaves "
            "out of the analysis, because they are paid like all others."
        )
        paid: list[Part] = [Facts(facts), note]
        section.add(*paid if len(facts) <= MOST_FACTS else [Fold(f"Pay at the median time, {len(facts)} arms", paid)])
        section.data["usd_per_hour_at_median"] = usd_per_hour if has_arms else usd_per_hour[""]
        section.data["pay"] = pay


def per_worker(submissions: pd.DataFrame) -> pd.Series:
    """USD per hour of each worker, to the cent: all their rewards over all their time."""
    rewards = submissions["reward"].astype(float).groupby(submissions["worker"]).sum()
    seconds = submissions["seconds"].groupby(submissions["worker"]).sum()
    return (rewards[seconds > 0] * 3600 / seconds[seconds > 0]).round(2)
