# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Objects of Kubernetes, ours and those of others, whatever they are for.

In reading order: :mod:`manifests` (what our objects have in common), :mod:`unstructured` (fields of others'),
:mod:`extended_resources` (names of GPUs and of RDMA), :mod:`node_annotation`, :mod:`counters`. It may import
:mod:`_values` and no other room.
"""
