# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Expands the recorded fleet: ``python tests/fleet/expand.py --output DIR [--node NAME]...``.

``nodes/*.yml`` describe nodes; every one becomes DIR/<host>/, which looks like ``/`` of that node, and so does each
recording of ``recorded/*.tar.gz``. README.md has the format. Tests import ``load`` and ``write``.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tarfile
from collections.abc import Callable
from pathlib import Path

HERE = Path(__file__).resolve().parent
if str(HERE) not in sys.path:
    sys.path.insert(0, str(HERE))

from nodetree.net import write_netdevs
from nodetree.pci import write_pci
from nodetree.place import place
from nodetree.procnet import write_proc_net
from nodetree.rdma import write_rdma
from nodetree.read import load
from nodetree.spec import Description, DescriptionError
from nodetree.stack import stack
from nodetree.system import write_system
from nodetree.tree import Tree

NODES, RECORDED = HERE / "nodes", HERE / "recorded"
# Marks a directory as ours to replace, and says to whoever finds it what it is.
MARKER = ".synthesised"
# What record.py leaves in its directories.
MARKERS = (MARKER, ".recorded")

__all__ = ["Description", "DescriptionError", "load", "main", "nodes", "recordings", "tree", "unpack", "write"]


def nodes() -> list[str]:
    """Names of all described nodes."""
    return sorted(path.stem for path in NODES.glob("*.yml"))


def recordings() -> list[str]:
    """Names of all real machines that record.py has recorded."""
    return sorted(path.name.partition(".")[0] for path in RECORDED.glob("*.tar.gz"))


def tree(description: Description) -> Tree:
    """The node's file system, in memory."""
    result = Tree()
    functions = place(description)
    devices = stack(description, functions)
    write_pci(description, functions, result)
    write_netdevs(description, devices, result)
    write_proc_net(description, devices, result)
    write_rdma(description, devices, functions, result)
    write_system(description, functions, result)
    origin = description.synthesised_from or description.recorded_from
    kind = "Synthesised from" if description.synthesised_from else "Recorded from"
    result.file(MARKER, f"{kind}: {' '.join(origin.split())}\nBy tests/fleet/expand.py from nodes/{description.source}")
    return result


def write(description: Description, root: Path) -> None:
    """Makes ``root`` look like the node's ``/``, replacing what an earlier call left there."""
    result = tree(description)
    _replace(Path(root), result.write)


def unpack(archive: Path, root: Path) -> None:
    """The same with a recording, an archive of one directory."""

    def fill(fresh: Path) -> None:
        with tarfile.open(archive) as recording:
            for member in recording:
                member.name = member.name.partition("/")[2] or "."
                recording.extract(member, fresh)

    _replace(Path(root), fill)


def _replace(root: Path, fill: Callable[[Path], None]) -> None:
    if root.exists() and any(root.iterdir()) and not any((root / name).exists() for name in MARKERS):
        raise DescriptionError(f"{root}: not empty and not written by this tool (no {MARKER}), choose another one")
    root.parent.mkdir(parents=True, exist_ok=True)
    fresh = root.with_name(f".{root.name}.{os.getpid()}")
    shutil.rmtree(fresh, ignore_errors=True)
    try:
        fill(fresh)
        if root.exists():
            shutil.rmtree(root)
        fresh.rename(root)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Expand the recorded fleet into one directory tree per node.")
    parser.add_argument("--output", required=True, type=Path, metavar="DIR", help="write DIR/<host>/...")
    parser.add_argument("--node", action="append", metavar="NAME", help="only this node; may be given more than once")
    options = parser.parse_args(arguments)
    try:
        for name in options.node or [*nodes(), *recordings()]:
            if name in recordings():
                unpack(RECORDED / f"{name}.tar.gz", options.output / name)
                print(f"{name:<16} recorded")
                continue
            description = load(NODES / f"{name}.yml")
            write(description, options.output / name)
            hcas, gpus = len(description.hcas), _count_gpus(description)
            print(f"{name:<16} {gpus} GPUs, {hcas} HCAs, kernel {description.kernel}")
    except DescriptionError as error:
        print(f"expand.py: {error}", file=sys.stderr)
        return 1
    return 0


def _count_gpus(description: Description) -> int:
    return sum(function.name == "gpu" for function in place(description))


if __name__ == "__main__":
    sys.exit(main())
