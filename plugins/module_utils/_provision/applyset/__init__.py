# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""A named set of objects: applied, and pruned of what has left it (the ApplySet specification, KEP-3659).

In reading order: :mod:`converge` (a run from its beginning to its end), :mod:`plan` (what has to be done),
:mod:`intake` (objects as they are sent), :mod:`content_hash` (names of what cannot be changed), :mod:`parent` and
:mod:`live_parent` (the record of the set in the cluster), :mod:`managed` and :mod:`difference` (whether an object
differs), :mod:`foreign` (whose it is as well), :mod:`order`, :mod:`write`, :mod:`usage` (what pods still need stays),
:mod:`outcome` (what was done); without a cluster: :mod:`manifests`. It may import :mod:`_provision.rollout`,
:mod:`_provision.api` and :mod:`_values`.
"""
