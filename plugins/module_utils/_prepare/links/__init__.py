# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Addresses, routes, MTUs and VFs of RDMA links, as profiles of NetworkManager.

Files in reading order: ``request`` (options, checked without the node), ``converge`` (the concern), ``state`` (the node
as it is, and the ledger's notes), ``resolve`` (which netdev is meant), ``guard`` (what must not be touched), ``ports``
(what was on a port before us, and what is ours on it), ``plan`` (what has to change), ``leave`` (ports that are no
links any more), ``keyfile`` (a link as text), ``vfs`` (how many, and whether they are in use), ``vf_guids`` (their
GUIDs on InfiniBand), ``qos`` (of RoCE), ``qos_unit`` (the same at boot), ``qos_live``, ``apply`` (a change inside a
checkpoint), ``checkpoint`` (its end), ``bus`` (NetworkManager over D-Bus), ``live`` (waits for NetworkManager, kernel
and udev).

May import ``_discover``, ``_facts``, ``_prepare.node``, ``_prepare.ledger`` and ``_values``. What changes a node
(``apply``, ``checkpoint``, ``live``) is loaded only where something has to change.
"""
