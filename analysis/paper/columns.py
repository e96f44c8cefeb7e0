"""What the columns of a bundle's files contain, for data set cards: by table and column of `analysis.study_tables`."""

from __future__ import annotations

TABLES_IN_WORDS = {
    "submissions": "one row for each task that a worker sent",
    "items": "one row for each item that was judged or answered",
    "ratings": "one row for each answer to a question",
    "flags": "one row for each reason that automatic quality control found to look at a submission",
    "offers": "one row for each live suggestion that a page showed",
    "own_ratings": "one row for each rating of an item by the writer of its text",
    "adjudications": "one row for each option of an item whose answers were settled by people",
    "stopped": "one row for each task that a worker stopped for part pay",
    "questionnaires": "one row for each answer to a question before or after the tasks, or about the instructions",
    "tries": "one row for each answer of the training, and for each try at a page that explained what was not right",
}

_SUBMISSION = "Number of the submission."
_ITEM = "Name of the item; empty if the question is not about an item."
_QUESTION = "Topic of the question; study.json has its wording and its scale."
_TARGET = "Which part or option of the item the answer is about; empty if there is only one."
_ARM = "Experimental condition of the worker; empty in a study without conditions."
_WORKER = "Pseudonym of the worker in this study."
_SIMULATED = "Whether the worker is a program that answers like a worker."
_HIT = "Number of the task (a bundle of items)."

COLUMNS_IN_WORDS: dict[str, dict[str, str]] = {
    "submissions": {
        "submission": _SUBMISSION,
        "worker": _WORKER,
        "synthetic": _SIMULATED,
        "profile": "How a simulated worker answers; empty for people.",
        "arm": _ARM,
        "hit": _HIT,
        "seconds": "Seconds from accepting the task to sending it.",
        "received_at": "When it arrived, in ISO 8601 with its time zone.",
        "has_feedback": "Whether the worker left a comment in the feedback box; comments are not in the data.",
        "decision": "include or exclude if a person decided that; extra if it came late, when somebody else had the "
        "place.",
        "reward": "Reward for the task in US dollars.",
    },
    "items": {
        "item": "Name of the item.",
        "role": "main, practice, exam, gold (with known answers) or attention (attention check).",
        "context": "The text that the item's texts answer or continue, if there is one.",
        "parameter": "Name of the parameter under which the item was made, such as temperature.",
        "parameter_value": "Value of the parameter.",
        "texts": "The texts that were shown, in groups (the sides of a comparison), as JSON.",
        "responses": "The responses of a set, as JSON.",
        "metrics": "Scores by automatic metrics that the items' file had, as JSON.",
        "wanted": "Number of submissions asked for.",
        "cells": "All columns of the items' file, as JSON.",
        "check": "The right answers of a gold or attention item, as JSON.",
    },
    "ratings": {
        "submission": _SUBMISSION,
        "item": _ITEM,
        "question": _QUESTION,
        "target": _TARGET,
        "scale": "Name of the scale.",
        "value": "The answer as a number; empty for an answer in words.",
        "text": "The answer in words; empty for a number.",
        "seconds": "Seconds until the answer was given, as the browser measured it.",
    },
    "flags": {
        "submission": _SUBMISSION,
        "reason": "Name of the rule.",
        "detail": "What it found.",
        "value": "The figure that the rule looks at.",
        "threshold": "The limit of the figure.",
    },
    "offers": {
        "submission": _SUBMISSION,
        "item": "Name of the item; empty if the page was about no item.",
        "step": "Number of the page, from 0.",
        "round": "Number of the round in which the suggestion was shown.",
        "side": "Where on the page it was shown.",
        "number": "Number of the request for suggestions on the page.",
        "suggester": "Name of the suggester.",
        "model": "Language model that wrote the suggestion.",
        "decoder": "How it was decoded.",
        "seed": "Random seed.",
        "source": "live, from a second try, or from a pool of texts written in advance.",
        "latency": "Seconds until the text was there; empty if none arrived.",
        "asked_at": "When it was asked for.",
        "shown_at": "When it was shown.",
        "text": "The suggestion.",
        "chosen": "Whether the worker chose it.",
        "switches": "How many times the worker changed the choice.",
    },
    "own_ratings": {
        "item": "Name of the item.",
        "writer": "Pseudonym of the writer in the study where the text was written.",
        "question": _QUESTION,
        "value": "The rating.",
    },
    "adjudications": {
        "item": "Name of the item.",
        "question": _QUESTION,
        "target": "The option.",
        "value": "1 if the option belongs to the final answer, else 0.",
    },
    "stopped": {
        "worker": _WORKER,
        "synthetic": _SIMULATED,
        "arm": _ARM,
        "hit": _HIT,
        "steps_done": "Number of pages sent.",
        "steps_in_all": "Number of pages of the task; empty if it depends on the answers.",
        "owed": "Part pay owed in US dollars.",
        "paid": "Part pay paid in US dollars.",
        "stopped_at": "When the worker stopped.",
    },
    "questionnaires": {
        "worker": _WORKER,
        "synthetic": _SIMULATED,
        "arm": _ARM,
        "questionnaire": "before (the first task), comprehension (a check of what they had understood) or after.",
        "attempt": "Number of the try, from 1.",
        "question": _QUESTION,
        "target": "The option, for a question with several choices; else empty.",
        "value": "The answer: the number of a point or option, or 1 or 0 for an option with several choices.",
        "text": "The answer in words, for an open question.",
        "passed": "Whether these answers let the worker take part (yes or no); empty if nothing depended on them.",
        "seconds": "Time on the question as the browser measured it.",
        "answered_at": "When the questionnaire was sent.",
    },
    "tries": {
        "worker": _WORKER,
        "synthetic": _SIMULATED,
        "arm": _ARM,
        "role": "Role of the item: training, gold or attention.",
        "submission": "Number of the submission; 0 in the training, and for work that was never sent.",
        "item": "Name of the item.",
        "attempt": "Round of the training; else 1 for the answer before the explanation and 2 for the one after it.",
        "place": "Number of the page, from 0.",
        "question": _QUESTION,
        "target": "What the answer is about: a part of the item, or empty.",
        "value": "The answer as a number.",
        "text": "The answer as text.",
        "right": "Whether the answer is right (yes or no); empty if it cannot be wrong.",
        "passed": "On the last page of a round of the training, whether it was passed (yes or no); else empty.",
        "answered_at": "When the page was sent.",
    },
}
#: Columns that name a row of another table: by table and column, that table and its column.
REFERENCES = {
    ("ratings", "submission"): "submissions/submission",
    ("ratings", "item"): "items/item",
    ("flags", "submission"): "submissions/submission",
    ("offers", "submission"): "submissions/submission",
}
