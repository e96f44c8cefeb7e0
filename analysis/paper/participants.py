"""Who took part, how they were recruited, and what they were paid, for the methods of a paper."""

from __future__ import annotations

from datetime import datetime

from analysis.description import StudyDescription
from analysis.paper.prose import Numbers, Paragraph, blank, listed, quoted, words
from common.words import counted, duration, money

#: The section about questionnaires before and after the tasks.
AROUND = ("sections", "questionnaires")
#: The section about the training and about items with right answers.
RIGHT = ("sections", "right_answers")
DESIGN, DATA, PAY = ("sections", "design"), ("sections", "data"), ("sections", "time", "pay")


def participants_paragraph(study: StudyDescription, numbers: Numbers) -> Paragraph:
    sentences = [*recruitment_sentences(study)]
    if study.conditions:
        sentences.append(f"Terms of taking part: {'; '.join(words(value) for _, value in study.conditions)}.")
    if study.live_at and study.imported_from:
        last = f" to {day(numbers, 'closed_at')}" if study.closed_at else ""
        sentences.append(f"Their answers are dated {day(numbers, 'live_at')}{last}.")
    elif study.live_at:
        closed = f" and closed on {day(numbers, 'closed_at')}" if study.closed_at else ""
        sentences.append(f"The study opened on {day(numbers, 'live_at')}{closed}.")
    workers = numbers.counted("worker", *DATA, "workers")
    simulated = numbers.value(*DATA, "workers_simulated")
    of_them = f", {numbers.count(*DATA, 'workers_simulated')} of them simulated" if simulated else ""
    answers = answer_sentences(numbers)
    what = "age, gender, first language, education and expertise of the workers, as far as you know them"
    gap = "" if answers else f" ({blank(what)})"
    sentences += [f"The analysis includes {workers}{of_them}{gap}.", *answers, *turned_away_sentences(study, numbers)]
    return Paragraph("Participants", sentences)


def answer_sentences(numbers: Numbers) -> list[str]:
    """What the workers in the analysis answered before or after their tasks, with the number who gave each answer."""
    sentences = []
    for number, question in enumerate(numbers.value(*AROUND, "questions") or []):
        way = (*AROUND, "questions", number, "answers")
        answers = [
            f"{words(row['answer'])} ({numbers.count(*way, place, 'workers')})"
            for place, row in enumerate(question["answers"])
        ]
        if answers:
            sentences.append(f"Asked {quoted(question['question'])}, they answered: {listed(answers)}.")
    return sentences


def turned_away_sentences(study: StudyDescription, numbers: Numbers) -> list[str]:
    """Whose answers ended their participation, and how many there were."""
    sentences = []
    if study.screening:
        conditions = "; ".join(words(condition) for condition in study.screening)
        sentences.append(f"Some answers before the first task screened people out: {conditions}.")
    check = next((asked for asked in study.questionnaires if asked.name == "comprehension"), None)
    if check is not None:
        questions, tries = counted(len(check.questions), "question"), counted(check.tries, "try")
        sentences.append(
            f"Before the first task, people had to answer {questions} about the instructions correctly, in {tries}."
        )
    sentences += training_sentences(study, numbers)
    reasons = {
        "screened_out": "screened out",
        "not_understood": "turned away after the last try",
        "not_trained": "left out after the training",
    }
    way = {"not_trained": (*RIGHT, "training", "failed")}
    parts = [
        f"{numbers.counted_as('person', 'people', *way.get(reason, (*AROUND, 'turned_away', reason)))} "
        f"{'was' if study.turned_away[reason] == 1 else 'were'} {what}"
        for reason, what in reasons.items()
        if study.turned_away.get(reason)
    ]
    if parts:
        sentences.append(f"{listed(parts)}; they rated nothing and are in no other figure.")
    return sentences


def training_sentences(study: StudyDescription, numbers: Numbers) -> list[str]:
    """The training before the first task, and how many passed it at each try."""
    training = study.training
    if training is None:
        return []
    feedback = "which answers were right and why"
    if training.show_right:
        feedback = "which answers were right, the right answers, and why"
    sentences = [
        f"Before the first task, people practised on {counted(training.items, 'item')} with known right answers and "
        f"read after each page {feedback}. To take part, they had to have {training.needed} of {training.items} right, "
        f"in {counted(training.tries, 'try')}."
    ]
    rounds = numbers.value(*RIGHT, "rounds") or []
    passed = [
        f"{numbers.count(*RIGHT, 'rounds', number, 'passed')} of "
        f"{numbers.counted_as('person', 'people', *RIGHT, 'rounds', number, 'workers')} passed at try {row['attempt']}"
        for number, row in enumerate(rounds)
    ]
    if passed:
        sentences.append(f"{listed(passed)}.")
    if training.skipped:
        sentences.append(
            f"{numbers.counted_as('person', 'people', *RIGHT, 'training', 'skipped')} had passed the training of an "
            "earlier study and had none here."
        )
    return sentences


def recruitment_sentences(study: StudyDescription) -> list[str]:
    if study.for_members:
        return [f"Members of our team did the work ({blank('how many, their training and their expertise')})."]
    if not study.recruitment:
        return [f"Workers were recruited {blank('where and how')}."]
    sentences = []
    for way_in in study.recruitment:
        if way_in.name == "link":
            sentences.append(f"Workers came by a link ({blank('to whom you gave the link, and how')}).")
            continue
        conditions = "; ".join(f"{words(name)}: {words(value)}" for name, value in way_in.asked_for)
        only = (
            f", which let in only workers with: {conditions}"
            if conditions
            else ", with no condition on country or past work"
        )
        sentences.append(f"Workers were recruited on {words(way_in.title)}{only}.")
    if any(not way_in.confirms for way_in in study.recruitment):
        sentences.append("No platform confirmed who sent this work.")
    return sentences


def day(numbers: Numbers, field: str) -> str:
    moment = datetime.fromisoformat(numbers.value(*DESIGN, field))
    return numbers.shown(f"{moment:%-d %B %Y}", *DESIGN, field)


def pay_paragraph(study: StudyDescription, numbers: Numbers) -> Paragraph:
    """Reward, pay per hour at people's median time, and who earned less than the minimum; for each arm."""
    if study.imported_from:
        return Paragraph("Pay", [f"Workers were paid {blank('how much for which work, and how much an hour')}."])
    if not any(arm.reward for arm in study.arms) and not study.reward:
        return Paragraph("Pay", [f"Workers were not paid ({blank('what they got instead, if anything')})."])
    rows = numbers.value(*PAY) or []
    sentences = []
    for number in range(len(rows)):
        row = (*PAY, number)
        arm = numbers.value(*row, "arm")
        where = f"In the condition {words(arm)}, a" if arm else "A"
        median = numbers.value(*row, "median_seconds")
        sentences.append(
            f"{where} task paid {numbers.money(*row, 'reward')}. At the median time of "
            f"{numbers.counted('submission', *row, 'submissions')} by people "
            f"({numbers.shown(duration(median), *row, 'median_seconds')}), this is "
            f"{numbers.money(*row, 'usd_per_hour')} an hour."
        )
    if not rows:
        rewards = sorted({arm.reward for arm in study.arms} or {study.reward})
        sentences.append(f"A task paid {listed([money(reward) for reward in rewards])}.")
        sentences.append("Pay per hour is not known: no submission by people has been paid.")
    sentences += minimum_sentences(study, numbers, len(rows))
    return Paragraph("Pay", sentences)


def minimum_sentences(study: StudyDescription, numbers: Numbers, n_rows: int) -> list[str]:
    why = blank("where this minimum comes from")
    if study.minimum_hourly_pay is None:
        return [f"As minimum pay, we had set {blank('an amount, and where it comes from')}."]
    if not study.minimum_hourly_pay:
        return []
    least = numbers.money(*DESIGN, "minimum_hourly_pay")
    shares = []
    for number in range(n_rows):
        row = (*PAY, number)
        arm = numbers.value(*row, "arm")
        of = f" in the condition {words(arm)}" if arm else ""
        shares.append(
            f"{numbers.count(*row, 'workers_below_minimum')} of {numbers.counted('worker', *row, 'workers')}{of} "
            f"({numbers.percent(*row, 'share_below_minimum')})"
        )
    if not shares:
        return [f"The minimum that we had set is {least} an hour ({why})."]
    return [
        f"From all their rewards and all their time, {listed(shares)} earned less than {least} an hour, the minimum "
        f"that we had set ({why})."
    ]
