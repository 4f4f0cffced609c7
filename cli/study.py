"""`behavesim study`: the paper's tables and figures."""

from __future__ import annotations

from typing import Annotated, Any, Protocol

import typer

from behavesim.analysis.table import Table
from behavesim.reports.terminal import counted, show
from behavesim.studies import sampling as sampling_study
from behavesim.studies import similarity as similarity_study
from behavesim.studies.dataset import PAIRS

from .commands import PLAIN
from .options import AsJson
from .output import print_json

study = typer.Typer(no_args_is_help=True, help="The paper's tables and figures, with its own beside ours.", **PLAIN)


@study.command("similarity")
def similarity(
    embedding_model: Annotated[
        str | None, typer.Option(metavar="NAME", help="A sentence-transformers model, or its folder, for embeddings.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Thirty pairs of programs by every metric (Table 1)."""
    rows = counted(similarity_study.measured(embedding_model), len(PAIRS), "comparing thirty pairs")
    _show(similarity_study.study(rows, embedding_model), as_json)


@study.command("sampling")
def sampling(as_json: AsJson = False) -> None:
    """What is left of BehaveSim when trajectories are cut (k) or thinned (n)."""
    _show(sampling_study.study(counted(sampling_study.sampled(), len(PAIRS), "comparing thirty pairs")), as_json)


class Study(Protocol):
    """What every study comes to."""

    def document(self) -> dict[str, Any]:
        """It for machines."""

    def tables(self) -> tuple[Table, ...]:
        """It for people."""


def _show(found: Study, as_json: bool) -> None:
    if as_json:
        print_json(found.document())
    else:
        show(found.tables())
