"""The pages that workers saw, each as one HTML file that needs no other: for a bundle, an appendix, a screenshot.

They are made from the workers' own templates, with the first hit of every arm as its first worker got it: the start
page, then one example of every page. They hold no token, no script and no address of this server. The contact address
is left out, so that an anonymous paper can show them.
"""

from __future__ import annotations

import logging
import re
from base64 import b64encode
from collections.abc import Iterator, Mapping
from mimetypes import guess_type
from pathlib import Path
from typing import TYPE_CHECKING

from django.conf import settings
from django.contrib.staticfiles import finders
from django.template.loader import get_template

from annotation.instrument import Instrument
from annotation.models import Arm, Study
from annotation.platforms import platform_class
from annotation.platforms.link import PLATFORM as LINK
from annotation.studies.image_files import file_of, read_copy
from annotation.studies.pages.preview_hits import PreviewedHit, hit_with
from annotation.task_types.base import Page
from annotation.task_types.registry import get_type
from annotation.work.pages.preview import Trial, preview_context
from annotation.work.pages.start import start_context

if TYPE_CHECKING:
    from analysis.data import Page as BundlePage

log = logging.getLogger(__name__)
CONTACT = "[contact address]"
#: A page loads nothing and runs nothing, whatever a researcher's text contains.
POLICY = (
    '<meta http-equiv="Content-Security-Policy" '
    "content=\"default-src 'none'; style-src 'unsafe-inline'; img-src data:\">"
)
#: Copies of images are at most this wide, which is more than a page shows.
IMAGE_WIDTH = 960
_SCRIPT = re.compile(r"<script\b.*?</script>|<noscript\b.*?</noscript>", re.DOTALL)
_HIDDEN = re.compile(r'<input type="hidden"[^>]*>')
_STYLE = re.compile(r'<link rel="stylesheet" href="([^"]+)">')
_ICON = re.compile(r'<link rel="icon"[^>]*>')
_ADDRESS = re.compile(
    r' (?:href|src|action|formaction|data-progress|data-events)="(?:/|\?|https?:|mailto:)[^"]*"| action=""'
)
_IMAGE = re.compile(r'<img src="[^"]*?([0-9a-f]{64}\.(?:png|jpg|webp)|[0-9a-f]{64})[^"]*"([^>]*)>')
_CHOICE = re.compile(r' (?:srcset|sizes)="[^"]*"')
_HASHED = re.compile(r"\.[0-9a-f]{12}(?=\.\w+$)")


def worker_pages(study: Study) -> dict[str, BundlePage]:
    """By their names in a bundle, all pages that differ from those before them. Stores nothing.

    An imported study has none: its workers saw the pages of another tool.
    """
    from analysis.data import Page as BundlePage  # loads pandas

    if study.imported:
        return {}
    arms: list[Arm | None] = list(study.arms.order_by("position")) or [None]
    pages: dict[str, BundlePage] = {}
    for arm in arms:
        try:
            of_arm_pages = list(_pages_of(study, arm))
        except Exception:  # the data of a bundle matter more than its pages
            log.exception("The pages of %s cannot be drawn", study.slug)
            continue
        for kind, title, content in of_arm_pages:
            if any(page.content == content for page in pages.values()):
                continue
            of_arm = f" (arm {arm.name})" if arm is not None and len(arms) > 1 else ""
            pages[f"pages/{len(pages) + 1:02d}-{kind}.html"] = BundlePage(f"{title}{of_arm}", content)
    return pages


def _pages_of(study: Study, arm: Arm | None) -> Iterator[tuple[str, str, bytes]]:
    platforms = list(study.postings.exclude(platform=LINK).values_list("platform", flat=True)[:1])
    if not get_type(study.task_type).for_members:
        start = start_context(study, arm, platform=platform_class(platforms[0] if platforms else LINK))
        start |= {"start": "", "preview_url": "", "problems": [], "on_platform": bool(platforms)}
        shown_study = Study.objects.get(pk=study.pk)  # a copy, so that the caller's keeps its contact
        shown_study.contact = CONTACT if study.contact else ""
        yield "start", "Start page", self_contained("work/start.html", start | {"study": shown_study})
    hit = hit_with(study, arm, None)
    if hit is None:
        return
    pages = Trial(Instrument.of(study, arm), hit.items, seed=study.seed).all_pages()
    for number in examples_of(pages, hit):
        shown_page = pages[number]
        context = preview_context(study, shown_page, at=number + 1, steps=len(pages), arm=arm)
        context |= {
            **dict.fromkeys(("trying", "form", "action"), ""),
            **dict.fromkeys(("preview", "waiting", "part_pay", "gold")),
            "contact": CONTACT if study.contact else "",
            "many": study.hits_per_worker != 1,
            "ordinal": 1,
            "minutes_left": study.time_limit_minutes,
            "seconds_left": study.time_limit_minutes * 60,
            "on_platform": bool(platforms),
        }
        kind = re.sub(r"[^a-z]+", "-", shown_page.name.lower()).strip("-") or "page"
        yield kind, shown_page.title, self_contained(shown_page.template, context)


def examples_of(pages: list[Page], hit: PreviewedHit) -> list[int]:
    """The places of one page for each template and questions, about a main item if there is one."""
    chosen: dict[tuple[str, ...], int] = {}

    def is_main(page: Page) -> bool:
        return page.item is None or hit.items[page.item].role == "main"

    for number, page in enumerate(pages):
        key = (page.template, *(question.topic for question in page.questions))
        if key not in chosen or (is_main(page) and not is_main(pages[chosen[key]])):
            chosen[key] = number
    return sorted(chosen.values())


def self_contained(template: str, context: Mapping[str, object]) -> bytes:
    """The page with its styles and images in it, and without scripts, addresses and hidden fields."""
    html = get_template(template).render(dict(context))
    html = _STYLE.sub(lambda match: f"<style>{_style(match[1])}</style>", html)
    html = _IMAGE.sub(lambda match: f'<img src="{_image(match[1])}"{_CHOICE.sub("", match[2])}>', html)
    for pattern in (_SCRIPT, _HIDDEN, _ICON, _ADDRESS):
        html = pattern.sub("", html)
    html = html.replace('<meta charset="utf-8">', f'<meta charset="utf-8">{POLICY}', 1)
    return re.sub(r"\n\s*\n+", "\n", html).encode()


def _style(address: str) -> str:
    """The stylesheet at this address. A collected file has a hash in its name, its source has none."""
    name = _HASHED.sub("", address.partition(settings.STATIC_URL)[2])
    path = finders.find(name)
    return Path(path).read_text(encoding="utf-8") if isinstance(path, str) else ""


def _image(key: str) -> str:
    try:
        content = read_copy(key, IMAGE_WIDTH)
    except FileNotFoundError:
        content = None
    try:
        content = content or file_of(key).read_bytes()
    except FileNotFoundError:
        return ""
    return f"data:{guess_type(key)[0] or 'image/png'};base64,{b64encode(content).decode()}"
