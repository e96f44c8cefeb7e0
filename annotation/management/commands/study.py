"""``manage.py study ACTION …``: everything that the console can do with a study, for scripts and terminals."""

from __future__ import annotations

import json as json_module
import sys
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any

from django.contrib.auth.models import User
from django.core.management.base import CommandError

from accounts.roles import researchers
from analysis.paper import PaperFolderError
from annotation.management import study_output as output
from annotation.management import study_platform as platform_actions
from annotation.management.asking import YES, ask_before_spending
from annotation.management.study_audience import AudienceActions
from annotation.management.study_judges import JudgeActions
from annotation.management.study_lifecycle import LifecycleActions
from annotation.management.study_plan import PlanActions
from annotation.management.study_ratings import RatingsActions
from annotation.management.study_redact import RedactActions
from annotation.management.study_review import ReviewActions
from annotation.models import Study
from annotation.people import invitations
from annotation.platforms import all_platforms, link
from annotation.platforms.paying_accounts import ACCOUNT
from annotation.results import exports
from annotation.results.paper_folder import write_study_paper
from annotation.review import paying, quality_control
from annotation.review import payments_due as payments
from annotation.review.payment_file import payments_csv
from annotation.review.quality_findings import quality_of
from annotation.review.study_progress import study_progress
from annotation.studies import item_sources, launching, outputs
from annotation.studies import storing as service
from annotation.studies.applying import apply
from annotation.studies.duplicating import duplicate_study
from annotation.studies.factor_notes import factor_notes
from annotation.studies.identical_items import identical_in_words, identical_items
from annotation.studies.recordings import add_file
from annotation.studies.study_files import FileRefused, read_study_file
from annotation.studies.wording_notes import study_warnings
from annotation.table_files import Table, TableProblems, read_table
from annotation.task_types.registry import UnknownTaskType, all_types, get_type
from annotation.work import repairing_ratings
from common.commands import AddAction, problem_lines, progress_bar
from common.words import counted, money
from generation.models import GenerationRun

ACTOR = "manage.py study"
SIMULATED = {"with": None, "without": False, "only": True}


class Command(ReviewActions):
    help = "Set up, run, report and export studies. “manage.py study ACTION --help” shows more about each action."

    def add_actions(self, add: AddAction) -> None:
        self.add_setting_up(add)
        self.add_platforms(add)
        LifecycleActions(self.say, study_called, ACTOR).add_to(add)
        AudienceActions(self.say, study_called, ACTOR).add_to(add)
        RatingsActions(self.say, self.warn, user_called, ACTOR).add_to(add)
        RedactActions(self.say, study_called, ACTOR).add_to(add)
        for actions in (PlanActions(self.say, study_called), JudgeActions(self.say, study_called, ACTOR)):
            actions.add_to(add)
        self.add_running(add)
        self.add_review(add)
        self.add_data(add)

    def add_setting_up(self, add: AddAction) -> None:
        file = add("apply", "create or change a study to match a study file", self.apply)
        file.add_argument("file", type=Path)
        file.add_argument("--dry-run", action="store_true", help="show what would change, but write nothing")
        file.add_argument("--owner", metavar="USER", help="the user who owns the study in the console")
        file.add_argument("--progress", action="store_true", help="show a progress bar even without a terminal")
        keys = add("keys", "list the keys of a study file, for one task type", self.keys)
        keys.add_argument("task_type", nargs="?", default="")
        run = add("import-run", "make the samples of a generation run the items of a draft", self.import_run)
        run.add_argument("slug")
        run.add_argument("run_name", metavar="run", help="a run's name, see: manage.py generate status")
        run.add_argument("options", nargs="*", metavar="NAME=VALUE", help="options of the type: manage.py study keys")
        run.add_argument("--with-file", type=Path, metavar="FILE", help="items to add to those of the run")
        image = add("add-image", "store an image or a recording that items of a draft can show", self.add_image)
        image.add_argument("slug")
        image.add_argument("file", type=Path, help="PNG, JPEG, WebP; audio, video or WebVTT")
        image.add_argument("--alt", default="", help="what an image shows, for people who cannot see it")
        image.add_argument("--name", default="", help="what items files call it (default: the file's name)")
        take = add("take-outputs", "make items from another study's outputs", self.take_outputs)
        take.add_argument("slug")
        take.add_argument("--from-study", metavar="SLUG", help="for a draft: the study whose outputs become items")
        take.add_argument("--arm", action="append", default=[], metavar="NAME", help="only outputs of this arm")
        take.add_argument("--kind", default="", help="kind of outputs, such as turn (default: the first that fits)")
        take.add_argument("--follow", action="store_true", help="also add outputs that arrive while the study is live")

    def add_running(self, add: AddAction) -> None:
        copy = add("duplicate", "make a draft like another study", self.duplicate)
        copy.add_argument("slug")
        copy.add_argument("new_slug", metavar="NEW", help="short name of the draft")
        copy.add_argument("--title", help="its title (default: the same)")
        copy.add_argument("--without-items", action="store_true", help="do not copy the items")
        copy.add_argument("--owner", metavar="USER", help="the user who owns the draft in the console")
        for name, (summary, run) in {
            "pause": ("stop giving out new work for now", self.pause),
            "resume": ("give out work again", self.resume),
            "close": ("close a study for good; its data stay", self.close),
            "delete": ("delete a draft", self.delete),
            "recount": ("correct the hits' counters from the assignments", self.recount),
        }.items():
            add(name, summary, run).add_argument("slug")
        links = add("links", "print personal links as CSV, for names or another study's participants", self.links)
        links.add_argument("slug")
        people_of = links.add_mutually_exclusive_group(required=True)
        people_of.add_argument("--names", metavar="FILE", help="a file with one name per line; - reads standard input")
        people_of.add_argument("--from-study", metavar="SLUG", help="invite everybody who took part in that study")

    def add_platforms(self, add: AddAction) -> None:
        live = add("publish", "launch: plan the hits and open the study, by its link or on a platform", self.publish)
        live.add_argument("slug")
        names = tuple(all_platforms())
        live.add_argument("--platform", choices=names, default=link.PLATFORM, help="where workers come from")
        live.add_argument("--dry-run", action="store_true", help="print every call and the cost, but post nothing")
        live.add_argument(
            "--set", dest="options", action="append", default=[], metavar="NAME=VALUE", help="a setting of the platform"
        )
        setting: dict[str, Any] = {"dest": "options", "action": "append", "type": f"{ACCOUNT}={{}}".format}
        live.add_argument("--account", metavar="NAME", help="the platform account that pays", **setting)
        live.add_argument("--progress", action="store_true")
        live.add_argument("--yes", action="store_true", help=YES)
        budget = add("budget", "show or set the most that a study may cost on platforms", self.budget)
        budget.add_argument("slug")
        budget.add_argument("amount", nargs="?", default="", help="USD with fees, such as 25.00")
        sync = add("sync", "ask the platform what was sent there, and show the differences", self.sync)
        sync.add_argument("slug")
        sync.add_argument("--progress", action="store_true")
        approve = add("approve", "approve and pay on the platform what arrived here and is not excluded", self.approve)
        approve.add_argument("slug")
        approve.add_argument("--dry-run", action="store_true", help="show what would be approved and its cost")
        add("end", "stop offering a study on its platform; work in progress can be finished", self.end).add_argument(
            "slug"
        )

    def add_data(self, add: AddAction) -> None:
        status = add("status", "show the progress of a study; without SLUG, list all studies", self.status)
        status.add_argument("slug", nargs="?", default="", help="without it, all studies are listed")
        status.add_argument("--json", action="store_true")
        report = add("report", "write report.html and report.json", self.report)
        report.add_argument("slug")
        report.add_argument("--out", type=Path, metavar="DIR", help="folder to write into (default: report-SLUG)")
        report.add_argument("--png", action="store_true", help="without --paper: also every figure as a PNG file")
        report.add_argument("--paper", type=Path, metavar="DIR", help="write a paper's part to a new folder instead")
        report.add_argument("--no-pictures", action="store_true", help="with --paper: no pictures of workers' pages")
        export = add("export", "write the data", self.export)
        export.add_argument("slug")
        export.add_argument("--kind", choices=exports.KINDS, default=exports.KINDS[0], help="see docs/exports.md")
        export.add_argument("--format", choices=exports.FORMATS, default="", help="by default, the first of the kind")
        export.add_argument("--out", default="-", metavar="FILE", help="file to write (default: standard output)")
        export.add_argument("--simulated", choices=tuple(SIMULATED), default="with", help="data of simulated workers")
        export.add_argument("--worker-ids", action="store_true", help="add the workers' ids on their platform")
        pay = add("payments", "write completion codes with what is owed as CSV, or mark it as paid", self.payments)
        pay.add_argument("slug")
        pay.add_argument("--code", default="", help="only the worker with this completion code")
        pay.add_argument("--state", choices=payments.STATES, default="", help="only those in this state (default: all)")
        pay.add_argument("--out", default="-", metavar="FILE", help="file to write (default: standard output)")
        pay.add_argument("--worker-ids", action="store_true", help="add the workers' ids on their platform")
        pay.add_argument("--mark-paid", action="store_true", help="record that everything owed has been paid")
        pay.add_argument("--dry-run", action="store_true", help="with --mark-paid: print the total, but write nothing")
        check = add("check", "check all submissions with every rule of quality control", self.check_quality)
        check.add_argument("slug")
        check.add_argument("--progress", action="store_true")
        rebuild = add("rebuild-ratings", "derive all ratings again from the stored answers", self.rebuild_ratings)
        rebuild.add_argument("slug")
        rebuild.add_argument("--progress", action="store_true")

    def explain(self, error: Exception) -> CommandError | None:
        if isinstance(error, FileRefused):
            self.complain(output.problem_lines(error))
            return CommandError("The study file has problems; nothing was written.")
        if isinstance(error, TableProblems):
            self.complain(output.table_problem_lines(error))
            return CommandError(f"The file has {counted(error.total, 'problem')}; nothing was written.")
        if isinstance(error, service.Frozen):
            self.complain(problem_lines(error.problems))
            return CommandError("These fields are locked after launch. Nothing was written.")
        if isinstance(error, UnknownTaskType | exports.ExportError | PaperFolderError):
            return CommandError(str(error))
        return platform_actions.explain(error)

    # --- setting up ---

    def apply(self, *, file: Path, dry_run: bool, owner: str | None, progress: bool) -> None:
        user = user_called(owner)
        read = read_study_file(file)
        with progress_bar(progress, "items") as step:
            applied = apply(read, owner=user, dry_run=dry_run, progress=step)
        self.say(output.applied_lines(read.slug, applied, dry_run=dry_run))
        self.warn(applied.warnings)
        if applied.suggestion:
            self.say([f"{applied.suggestion} To choose yourself, declare factors in the study file."])
        if not dry_run and applied.study is not None:
            self.say(output.next_steps(applied.study))
        if (
            not dry_run
            and applied.study is not None
            and any(difference.field == "items" for difference in applied.differences)
        ):
            self.warn_of_identical(applied.study)
        if applied.created and user is None and not dry_run:
            self.say(["The study has no owner: only administrators see it in the console (--owner USER)."])

    def warn_of_identical(self, study: Study) -> None:
        if same := identical_in_words(identical_items(study)):
            self.warn([same])

    def warn(self, warnings: Iterable[str]) -> None:
        self.complain(f"Warning: {warning}" for warning in warnings)

    def keys(self, *, task_type: str) -> None:
        if task_type:
            self.say(output.all_keys(get_type(task_type)))
        else:
            self.say(f"{name}: {task.title}. {task.summary}" for name, task in all_types().items())

    def import_run(self, *, slug: str, run_name: str, options: list[str], with_file: Path | None) -> None:
        study = study_called(slug)
        run = GenerationRun.objects.filter(name=run_name).first()
        if run is None:
            raise CommandError(f"There is no run “{run_name}”. See: manage.py generate status")
        import_options = dict(option_of(option) for option in options)
        added = table_in(with_file) if with_file else None
        done = item_sources.import_run(study=study, run=run, options=import_options, actor=ACTOR, added=added)
        verb = "is" if done.left_out == 1 else "are"
        left_out = f" {counted(done.left_out, 'sample')} {verb} left over." if done.left_out else ""
        self.say([f"{study.slug}: {counted(done.items, 'item')} from the run {run.name}.{left_out}"])
        self.warn_of_identical(study)

    def add_image(self, *, slug: str, file: Path, alt: str, name: str) -> None:
        study = study_called(slug)
        try:
            with file.open("rb") as content:
                size, name = file.stat().st_size, name or file.name
                media = add_file(study=study, name=name, file=content, size=size, alt=alt, actor=ACTOR)
        except OSError as error:
            raise CommandError(f"{file} cannot be read: {error.strerror}.") from None
        of_size = f"{media.width} × {media.height} pixels" if media.width else f"{media.format}, {media.size:,} bytes"
        self.say([f"{study.slug}: {media.name}, {of_size}. Items show it by that name."])

    def take_outputs(self, *, slug: str, from_study: str | None, arm: list[str], kind: str, follow: bool) -> None:
        study = study_called(slug)
        if from_study is None:
            if arm or kind or follow:
                raise CommandError("--arm, --kind and --follow need --from-study.")
            new = outputs.feed_items(study=study, actor=ACTOR)
            self.say([f"{study.slug}: {counted(new, 'new item')}, {study.items.count():,} in total."])
            return
        source = study_called(from_study)
        count = outputs.set_feed(study=study, source=source, arms=arm, kind=kind, follow=follow, actor=ACTOR)
        self.say([f"{study.slug}: {counted(count, 'item')} from outputs of {source.slug}."])

    def duplicate(self, *, slug: str, new_slug: str, title: str | None, without_items: bool, owner: str | None) -> None:
        study, user = study_called(slug), user_called(owner)
        title, with_items = title or study.title, not without_items
        draft = duplicate_study(study=study, slug=new_slug, title=title, with_items=with_items, actor=ACTOR, owner=user)
        self.say([f"{draft.slug}: a draft like {study.slug}, with {counted(draft.items.count(), 'item')}."])
        self.say(output.next_steps(draft))

    # --- running ---

    def publish(
        self, *, slug: str, platform: str, dry_run: bool, options: list[str], progress: bool, yes: bool
    ) -> None:
        study = study_called(slug)
        if platform != link.PLATFORM:
            platform_options = [option_of(option) for option in options]
            ask = partial(ask_before_spending, yes=yes)
            chosen: dict[str, Any] = {"dry_run": dry_run, "progress": progress, "ask": ask}
            self.say(platform_actions.publish_lines(study, platform, platform_options, actor=ACTOR, **chosen))
            return
        if dry_run or options:
            raise CommandError("--dry-run, --set and --account need --platform with the name of a platform.")
        was_live, warnings = study.status == Study.Status.LIVE, study_warnings(study)
        launching.publish(study=study, actor=ACTOR)
        study.refresh_from_db()
        self.say([f"{study.slug} is live{' already' if was_live else ''}: {counted(study.hits.count(), 'hit')}."])
        self.say(platform_actions.pay_lines(study))
        self.say(output.workers_lines(study))
        self.say(launching.left_out_in_words(study))
        self.warn([*warnings, *map(str, factor_notes(study).problems if study.factors else ())])
        self.say(output.next_steps(study))

    def budget(self, *, slug: str, amount: str) -> None:
        self.say(platform_actions.budget_lines(study_called(slug), amount, actor=ACTOR))

    def sync(self, *, slug: str, progress: bool) -> None:
        self.say(platform_actions.sync_lines(study_called(slug), actor=ACTOR, progress=progress))

    def approve(self, *, slug: str, dry_run: bool) -> None:
        self.say(platform_actions.approve_lines(study_called(slug), actor=ACTOR, dry_run=dry_run))

    def end(self, *, slug: str) -> None:
        self.say(platform_actions.end_lines(study_called(slug), actor=ACTOR))

    def pause(self, *, slug: str) -> None:
        self.say(platform_actions.pause_lines(study_called(slug), actor=ACTOR))

    def resume(self, *, slug: str) -> None:
        self.say(platform_actions.resume_lines(study_called(slug), actor=ACTOR))

    def close(self, *, slug: str) -> None:
        study = service.close_study(study=study_called(slug), actor=ACTOR)
        self.say([f"{study.slug} is closed."])

    def delete(self, *, slug: str) -> None:
        study = study_called(slug)
        n_items = study.items.count()
        service.delete_draft(study=study, actor=ACTOR)
        self.say([f"The draft {study.slug} and its {counted(n_items, 'item')} are deleted."])

    def recount(self, *, slug: str) -> None:
        study = study_called(slug)
        wrong = repairing_ratings.recount(study=study, actor=ACTOR)
        fixed = "; fixed" if wrong else ""
        self.say([f"{wrong:,} of {study.hits.count():,} hits had a wrong count{fixed}."])

    def links(self, *, slug: str, names: str | None, from_study: str | None) -> None:
        study = study_called(slug)
        if from_study is not None:
            created = invitations.invite_participants(study=study, of=study_called(from_study), actor=ACTOR)
        else:
            text = sys.stdin.read() if names == "-" else read_text(Path(str(names)))
            created = invitations.invite(study=study, names=text.splitlines(), actor=ACTOR)
        self.stdout.write(output.links_csv(created), ending="")

    # --- data ---

    def status(self, *, slug: str, json: bool) -> None:
        if not slug:
            self.say(output.study_lines(Study.objects.order_by("slug")))
            return
        study = study_called(slug)
        progress = study_progress(study).figures
        if json:
            figures = {"slug": study.slug, "status": study.status} | progress.as_json()
            self.say([json_module.dumps(figures, indent=2)])
        else:
            self.say(output.status_lines(study, get_type(study.task_type).title, progress))

    def report(self, *, slug: str, out: Path | None, png: bool, paper: Path | None, no_pictures: bool) -> None:
        from analysis.report import failed_sections, save_pngs, write_report
        from annotation.results.frames import study_data

        study = study_called(slug)
        if paper is not None:
            lines = write_study_paper(study, paper, out_dir=out, pictures=not no_pictures)
            self.say([f"The paper's part is in {paper}", *lines])
            return
        page = write_report(study_data(study), out_dir=out or Path(f"report-{study.slug}"))
        if png:
            save_pngs(page.parent)
        self.say([f"The report is in {page}", *failed_sections(page.parent)])

    def export(self, *, slug: str, kind: str, format: str, out: str, simulated: str, worker_ids: bool) -> None:
        study = study_called(slug)
        chosen: dict[str, Any] = {"kind": kind, "simulated": SIMULATED[simulated], "with_worker_ids": worker_ids}
        with self.output(out) as file:
            count = exports.export(study, out=file, format=format, **chosen)
        if out != "-":
            self.say([f"{out}: {counted(count, 'row')}"])

    def payments(
        self, *, slug: str, code: str, state: str, out: str, worker_ids: bool, mark_paid: bool, dry_run: bool
    ) -> None:
        study = study_called(slug)
        if code and not payments.payable(study, code=code).exists():
            raise CommandError(f"No worker of {slug} has the completion code “{code[:40]}”. Check its spelling.")
        if mark_paid or dry_run:
            self.mark_paid(study, code=code, state=state, dry_run=dry_run, asked=mark_paid)
            return
        with self.output(out) as file:
            for piece in payments_csv(study, state=state, code=code, with_worker_ids=worker_ids):
                file.write(piece)

    def mark_paid(self, study: Study, *, code: str, state: str, dry_run: bool, asked: bool) -> None:
        if not asked:
            raise CommandError("--dry-run needs --mark-paid.")
        if state not in ("", "to_pay"):
            raise CommandError("Only what is to pay can be marked as paid: leave --state out.")
        owed = payments.due(study, code=code) if dry_run else paying.mark_paid(study=study, actor=ACTOR, code=code)
        what = f"{counted(owed.hits, 'hit')} of {counted(owed.workers, 'worker')}, {money(owed.total)}"
        self.say([f"{study.slug}: {what}{', would be marked as paid.' if dry_run else ', marked as paid.'}"])

    def check_quality(self, *, slug: str, progress: bool) -> None:
        study = study_called(slug)
        with progress_bar(progress, "submissions", total=study.submissions.count()) as step:
            quality_control.check_quality(study=study, actor=ACTOR, progress=step)
        self.say(output.quality_lines(study, quality_of(study)))
        self.warn(study_warnings(study))

    def rebuild_ratings(self, *, slug: str, progress: bool) -> None:
        study = study_called(slug)
        with progress_bar(progress, "submissions", total=study.submissions.count()) as step:
            seen, changed = repairing_ratings.rebuild_ratings(study=study, actor=ACTOR, progress=step)
        self.say([f"{counted(seen, 'submission')} read again. The ratings of {changed:,} changed."])


def user_called(name: str | None) -> User | None:
    """The user with this name; None without a name."""
    if name is None:
        return None
    user = researchers().filter(username=name).first()
    if user is None:
        raise CommandError(
            f"There is no researcher “{name}”. Make one with: manage.py user add {name}, or, for an existing user: "
            f"manage.py user grant {name}"
        )
    return user


def study_called(slug: str) -> Study:
    study = Study.objects.filter(slug=slug).first()
    if study is None:
        slugs = Study.objects.order_by("slug").values_list("slug", flat=True)
        others = f" Studies: {', '.join(slugs[:20])}." if slugs else " There are no studies yet."
        raise CommandError(f"There is no study “{slug}”.{others}")
    return study


def option_of(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not (name and equals):
        raise CommandError(f"“{text[:60]}” is not an option. Write NAME=VALUE, such as set_size=5.")
    return name, value


def table_in(path: Path) -> Table:
    try:
        with path.open("rb") as opened:
            return read_table(opened, name=path.name, limit=None)
    except OSError as error:
        raise CommandError(f"{path} cannot be read: {error.strerror}.") from None


def read_text(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError:
        raise CommandError(f"{path} is not UTF-8. Save it as UTF-8.") from None
