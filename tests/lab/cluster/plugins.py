# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""What the device plugins need beside the cluster: images of them as archives, CNI's host-device, HCAs on PCI.

Images have what upstream's recipes put into them, with the guest's busybox for Alpine's shell and its pci.ids.
"""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from guest import container_image
from vmlab import kernel_module, tools
from vmlab.paths import RUN, SSH_CONFIG
from vmlab.progress import LabError, step
from vmlab.tools import Tool
from vmlab.topology import CLUSTER_NODES

IMAGES = RUN / "images"
_HCA = "lab_hca"
_BUSYBOX, _PCI_IDS = "bin/busybox", "usr/share/hwdata/pci.ids"
_OF_GUEST = {_BUSYBOX: "/usr/bin/busybox", _PCI_IDS: "/usr/share/misc/pci.ids"}
_CNI = "/usr/lib/cni"

_SRIOV = "github.com/k8snetworkplumbingwg/sriov-network-device-plugin"
_MULTUS = "gopkg.in/k8snetworkplumbingwg/multus-cni.v4"
_WHEREABOUTS = "github.com/k8snetworkplumbingwg/whereabouts"
SHARED_DEVICE = Tool(
    "k8s-rdma-shared-dp",
    "plugins/shared_device",
    "github.com/Mellanox/k8s-rdma-shared-dev-plugin/cmd/k8s-rdma-shared-dp",
)
SRIOV = Tool("sriovdp", "plugins/sriov", f"{_SRIOV}/cmd/sriovdp")
# Upstream's image has Go 1.23. Built with Go 1.26, Multus 4.2.2 refuses the brackets that it puts around an IPv4
# address in its kubeconfig, and no pod starts.
_OLDER_GO = "go1.24.6"
MULTUS = Tool("multus", "plugins/multus", f"{_MULTUS}/cmd/multus", _OLDER_GO)
THIN_ENTRYPOINT = Tool("thin_entrypoint", "plugins/multus", f"{_MULTUS}/cmd/thin_entrypoint", _OLDER_GO)
WHEREABOUTS = Tool("whereabouts", "plugins/whereabouts", f"{_WHEREABOUTS}/cmd")
IP_CONTROL_LOOP = Tool("ip-control-loop", "plugins/whereabouts", f"{_WHEREABOUTS}/cmd/controlloop")
HOST_DEVICE = Tool("host-device", "plugins/cni", "github.com/containernetworking/plugins/plugins/main/host-device")
TOOLS = (SHARED_DEVICE, SRIOV, MULTUS, THIN_ENTRYPOINT, WHEREABOUTS, IP_CONTROL_LOOP, HOST_DEVICE)


@dataclass(frozen=True)
class Image:
    """An image by the name that the collection asks for, except where no Go module has that version.

    ``programs`` and ``scripts`` (module and path of each) are by their paths in it.
    """

    archive: str
    name: str
    programs: Mapping[str, Tool]
    scripts: Mapping[str, tuple[Tool, str, str]] = field(default_factory=dict)
    of_guest: Sequence[str] = ()
    command: Sequence[str] = ()
    entrypoint: Sequence[str] = ()


EVERY = (
    Image(
        "shared-device",
        "ghcr.io/mellanox/k8s-rdma-shared-dev-plugin:v1.5.3",
        {"bin/k8s-rdma-shared-dp": SHARED_DEVICE},
        of_guest=[_PCI_IDS],
        command=["/bin/k8s-rdma-shared-dp"],
    ),
    # Older than 3.11.0, which the collection pins, and so it is not called that.
    Image(
        "sriov",
        "ghcr.io/k8snetworkplumbingwg/sriov-network-device-plugin:v0.0.0-20221127172732-a5a7395122e3",
        {"usr/bin/sriovdp": SRIOV},
        {"entrypoint.sh": (SRIOV, _SRIOV, "images/entrypoint.sh")},
        of_guest=[_BUSYBOX, _PCI_IDS],
        entrypoint=["/entrypoint.sh"],
    ),
    Image(
        "multus",
        "ghcr.io/k8snetworkplumbingwg/multus-cni:v4.2.2",
        {"thin_entrypoint": THIN_ENTRYPOINT, "usr/src/multus-cni/bin/multus": MULTUS},
        entrypoint=["/thin_entrypoint"],
    ),
    Image(
        "whereabouts",
        "ghcr.io/k8snetworkplumbingwg/whereabouts:v0.8.0",
        {"whereabouts": WHEREABOUTS, "ip-control-loop": IP_CONTROL_LOOP},
        {"install-cni.sh": (WHEREABOUTS, _WHEREABOUTS, "script/install-cni.sh")},
        of_guest=[_BUSYBOX],
        command=["/install-cni.sh"],
    ),
)


def bring() -> None:
    """Build everything, pack the images, and give the guests what their nodes are to have."""
    for tool in TOOLS:
        tools.build(tool)
    borrowed = {path: _read(CLUSTER_NODES[0].name, source) for path, source in _OF_GUEST.items()}
    IMAGES.mkdir(exist_ok=True)
    for image in EVERY:
        with step(f"image {image.name}"):
            _pack(image, borrowed)
    for node in CLUSTER_NODES:
        with step(f"{node.name}: {_HCA} and CNI's host-device"):
            kernel_module.install(_HCA, node)
            tools.copy(node, tools.build(HOST_DEVICE), f"{_CNI}/host-device")


def _read(node: str, path: str) -> bytes:
    argv = ["ssh", "-F", str(SSH_CONFIG), "-o", "BatchMode=yes", node, "cat", path]
    done = subprocess.run(argv, capture_output=True, check=False)
    if done.returncode:
        raise LabError(f"{node}: {path} cannot be read: {done.stderr.decode(errors='replace')}")
    return done.stdout


def _pack(image: Image, borrowed: Mapping[str, bytes]) -> None:
    files = {path: tools.build(tool).read_bytes() for path, tool in image.programs.items()}
    files.update({path: tools.source(*script) for path, script in image.scripts.items()})
    files.update({path: borrowed[path] for path in image.of_guest})
    links = {}
    if _BUSYBOX in image.of_guest:
        links = {f"bin/{applet}": "busybox" for applet in _applets(borrowed[_BUSYBOX]) if applet != "busybox"}
    content = container_image.layer(files, links)
    target = IMAGES / f"{image.archive}.tar"
    container_image.archive(target, [image.name], content, list(image.command), list(image.entrypoint) or None)


def _applets(busybox: bytes) -> list[str]:
    """A static program, so it runs here as well."""
    program = Path(IMAGES, "busybox")
    program.write_bytes(busybox)
    program.chmod(0o755)
    return subprocess.run([str(program), "--list"], capture_output=True, text=True, check=True).stdout.split()
