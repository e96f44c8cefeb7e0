"""People who write with suggestions: choices, edits, texts, own ratings, waiting. Docs: docs/statistics-writing.md."""

from analysis.writing.edits import Edit, Shift, edit_of, jaccard, levenshtein, mann_whitney, user_score
from analysis.writing.mixed import MixedLogit, mixed_logit
from analysis.writing.own_ratings import own_against_others
from analysis.writing.story_texts import concreteness, distinct_shares, mean_sentence_length, read_concreteness
from analysis.writing.suggestion_choices import BinomialTests, binomial_tests, choice_share, clustered_share
from analysis.writing.two_groups import TwoGroups, two_groups
from analysis.writing.waiting import Waits, waits

__all__ = [
    "BinomialTests",
    "Edit",
    "MixedLogit",
    "Shift",
    "TwoGroups",
    "Waits",
    "binomial_tests",
    "choice_share",
    "clustered_share",
    "concreteness",
    "distinct_shares",
    "edit_of",
    "jaccard",
    "levenshtein",
    "mann_whitney",
    "mean_sentence_length",
    "mixed_logit",
    "own_against_others",
    "read_concreteness",
    "two_groups",
    "user_score",
    "waits",
]
