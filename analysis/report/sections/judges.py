"""The section on judges, which are language models that answered the same pages, beside people.

What is computed is in `analysis.judges`. No other section has a figure with a judge's answer.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

import pandas as pd

from analysis.factors import item_levels, of_items
from analysis.judges.alignment import LEAST_ITEMS
from analysis.judges.beside import beside
from analysis.report.blocks import Figures, Fold, Note, Section, Sentences
from analysis.report.estimates import number, with_interval
from analysis.report.sections import judges_tables as tables
from analysis.report.sections.judges_tables import Compared
from analysis.report.source import Source
from common.words import counted

#: Questions, or their options, that are compared.
MOST_COMPARED = 40
TITLE = "People beside judges"


def make_section(source: Source) -> Section | None:
    """None without a judge. Judges are compared with people on every question with numbers that both answered."""
    judges = source.data.judges
    if judges.empty:
        return None
    section = Section(source.key("judges"), TITLE)
    section.add_named("judges", tables.judges_table(judges))
    compared = list(all_compared(source))
    if not compared:
        why = "No judge has answered a question about an item that people answered, too."
        section.blocks = [Note(why), *section.blocks]
        return section
    sentences = [(f"{one.judge}, {one.question}", in_words(one)) for one in compared]
    section.data["sentences"] = [{"criterion": name, "sentence": sentence} for name, sentence in sentences]
    section.blocks = [
        Sentences(sentences),
        Note("Judges are language models. Their answers are in this section and in no other figure of the report."),
        *section.blocks,
    ]
    section.add_named("agreement", tables.agreement_table(compared))
    with_means = [one for one in compared if one.both.powered is not None]
    if with_means:
        judged_by = {one.judge: [other for other in with_means if other.judge == one.judge] for one in with_means}
        section.add(Figures([tables.bias_figure(source, of_judge) for of_judge in judged_by.values()]))
        section.add_named("estimates", tables.estimates_of(with_means))
        section.add_named("biases", tables.biases_table(with_means))
    calibrated = [one for one in compared if one.both.calibration is not None]
    if calibrated:
        section.add_named("calibration", tables.calibration_table(calibrated))
    texts = {item: shown_text(groups) for item, groups in zip(source.items.index, source.items["texts"], strict=True)}
    if with_means:
        differing = tables.differing_table(with_means, texts)
        section.data["differing"] = differing.records
        section.add(Fold("Items on which a judge and people differ most", [differing]))
    return section


def all_compared(source: Source) -> Iterator[Compared]:
    """Every judge on every question, and on every option of a question about parts."""
    count = 0
    rows = source.data.judge_ratings
    rows = rows[rows["value"].notna() & rows["item"].isin(source.items.index)]
    models = dict(zip(source.data.judges["judge"], source.data.judges["model"], strict=True))
    factor = next((factor for factor in source.factors if factor.of == "item"), None)
    for names, ratings in rows.groupby(["judge", "question", "target"], sort=False):
        judge, topic, target = map(str, names)
        if count >= MOST_COMPARED or topic not in source.questions:
            continue
        people = source.ratings_on(topic)
        people = people.loc[(people["target"] == target).to_numpy(), ["item", "worker", "value"]]
        if not people["item"].isin(ratings["item"]).any():
            continue
        count += 1
        question = source.questions[topic]
        levels = None
        if factor is not None:
            items = pd.Series(ratings["item"].unique())
            levels = pd.Series(of_items(item_levels(source.data.items, factor.name), items).to_numpy(), index=items)
        option = question.targets.get(target, target)
        level = level_of(question.ratings_scale.level, [point.value for point in question.ratings_scale.points])
        model = models.get(judge, "")
        yield Compared(
            judge,
            model,
            f"{topic}: {option}" if option else topic,
            beside(
                people.reset_index(drop=True),
                ratings.reset_index(drop=True),
                level=level,
                bounds=source.ends_of(topic),
                levels=levels,
                lengths=lengths_of(source, level, target),
                own=None if level == "pairwise" else own_texts(source, model),
            ),
        )


def level_of(level: str, values: Sequence[float]) -> str:
    """As `beside` has it: chosen or not is a share."""
    return "share" if level == "nominal" and set(values) == {0.0, 1.0} else level


def lengths_of(source: Source, level: str, target: str) -> pd.Series | None:
    """The length in words of every item's text; of pairs, how much longer text 1 is. None for items of several texts,
    and for their parts."""
    lengths = {}
    for item, groups in zip(source.items.index, source.items["texts"], strict=True):
        counts = [sum(len(text.split()) for text in group) for group in groups]
        if level == "pairwise" and len(counts) == 2:
            lengths[item] = float(counts[0] - counts[1])
        elif level != "pairwise" and len(counts) == 1 and not target:
            lengths[item] = float(counts[0])
    return pd.Series(lengths) if lengths else None


def own_texts(source: Source, model: str) -> pd.Series | None:
    """Whether the judge's model wrote each item's text: a cell of a factor, or of where the text comes from, is the
    model's name."""
    columns = {factor.name for factor in source.factors if factor.of == "item"}
    columns |= {"system", "model", "from:model"}
    own = [any(str(cells.get(column, "")) == model for column in columns) for cells in source.items["cells"]]
    return pd.Series(own, index=source.items.index) if any(own) else None


def shown_text(groups: Sequence[Sequence[str]]) -> str:
    return " | ".join(" / ".join(group) for group in groups)


def in_words(one: Compared) -> str:
    """What was found, as one sentence or two."""
    both, (ceiling, people) = one.both, one.both.ceiling
    test = both.test
    if math.isnan(both.agreement) or math.isnan(ceiling):
        agreement = f"Its agreement with people on {counted(both.n_items, 'item')} cannot be compared with their own."
    else:
        order = "less than" if both.agreement < ceiling else "at least as well as"
        agreement = (
            f"The judge agrees with people {order} a person agrees with the others: {both.measure} "
            f"{number(both.agreement)} against {number(ceiling)} over {counted(people, 'person', 'people')}."
        )
    if not test.people:
        verdict = f"Whether it could stand in for a person is open: nobody shares {LEAST_ITEMS} items with others."
    else:
        can = "can" if test.passes else "cannot"
        wins = f"{number(100 * test.winning_rate, 0)}% of {counted(test.people, 'person', 'people')}"
        verdict = f"It {can} stand in for a person: it wins against {wins}."
    bias = both.bias.get("")
    shift = f" On average it rates {with_interval(bias)} higher than people." if bias is not None else ""
    if bias is not None and bias.value < 0:
        lower = replace(bias, value=-bias.value, low=-bias.high, high=-bias.low)
        shift = f" On average it rates {with_interval(lower)} lower than people."
    return f"{agreement} {verdict}{shift}"
