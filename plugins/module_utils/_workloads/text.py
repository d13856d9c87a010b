# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Examples as YAML with comments."""

from __future__ import annotations

import textwrap
from typing import Any, Dict, List, Mapping, Sequence

_WIDTH = 100
# By the beginning of the line below which they say something; each of them is said once per file.
_COMMENTS: Mapping[str, str] = {
    "type: Recreate": "A new pod would wait for the NICs of the old one, so the old one goes first.",
    "- IPC_LOCK": "With this capability, root in the container may lock memory beyond the limit, as RDMA does.",
    "- /bin/sh": "Sets NCCL_IB_HCA, UCX_NET_DEVICES and others for this pod's devices, then runs the command. "
    "Ends the pod with the reason if RDMA would not be used.",
    "- name: ZEROCOPY_RDMA_DEVICES": "The pod does not start with fewer RDMA devices.",
    "- name: UCX_TLS": "Without tcp, so that a transfer that cannot use RDMA fails instead of being slow.",
    "- name: UCX_IB_ROCE_REACHABILITY_MODE": "A rank may send to a rank on another rail, in another subnet: the "
    "network has to route between rails.",
    "- name: VLLM_NIXL_SIDE_CHANNEL_HOST": "At this address, over the pod network, the other side asks for what it "
    "needs to read the KV cache.",
    "medium: Memory": "NCCL and vLLM exchange data between processes here; the default of 64 MiB is too little.",
    "k8s.v1.cni.cncf.io/networks": "Multus moves the netdev of the NIC into the pod.",
    "resourceClaimTemplateName:": "The name ends with a hash of the template's content. After a change of the "
    "template, create the examples again.",
    "resourceClaimName:": "A claim for one NIC of one node: the pod runs on that node.",
    "ray.io/overwrite-container-cmd": "KubeRay leaves the command as it is, and sets a variable to its own command.",
    "num-gpus:": "KubeRay counts GPUs of limits only.",
    "- mpirun": "A rank does not get the environment of sshd, so each rank runs the script in its own pod.",
}


def _comment(text: str, indent: str) -> List[str]:
    return textwrap.wrap(text, _WIDTH, initial_indent=f"{indent}# ", subsequent_indent=f"{indent}# ")


def _commented(text: str) -> List[str]:
    left = dict(_COMMENTS)
    lines: List[str] = []
    for line in text.splitlines():
        bare = line.lstrip()
        for start in [start for start in left if bare.startswith(start)]:
            lines += _comment(left.pop(start), line[: len(line) - len(bare)])
        lines.append(line)
    return lines


def rendered(title: str, notes: Sequence[str], objects: Sequence[Mapping[str, Any]]) -> str:
    """A file: what it is and what it needs, then the objects."""
    import yaml

    # Nothing is the same object twice, so that there are no anchors, which people and some tools do not read.
    class Dumper(yaml.SafeDumper):
        def ignore_aliases(self, data: Any) -> bool:
            return True

    def scalar(dumper: Any, value: str) -> Any:
        return dumper.represent_scalar("tag:yaml.org,2002:str", value, style="|" if "\n" in value else None)

    Dumper.add_representer(str, scalar)

    plain: List[Dict[str, Any]] = [dict(item) for item in objects]
    body = yaml.dump_all(plain, Dumper=Dumper, sort_keys=False, explicit_start=True, width=1000)
    head = [line for text in (title, *notes) for line in _comment(text, "")]
    return "\n".join([*head, *_commented(body)]) + "\n"
