# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""containerd, also that of k3s and RKE2.

Files in reading order: ``runtime`` (its answers), ``plan`` (its files; loaded only where they may differ), ``chain``
(the files that it reads), ``template`` (what k3s and RKE2 will render), ``place`` (which file gets a key), ``dump``
(what containerd makes of them), ``oci_spec`` (base specifications).

May import ``base``, ``toml``, ``_prepare.node``, ``_prepare.ledger`` and ``_values``.
"""
