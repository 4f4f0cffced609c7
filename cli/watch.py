"""`behavesim watch`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from .options import RUNS, RunsDir

if TYPE_CHECKING:
    from behavesim.analysis.run import Run
    from behavesim.reports.panels import Moment

POLL_S = 0.5
"""How often to look whether the run is still going on."""
INTERRUPTED = 130


def watch(
    run: Annotated[str, typer.Argument(metavar="RUN", help="A run's id or folder.")],
    runs_dir: RunsDir = RUNS,
) -> None:
    """Follow a run from another terminal until it ends; looks, and touches nothing."""
    import asyncio

    from behavesim.analysis.run import load_run
    from behavesim.reports.panels import line
    from behavesim.reports.summary import state_of
    from behavesim.store.folder import RunFolder

    followed = load_run(RunFolder.find(runs_dir, run).path)
    try:
        asyncio.run(_watched(followed))
    except KeyboardInterrupt:
        raise typer.Exit(INTERRUPTED) from None
    followed.follow()
    typer.echo(line(_moment(followed, 0.0)), err=True)
    folder = followed.folder
    typer.echo(f"run {folder.run} is {state_of(followed)}; next: behavesim report {folder.argument}")


async def _watched(run: Run) -> None:
    import asyncio

    from .console import Rate, shown

    rate = Rate(run.state.told)

    def moment() -> Moment:
        run.follow()
        return _moment(run, rate.of(run.state.told))

    async with shown(moment):
        while run.folder.is_running():
            await asyncio.sleep(POLL_S)


def _moment(run: Run, rate: float) -> Moment:
    from behavesim.caps import spent
    from behavesim.proposers.prices import Prices
    from behavesim.reports.panels import Moment

    cost = spent(run.state.tokens, Prices.extended(run.settings.prices).cost)
    return Moment(run.folder.run, run.settings, run.state, run.active_s, rate, cost)
