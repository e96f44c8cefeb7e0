"""Pictures of the pages that workers saw, where Chromium is installed. Without it there are none, and nothing fails."""

from __future__ import annotations

import logging
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path

from PIL import Image, ImageChops

log = logging.getLogger(__name__)
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
#: CSS pixels: a page as on a laptop. What is below the height is not in the picture.
WIDTH, HEIGHT = 900, 6000
#: Pixels for each CSS pixel.
SCALE = 2
#: Seconds for one page.
PATIENCE = 60
EDGE = 24


def picture_pages(folder: Path, names: Iterable[str]) -> list[str]:
    """A PNG beside each page, cut below its last line. Returns the names of those that were made."""
    browser = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    if browser is None:
        return []
    made = []
    for name in names:
        page = (folder / name).resolve()
        try:
            _take(browser, page, page.with_suffix(".png"))
        except (OSError, subprocess.SubprocessError) as error:
            log.warning("There is no picture of %s: %s", name, error)
            break
        made.append(str(Path(name).with_suffix(".png")))
    return made


def _take(browser: str, page: Path, picture: Path) -> None:
    with tempfile.TemporaryDirectory() as profile:
        command = [
            *(browser, "--headless", "--disable-gpu", "--hide-scrollbars", "--no-first-run", "--disable-extensions"),
            *(f"--user-data-dir={profile}", f"--force-device-scale-factor={SCALE}", f"--window-size={WIDTH},{HEIGHT}"),
            # A browser of root has no sandbox. The page runs nothing and loads nothing: see `annotation.results`.
            *(["--no-sandbox"] if os.geteuid() == 0 else []),
            f"--screenshot={picture}",
            page.as_uri(),
        ]
        subprocess.run(command, check=True, capture_output=True, timeout=PATIENCE)  # noqa: S603 - our own command
    _cut(picture)


def _cut(picture: Path) -> None:
    """Remove the empty rest below the page."""
    with Image.open(picture) as opened:
        image = opened.convert("RGB")
    background = Image.new("RGB", image.size, image.getpixel((0, image.height - 1)))
    box = ImageChops.difference(image, background).getbbox()
    bottom = min(image.height, (box[3] if box else 0) + EDGE * SCALE)
    image.crop((0, 0, image.width, max(bottom, EDGE * SCALE))).save(picture, "PNG", optimize=True)
