"""How the cache writes values to Redis: as JSON, because reading a pickle can run any code.

Otherwise, anyone who can write to the Redis server could run code in every web process.
"""

from __future__ import annotations

import json
from typing import Any


class JsonSerializer:
    """Numbers stay plain, so that Redis can count."""

    def dumps(self, value: Any) -> int | bytes:
        if isinstance(value, int) and not isinstance(value, bool):
            return value
        return json.dumps(value).encode()

    def loads(self, data: bytes) -> Any:
        return json.loads(data)
