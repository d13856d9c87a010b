# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Builds and caches the guest image and, where the host's QEMU is too old, a root with a newer one."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

from . import cache, recipe
from .paths import LOGS, SSH_KEY
from .progress import run, step
from .topology import CLUSTER_NODES, NODES


def public_key() -> str:
    """Return the public key the guests accept, made once per cache."""
    public = SSH_KEY.with_suffix(".pub")
    # Guests whose images are there do not wait for another lab's build. This file is the last that is written.
    if not public.exists():
        with cache.locked():
            if not public.exists():
                run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "zerocopy-lab", "-f", str(SSH_KEY)])
    return public.read_text()


def bootstrap(
    suite: str, target: Path, packages: Sequence[str], log: Path, *options: str, variant: str = "minbase"
) -> None:
    """Make a root directory of a suite's packages."""
    run(
        [
            "mmdebstrap",
            "--mode=root",
            "--format=directory",
            f"--variant={variant}",
            *([f"--include={','.join(packages)}"] if packages else []),
            "--dpkgopt=force-confold",
            *(f"--aptopt={option}" for option in recipe.APT_OPTIONS.get(suite, ())),
            *options,
            suite,
            str(target),
        ],
        log=log,
    )


def guest_image(suite: str) -> Path:
    """Return the directory with the suite's ``disk.raw``, ``vmlinuz``, ``initrd`` and ``host_key.pub``."""
    key = public_key()

    def build(scratch: Path) -> None:
        root = scratch / "root"
        overlay = scratch / "overlay.tar"
        overlay.write_bytes(recipe.overlay(key))
        hooks = [f"--customize-hook={hook}" for hook in recipe.HOOKS]
        hooks += [f"--setup-hook={hook}" for hook in recipe.setup_hooks(suite)]
        log = LOGS / f"guest-{suite}.log"
        packages = recipe.packages(suite)
        with step(f"guest image: Debian {suite} with {len(packages)} packages (mmdebstrap)"):
            release = recipe.release(suite)
            bootstrap(release, root, packages, log, f"--essential-hook=tar-in {overlay} /", *hooks)
        with step(f"guest image: Debian {suite}, file system"):
            shutil.copy(next(root.glob("boot/vmlinuz-*")), scratch / "vmlinuz")
            shutil.copy(next(root.glob("boot/initrd.img-*")), scratch / "initrd")
            shutil.copy(root / "etc/ssh/ssh_host_ed25519_key.pub", scratch / "host_key.pub")
            run(["mkfs.ext4", "-q", "-F", "-L", "root", "-d", str(root), str(scratch / "disk.raw"), recipe.DISK_SIZE])
            shutil.rmtree(root)
            overlay.unlink()

    return cache.entry(recipe.guest_key(suite, key), build)


def qemu_root() -> Path:
    """Return a root directory whose QEMU has SR-IOV capable NICs."""

    def build(scratch: Path) -> None:
        with step(f"QEMU from Debian {recipe.QEMU_SUITE}, the host's has no igb device (mmdebstrap)"):
            bootstrap(recipe.QEMU_SUITE, scratch / "root", recipe.QEMU_PACKAGES, LOGS / "qemu.log")

    return cache.entry(recipe.qemu_key(), build) / "root"


def keys() -> set[str]:
    """Return the names under which current recipes are cached."""
    key = public_key()
    return {recipe.qemu_key(), *(recipe.guest_key(node.suite, key) for node in (*NODES, *CLUSTER_NODES))}
