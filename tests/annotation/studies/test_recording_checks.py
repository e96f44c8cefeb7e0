"""Recordings and captions are known by their content, whatever they are called."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest

from annotation.studies.recording_checks import BadRecording, check_recording, words_of_captions
from tests.annotation.images import HTML, SVG, image_file
from tests.annotation.recordings import CAPTIONS, flac, mp3, mp4, ogg, wav, webm


def checked(data: bytes) -> tuple[str, str, float]:
    recording = check_recording(io.BytesIO(data), len(data))
    return recording.kind, recording.extension, recording.seconds


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (wav(1.5), ("audio", "wav", 1.5)),
        (flac(44_100, 88_200), ("audio", "flac", 2.0)),
        (ogg(), ("audio", "ogg", 0.0)),
        (ogg(b"\x01vorbis"), ("audio", "ogg", 0.0)),
        (mp3(), ("audio", "mp3", 0.0)),
        (mp3(tag=70_000), ("audio", "mp3", 0.0)),
        (mp4(), ("video", "mp4", 0.0)),
        (mp4(b"soun"), ("audio", "m4a", 0.0)),
        (webm(), ("video", "webm", 0.0)),
        (webm(b"A_OPUS"), ("audio", "webm", 0.0)),
        (CAPTIONS.encode(), ("captions", "vtt", 0.0)),
        (b"\xef\xbb\xbf" + CAPTIONS.encode(), ("captions", "vtt", 0.0)),
    ],
)
def test_a_format_is_known_by_its_content(data: bytes, expected: tuple[str, str, float]) -> None:
    assert checked(data) == expected


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (b"", "The file is empty"),
        (b"Hello, this is an essay, not a song.", "no recording that browsers play"),
        (HTML, "a web page, not a recording"),
        (SVG, "they can contain scripts"),
        (image_file(), "no recording that browsers play"),
        (b"\xff\xf1\x50\x80" + bytes(400), "no recording that browsers play"),  # AAC in ADTS: layer 0
        (b"\xff\xfb\xf0\x00" + bytes(400), "no recording that browsers play"),  # a bit rate that does not exist
        (b"RIFF\x24\x00\x00\x00AVI LIST" + bytes(100), "no recording that browsers play"),
        (wav()[:5000], "WAV file is damaged or incomplete"),
        (wav()[:40], "WAV file is damaged or incomplete"),
        (flac()[:20], "FLAC file is damaged or incomplete"),
        (mp4()[:-30], "MP4 file is damaged or incomplete"),
        (mp4(b"text"), "neither sound nor video"),
        (mp3(tag=70_000)[:30_000], "MP3 file is damaged or incomplete"),
        (ogg(b"\x80theora"), "neither Opus nor Vorbis"),
        (webm(doc_type=b"matroska"), "a Matroska file"),
        (webm(b"V_MPEG4/ISO/AVC"), "no VP8, VP9, AV1, Opus or Vorbis"),
    ],
)
def test_what_cannot_be_played_is_refused_with_the_reason(data: bytes, what: str) -> None:
    with pytest.raises(BadRecording, match=what) as refused:
        checked(data)
    assert refused.value.fix.endswith(".")


def test_two_gigabytes_are_refused_before_a_byte_is_read(tmp_path: Path, settings: Any) -> None:
    settings.RECORDING_MAX_BYTES = 50 * 1024**2

    class Unread(io.BytesIO):
        def read(self, size: int | None = -1, /) -> bytes:
            raise AssertionError("read")

    with pytest.raises(BadRecording, match=r"The file has 2,048 MB; at most 50 MB are allowed\."):
        check_recording(Unread(), 2 * 1024**3)


# --- captions ---


def test_the_words_of_captions_are_read_without_names_and_tags() -> None:
    assert words_of_captions(CAPTIONS) == "The owl\nwaited."
    hours = "WEBVTT - a talk\r\n\r\nNOTE nothing\r\n\r\n01:00:00.000 --> 01:00:02.500 align:start\r\nHi <b>all</b>.\r\n"
    assert words_of_captions(hours) == "Hi all."


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("1\n00:00.000 --> 00:01.000\nHi.\n", "do not begin with the line WEBVTT"),
        ("WEBVTTX\n\n00:00.000 --> 00:01.000\nHi.\n", "do not begin with the line WEBVTT"),
        ("WEBVTT\n\n00:02.000 --> 00:01.000\nHi.\n", "in line 3 ends at or before its beginning"),
        ("WEBVTT\n\n00:01.000 --> 00:01.000\nHi.\n", "in line 3 ends at or before its beginning"),
        ("WEBVTT\n\n00:02.000 --> 00:03.000\nB\n\n00:01.000 --> 00:04.000\nA\n", "line 6 begins before the caption"),
        ("WEBVTT\n\n00:00,000 --> 00:01,000\nHi.\n", "Line 3 of the captions"),  # SRT
        ("WEBVTT\n\n00:00.000 --> 00:61.000\nHi.\n", "Line 3 of the captions"),
        ("WEBVTT\n\nHi.\n", "There is no caption"),
    ],
)
def test_captions_that_are_not_valid_are_refused_with_their_line(text: str, what: str) -> None:
    with pytest.raises(BadRecording, match=what):
        words_of_captions(text)


def test_captions_without_a_header_are_recognised_in_a_file() -> None:
    with pytest.raises(BadRecording, match="do not begin with the line WEBVTT"):
        checked(b"1\n00:00.000 --> 00:01.000\nHi.\n")
    with pytest.raises(BadRecording, match="not in UTF-8"):
        checked("WEBVTT\n\n00:00.000 --> 00:01.000\nGrüße\n".encode("latin-1"))
