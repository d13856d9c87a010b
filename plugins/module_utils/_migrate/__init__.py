# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""From hostNetwork and device plugins to the strategy of a group, and back: first manifests, then node after node.

In reading order:

* ``pods.py``: workloads with their pod templates, and who owns their manifests.
* ``components.py``: programs that matter, such as device plugins, by their images.
* ``catalogue.py``: the codes of findings, their levels and their words.
* ``findings.py``: how a pod template uses RDMA, and what in it has to change.
* ``audit``: reads a cluster and lists what would have to change; changes nothing.
* ``manifests``: rewrites manifest files, and reverts that.
* ``nodes``: moves nodes to the strategy that they have in the inventory.

The three packages import from these files and not from each other. All may import from every other room, none of which
imports from here.
"""
