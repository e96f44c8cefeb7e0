"""Checks uploaded audio, video and captions by their content, without decoding them.

A recording is stored as it is: it is not encoded again, so its metadata stay in it. What a file is called says nothing
about it; only its first bytes and its structure do.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import IO

from django.conf import settings

from annotation.studies.image_checks import BadPicture

AUDIO, VIDEO, CAPTIONS = "audio", "video", "captions"
#: What each format is sent as, by the extension of its stored file.
CONTENT_TYPES = {
    "wav": "audio/wav",
    "mp3": "audio/mpeg",
    "ogg": "audio/ogg",
    "flac": "audio/flac",
    "m4a": "audio/mp4",
    "mp4": "video/mp4",
    "webm": "video/webm",
    "vtt": "text/vtt; charset=utf-8",
}
#: What can be played, in words.
ACCEPTED = "MP3, WAV, Ogg (Opus or Vorbis), FLAC, M4A, MP4 or WebM"
CONVERT = f"Convert it to {ACCEPTED}, for example with Audacity or ffmpeg."
START_BYTES = 64 * 1024
#: The largest part of an MP4 that describes its tracks, and the largest file with captions.
MOST_INDEX_BYTES, MOST_CAPTION_BYTES = 32 * 1024**2, 1024**2
MOST_BOXES = 10_000
_TIMING = re.compile(
    r"(?:(\d{2,}):)?([0-5]\d):([0-5]\d)\.(\d{3})[ \t]+-->[ \t]+(?:(\d{2,}):)?([0-5]\d):([0-5]\d)\.(\d{3})(?:[ \t].*)?"
)


class BadRecording(BadPicture):
    """A recording or captions that cannot be used. ``what`` is the reason, ``fix`` what to do."""


@dataclass(frozen=True, slots=True)
class Recording:
    """What a file is. ``extension`` is its format; ``seconds`` its length, 0 if its header does not say.

    ``words`` are the words of captions.
    """

    kind: str
    extension: str
    seconds: float = 0.0
    words: str = ""


def is_recording(name: str, start: bytes) -> bool:
    """Whether a file with this name and these first bytes is to be checked as a recording or captions, not as an image:
    because of its content, or else because of what it is called."""
    if start.startswith(b"RIFF"):
        return start[8:12] == b"WAVE"
    by_content = start.startswith((b"fLaC", b"OggS", b"ID3", b"\x1a\x45\xdf\xa3", b"WEBVTT")) or start[4:8] == b"ftyp"
    return by_content or name.lower().rpartition(".")[2] in CONTENT_TYPES


def refuse_large_recording(size: int) -> None:
    """Raises BadRecording for the size of a file, before anything of it is read."""
    if not size:
        raise BadRecording("The file is empty.", "Choose another file.")
    if size > settings.RECORDING_MAX_BYTES:
        most = settings.RECORDING_MAX_BYTES / 1024**2
        what = f"The file has {size / 1024**2:,.0f} MB; at most {most:,.4g} MB are allowed."
        raise BadRecording(what, "Cut it or compress it, for example as MP3 or Opus.")


def check_recording(file: IO[bytes], size: int) -> Recording:
    """What the file is, from its content. Reads its header and, of an MP4, its index. Raises BadRecording."""
    refuse_large_recording(size)
    file.seek(0)
    start = file.read(START_BYTES)
    if start.startswith(b"RIFF") and start[8:12] == b"WAVE":
        return Recording(AUDIO, "wav", _wav_seconds(start, size))
    if start.startswith(b"fLaC"):
        return Recording(AUDIO, "flac", _flac_seconds(start))
    if start.startswith(b"OggS"):
        return _ogg(start)
    if start[4:8] == b"ftyp":
        return _mp4(file, start, size)
    if start.startswith(b"\x1a\x45\xdf\xa3"):
        return _webm(start)
    if _is_mp3(file, start, size):
        return Recording(AUDIO, "mp3")
    if start.removeprefix(b"\xef\xbb\xbf").startswith(b"WEBVTT"):
        return _captions(file, size)
    raise _not_media(start)


def _not_media(start: bytes) -> BadRecording:
    text = start[:1000].lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    if text.startswith((b"<!doctype html", b"<html", b"<script", b"<head", b"<body")):
        return BadRecording("This is a web page, not a recording.", "Save the recording itself and name that file.")
    if b"<svg" in text or text.startswith(b"<?xml"):
        what = "SVG and other XML files are not accepted, because they can contain scripts."
        return BadRecording(what, f"Use {ACCEPTED}.")
    if b"-->" in text:
        what = "These captions do not begin with the line WEBVTT."
        return BadRecording(what, "Write WEBVTT into the first line, then an empty line, then the captions.")
    return BadRecording(f"This is no recording that browsers play: its content is not {ACCEPTED}.", CONVERT)


def _incomplete(format: str) -> BadRecording:
    return BadRecording(f"This {format} file is damaged or incomplete.", "Save or download it again.")


def _wav_seconds(start: bytes, size: int) -> float:
    """Its length from the chunks ``fmt`` and ``data`` (RIFF: each has a name, a size and its data)."""
    offset, bytes_per_second = 12, 0
    while offset + 8 <= len(start):
        name, length = start[offset : offset + 4], int.from_bytes(start[offset + 4 : offset + 8], "little")
        if name == b"fmt ":
            bytes_per_second = int.from_bytes(start[offset + 16 : offset + 20], "little")
        if name == b"data":
            if not bytes_per_second or not length or offset + 8 + length > size:
                raise _incomplete("WAV")
            return round(length / bytes_per_second, 3)
        offset += 8 + length + length % 2
    raise _incomplete("WAV")


def _flac_seconds(start: bytes) -> float:
    """Its length from the block STREAMINFO, which is always the first (RFC 9639, 8.2)."""
    if len(start) < 42 or start[4] & 0x7F:
        raise _incomplete("FLAC")
    packed = int.from_bytes(start[18:26], "big")
    rate, samples = packed >> 44, packed & (1 << 36) - 1
    if not rate:
        raise _incomplete("FLAC")
    return round(samples / rate, 3)


def _ogg(start: bytes) -> Recording:
    first_page = start[:200]
    if any(name in first_page for name in (b"OpusHead", b"\x01vorbis", b"\x7fFLAC")):
        return Recording(AUDIO, "ogg")
    raise BadRecording("This Ogg file contains neither Opus nor Vorbis sound at its beginning.", CONVERT)


def _mp4(file: IO[bytes], start: bytes, size: int) -> Recording:
    """Walks through the boxes of the file (ISO/IEC 14496-12, 4.2) to the one with its tracks, ``moov``."""
    offset = tracks_at = tracks_length = 0
    for _ in range(MOST_BOXES):
        if offset >= size:
            break
        file.seek(offset)
        head = file.read(16)
        length = int.from_bytes(head[:4], "big")
        if length == 1:
            length = int.from_bytes(head[8:16], "big")
        length = length or size - offset
        if length < 8 or offset + length > size:
            raise _incomplete("MP4")
        if head[4:8] == b"moov":
            tracks_at, tracks_length = offset, length
        offset += length
    if not tracks_length or tracks_length > MOST_INDEX_BYTES:
        raise _incomplete("MP4")
    file.seek(tracks_at)
    tracks = file.read(tracks_length)
    if b"vide" in tracks:
        return Recording(VIDEO, "mp4")
    if b"soun" in tracks:
        return Recording(AUDIO, "m4a")
    raise BadRecording("This MP4 file contains neither sound nor video.", CONVERT)


def _webm(start: bytes) -> Recording:
    if b"webm" not in start[:80]:
        raise BadRecording("This is a Matroska file that is no WebM. Browsers do not play it.", CONVERT)
    has_picture = any(codec in start for codec in (b"V_VP8", b"V_VP9", b"V_AV1"))
    if not has_picture and b"A_OPUS" not in start and b"A_VORBIS" not in start:
        raise BadRecording("This WebM file contains no VP8, VP9, AV1, Opus or Vorbis.", CONVERT)
    return Recording(VIDEO if has_picture else AUDIO, "webm")


def _is_mp3(file: IO[bytes], start: bytes, size: int) -> bool:
    """Whether there is a frame of MPEG audio, layer III: at the beginning, or after an ID3v2 tag."""
    if start.startswith(b"ID3") and len(start) >= 10:
        length = 0
        for byte in start[6:10]:  # seven bits each (ID3v2.4, 6.2)
            length = length << 7 | byte & 0x7F
        if length + 10 >= size:
            raise _incomplete("MP3")
        file.seek(10 + length)
        start = file.read(4096).lstrip(b"\x00")
    head = int.from_bytes(start[:4], "big")
    synced, version, layer = head >> 21 == 0x7FF, head >> 19 & 3, head >> 17 & 3
    bitrate, rate = head >> 12 & 15, head >> 10 & 3
    return len(start) >= 4 and synced and version != 1 and layer == 1 and bitrate not in (0, 15) and rate != 3


# --- captions ---


def _captions(file: IO[bytes], size: int) -> Recording:
    if size > MOST_CAPTION_BYTES:
        raise BadRecording(f"The captions have {size / 1024**2:,.1f} MB; at most 1 MB is allowed.", "Shorten them.")
    file.seek(0)
    try:
        text = file.read().decode("utf-8-sig")
    except UnicodeDecodeError:
        raise BadRecording("The captions are not in UTF-8.", "Save them as text in UTF-8.") from None
    return Recording(CAPTIONS, "vtt", words=words_of_captions(text))


def words_of_captions(text: str) -> str:
    """What captions in WebVTT say, one line per caption. Raises BadRecording if they are not valid."""
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").split("\n")
    if not re.fullmatch(r"WEBVTT(?:[ \t].*)?", lines[0]):
        what = "These captions do not begin with the line WEBVTT."
        raise BadRecording(what, "Write WEBVTT into the first line, then an empty line, then the captions.")
    latest, captions, at = 0, [], 1
    while at < len(lines):
        if "-->" not in lines[at]:
            at += 1
            continue
        number = at + 1
        latest = _checked_start(lines[at], number, latest)
        at += 1
        words: list[str] = []
        while at < len(lines) and lines[at].strip() and "-->" not in lines[at]:
            words.append(re.sub(r"<[^>]*>", "", lines[at]).strip())
            at += 1
        captions.append(" ".join(filter(None, words)))
    if not captions:
        raise BadRecording("There is no caption in this file.", "Write captions such as 00:01.000 --> 00:04.000.")
    return "\n".join(filter(None, captions))


def _checked_start(line: str, number: int, latest: int) -> int:
    """When a caption begins, in milliseconds. Raises BadRecording for times that are none, or not in order."""
    times = _TIMING.fullmatch(line.strip())
    if times is None:
        what = f"Line {number} of the captions, “{line.strip()[:60]}”, is no time of a caption."
        raise BadRecording(what, "Write it as 00:01.000 --> 00:04.000, with hours in front if needed.")
    start, end = _milliseconds(*times.groups()[:4]), _milliseconds(*times.groups()[4:])
    if end <= start:
        what = f"The caption in line {number} ends at or before its beginning: “{line.strip()[:60]}”."
        raise BadRecording(what, "Write its beginning first, then its end.")
    if start < latest:
        what = f"The caption in line {number} begins before the caption above it: “{line.strip()[:60]}”."
        raise BadRecording(what, "Put the captions in the order of their times.")
    return start


def _milliseconds(hours: str | None, minutes: str, seconds: str, thousandths: str) -> int:
    return ((int(hours or 0) * 60 + int(minutes)) * 60 + int(seconds)) * 1000 + int(thousandths)
