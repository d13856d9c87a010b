# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The API server, as everything in this room talks to it.

In reading order: :mod:`module` (options and failures of the modules), :mod:`selection` (which cluster is meant),
:mod:`kubeconfigs` (how they are read), :mod:`connection` (how it is reached), :mod:`request` (the client),
:mod:`answers` (its JSON, whoever wrote it), :mod:`pages` (long lists), :mod:`errors`, :mod:`objects` (what identifies
one), :mod:`discovery` (which kinds are served), :mod:`dra_version` (which version of resource.k8s.io), :mod:`review`
(what this user may do).

It may import kubernetes.core in :mod:`module`, and no other room.
"""
