# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Who asks for RDMA devices, and for which."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any, List, Optional, Sequence

from ansible_collections.zerocopy.rdma.plugins.module_utils._inject.messages import Container, Pod

ANNOTATION = "rdma.zerocopy.io/nics"
# containerd/nri, plugins/device-injector/README.md; the second one is of versions before 0.4.
_INJECTOR = ("devices.noderesource.dev", "devices.nri.io")
_NEAREST, _NONE = "nearest", "none"
_HCA = re.compile(r"[A-Za-z0-9_.-]{1,63}")
_PATH = re.compile(r"/dev/infiniband/[A-Za-z0-9_]{1,63}")
_YAML_PATH = re.compile(r"(?:-\s+|\s*)path:\s*[\"']?([^\"'\s]+)[\"']?\s*")


@dataclass(frozen=True)
class Wish:
    """What a container asks for: the HCAs near to its GPUs, HCAs by name, or devices by path.

    ``said`` is who says so, for messages. ``wrong`` is what cannot be understood. ``everyone`` says that it is for all
    containers of the pod.
    """

    said: str
    nearest: bool = False
    hcas: Sequence[str] = ()
    paths: Sequence[str] = ()
    wrong: str = ""
    everyone: bool = False


def of_container(
    pod: Pod, container: Container, policy: str, namespaces: Sequence[str], has_gpus: bool
) -> Optional[Wish]:
    """What it asks for, ``None`` for nothing: by the annotation of one container, else that of all, else the policy.

    ``has_gpus`` says whether the container has GPUs.
    """
    for key in (f"{ANNOTATION}.{container.name}", ANNOTATION):
        if key in pod.annotations:
            return _annotated(key, pod.annotations[key])
    for prefix in _INJECTOR:
        for key in (f"{prefix}/container.{container.name}", f"{prefix}/pod", prefix):
            if key in pod.annotations:
                return _injected(key, pod.annotations[key])
    if has_gpus and pod.namespace in namespaces:
        return Wish(f"namespace {pod.namespace}", nearest=True)
    return Wish("policy gpu_containers", nearest=True) if has_gpus and policy == "gpu_containers" else None


def _annotated(key: str, value: str) -> Optional[Wish]:
    # A block of YAML ends with a line feed.
    if value.strip() == _NONE:
        return None
    if value.strip() == _NEAREST:
        return Wish(key, nearest=True, everyone=key == ANNOTATION)
    names = [name.strip() for name in value.split(",")]
    if all(_HCA.fullmatch(name) for name in names):
        return Wish(key, hcas=names)
    return Wish(key, wrong=f"{value[:100]!r} is not {_NEAREST}, {_NONE}, or names of HCAs such as mlx5_0,mlx5_1")


def _injected(key: str, value: str) -> Optional[Wish]:
    """Of the devices in NRI's own annotation only those of RDMA: all others are for other plugins."""
    paths = _paths(value)
    rdma = [path for path in paths if path.startswith("/dev/infiniband/")]
    if any(not _PATH.fullmatch(path) for path in rdma):
        return Wish(key, wrong="a path below /dev/infiniband is not a valid device name")
    return Wish(key, paths=rdma) if rdma else None


def _paths(value: str) -> List[str]:
    """The paths in a list of devices, in JSON or in YAML with one key per line, as it is usually written."""
    try:
        entries: Any = json.loads(value)
    except (ValueError, RecursionError):
        lines = (_YAML_PATH.fullmatch(line) for line in value.splitlines())
        return [line.group(1) for line in lines if line]
    found = [entry.get("path") for entry in entries if isinstance(entry, dict)] if isinstance(entries, list) else []
    return [path for path in found if isinstance(path, str)]
