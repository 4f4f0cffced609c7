"""What a command does where a person or the system asks it to end."""

from __future__ import annotations

from collections.abc import Callable


def when_asked_to_end(act: Callable[[], object]) -> None:
    """Call `act` on SIGINT, SIGTERM and SIGHUP from now on; one that is ignored (nohup does that) stays ignored."""
    import asyncio
    import signal

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:
            asyncio.get_running_loop().add_signal_handler(number, act)
