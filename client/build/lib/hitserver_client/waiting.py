"""Waiting, with and without async."""

import asyncio
import time

sleep = time.sleep
async_sleep = asyncio.sleep
