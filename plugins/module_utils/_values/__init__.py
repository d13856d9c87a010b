# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Rules for values that people write, one for each kind, and what sentences about them need.

In reading order: :mod:`problem` (what is wrong, and the exception that rules raise); links: :mod:`address`, :mod:`mac`,
:mod:`guid`, :mod:`mtu`, :mod:`pkey`, :mod:`vlan`, :mod:`roce`, :mod:`pci`, :mod:`sriov`; Kubernetes: :mod:`names`,
:mod:`quantity`, :mod:`image`; nodes: :mod:`directory`, :mod:`duration`, :mod:`kernel_module`, :mod:`memlock`,
:mod:`writing` (directories and files where others may write, too), :mod:`systemd` (what daemons say to it);
anywhere: :mod:`integer`, :mod:`hostnames`, :mod:`host_file`, :mod:`text`, :mod:`plain`, :mod:`protobuf`, :mod:`redact`,
:mod:`state_version` (of what a run leaves behind), :mod:`packages` (that the controller lacks). It imports no other
room, and runs on nodes as well.
"""
