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
#: CSS pixels: a page as on a laptop, and the heights to try until the whole page is in the picture.
WIDTH, HEIGHTS = 900, (2000, 12000)
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
    pictures = []
    for name in names:
        page = (folder / name).resolve()
        try:
            _take(browser, page, page.with_suffix(".png"))
        except (OSError, subprocess.SubprocessError) as error:
            log.warning("There is no picture of %s: %s", name, error)
            break
        pictures.append(str(Path(name).with_suffix(".png")))
    return pictures


def _take(browser: str, page: Path, picture: Path) -> None:
    for height in HEIGHTS:
        with tempfile.TemporaryDirectory() as profile:
            command = [
                *(
                    browser,
                    "--headless",
                    "--disable-gpu",
                    "--hide-scrollbars",
                    "--no-first-run",
                    "--disable-extensions",
                ),
                *(f"--user-data-dir={profile}", f"--force-device-scale-factor={SCALE}"),
                f"--window-size={WIDTH},{height}",
                # A browser of root has no sandbox. The page runs nothing and loads nothing: it forbids both.
                *(["--no-sandbox"] if os.geteuid() == 0 else []),
                f"--screenshot={picture}",
                page.as_uri(),
            ]
            subprocess.run(command, check=True, capture_output=True, timeout=PATIENCE)
        if _cut(picture):
            return


def _cut(picture: Path) -> bool:
    """Remove the empty rest below the page. False if there is none, so that the page may go on."""
    with Image.open(picture) as opened:
        image = opened.convert("RGB")
    background = Image.new("RGB", image.size, image.getpixel((0, image.height - 1)))
    box = ImageChops.difference(image, background).getbbox()
    bottom = (box[3] if box else 0) + EDGE * SCALE
    image.crop((0, 0, image.width, min(image.height, bottom))).save(picture, "PNG")
    return bottom < image.height
