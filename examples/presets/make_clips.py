"""Makes the recordings of acr.yaml: short tunes, played by three imaginary systems. Run it in this folder.

Each is half a second of 8 bits at 8 kHz. “clean” is a tune, “coarse” the same in steps of a quarter, “noisy” the same
below noise. The same recordings come out every time.
"""

import math
import random
import wave
from pathlib import Path

RATE, SECONDS = 8000, 0.5
TUNES = {"rise": (262, 330, 392), "fall": (392, 330, 262), "turn": (294, 349, 294), "leap": (262, 523, 392)}


def tune(notes: tuple[int, ...], system: str, rng: random.Random) -> bytes:
    """The samples, from 0 to 255."""
    samples = bytearray()
    total = round(RATE * SECONDS)
    for number in range(total):
        frequency = notes[number * len(notes) // total]
        loudness = math.sin(math.pi * number / total)
        angle = 2 * math.pi * frequency * number / RATE
        level = 0.7 * loudness * (math.sin(angle) + 0.4 * math.sin(2 * angle)) / 1.4
        if system == "coarse":
            level = round(level * 4) / 4
        if system == "noisy":
            level += rng.gauss(0, 0.15)
        samples.append(round(127.5 + 127.5 * max(-1.0, min(1.0, level))))
    return bytes(samples)


def main() -> None:
    folder = Path("clips")
    folder.mkdir(exist_ok=True)
    for name, notes in TUNES.items():
        for system in ("clean", "coarse", "noisy"):
            with wave.open(str(folder / f"{name}-{system}.wav"), "wb") as file:
                file.setnchannels(1)
                file.setsampwidth(1)
                file.setframerate(RATE)
                file.writeframes(tune(notes, system, random.Random(f"{name} {system}")))  # noqa: S311 - noise


if __name__ == "__main__":
    main()
