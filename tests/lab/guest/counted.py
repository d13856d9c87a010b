# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Runs on a guest, beside pod.py and exported.py: what exporter and pod say of the pod's RDMA traffic.

    python3 counted.py TEXTFILE HCA GID_INDEX [PEER]    the two nodes' pods write to each other: a server without a PEER

The answer is JSON. Soft-RoCE counts packets and no bytes, and all but a few of them are as long as the path's MTU.
"""

from __future__ import annotations

import json
import re
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Callable, Dict, List

import exported
import pod

NAME = "counted"
PORT = 18800
SECONDS = 300
# What perftest says: the MTU, and of each row the size of a message and how many there were.
_MTU = re.compile(r"Mtu +: ([0-9]+)\[B\]")
_ROW = re.compile(r"(?m)^ *([0-9]+) +([0-9]+) +[0-9.]+ ")
_END = "that was all"


def metrics(textfile: Path) -> exported.Series:
    """What the exporter has written last."""
    return exported.series(textfile.read_text())


def await_condition(what: str, met: Callable[[], Any]) -> Any:
    """Poll until it holds, or end with what is missing."""
    end = time.monotonic() + SECONDS
    while True:
        found = met()
        if found:
            return found
        if time.monotonic() > end:
            sys.exit(f"{what}: not within {SECONDS} s")
        time.sleep(0.5)


def later(textfile: Path) -> exported.Series:
    """What a look has found that began after this call."""
    before = exported.looks(metrics(textfile))

    def looked() -> exported.Series:
        found = metrics(textfile)
        return found if exported.looks(found) >= before + 2 else {}

    found: exported.Series = await_condition("the exporter looks again", looked)
    return found


def packets(found: exported.Series, hca: str, peer: str) -> int:
    """Those that carry the data: sent by the client, received by the server."""
    name = "sent" if peer else "rcvd"
    return int(found[f"rdma_port_hw_{name}_pkts_total", exported.port(hca)])


def device_nodes(hca: str) -> List[str]:
    """What RDMA by this HCA opens."""
    found = [path.parent.name for path in Path("/sys/class/infiniband_verbs").glob("uverbs*/ibdev")]
    own = [name for name in found if Path(f"/sys/class/infiniband_verbs/{name}/ibdev").read_text().strip() == hca]
    return [f"/dev/infiniband/{name}" for name in (*own, "rdma_cm")]


def counted(textfile: Path, hca: str, index: str, peer: str) -> Dict[str, Any]:
    """Write in a pod that has the HCA, and compare."""
    # An emulated guest may take longer to answer than the 67 ms of perftest, which gives up after seven of them, and an
    # emulated NIC drops what does not fit into its ring, so that it is sent again.
    test = f"ib_write_bw -d {hca} -x {index} -p {PORT} -u 20 -t 2 -F -n 400 -s 65536"
    # Until the server listens, its port refuses.
    script = f"for n in $(seq 60); do {test} {peer} && break; sleep 2; done" if peer else f"timeout 250 {test}"
    pod.remove(NAME, {})
    before = metrics(textfile)
    with tempfile.TemporaryDirectory() as directory:
        scratch = Path(directory)
        sandbox = pod.succeeded(pod.run_sandbox(NAME, {}, scratch))
        config = pod.container_config("main", f"{script}; echo {_END}; exec sleep 600", {})
        config["devices"] = [
            {"host_path": path, "container_path": path, "permissions": "rw"} for path in device_nodes(hca)
        ]
        made = pod.created(sandbox, config, scratch)
        if made.returncode:
            sys.exit(f"crictl create: exit code {made.returncode}\n{made.stdout}{made.stderr}")
        pod.must("start", made.stdout.strip())
        log = pod.LOGS / NAME / "main.log"
        await_condition("the pod has written", lambda: log.exists() and _END in log.read_text())
        # CRI's log format: time, stream, a tag for partial lines, the text.
        said = "\n".join(line.split(" ", 3)[-1] for line in log.read_text().splitlines())
        found = later(textfile)
    pod.remove(NAME, {})
    rows, mtu = _ROW.findall(said), _MTU.search(said)
    if not rows or not mtu:
        sys.exit(f"ib_write_bw in the pod:\n{said}")
    size, number = map(int, rows[-1])
    return {
        "holders": exported.holders(found, NAME),
        "said": size * number,
        "counted": (packets(found, hca, peer) - packets(before, hca, peer)) * int(mtu[1]),
        "left": exported.holders(later(textfile), NAME),
    }


def main() -> None:
    """Do what the command line asks for and print the answer."""
    textfile, hca, index, peer = [*sys.argv[1:], ""][:4]
    print(json.dumps(counted(Path(textfile), hca, index, peer)))


if __name__ == "__main__":
    main()
