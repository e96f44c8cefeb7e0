"""Recordings and captions for tests: real WAV files, and the first bytes of other formats, made by hand."""

from __future__ import annotations

import io
import math
import struct
import wave

CAPTIONS = "WEBVTT\n\n1\n00:00.000 --> 00:00.400\n<v Ann>The owl\n\n00:00.400 --> 00:01.000\nwaited.\n"


def wav(seconds: float = 1.0, *, rate: int = 8000, frequency: float = 440.0) -> bytes:
    """A tone of 8 bits, which every browser plays."""
    out = io.BytesIO()
    with wave.open(out, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(1)
        file.setframerate(rate)
        samples = (128 + 60 * math.sin(2 * math.pi * frequency * n / rate) for n in range(round(rate * seconds)))
        file.writeframes(bytes(round(sample) for sample in samples))
    return out.getvalue()


def flac(rate: int = 44_100, samples: int = 88_200) -> bytes:
    """The beginning of a FLAC file. STREAMINFO (RFC 9639, 8.2): block and frame sizes (10 bytes), then 20 bits of rate,
    3 of channels, 5 of bits per sample, 36 of samples, then the MD5 of the sound."""
    bits = f"{rate:020b}{1:03b}{15:05b}{samples:036b}"
    return b"fLaC\x80\x00\x00\x22" + bytes(10) + int(bits, 2).to_bytes(8, "big") + bytes(16)


def ogg(codec: bytes = b"OpusHead") -> bytes:
    """The first page of an Ogg file (RFC 3533, 6)."""
    return b"OggS\x00\x02" + bytes(20) + b"\x01\x13" + codec + bytes(40)


def mp3(*, tag: int = 0) -> bytes:
    """One frame of MPEG-1 layer III at 128 kbit/s and 44.1 kHz (417 bytes), perhaps after an ID3 tag of this size."""
    size = bytes((tag >> shift) & 0x7F for shift in (21, 14, 7, 0))
    head = b"ID3\x04\x00\x00" + size + bytes(tag) if tag else b""
    return head + b"\xff\xfb\x90\x00" + bytes(413)


def box(name: bytes, content: bytes) -> bytes:
    return struct.pack(">I", 8 + len(content)) + name + content


def mp4(handler: bytes = b"vide") -> bytes:
    """An MP4 whose index comes after its data (ISO/IEC 14496-12)."""
    tracks = box(b"moov", box(b"trak", box(b"mdia", box(b"hdlr", bytes(8) + handler + bytes(13)))))
    return box(b"ftyp", b"isom\x00\x00\x02\x00isomiso2") + box(b"mdat", bytes(200)) + tracks


def webm(codec: bytes = b"V_VP9", doc_type: bytes = b"webm") -> bytes:
    """The beginning of a WebM file: the EBML header with its document type (RFC 8794, 11.2.6), then a track's codec."""
    kind = b"\x42\x82" + bytes([0x80 | len(doc_type)]) + doc_type
    return b"\x1a\x45\xdf\xa3" + bytes([0x80 | len(kind)]) + kind + bytes(30) + b"\x86\x85" + codec + bytes(50)
