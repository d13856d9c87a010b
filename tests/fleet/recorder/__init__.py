# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

"""Records a real machine: what its facts are read from, with everything replaced that identifies it.

Runs on a machine's own Python (3.8 or newer) without PyYAML. Files in reading order: ``ip_addresses`` (addresses in
ranges for documentation), ``conceal`` (all other identifiers, and texts with them), ``binary`` (PCI configuration
space and Vital Product Data), ``machine`` (its own names, and what facts read in ``/proc`` and of services),
``devices`` (PCI functions, netdevs and HCAs), ``audit`` (nothing of the originals is in what is written), ``tools``
(what ``lspci``, ``nvidia-smi``, ``rdma`` and ``ibstat`` answer), ``compare`` (facts with facts), ``witnesses`` (facts
with these tools).
"""
