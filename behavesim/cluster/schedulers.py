"""Finds the scheduler of a cluster: what the setting `workers` names, with its certificates, or a local one.

Run as a program, it is that local cluster, with certificates of its own; it ends when its standard input is closed. The
connections of a cluster without certificates are open to all users of a machine, who could run code as this one.
"""

from __future__ import annotations

import asyncio
import json
import signal
import ssl
import sys
import tempfile
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass

import dask.config
from distributed import LocalCluster
from distributed.security import Security

from behavesim.base.config import cores
from behavesim.base.errors import SandboxError, UsageError
from behavesim.sandbox.connection import bare_environment

# Longest time (s) for a local cluster to start.
START_S = 60.0
# Longest time (s) for a local cluster to end in order.
END_S = 10.0
# The key of Dask's configuration under which a process finds the local cluster that it shares.
LOCAL = "behavesim.local-cluster"
# The key of Dask's configuration below which it has certificates.
_TLS = "distributed.comm.tls"


@dataclass(frozen=True)
class Scheduler:
    """A Dask scheduler: its address, such as "tcp://10.0.0.1:8786", and the context for TLS, None without."""

    address: str
    context: ssl.SSLContext | None = None


@asynccontextmanager
async def scheduler_of(workers: str) -> AsyncIterator[Scheduler]:
    """Yield the scheduler that a text names: "dask://HOST:PORT", "tls://HOST:PORT", "dask" or "dask:N".

    The last two name the local cluster that this process shares, and else start one. Certificates for tls are those of
    Dask's configuration. Raises UsageError if those are missing, SandboxError if no local cluster starts.
    """
    if workers.startswith("dask://"):
        yield Scheduler(workers.replace("dask://", "tcp://"))
    elif workers.startswith("tls://"):
        yield Scheduler(workers, _configured_context())
    else:
        async with start_local_cluster(workers):
            yield Scheduler(str(dask.config.get(LOCAL)), _configured_context())


@asynccontextmanager
async def start_local_cluster(workers: str) -> AsyncIterator[Mapping[str, str]]:
    """Start the cluster that "dask" or "dask:N" names, all cores or N places, which ends with the block.

    All that runs in the block shares it, also processes whose environment has the variables that are yielded. If one is
    shared already, none is started and no variable yielded. Raises SandboxError if it does not start.
    """
    if dask.config.get(LOCAL, None):
        yield {}
        return
    _, _, places = workers.partition(":")
    async with _local_cluster(int(places or cores())) as found:
        with dask.config.set(found):
            variable = {key: key.upper().replace(".", "__").replace("-", "_") for key in found}
            yield {f"DASK_{variable[key]}": value for key, value in found.items()}


def _configured_context() -> ssl.SSLContext:
    """Return the TLS context of Dask's configuration for clients; raises UsageError if it has no certificates."""
    context: ssl.SSLContext | None = Security().get_connection_args("client").get("ssl_context")
    if context is None:
        raise UsageError(
            "tls:// needs certificates in Dask's configuration: distributed.comm.tls.ca-file, and cert and key of the "
            "client (or DASK_DISTRIBUTED__COMM__TLS__CA_FILE, …__CLIENT__CERT and …__CLIENT__KEY)"
        )
    return context


@asynccontextmanager
async def _local_cluster(places: int) -> AsyncIterator[dict[str, str]]:
    """Start a cluster here, without keys, and yield Dask's configuration for it; raises SandboxError if that fails."""
    command = (sys.executable, "-sP", "-m", "behavesim.cluster.schedulers", str(places))
    process = await asyncio.create_subprocess_exec(
        *command, stdin=PIPE, stdout=PIPE, stderr=DEVNULL, env=bare_environment(), start_new_session=True
    )
    assert process.stdin and process.stdout, "they are pipes"
    try:
        async with asyncio.timeout(START_S):
            said = await process.stdout.readline()
        if not said:
            raise SandboxError("no local cluster starts; `python -m behavesim.cluster.schedulers 1` says why")
        address, certificate, key = json.loads(said)
        pair = {f"{_TLS}.client.cert": certificate, f"{_TLS}.client.key": key}
        yield {LOCAL: address, f"{_TLS}.ca-file": certificate, **pair}
    except TimeoutError:
        raise SandboxError(f"no local cluster starts within {START_S:g} s") from None
    finally:
        process.stdin.close()  # which ends it
        try:
            async with asyncio.timeout(END_S):
                await process.wait()
        except TimeoutError:
            process.kill()
            await process.wait()


async def serve_local_cluster(places: int) -> None:
    """Run a scheduler and a worker until standard input closes; print [address, certificate, key]."""
    security = Security.temporary()
    with tempfile.TemporaryDirectory(prefix="behavesim-") as folder:
        async with LocalCluster(
            n_workers=1,
            threads_per_worker=places,
            memory_limit=0,  # programs have limits of their own
            security=security,
            dashboard_address=None,
            local_directory=folder,
            asynchronous=True,
        ) as cluster:
            said = [cluster.scheduler_address, security.tls_ca_file, security.tls_client_key]
            sys.stdout.write(json.dumps(said) + "\n")
            sys.stdout.flush()
            await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal's Ctrl-C is for the search, which closes this in order
    asyncio.run(serve_local_cluster(int(sys.argv[1])))
