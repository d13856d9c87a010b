# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Runs in the machine: a fabric by ibsim, set up by opensm, as the library and as ibnetdiscover read it.

Reads the fabric in the language of ibsim from standard input. The first HCA in it asks. After a line ``partitions``, it
has those for opensm, and then the P_Key tables of all HCAs are told, as their sysfs has them.
"""

from __future__ import annotations

import glob
import json
import os
import re
import subprocess
import sys
from typing import List

from ansible_collections.zerocopy.rdma.plugins.module_utils._prove.host import iblinkinfo

_READY = "Network simulator ready."


def _started(path: str) -> subprocess.Popen[str]:
    command = ["ibsim", "-s", "-N", "4000", "-P", "40000", "-L", "4000", path]
    # It ends when its standard input does.
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    simulator: subprocess.Popen[str] = subprocess.Popen(command, text=True, **pipes)  # type: ignore[call-overload]
    said: List[str] = []
    for line in simulator.stdout or ():
        said.append(line)
        if _READY in line:
            return simulator
    sys.exit("ibsim ended before its fabric was ready: " + "".join(said[-20:]))


def _partitions(hca: str) -> List[str]:
    """The first P_Keys of the HCA's port, in files that umad2sim shows to a program of this HCA."""
    files = [f"/sys/class/infiniband/ibsim0/ports/1/pkeys/{index}" for index in range(4)]
    environment = {**os.environ, "SIM_HOST": hca}
    return subprocess.run(
        ["cat", *files], env=environment, stdout=subprocess.PIPE, text=True, check=True
    ).stdout.split()


def main() -> None:
    text, _line, partitions = sys.stdin.read().partition("partitions\n")
    with open("/tmp/fabric", "w", encoding="utf-8") as file:
        file.write(text)
    os.environ["IBSIM_SOCKNAME"] = "cabling"
    simulator = _started("/tmp/fabric")
    # From here on, tools see the HCA of the simulated node. This program does not: it has no umad itself.
    os.environ["LD_PRELOAD"] = glob.glob("/usr/lib/*/umad2sim/libumad2sim.so")[0]
    hcas = re.findall(r'^Hca [0-9]+ "(.*)"', text, re.MULTILINE)
    os.environ["SIM_HOST"] = hcas[0]
    os.chdir("/tmp")
    with open("/tmp/partitions.conf", "w", encoding="utf-8") as file:
        file.write(partitions or "Default=0x7fff : ALL=full;\n")
    opensm = ["opensm", "--once", "--log_file", "/tmp/opensm.log", "--Pconfig", "/tmp/partitions.conf"]
    subprocess.run(opensm, stdout=subprocess.DEVNULL, check=True)
    found = iblinkinfo.fabrics([iblinkinfo.FabricPort("ibsim0", 1, "0x1")])
    topology = subprocess.run(["ibnetdiscover"], stdout=subprocess.PIPE, text=True, check=True).stdout
    pkeys = {hca: _partitions(hca) for hca in hcas} if partitions else {}
    simulator.kill()
    json.dump({"fabrics": found, "topology": topology, "pkeys": pkeys}, sys.stdout)


if __name__ == "__main__":
    main()
