"""Send objects between a process and those that it started: the one place where any are pickled.

They never come from a file, and never from another program: a pickle can run code. Classes of a notebook or a
script go along whole.
"""

from __future__ import annotations

from typing import IO, Any

import cloudpickle

from privtrace.errors import PrivTraceError


class Closed(PrivTraceError):
    """The other process has ended."""


def packed(message: object) -> bytes:
    """Turn a message into bytes; once, where many processes get it."""
    content: bytes = cloudpickle.dumps(message)
    return content


def send(stream: IO[bytes], message: bytes) -> None:
    """Send what was packed."""
    try:
        stream.write(message)
        stream.flush()
    except OSError:
        raise Closed("nobody reads any more") from None


def receive(stream: IO[bytes]) -> Any:
    """Wait for the next message."""
    try:
        return cloudpickle.load(stream)
    except (EOFError, OSError, cloudpickle.pickle.UnpicklingError):
        raise Closed("nobody writes any more") from None
