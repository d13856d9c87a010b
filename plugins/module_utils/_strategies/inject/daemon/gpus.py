# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Which GPUs a container has.

Sources: NVIDIA Container Toolkit documentation, "Docker specialized configurations" (NVIDIA_VISIBLE_DEVICES) and "CDI
support", and its ``internal/config/image``; libnvidia-container, ``src/cli/common.c``, which takes names in any case;
NVIDIA MIG User Guide, "Device Enumeration".
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Iterable, List, Sequence

from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.inject.daemon.hardware import GpuPlace
from ansible_collections.zerocopy.rdma.plugins.module_utils._strategies.inject.daemon.messages import Container
from ansible_collections.zerocopy.rdma.plugins.module_utils._values.text import counted

_VARIABLE = "NVIDIA_VISIBLE_DEVICES"
# Where the device plugin mounts one file for each GPU with the strategy volume-mounts.
_MOUNTS = "/var/run/nvidia-container-devices/"
# Far more than any node has: everybody waits for the answer about what one container asks for.
_LONGEST, _MOST = 1 << 14, 1024
_VOID, _NONE, _ALL = "void", "none", "all"
# Kinds of nvidia-ctk, of the device plugin (k8s.device-plugin.nvidia.com/gpu) and of the DRA driver. With
# management.nvidia.com/gpu the GPU operator looks after GPUs, and does not use them.
_CDI = re.compile(r"(?:(?!management\.)(?:[a-z0-9.-]+\.)?nvidia\.com/(?:gpu|mig)|k8s\.gpu\.nvidia\.com/[a-z]+)=(.+)")
# The DRA driver names devices by their minor number.
_DRA = re.compile(r"(?:.*-)?gpu-(\d{1,5})(?:-mig-.*)?")
_NODE = re.compile(r"/dev/nvidia(\d{1,5})")
_INDEX = re.compile(r"(\d{1,5})(?::\d{1,5})?")
# GPU-<UUID>, and MIG devices of drivers before 470, which name theirs: MIG-GPU-<UUID>/1/0.
_FORM = re.compile(r"\d{1,5}(?::\d{1,5})?|minor \d{1,5}|(?:MIG-)?(?:GPU-)?[0-9a-f-]{4,36}(?:/\d+/\d+)?", re.IGNORECASE)
_UUID = re.compile(r"(?:MIG-)?(GPU-[0-9a-f-]{4,36})(?:/\d+/\d+)?", re.IGNORECASE)


@dataclass
class Held:
    """Places of the GPUs of a container, and names of devices that tell no GPU, such as ``MIG-<UUID>``."""

    gpus: List[GpuPlace] = field(default_factory=list)
    unknown: List[str] = field(default_factory=list)

    @property
    def named_unknown(self) -> str:
        """Those for messages, which more people read than the container's environment: values may be anything."""
        known = ", ".join(name for name in self.unknown if _FORM.fullmatch(name))
        others = sum(not _FORM.fullmatch(name) for name in self.unknown)
        if not others:
            return f"GPU {known}"
        return f"GPU {known} and {others} of unknown form" if known else f"{counted(others, 'GPU')} of unknown form"

    @property
    def some(self) -> bool:
        """Whether the container has any GPU, known or unknown."""
        return bool(self.gpus or self.unknown)


def named(container: Container) -> bool:
    """Whether the container names any GPU; does not read the hardware."""
    return any(_device_names(container)) or bool(_visible(container))


def held(container: Container, gpus: Sequence[GpuPlace]) -> Held:
    """The GPUs of a container: by the devices that it is given or, without any, by NVIDIA_VISIBLE_DEVICES.

    An image may have that variable with the value ``all``; the NVIDIA runtime takes it for a request, and so does this.
    """
    found = Held()
    names = list(dict.fromkeys(list(_device_names(container)) or _visible(container)))
    if len(names) > _MOST:
        return Held(unknown=names[:_MOST])
    for name in names:
        places = _places(name, gpus)
        found.gpus += [gpu for gpu in places if gpu not in found.gpus]
        if not places:
            found.unknown.append(name)
    return found


def _device_names(container: Container) -> Iterable[str]:
    nodes = [node for node in map(_NODE.fullmatch, container.devices) if node]
    yield from (f"minor {node.group(1)}" for node in nodes)
    # The runtime has already made device nodes of CDI names, unless a hook of NVIDIA's runtime does so later.
    yield from filter(None, map(_of_cdi, () if nodes else container.cdi))


def _of_cdi(name: str) -> str:
    """A GPU in the terms of :func:`_places`, empty for any other device."""
    device = _CDI.fullmatch(name)
    if not device or device.group(1) == _NONE:
        return ""
    minor = _DRA.fullmatch(device.group(1))
    return f"minor {minor.group(1)}" if minor else device.group(1)


def _of_mount(request: str) -> str:
    """A GPU in the words of :func:`_places`, by what is below _MOUNTS: one, or a device of CDI or IMEX."""
    kind, slash, name = request.partition("/")
    if slash and kind == "cdi":
        return _of_cdi(name if "=" in name else "=".join(name.rsplit("/", 1)))
    return "" if slash and kind == "imex" else request


def _visible(container: Container) -> List[str]:
    mounts = (_of_mount(path[len(_MOUNTS) :]) for path in container.mounts if path.startswith(_MOUNTS))
    mounted = [name for name in mounts if name]
    if mounted:
        return mounted
    text = container.environment.get(_VARIABLE, "")
    if len(text) > _LONGEST:
        return [text[:_LONGEST]]
    names = [name.strip() for name in text.split(",")]
    if {_VOID, _NONE}.intersection(names):
        return []
    # NVIDIA's runtime takes names of CDI as well.
    return [_of_cdi(name) or name for name in names if name]


def _places(name: str, gpus: Sequence[GpuPlace]) -> List[GpuPlace]:
    if name.lower() == _ALL:
        return list(gpus)
    minor, index, uuid = re.fullmatch(r"minor (\d+)", name), _INDEX.fullmatch(name), _UUID.fullmatch(name)
    if minor:
        number = int(minor.group(1))
        # Without NVIDIA's /proc, minors are taken to be in the order of addresses.
        by_minor = [gpu for gpu in gpus if gpu.minor == number]
        return by_minor or [gpu for gpu in gpus if gpu.minor is None and gpu.index == number]
    if index:
        return [gpu for gpu in gpus if gpu.index == int(index.group(1))]
    return [gpu for gpu in gpus if uuid and gpu.uuid.lower().startswith(uuid.group(1).lower())]
