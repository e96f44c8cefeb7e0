"""Outputs of one study become the items of another: which, when, and who never judges them."""

from __future__ import annotations

import pytest

from annotation.models import AuditEntry, ItemAuthor, ItemFeed, Output, Study, Submission
from annotation.studies.launching import publish
from annotation.studies.outputs import feed_items, follow_feeds, set_feed, set_follow
from annotation.studies.storing import Frozen, close_study, delete_draft, pause_study
from annotation.task_types.items import SourceOutput, SourceRow
from annotation.task_types.registry import get_type
from annotation.work.allocation import NotAdmitted, NothingLeft, accept_next, enrol
from common.problems import Invalid
from tests.annotation.outputs_helpers import decide, draft, fed, said, source
from tests.factories import make_participant, make_study, make_submission

pytestmark = pytest.mark.django_db


# --- which outputs ---


def test_each_set_becomes_an_item_that_knows_its_output_and_its_author() -> None:
    there = source(submissions=2)
    study = draft()
    assert set_feed(study=study, source=there, actor="ann") == 4
    made = list(Output.objects.order_by("pk"))
    items = list(study.items.order_by("position"))
    assert [item.source for item in items] == [{"study": there.slug, "outputs": [output.pk]} for output in made]
    task = get_type("abs_hds")
    facts = [task.describe_item(item.payload) for item in items]
    assert [fact.parameter for fact in facts] == [("content_diversity", output.label_value) for output in made]
    assert [list(fact.responses) for fact in facts] == [output.texts for output in made]
    writers = [output.submission.participant.worker_id for output in made]
    assert [item.authors.get().worker_id for item in items] == writers
    study.refresh_from_db()
    assert study.has_authors
    assert study.items_read_with == {"empty_responses": "keep"}


def test_an_item_of_two_outputs_has_the_author_of_both_once() -> None:
    there = source(submissions=1)
    study = draft("rnk_hds")
    assert set_feed(study=study, source=there, actor="ann") == 1
    assert study.items.get().source["outputs"] == list(
        Output.objects.order_by("-label_value").values_list("pk", flat=True)
    )
    assert ItemAuthor.objects.filter(item__study=study).count() == 1


def test_excluded_submissions_give_no_items_until_they_are_included_again() -> None:
    there = source(submissions=2)
    first = there.submissions.order_by("pk")[0]
    decide(first, "exclude")
    study = draft()
    assert set_feed(study=study, source=there, actor="ann") == 2
    assert not set(Output.objects.filter(submission=first).values_list("pk", flat=True)) & taken(study)
    decide(first, "include")
    assert feed_items(study=study, actor="ann") == 2
    assert study.items.count() == 4


def test_only_the_arms_named_are_taken() -> None:
    there = source(submissions=4, arms=[{"name": "solo"}, {"name": "pair"}])
    study = draft()
    assert set_feed(study=study, source=there, arms=["pair"], actor="ann") == 4
    arms = Output.objects.filter(pk__in=taken(study)).values_list("submission__participant__arm__name", flat=True)
    assert set(arms) == {"pair"}


def test_texts_of_simulated_workers_are_taken_and_marked() -> None:
    there = source()
    make_submission(study=there)
    make_submission(study=there, participant=make_participant(study=there, synthetic=True))
    study = draft()
    set_feed(study=study, source=there, actor="ann")
    marked = [item.source.get("simulated", False) for item in study.items.order_by("position")]
    assert marked == [False, False, True, True]


def taken(study: Study) -> set[int]:
    return {pk for found in study.items.values_list("source", flat=True) for pk in found["outputs"]}


# --- nobody judges a text of their own ---


def test_a_writer_is_never_given_a_text_of_their_own() -> None:
    there = source(submissions=2)
    study = fed(there, ratings_per_item=5, hits_per_worker=None)
    writer = there.participants.order_by("pk")[0].worker
    judge = enrol(study=study, worker=writer, consented=False)
    judged: set[int] = set()
    with pytest.raises(NothingLeft):
        while True:
            accept_next(participant_id=judge.pk)
            submission = make_submission(participant=judge)
            judged |= set(submission.assignment.hit.items.values_list("pk", flat=True))
    own = set(ItemAuthor.objects.filter(worker=writer).values_list("item_id", flat=True))
    assert len(own) == 2
    assert judged == set(study.items.values_list("pk", flat=True)) - own


# --- drafts ---


def test_a_draft_may_wait_for_its_first_outputs_but_not_go_live() -> None:
    there, study = source(), draft()
    assert set_feed(study=study, source=there, actor="ann") == 0
    with pytest.raises(Invalid) as refused:
        feed_items(study=study, actor="ann")
    assert "has no outputs yet" in said(refused)
    with pytest.raises(Invalid, match="no items"):
        publish(study=study, actor="ann")
    make_submission(study=there)
    assert feed_items(study=study, actor="ann") == 2
    assert ItemFeed.objects.get(study=study).source == there


def test_other_items_end_the_feed() -> None:
    from tests.annotation.studies.test_importing_items import sets

    study = draft()
    set_feed(study=study, source=source(submissions=1), actor="ann")
    from annotation.studies.importing_items import import_items

    import_items(study=study, table=sets(1), actor="ann")
    study.refresh_from_db()
    assert (ItemFeed.objects.count(), ItemAuthor.objects.count(), study.has_authors) == (0, 0, False)


def test_drafts_can_be_deleted_with_their_items_unless_another_study_uses_them() -> None:
    there = draft("con_test")
    study = draft()
    set_feed(study=study, source=there, actor="ann")
    with pytest.raises(Invalid) as refused:
        delete_draft(study=there, actor="ann")
    assert (
        said(refused)
        == f"The study {study.slug} uses outputs of this one as its items. Import other items into that study first."
    )
    delete_draft(study=study, actor="ann")
    delete_draft(study=there, actor="ann")
    assert not Study.objects.exists()


# --- studies that have gone live ---


def test_outputs_that_arrive_later_get_items_and_hits_behind_the_others_in_every_arm() -> None:
    there = source(submissions=1)
    study = draft(ratings_per_item=3, reward="0.2")
    set_feed(study=study, source=there, actor="ann")
    study.arms.create(position=0, name="low")
    study.arms.create(position=1, name="high", reward="0.9")
    publish(study=study, actor="ann")
    items = list(study.items.order_by("position").values_list("pk", "external_id", "position"))
    hits = list(study.hits.values_list("pk", "position"))
    make_submission(study=there)
    assert feed_items(study=study, actor="bob") == 2
    assert list(study.items.order_by("position").values_list("pk", "external_id", "position"))[:2] == items
    assert list(study.hits.values_list("pk", "position"))[:4] == hits
    new = study.hits.filter(position__gte=4)
    assert sorted(new.values_list("arm__name", "wanted", "reward")) == sorted(
        [("low", 3, new[0].study.reward), ("high", 3, study.arms.get(name="high").reward)] * 2
    )
    assert sorted(new.values_list("position", flat=True)) == [4, 5, 6, 7]
    assert set(new.values_list("items__position", flat=True)) == {2, 3}
    assert study.items.filter(authors__isnull=True).count() == 0
    assert AuditEntry.objects.get(study=study, action="take outputs").detail == {
        "source": there.slug,
        "items": 2,
        "hits": 4,
    }


def test_taking_again_without_new_outputs_changes_nothing() -> None:
    there = source(submissions=1)
    study = fed(there)
    before = AuditEntry.objects.count()
    assert feed_items(study=study, actor="ann") == 0
    assert (study.items.count(), study.hits.count(), AuditEntry.objects.count()) == (2, 2, before)


def test_items_stay_when_their_submission_is_excluded_later_and_new_ones_of_it_are_not_taken() -> None:
    there = source(submissions=1)
    study = fed(there)
    late = make_submission(study=there)
    for submission in Submission.objects.filter(study=there):
        decide(submission, "exclude")
    make_submission(study=there)
    assert feed_items(study=study, actor="ann") == 2
    assert study.items.count() == 4
    assert not taken(study) & set(Output.objects.filter(submission=late).values_list("pk", flat=True))


def test_an_output_with_a_lower_number_that_comes_later_changes_no_item() -> None:
    there = source(submissions=2)
    first = there.submissions.order_by("pk")[0]
    decide(first, "exclude")
    study = fed(there, task_type="rnk_hds")
    before = list(study.items.values_list("external_id", "payload"))
    decide(first, "include")
    assert feed_items(study=study, actor="ann") == 1
    assert list(study.items.order_by("position").values_list("external_id", "payload"))[:1] == before


def test_a_type_that_makes_other_items_from_old_outputs_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    there = source(submissions=1)
    study = fed(there)
    make_submission(study=there)
    task = get_type("abs_hds")
    made = task.from_outputs

    def other(found: list[SourceOutput]) -> list[SourceRow]:
        return [SourceRow(row.cells | {"context": "other"}, row.sources) for row in made(found)]

    monkeypatch.setattr(type(task), "from_outputs", lambda self, found: other(found))
    with pytest.raises(Invalid, match="different items"):
        feed_items(study=study, actor="ann")
    assert study.items.count() == 2


def test_a_closed_study_accepts_nothing_and_a_paused_one_does() -> None:
    there = source(submissions=1)
    study = fed(there)
    make_submission(study=there)
    pause_study(study=study, actor="ann")
    assert feed_items(study=study, actor="ann") == 2
    close_study(study=study, actor="ann")
    with pytest.raises(Invalid) as refused:
        feed_items(study=study, actor="ann")
    assert said(refused) == "This study is closed. You cannot add items to a closed study."
    with pytest.raises(Frozen):
        set_follow(study=study, follow=True, actor="ann")


def test_a_study_cannot_change_its_source_after_the_launch() -> None:
    study = make_study()
    for there in (source(), source(submissions=1)):
        with pytest.raises(Frozen):
            set_feed(study=study, source=there, actor="ann")
    assert not ItemFeed.objects.exists()


def test_new_items_bring_back_a_study_that_had_all_it_wanted() -> None:
    there = source(submissions=1)
    study = fed(there, ratings_per_item=1)
    for _ in range(2):
        make_submission(study=study)
    with pytest.raises(NotAdmitted):
        make_participant(study=study)
    make_submission(study=there)
    feed_items(study=study, actor="ann")
    assert accept_next(participant_id=make_participant(study=study).pk)


# --- following ---


def test_only_studies_that_follow_add_outputs_automatically() -> None:
    there = source(submissions=1)
    follower, other = fed(there, follow=True), fed(there)
    waiting = draft()
    set_feed(study=waiting, source=there, follow=True, actor="ann")
    make_submission(study=there)
    assert follow_feeds() == 2
    assert [study.items.count() for study in (follower, other, waiting)] == [4, 2, 2]
    assert follow_feeds() == 0
    set_follow(study=follower, follow=False, actor="ann")
    set_follow(study=other, follow=True, actor="ann")
    assert follow_feeds() == 2
    assert [study.items.count() for study in (follower, other)] == [4, 4]


def test_following_waits_until_the_new_items_fill_a_hit() -> None:
    there = source(submissions=2)
    study = fed(there, follow=True, items_per_hit=4)
    make_submission(study=there)
    assert follow_feeds() == 0
    make_submission(study=there)
    make_submission(study=there)
    assert follow_feeds() == 4
    assert [hit.items.count() for hit in study.hits.all()] == [4, 4]
    assert feed_items(study=study, actor="ann") == 2  # by hand the rest comes, too
    assert [hit.items.count() for hit in study.hits.all()] == [4, 4, 2]


def test_a_study_that_fails_to_import_does_not_hold_up_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    there = source(submissions=1)
    broken, sound = fed(there, follow=True), fed(there, follow=True, task_type="sim_hds")
    make_submission(study=there)
    monkeypatch.setattr(type(get_type("abs_hds")), "takes_outputs", ())
    assert follow_feeds() == 2
    assert (broken.items.count(), sound.items.count()) == (2, 4)
