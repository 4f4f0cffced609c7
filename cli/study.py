"""`behavesim study`: the paper's tables and figures."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from behavesim.reports.terminal import show
from behavesim.studies.dataset import PAIRS
from behavesim.studies.similarity import SimilarityStudy
from behavesim.studies.similarity import similarity as similarity_study

from .commands import PLAIN
from .options import AsJson
from .output import counted, print_json

study = typer.Typer(no_args_is_help=True, help="The paper's tables and figures, with its own beside ours.", **PLAIN)


@study.command("similarity")
def similarity(
    embedding_model: Annotated[
        str | None, typer.Option(metavar="NAME", help="A sentence-transformers model, or its folder, for embeddings.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Thirty pairs of programs by every metric (Table 1)."""
    found: Any = None
    for found in counted(similarity_study(embedding_model), len(PAIRS) + 1, "comparing thirty pairs"):
        pass
    assert isinstance(found, SimilarityStudy)
    if as_json:
        print_json(found.document())
    else:
        show(found.tables())
