# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The codes of findings. Of a workload they are in the order in which they are shown; their texts are in texts.py."""

from __future__ import annotations

HOST_NETWORK = "host_network"
POOL_PORTS = "pool_ports"
VOLCANO_TEMPLATES = "volcano_templates"
PORTS_REMAPPED = "ports_remapped"
DNS_POLICY = "dns_policy"
RESOURCE = "resource"
INJECTED = "injected"
NETWORKS = "networks"
NODE_LABEL = "node_label"
PRIVILEGED = "privileged"
HOST_PATH = "host_path"
NO_IPC_LOCK = "no_ipc_lock"
NIC_BY_HAND = "nic_by_hand"
GID_BY_HAND = "gid_by_hand"
INTERFACE_BY_HAND = "interface_by_hand"
HOST_ADDRESS = "host_address"
TRANSPORT_BY_HAND = "transport_by_hand"

# Of the cluster.
NO_DRA = "no_dra"
OLD_KUBELET = "old_kubelet"
EXTENDED_KUBELET = "extended_kubelet"
OLD_RUNTIME = "old_runtime"
KUEUE_UNMAPPED = "kueue_unmapped"
KUEUE_UNREAD = "kueue_unread"
OPERATOR_POLICY = "operator_policy"
DEVICE_PLUGIN = "device_plugin"
ADVERTISED = "advertised"
STALE = "stale"
NO_PLUGIN = "no_plugin"
POOL = "pool"
HEALTH_CHECK = "health_check"
VOLCANO = "volcano"
