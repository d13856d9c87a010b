# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Kernel modules of the lab, compiled for the kernel of a guest with the headers of its Debian."""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path

from . import cache, image, network, recipe, tools
from .paths import LOGS
from .progress import LabError, run, step
from .topology import Node

_HERE = Path(__file__).resolve().parents[1]


def build(name: str, suite: str, kernel: str) -> Path:
    """Return the module whose source is in the directory ``name`` beside this package, built if it is not cached."""
    digest = hashlib.sha256(cache.content(_HERE / name))

    def compile_it(scratch: Path) -> None:
        root, log = scratch / "root", LOGS / f"{name}-{kernel}.log"
        hooks = [f"--setup-hook={hook}" for hook in recipe.setup_hooks(suite)]
        with step(f"{name} for Linux {kernel}: headers (mmdebstrap)"):
            image.bootstrap(recipe.release(suite), root, [f"linux-headers-{kernel}", "make", "binutils"], log, *hooks)
        shutil.copytree(_HERE / name, root / "src")
        with step(f"{name} for Linux {kernel}: make"):
            # Tools of the kernel read /proc; the mount goes with its namespace.
            compiled = f"exec chroot . make -C /lib/modules/{kernel}/build M=/src modules"
            script = f"cd '{root}' && mount -t proc proc proc && {compiled}"
            run(["unshare", "--mount", "sh", "-c", script], log=log)
        shutil.copy(root / "src" / f"{name}.ko", scratch)
        shutil.rmtree(root)

    return cache.entry(f"module-{kernel}-{digest.hexdigest()[:12]}", compile_it) / f"{name}.ko"


def install(name: str, node: Node, options: str = "") -> None:
    """Load the module with these options on a guest, now and at every boot, before anything that it is to see."""
    kernel = network.ssh(node.name, "uname -r").stdout.strip()
    module = build(name, node.suite, kernel)
    path = f"/lib/modules/{kernel}/extra/{name}.ko"
    _run(node, name, f"mkdir -p {Path(path).parent}")
    tools.copy(node, module, path)
    # modprobe finds it by this line. An emulated guest takes most of a minute to index all its modules.
    needed = _run(node, name, f"modinfo --field depends {path}").strip().split(",")
    load = "".join(f"/sbin/modprobe {one} && " for one in needed if one) + f"/sbin/insmod {path} {options}"
    _run(node, name, f"echo 'install {name} {load}' >/etc/modprobe.d/{name}.conf")
    _run(node, name, f"echo {name} >/etc/modules-load.d/{name}.conf && modprobe {name}")


def _run(node: Node, name: str, command: str) -> str:
    done = network.ssh(node.name, command)
    if done.returncode:
        raise LabError(f"{node.name}: {name} cannot be loaded: {done.stdout}{done.stderr}")
    return done.stdout
