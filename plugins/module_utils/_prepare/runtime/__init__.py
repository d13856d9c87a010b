# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""The container runtime, prepared to attach RDMA NICs to pods (NRI, CDI, locked memory), and images from archives.

Files in reading order: ``options`` (options, request and outcome), ``converge`` (the concern; returns early in a
steady state), ``registry`` (known runtimes, and which one a node has), ``notes`` (what the ledger keeps), ``run`` (a
run that has to plan; decides whether the runtime restarts), ``revert`` (the way back), ``base`` (what runtimes have in
common), ``containerd``, ``crio``, ``toml`` (their configuration files), ``service`` (carries a restart out), ``cri``
(gRPC over the socket), ``exec_start`` (what systemd starts a stopped one with), ``records`` (sandboxes left behind),
``pods`` (their processes), ``image_options``, ``images`` (the concern ``images``).

May import ``_discover``, ``_prepare.node``, ``_prepare.ledger``, ``_values`` and the packages below. A new runtime is a
package beside ``crio`` and a line in ``registry``.
"""
