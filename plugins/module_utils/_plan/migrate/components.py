# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Programs that matter to a migration, by the last part of the name of their image, or by what they are called.

Mirrors change the registry and the path of an image, seldom its last part.
"""

from __future__ import annotations

import re
from typing import NamedTuple, Optional

from ansible_collections.zerocopy.rdma.plugins.module_utils._plan.migrate.model import PodShape, Seen

PLUGIN, DRIVER, NETWORK, HEALTH = "plugin", "driver", "network", "health"


class Component(NamedTuple):
    """What a program is (one of the constants above), what it is called, and its image."""

    role: str
    name: str
    image: str


_IMAGES = (
    (PLUGIN, "k8s-rdma-shared-dev-plugin", re.compile(r".*k8s-rdma-shared-dev(ice)?-plugin.*")),
    (PLUGIN, "SR-IOV network device plugin", re.compile(r".*sriov-network-device-plugin.*|.*/sriovdp.*")),
    (PLUGIN, "AMD network device plugin", re.compile(r".*/k8s-network-device-plugin.*")),
    (PLUGIN, "k8s-rdma-device-plugin", re.compile(r".*k8s-rdma-device-plugin.*")),
    (NETWORK, "SR-IOV network operator", re.compile(r".*sriov-network-(operator|config-daemon).*")),
    (NETWORK, "Multus", re.compile(r".*multus-(cni|daemon).*")),
    (NETWORK, "NVIDIA OFED driver", re.compile(r".*/(doca-driver|mofed)(?![a-z]).*")),
    (NETWORK, "ib-kubernetes", re.compile(r".*/ib-kubernetes.*")),
    (DRIVER, "DRANET", re.compile(r".*/dranet(?![a-z]).*")),
    (DRIVER, "NVIDIA DRA driver", re.compile(r".*dra-driver-(nvidia-)?gpu.*|.*k8s-dra-driver.*")),
    (DRIVER, "DRA driver for SR-IOV", re.compile(r".*dra-driver-sriov.*")),
    (HEALTH, "node-problem-detector", re.compile(r".*node-problem-detector.*")),
    (HEALTH, "NVSentinel", re.compile(r".*nvsentinel.*")),
    (HEALTH, "gpud", re.compile(r".*/gpud(?![a-z]).*")),
    (
        HEALTH,
        "node health check",
        re.compile(r".*(node-?health-?check|/(lbnl-)?nhc(?![a-z])|healthchecks?(?![a-z])).*"),
    ),
)
_HEALTH_NAME = re.compile(
    r"(.*[^a-z])?(nhc|gpud|nvsentinel|health-?checks?|health-monitor|problem-detector)([^a-z].*)?"
)
# Which of what a cluster runs by itself is looked at by its name as well.
_BY_NAME = ("DaemonSet", "CronJob", "Deployment")


def _of_pod(pod: PodShape) -> Optional[Component]:
    for container in pod.containers:
        image = container.image.partition("@")[0].lower()
        for role, name, pattern in _IMAGES:
            # With a slash before it, as an image without registry has none.
            if pattern.fullmatch(f"/{image}"):
                return Component(role, name, container.image)
    return None


def of(seen: Seen) -> Optional[Component]:
    """Which program of the above an object runs."""
    for pod in seen.pods:
        found = _of_pod(pod)
        if found:
            return found
    if seen.ref.kind.kind in _BY_NAME and _HEALTH_NAME.fullmatch(seen.ref.name.lower()):
        return Component(HEALTH, "by its name a health check", "")
    return None
