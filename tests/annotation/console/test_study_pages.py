"""A study while it runs: progress, status, submissions, decisions, members, activity."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils.html import escape
from pytest_django import DjangoAssertNumQueries

from annotation.instrument import live_instrument
from annotation.models import Flag, Invitation, Membership, Review, Study, Submission
from annotation.work.allocation import enrol
from tests.annotation.console_helpers import as_role, make_user, signed_in
from tests.factories import make_assignment, make_participant, make_study, make_submission

pytestmark = pytest.mark.django_db


def text_of(client: Client, name: str, *args: object, **query: str) -> str:
    response = client.get(reverse(name, args=args), query)
    assert response.status_code == 200
    return str(response.content.decode())


# --- the list and the overview ---


def test_the_list_shows_status_progress_and_simulated_data() -> None:
    study = make_study(items=3, ratings_per_item=2)
    make_submission(study=study, participant=make_participant(study=study, synthetic=True))
    page = text_of(as_role("viewer", study), "console_studies")
    assert "1 of 6" in page
    assert "1 simulated" in page
    assert "Live" in page


def test_the_studies_with_the_latest_activity_come_first() -> None:
    older, newer = make_study(title="Made first"), make_study(title="Made second")
    user = make_user("ada")
    for study in (older, newer):
        Membership.objects.create(study=study, user=user, role="viewer")
    make_submission(study=older)
    page = text_of(signed_in(user), "console_studies")
    assert page.index("Made first") < page.index("Made second")


def test_the_overview_shows_the_link_and_the_figures() -> None:
    study = make_study(items=2, ratings_per_item=2)
    make_submission(study=study)
    make_assignment(study=study)
    page = text_of(as_role("viewer", study), "console_study", study.slug)
    assert f'value="http://127.0.0.1:8000{reverse("study_start", args=[study.slug])}"' in page
    assert '<p class="y small muted" aria-hidden="true"><span>1</span><span>0</span></p>' in page
    assert "1 of 4" in page
    assert re.search(r"<dt>Working now</dt><dd>1</dd>", page)
    assert 'hx-trigger="every' in page


def test_the_fragment_is_the_progress_alone_and_changes_with_the_next_submission() -> None:
    study = make_study(items=2, ratings_per_item=2)
    client = as_role("viewer", study)
    assert "0 of 4" in text_of(client, "console_progress", study.slug)
    make_submission(study=study)
    page = text_of(client, "console_progress", study.slug)
    assert "1 of 4" in page
    assert "<html" not in page


def test_a_closed_study_is_not_polled() -> None:
    study = make_study(items=1, status=Study.Status.CLOSED)
    assert "hx-trigger" not in text_of(as_role("viewer", study), "console_study", study.slug)


def test_simulated_data_are_marked_everywhere_they_show() -> None:
    study = make_study(items=1)
    submission = make_submission(study=study, participant=make_participant(study=study, synthetic=True))
    client = as_role("viewer", study)
    assert "All data simulated" in text_of(client, "console_study", study.slug)
    assert "Simulated</span>" in text_of(client, "console_submissions", study.slug)
    assert "Simulated</span>" in text_of(client, "console_submission", study.slug, submission.pk)
    assert "simulated</span>" in text_of(client, "console_items", study.slug)


def test_a_study_with_arms_shows_each_of_them() -> None:
    arms: list[dict[str, Any]] = [{"name": "low", "reward": "0.100", "wanted": 9}, {"name": "high", "reward": "0.400"}]
    study = make_study(items=1, ratings_per_item=2, arms=arms)
    made = {each.participant.arm.name: each for each in (make_submission(study=study) for _ in range(2))}
    client = as_role("viewer", study)
    page = text_of(client, "console_study", study.slug)
    assert re.search(r'low</th><td[^>]*>1 <span class="small">9 wanted</span></td><td[^>]*>1 <span[^>]*>of 2<', page)
    assert "low: $0.10<br>high: $0.40" in page
    assert "By arm" not in text_of(as_role("viewer", other := make_study()), "console_study", other.slug)
    listed = text_of(client, "console_submissions", study.slug, arm="high")
    assert made["high"].participant.pseudonym in listed
    assert made["low"].participant.pseudonym not in listed
    assert made["low"].participant.pseudonym in text_of(client, "console_submissions", study.slug, arm="no such arm")
    shown = text_of(client, "console_submission", study.slug, made["low"].pk)
    assert '<dt>Arm</dt><dd class="plain">low</dd>' in shown


def test_a_submission_shows_the_texts_that_another_study_can_judge() -> None:
    study = make_study(task_type="con_test", items=1, ratings_per_item=1)
    submission = make_submission(study=study)
    page = text_of(as_role("viewer", study), "console_submission", study.slug, submission.pk)
    assert "Texts that other studies can judge" in page
    for output in submission.outputs.all():
        assert all(escape(text) in page for text in output.texts)


@pytest.mark.parametrize("name", ["console_study", "console_progress", "console_studies"])
def test_queries_do_not_grow_with_submissions(name: str, django_assert_max_num_queries: DjangoAssertNumQueries) -> None:
    counts = []
    user = make_user("ada")
    client = signed_in(user)
    for number in (1, 12):
        study = make_study(items=4, ratings_per_item=number)
        Membership.objects.create(study=study, user=user, role="viewer")
        for seed in range(number):
            make_submission(study=study, seed=seed, profile="careless")
        args = [] if name == "console_studies" else [study.slug]
        client.get(reverse(name, args=args))
        with django_assert_max_num_queries(56) as seen:
            client.get(reverse(name, args=args))
        counts.append(len(seen))
    assert counts[0] == counts[1]


# --- status ---


def test_pausing_resuming_and_closing() -> None:
    study = make_study()
    client = as_role("editor", study)
    for name, status in (("console_pause", "paused"), ("console_resume", "live"), ("console_close", "closed")):
        assert client.post(reverse(name, args=[study.slug])).status_code == 302
        study.refresh_from_db()
        assert study.status == status


def test_a_closed_study_is_not_opened_again() -> None:
    study = make_study(status=Study.Status.CLOSED)
    response = as_role("owner", study).post(reverse("console_resume", args=[study.slug]), follow=True)
    assert "A closed study cannot be opened again" in response.content.decode()
    study.refresh_from_db()
    assert study.status == "closed"


@pytest.mark.parametrize("name", ["console_pause", "console_resume", "console_close", "console_delete"])
def test_looking_at_an_address_changes_nothing(name: str) -> None:
    study = make_study()
    assert as_role("owner", study).get(reverse(name, args=[study.slug])).status_code == 405
    study.refresh_from_db()
    assert study.status == "live"


# --- submissions ---


def test_submissions_are_filtered() -> None:
    study = make_study(items=3, ratings_per_item=3)
    plain = make_submission(study=study)
    robot = make_submission(study=study, participant=make_participant(study=study, synthetic=True))
    flagged = make_submission(study=study)
    Flag.objects.create(submission=flagged, reason="copied", detail="From the context.")
    excluded = make_submission(study=study)
    Review.objects.create(submission=excluded, decision="exclude")
    Review.objects.create(submission=plain, decision="exclude")
    Review.objects.create(submission=plain, decision="include")
    client = as_role("viewer", study)

    def shown(show: str) -> set[int]:
        page = text_of(client, "console_submissions", study.slug, show=show)
        found = {one for one in (plain, robot, flagged, excluded) if one.participant.pseudonym in page}
        return {one.pk for one in found}

    assert shown("all") == {plain.pk, robot.pk, flagged.pk, excluded.pk}
    assert flagged.pk in shown("flagged")
    assert plain.pk not in shown("flagged") or plain.flags.exists()
    assert shown("excluded") == {excluded.pk}
    assert shown("synthetic") == {robot.pk}
    assert shown("people") == {plain.pk, flagged.pk, excluded.pk}
    assert shown("no-such-filter") == shown("all")


def test_a_submission_shows_answers_times_pastes_flags_and_what_was_shown() -> None:
    study = make_study(items=1)
    submission = make_submission(study=study, seconds=12.5, pastes=2, feedback="<b>Nice</b> task")
    Flag.objects.create(submission=submission, reason="too_fast", detail="Done in 3 s.")
    page = text_of(as_role("viewer", study), "console_submission", study.slug, submission.pk)
    own = submission.ratings.get(question="own_response")
    assert own.text in page
    assert "12 s" in page
    assert 'data-label="Pastes">2<' in page
    assert "too fast" in page
    assert "Done in 3 s." in page
    assert "&lt;b&gt;Nice&lt;/b&gt; task" in page
    assert study.items.get().payload["context"] in page
    assert str(submission.assignment.seed) in page


def test_the_pages_can_be_seen_as_the_worker_saw_them() -> None:
    study = make_study(items=1)
    submission = make_submission(study=study)
    url = reverse("console_submission_page", args=[study.slug, submission.pk])
    client = as_role("viewer", study)
    own = submission.ratings.get(question="own_response").text
    diversity = submission.ratings.get(question="diversity").value
    assert own in client.get(url).content.decode()
    last = client.get(f"{url}?step=3").content.decode()
    chosen = re.findall(r"<input[^>]* checked[^>]*>", last)
    assert len(chosen) == 1
    assert f'value="{diversity:g}"' in chosen[0]
    texts = [
        study.items.get().payload["responses"][place] for place in submission.assignment.order["shown"][0]["responses"]
    ]
    places = [last.index(text) for text in texts]
    assert places == sorted(places)


def test_excluding_needs_a_decision_and_keeps_the_note() -> None:
    study = make_study(items=1)
    submission = make_submission(study=study)
    client = as_role("editor", study)
    url = reverse("console_review", args=[study.slug, submission.pk])
    back = client.post(url, {"decision": "exclude", "note": "Copied <b>all</b>."}, follow=True)
    page = back.content.decode()
    assert "Excluded. The report leaves this submission out" in page
    assert "Copied &lt;b&gt;all&lt;/b&gt;." in page
    review = Review.objects.get()
    assert (review.decision, review.note) == ("exclude", "Copied <b>all</b>.")
    client.post(url, {"decision": "include"})
    assert list(Review.objects.order_by("pk").values_list("decision", flat=True)) == ["exclude", "include"]


def test_excluding_can_release_the_place() -> None:
    study = make_study(items=1, ratings_per_item=1)
    submission = make_submission(study=study)
    client = as_role("editor", study)
    assert "Let another worker take the place" in text_of(client, "console_submission", study.slug, submission.pk)
    url = reverse("console_review", args=[study.slug, submission.pk])
    page = client.post(url, {"decision": "exclude", "release": "on"}, follow=True).content.decode()
    assert "Excluded. Another worker can take its place." in page
    assert "Its place was given to another worker." in page
    assert "Let another worker take the place" not in page
    another = make_submission(study=study)
    client.post(url, {"decision": "include"})
    page = text_of(client, "console_submission", study.slug, submission.pk)
    assert "The hit has one submission more than planned" in page
    assert another.participant.pseudonym != submission.participant.pseudonym


@pytest.mark.parametrize("form", [{}, {"decision": "delete"}, {"decision": "exclude", "note": "x" * 501}])
def test_an_invalid_decision_is_not_stored(form: dict[str, str]) -> None:
    study = make_study(items=1)
    submission = make_submission(study=study)
    url = reverse("console_review", args=[study.slug, submission.pk])
    response = as_role("editor", study).post(url, form, follow=True)
    assert "Not saved" in response.content.decode()
    assert not Review.objects.exists()


def test_a_decision_does_not_lead_to_another_site() -> None:
    study = make_study(items=1)
    submission = make_submission(study=study)
    url = reverse("console_review", args=[study.slug, submission.pk])
    response = as_role("editor", study).post(url, {"decision": "include", "back": "https://elsewhere.example/"})
    assert response.headers["Location"] == reverse("console_submission", args=[study.slug, submission.pk])


@pytest.mark.parametrize("name", ["console_submissions", "console_submission"])
def test_queries_do_not_grow_with_submissions_shown(
    name: str, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    counts = []
    for number in (2, 15):
        study = make_study(items=5, ratings_per_item=number)
        for seed in range(number):
            submission = make_submission(study=study, seed=seed, profile="careless")
            Review.objects.create(submission=submission, decision="include")
        client = as_role("viewer", study)
        url = reverse(name, args=[study.slug] + ([submission.pk] if name == "console_submission" else []))
        client.get(url)
        with django_assert_max_num_queries(24) as seen:
            client.get(url)
        counts.append(len(seen))
    assert counts[0] == counts[1]
    assert Submission.objects.count() == 17


# --- members, links, activity ---


def test_an_owner_adds_a_member_changes_the_role_and_removes_them() -> None:
    study = make_study(items=1)
    owner = as_role("owner", study)
    eve = make_user("eve")
    url = reverse("console_members", args=[study.slug])
    assert owner.post(url, {"username": "eve", "role": "viewer"}).status_code == 302
    assert signed_in(eve).get(reverse("console_study", args=[study.slug])).status_code == 200
    owner.post(url, {"username": "eve", "role": "editor"})
    assert Membership.objects.get(study=study, user=eve).role == "editor"
    owner.post(reverse("console_remove_member", args=[study.slug, eve.pk]))
    assert signed_in(eve).get(reverse("console_study", args=[study.slug])).status_code == 404


def test_a_missing_user_name_is_reported() -> None:
    study = make_study(items=1)
    response = as_role("owner", study).post(
        reverse("console_members", args=[study.slug]), {"username": "<b>nobody", "role": "viewer"}
    )
    assert response.status_code == 422
    assert "There is no researcher “&lt;b&gt;nobody” on this server." in response.content.decode()


def test_the_last_owner_stays() -> None:
    study = make_study(items=1)
    client = as_role("owner", study)
    owner = Membership.objects.get(study=study).user
    response = client.post(reverse("console_remove_member", args=[study.slug, owner.pk]), follow=True)
    assert "is the only owner of this study" in response.content.decode()
    response = client.post(
        reverse("console_members", args=[study.slug]), {"username": owner.username, "role": "viewer"}, follow=True
    )
    assert "is the only owner of this study" in response.content.decode()
    assert Membership.objects.get(study=study).role == "owner"


def links_on(page: str, study: Study) -> list[str]:
    return re.findall(rf"\S+{reverse('study_start', args=[study.slug])}\?k=\S+", page)


def test_personal_links_are_made_for_every_name_once_and_stay() -> None:
    study = make_study(items=1, access="invited")
    client = as_role("editor", study)
    url = reverse("console_links", args=[study.slug])
    page = client.post(url, {"names": "P 1\nP 2\n\n  P 1 \n"}, follow=True).content.decode()
    assert "2 links, 0 used" in page
    links = links_on(page, study)
    assert len(set(links)) == 2
    assert not any("P" in link.partition("?k=")[0].rpartition("/")[2] for link in links)
    client.post(url, {"names": "P 1"})
    assert links_on(client.get(url).content.decode(), study) == links
    invitation = Invitation.objects.get(study=study, name="P 2")
    enrol(study=study, worker=invitation.worker, consented=True, invitation=invitation)
    assert "2 links, 1 used" in client.get(url).content.decode()


def test_the_participants_of_another_study_get_links_and_are_the_same_people() -> None:
    first, second = make_study(title="Writing"), make_study(title="Judging")
    author = make_submission(study=first).participant
    user = make_user("ada")
    for study in (first, second):
        Membership.objects.create(study=study, user=user, role="editor")
    client, url = signed_in(user), reverse("console_links", args=[second.slug])
    assert f'<option value="{first.pk}">' in client.get(url).content.decode()
    page = client.post(url, {"of": str(first.pk)}, follow=True).content.decode()
    assert "1 personal link is ready." in page
    assert Invitation.objects.get(study=second).worker == author.worker
    assert author.pseudonym in page


def test_participants_of_a_study_that_one_may_not_edit_are_not_invited() -> None:
    study, other = make_study(), make_study()
    make_submission(study=other)
    client = as_role("editor", study)
    user = Membership.objects.get(study=study).user
    Membership.objects.create(study=other, user=user, role="viewer")
    response = client.post(reverse("console_links", args=[study.slug]), {"of": str(other.pk)})
    assert response.status_code == 422
    assert not Invitation.objects.exists()


@pytest.mark.parametrize(
    ("identity", "text"),
    [
        ("none", "An open link cannot tell people apart"),
        ("browser", "One participation per browser"),
        ("parameter", "the id that the panel adds to the link as <code>PROLIFIC_PID</code>"),
    ],
)
def test_the_overview_and_the_links_page_say_what_an_open_link_can_do(identity: str, text: str) -> None:
    study = make_study(items=1, identity=identity, identity_parameter="PROLIFIC_PID")
    client = as_role("editor", study)
    for name in ("console_study", "console_links"):
        assert text in text_of(client, name, study.slug)


@pytest.mark.parametrize("names", ["", "  \n ", "x" * 101, "\n".join(str(number) for number in range(1001))])
def test_names_without_links_are_reported(names: str) -> None:
    study = make_study(items=1)
    response = as_role("editor", study).post(reverse("console_links", args=[study.slug]), {"names": names})
    assert response.status_code == 422


def test_the_activity_says_who_did_what() -> None:
    study = make_study(items=1)
    client = as_role("owner", study)
    client.post(reverse("console_pause", args=[study.slug]))
    make_user("eve")
    client.post(reverse("console_members", args=[study.slug]), {"username": "eve", "role": "viewer"})
    page = text_of(client, "console_activity", study.slug)
    assert "live → paused" in page
    assert "user: eve" in page
    assert f"owner-of-{study.slug}" in page


@pytest.mark.parametrize("live", [True, False])
def test_without_its_task_type_a_study_is_there_and_says_what_is_missing(live: bool) -> None:
    study = make_study()
    submission = make_submission(study=study) if live else None
    item = study.items.all()[0]
    Study.objects.filter(pk=study.pk).update(task_type="gone", status="live" if live else "draft")
    live_instrument.cache_clear()
    owner = as_role("owner", study)
    names = (
        "study",
        "members",
        "activity",
        "items",
        "settings",
        "preview",
        "preview_page",
        "type",
        "upload",
        "publish",
    )
    pages: dict[str, list[Any]] = {f"console_{name}": [study.slug] for name in (*names, "submissions")} | {
        "report": [study.slug]
    }
    pages |= {"console_item": [study.slug, item.pk], "export": [study.slug, "long", "csv"]}
    if submission:
        pages |= {name: [study.slug, submission.pk] for name in ("console_submission", "console_submission_page")}
    told = {}
    for name, args in pages.items():
        response = owner.get(reverse(name, args=args))
        told[name] = response.status_code
        assert response.status_code < 500
        assert response.status_code != 409 or "type “gone” is not installed" in response.content.decode()
    assert told["console_study"] in (200, 302, 409) and told["console_members"] == told["console_activity"] == 200
    assert 409 in told.values()
