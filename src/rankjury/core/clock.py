"""Clock for time stamps in outputs; SOURCE_DATE_EPOCH makes them reproducible to the byte."""

import os
from datetime import UTC, datetime

from rankjury.errors import UsageError


def timestamp() -> str:
    """Return the current time, or the one that SOURCE_DATE_EPOCH sets, in UTC to the second: ``2026-01-01T00:00:00Z``.

    Raises:
        UsageError: SOURCE_DATE_EPOCH is not a number of seconds.
    """
    epoch = os.environ.get("SOURCE_DATE_EPOCH", "")
    try:
        moment = datetime.fromtimestamp(int(epoch), UTC) if epoch else datetime.now(UTC)
    except (ValueError, OverflowError, OSError) as error:
        raise UsageError(
            f"SOURCE_DATE_EPOCH is {epoch!r}", expected="whole seconds since 1970", hint="Unset it to use the clock."
        ) from error
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")
