# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!


"""The initramfs images of a node: which modules they load before /etc/modprobe.d of the root file system is there.

An image holds its own copy of /etc/modprobe.d, so a module loaded from it gets the options of the day it was built.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import Any, Dict, FrozenSet, List, Sequence

from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.kernel.index import installed
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.command import Runner, must
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.errors import HostError
from ansible_collections.zerocopy.rdma.plugins.module_utils._prepare.node.files import Files
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.kernel_module import canonical

_MODULE = re.compile(r"/([^/\s]+)\.ko(?:\.[a-z0-9]+)?\s*$", re.M)
_LISTERS = ("lsinitramfs", "lsinitrd")
_NOT_INSTALLED = 127
# In a virtual machine without acceleration, listing takes seconds and building minutes.
_LIST_SECONDS = 120
_BUILD_SECONDS = 1800


@dataclass(frozen=True)
class Initramfs:
    """An image of one kernel release; ``built`` in nanoseconds since 1970."""

    release: str
    path: str
    built: int
    size: int


def images(files: Files) -> List[Initramfs]:
    """The image of every installed kernel, where Debian, Fedora, SUSE and kernel-install(8) put it."""
    machine = (files.text("/etc/machine-id") or "").strip()
    found = []
    for release in installed(files):
        paths = [f"/boot/initrd.img-{release}", f"/boot/initramfs-{release}.img", f"/boot/initrd-{release}"]
        paths += [f"{esp}/{machine}/{release}/initrd" for esp in ("/boot", "/efi", "/boot/efi") if machine]
        for path in paths:
            try:
                status = os.stat(files.full(path))
            except OSError:
                continue
            found.append(Initramfs(release, path, status.st_mtime_ns, status.st_size))
            break
    return found


def listed(text: str) -> FrozenSet[str]:
    """Names of the modules in the output of lsinitramfs(8) or lsinitrd(1)."""
    return frozenset(canonical(name) for name in _MODULE.findall(text))


def contained(image: Initramfs, modules: Sequence[str], cache: Dict[str, Any], run: Runner) -> FrozenSet[str]:
    """Which of the modules are in the image. ``cache`` is JSON data to keep: listing an image takes seconds.

    :raises HostError: no tool can list it, or it failed.
    """
    stamp = [image.built, image.size]
    known = cache.get(image.path, {})
    if known.get("stamp") != stamp or not set(modules) <= set(known.get("asked", ())):
        asked = sorted(modules)
        has = sorted(_list(image, run) & set(asked))
        known = cache[image.path] = {"stamp": stamp, "asked": asked, "has": has}
    return frozenset(known["has"]) & frozenset(modules)


def _list(image: Initramfs, run: Runner) -> FrozenSet[str]:
    for tool in _LISTERS:
        done = run([tool, image.path], timeout=_LIST_SECONDS)
        if done.rc != _NOT_INSTALLED:
            return listed(must(done, f"{tool} {image.path}"))
    raise HostError(f"neither {' nor '.join(_LISTERS)} is installed")


def rebuild(image: Initramfs, run: Runner) -> None:
    """Build the image anew with the tool of this distribution; a failure leaves the old one in place.

    update-initramfs builds beside the image and renames. dracut writes into the file it is given, so it is given one
    beside the image.

    :raises HostError: the tool is missing or failed.
    """
    done = run(["update-initramfs", "-u", "-k", image.release], timeout=_BUILD_SECONDS)
    if done.rc != _NOT_INSTALLED:
        must(done, f"update-initramfs -u -k {image.release}")
        return
    beside = f"{image.path}.zerocopy-rdma.tmp"
    try:
        done = run(["dracut", "--force", beside, image.release], timeout=_BUILD_SECONDS)
        if done.rc == _NOT_INSTALLED:
            raise HostError(f"{image.path} cannot be rebuilt: neither update-initramfs nor dracut is installed")
        must(done, f"dracut --force {beside} {image.release}")
        os.rename(beside, image.path)
    finally:
        if os.path.exists(beside):
            os.unlink(beside)
