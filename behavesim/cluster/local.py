"""A Dask cluster on this machine, with certificates of its own; it ends when its standard input is closed.

The connections of a cluster without certificates are open to all users of a machine, who could run code as this one.
"""

from __future__ import annotations

import asyncio
import json
import signal
import sys
import tempfile

from distributed import LocalCluster
from distributed.security import Security


async def main(places: int) -> None:
    """Run a scheduler and a worker of so many places until standard input closes; print [address, certificate, key]."""
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
    asyncio.run(main(int(sys.argv[1])))
