# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Which containers request RDMA devices, and which devices."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any, List, Optional, Sequence

from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.inject.daemon.messages import Container, Pod
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.names import is_rdma_device

ANNOTATION = "rdma.zerocopy.io/nics"
# containerd/nri, plugins/device-injector/README.md, which has the order as well; the second one is of versions before
# 0.4.
_INJECTOR = ("devices.noderesource.dev", "devices.nri.io")
_NEAREST, _NONE = "nearest", "none"
_RDMA = "/dev/infiniband/"
_PATH = re.compile(_RDMA + r"[A-Za-z0-9_]{1,63}")
_YAML_PATH = re.compile(r"(?:-\s+|\s*)path:\s*[\"']?([^\"'\s]+)[\"']?\s*")
_COMMENT = re.compile(r"(?:^|(?<=\s))#.*", re.MULTILINE)


@dataclass(frozen=True)
class NicWish:
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
) -> Optional[NicWish]:
    """The container's request, ``None`` without one: by its own annotation, else the pod's, else the policy.

    ``has_gpus`` says whether the container has GPUs.
    """
    order = [
        *(f"{ANNOTATION}.{container.name}", *(f"{prefix}/container.{container.name}" for prefix in _INJECTOR)),
        *(ANNOTATION, *(f"{prefix}/pod" for prefix in _INJECTOR), *_INJECTOR),
    ]
    given = [key for key in order if key in pod.annotations]
    # Only the first of NRI's own counts, also where its devices are for other plugins.
    injector = next((key for key in given if not key.startswith(ANNOTATION)), "")
    for key in given:
        if key.startswith(ANNOTATION):
            return _annotated(key, pod.annotations[key])
        listed = _injected(key, pod.annotations[key]) if key == injector else None
        if listed:
            return listed
    if has_gpus and pod.namespace in namespaces:
        return NicWish(f"namespace {pod.namespace}", nearest=True)
    return NicWish("policy gpu_containers", nearest=True) if has_gpus and policy == "gpu_containers" else None


def _annotated(key: str, value: str) -> Optional[NicWish]:
    # A block of YAML ends with a line feed.
    if value.strip() == _NONE:
        return None
    if value.strip() == _NEAREST:
        return NicWish(key, nearest=True, everyone=key == ANNOTATION)
    names = [name.strip() for name in value.split(",")]
    if all(is_rdma_device(name) for name in names):
        return NicWish(key, hcas=names)
    return NicWish(key, wrong=f"{value[:100]!r} is not {_NEAREST}, {_NONE}, or names of HCAs such as mlx5_0,mlx5_1")


def _injected(key: str, value: str) -> Optional[NicWish]:
    """The RDMA devices in NRI's own annotation; all other devices are left to other plugins."""
    text = _COMMENT.sub("", value)
    rdma = [path for path in _paths(text) if path.startswith(_RDMA)]
    if any(not _PATH.fullmatch(path) for path in rdma):
        return NicWish(key, wrong="a path below /dev/infiniband is not a valid device name")
    if text.count(_RDMA) > len(rdma):
        return NicWish(
            key, wrong="not all devices can be read: write the list as JSON, or as YAML with one key per line"
        )
    # NRI rejects a device that is set twice.
    return NicWish(key, paths=list(dict.fromkeys(rdma))) if rdma else None


def _paths(text: str) -> List[str]:
    """The paths in a list of devices, in JSON or in YAML with one key per line, as it is usually written."""
    try:
        entries: Any = json.loads(text)
    except (ValueError, RecursionError):
        lines = (_YAML_PATH.fullmatch(line) for line in text.splitlines())
        return [line.group(1) for line in lines if line]
    found = [entry.get("path") for entry in entries if isinstance(entry, dict)] if isinstance(entries, list) else []
    return [path for path in found if isinstance(path, str)]
