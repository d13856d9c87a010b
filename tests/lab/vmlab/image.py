# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Builds and caches the guest image and, where the host's QEMU is too old, a root with a newer one."""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from . import recipe
from .paths import CACHE, LOGS, SSH_KEY
from .progress import run, step


@contextmanager
def _locked() -> Iterator[None]:
    """Let one build run at a time; the kernel drops the lock with the process, so it is never stale."""
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / "lock").open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def _cached(key: str, build: Callable[[Path], None]) -> Path:
    """Return the cache entry, built in a scratch directory and renamed when complete."""
    with _locked():
        target = CACHE / key
        if target.exists():
            return target
        for leftover in CACHE.glob("building-*"):
            shutil.rmtree(leftover)
        scratch = CACHE / f"building-{key}"
        scratch.mkdir()
        build(scratch)
        os.rename(scratch, target)
        return target


def public_key() -> str:
    """Return the public key the guests accept, made once per cache."""
    with _locked():
        if not SSH_KEY.exists():
            run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "zerocopy-lab", "-f", str(SSH_KEY)])
    return SSH_KEY.with_suffix(".pub").read_text()


def _bootstrap(target: Path, packages: tuple[str, ...] | list[str], log: Path, *options: str) -> None:
    run(
        [
            "mmdebstrap",
            "--mode=root",
            "--format=directory",
            "--variant=minbase",
            f"--include={','.join(packages)}",
            "--dpkgopt=force-confold",
            *options,
            recipe.SUITE,
            str(target),
        ],
        log=log,
    )


def guest_image() -> Path:
    """Return the directory with ``disk.raw``, ``vmlinuz``, ``initrd`` and ``host_key.pub``."""
    key = public_key()

    def build(scratch: Path) -> None:
        root = scratch / "root"
        overlay = scratch / "overlay.tar"
        overlay.write_bytes(recipe.overlay(key))
        hooks = [f"--customize-hook={hook}" for hook in recipe.HOOKS]
        with step(f"guest image: Debian {recipe.SUITE} with {len(recipe.PACKAGES)} packages (mmdebstrap)"):
            _bootstrap(root, recipe.PACKAGES, LOGS / "guest.log", f"--essential-hook=tar-in {overlay} /", *hooks)
        with step("guest image: file system"):
            shutil.copy(next(root.glob("boot/vmlinuz-*")), scratch / "vmlinuz")
            shutil.copy(next(root.glob("boot/initrd.img-*")), scratch / "initrd")
            shutil.copy(root / "etc/ssh/ssh_host_ed25519_key.pub", scratch / "host_key.pub")
            run(["mkfs.ext4", "-q", "-F", "-L", "root", "-d", str(root), str(scratch / "disk.raw"), recipe.DISK_SIZE])
            shutil.rmtree(root)
            overlay.unlink()

    return _cached(recipe.guest_key(key), build)


def qemu_root() -> Path:
    """Return a root directory whose QEMU has SR-IOV capable NICs."""

    def build(scratch: Path) -> None:
        with step(f"QEMU from Debian {recipe.SUITE}, the host's has no igb device (mmdebstrap)"):
            _bootstrap(scratch / "root", list(recipe.QEMU_PACKAGES), LOGS / "qemu.log")

    return _cached(recipe.qemu_key(), build) / "root"


def prune() -> list[str]:
    """Remove cache entries that no current recipe names and return their names."""
    keep = {recipe.guest_key(public_key()), recipe.qemu_key()}
    gone = []
    with _locked():
        for entry in sorted(CACHE.glob("guest-*")) + sorted(CACHE.glob("qemu-*")):
            if entry.name not in keep:
                shutil.rmtree(entry)
                gone.append(entry.name)
    return gone
