# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""What is at the other end of each cable, and which cables are not where those of the other nodes are.

``iblinkinfo`` and ``lldp`` run on nodes, the others on the controller. All are pure functions: the tools themselves are
run by ``_prove/host``.

Files in reading order: ``links`` (the nouns), ``iblinkinfo``, ``ibnetdiscover`` and ``lldp`` (one parser for each
format), ``neighbours`` (of each port of a host, or why it is unknown), ``units`` (nodes that share leaves, and where
most of them are), ``expected`` (cabling as a CSV file), ``check`` (who differs), ``leaf_groups`` (which nodes are
under the same leaves), ``report`` (as text and as JSON).

May import :mod:`_links`, :mod:`_inventory`, :mod:`_facts` and :mod:`_values`.
"""
