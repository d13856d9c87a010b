# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Runs in the machine: a fabric by ibsim, set up by opensm, as the library and as ibnetdiscover read it.

Reads the fabric in the language of ibsim from standard input. The first HCA in it asks.
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


def main() -> None:
    text = sys.stdin.read()
    with open("/tmp/fabric", "w", encoding="utf-8") as file:
        file.write(text)
    os.environ["IBSIM_SOCKNAME"] = "cabling"
    simulator = _started("/tmp/fabric")
    # From here on, tools see the HCA of the simulated node. This program does not: it has no umad itself.
    os.environ["LD_PRELOAD"] = glob.glob("/usr/lib/*/umad2sim/libumad2sim.so")[0]
    first = re.search(r'^Hca [0-9]+ "(.*)"', text, re.MULTILINE)
    os.environ["SIM_HOST"] = first[1] if first else ""
    os.chdir("/tmp")
    subprocess.run(["opensm", "--once", "--log_file", "/tmp/opensm.log"], stdout=subprocess.DEVNULL, check=True)
    found = iblinkinfo.fabrics([iblinkinfo.FabricPort("ibsim0", 1, "0x1")])
    topology = subprocess.run(["ibnetdiscover"], stdout=subprocess.PIPE, text=True, check=True).stdout
    simulator.kill()
    json.dump({"fabrics": found, "topology": topology}, sys.stdout)


if __name__ == "__main__":
    main()
