"""What the platform reports, compared with what arrived here."""

from __future__ import annotations

from typing import Any

import pytest

from annotation.models import OutsideAssignment, Posting, Study
from annotation.platforms.mturk.platform import Mturk
from annotation.recruiting import differences, syncing
from annotation.work import confirmation
from tests.annotation.recruiting.helpers import accept_there, posted_study, send_here, send_there
from tests.marketplace.support.factories import make_worker as make_market_worker

pytestmark = pytest.mark.django_db


@pytest.fixture
def study(api: Mturk) -> Study:
    return posted_study(api)


def test_sent_on_both_sides_is_confirmed(study: Study, api: Mturk) -> None:
    posting = study.postings.get(part=0, hit__position=0)
    worker = make_market_worker()
    accepted = accept_there(posting, worker)
    here = send_here(posting, worker.worker_id, accepted.assignment_id)
    syncing.sync_study(study=study, platform=api)
    assert [each.assignment_id for each in confirmation.unconfirmed_submissions(study)] == [here.pk]
    send_there(accepted)
    found = syncing.sync_study(study=study, platform=api)
    assert (found.postings, found.assignments, found.changed) == (2, 1, 1)
    assert list(confirmation.confirmed(study)) == [here]
    assert not confirmation.unconfirmed_submissions(study).exists()


def test_polling_again_changes_nothing(study: Study, api: Mturk) -> None:
    posting = study.postings.get(part=0, hit__position=0)
    send_there(accept_there(posting, make_market_worker()))
    syncing.sync_study(study=study, platform=api)
    assert syncing.sync_study(study=study, platform=api).changed == 0
    assert OutsideAssignment.objects.count() == 1


def test_a_forged_worker_is_not_confirmed_and_shown(study: Study, api: Mturk) -> None:
    posting = study.postings.get(part=0, hit__position=0)
    worker = make_market_worker()
    accepted = accept_there(posting, worker)
    send_there(accepted)
    forged = send_here(posting, "A-SOMEBODY-ELSE", accepted.assignment_id)
    syncing.sync_study(study=study, platform=api)
    assert not confirmation.confirmed(study).exists()
    ((ours, theirs),) = differences.differences(study).other_worker
    assert (ours.pk, theirs.worker_id) == (forged.pk, worker.worker_id)


def test_each_side_alone_is_shown(study: Study, api: Mturk) -> None:
    one, two = study.postings.order_by("hit__position")
    here = send_here(one, "W-HERE", "A-HERE")
    there = accept_there(two, make_market_worker())
    send_there(there)
    syncing.sync_study(study=study, platform=api)
    found = differences.differences(study)
    assert [each.pk for each in found.here_only] == [here.pk]
    assert [each.external_id for each in found.there_only] == [there.assignment_id]


def test_a_hit_that_was_deleted_elsewhere_is_noticed(study: Study, api: Mturk, client: Any) -> None:
    posting = study.postings.get(part=0, hit__position=0)
    client.update_expiration_for_hit(HITId=posting.external_id, ExpireAt=0)
    client.delete_hit(HITId=posting.external_id)
    Posting.objects.filter(pk=posting.pk).update(external_id="3NOSUCHHITATALL0000000000000")
    found = syncing.sync_study(study=study, platform=api)
    assert found.deleted == 1
    assert Posting.objects.get(pk=posting.pk).state == "deleted"
