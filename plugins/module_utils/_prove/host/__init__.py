# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The host ring: a host's facts and drift against the plan, and what hosts reach of each other.

``ping``, ``arp``, ``iblinkinfo``, ``lldp`` and ``driver_watch`` run on nodes, the others on the controller.

Files in reading order: ``answers`` (of modules, checked), ``evidence`` (what is known of a host), ``gpu_nic`` (verdicts
of pairs of GPU and NIC), ``boot_proposal`` (what the kernel's command line would need for them), ``gpu_nic_checks``,
``facts`` (verdicts from facts), ``partitions``, ``drift``, ``counters``, ``fleet`` (hosts together), ``qos``,
``fabric``, ``site_checks``, ``plan`` (what is tried), ``crossing`` (what is tried between rails), ``live`` and
``rails`` (verdicts of it), ``judge`` (all of them), ``ping``, ``arp``, ``iblinkinfo``, ``lldp``, ``driver_watch``.

May import rooms up to ``_prepare``, ``document`` and ``bandwidth``.
"""
