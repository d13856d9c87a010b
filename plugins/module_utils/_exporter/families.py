# Copyright: (c) 2026, the zerocopy.rdma authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)

# Note that this module util is **PRIVATE** to the collection. It can have breaking changes at any time.
# Do not use this from other collections or standalone plugins/modules!

"""Names of counters: from files of the kernel to metrics.

Where node_exporter has a metric for a file (collector infiniband), ours has its name, behind another prefix.
Source: prometheus/node_exporter, collector/infiniband_linux.go, and prometheus/procfs, sysfs/class_infiniband.go, of
2026. Files: Documentation/ABI/stable/sysfs-class-infiniband.
"""

from __future__ import annotations

from typing import Dict, Optional, Tuple

# What dashboards for node_exporter ask for, and what is ours.
NODE, OWN = "node_infiniband_", "rdma_port_"
# IBTA counts data in words of four octets.
_WORD = 4

# By file below ``counters``: the name of its metric, and what it is.
COUNTERS: Dict[str, Tuple[str, str]] = {
    "excessive_buffer_overrun_errors": (
        "excessive_buffer_overrun_errors_total",
        "Buffer overruns that lasted longer than the port allows.",
    ),
    "link_downed": ("link_downed_total", "Errors of the link from which it did not recover, so that it went down."),
    "link_error_recovery": ("link_error_recovery_total", "Errors of the link from which it recovered by itself."),
    "local_link_integrity_errors": (
        "local_link_integrity_errors_total",
        "Times that the link had more physical errors in a row than the port allows.",
    ),
    "multicast_rcv_packets": (
        "multicast_packets_received_total",
        "Received multicast packets, those with errors included.",
    ),
    "multicast_xmit_packets": (
        "multicast_packets_transmitted_total",
        "Sent multicast packets, those with errors included.",
    ),
    "port_rcv_constraint_errors": (
        "port_constraint_errors_received_total",
        "Received packets that the port's filters refused, such as those of another partition.",
    ),
    "port_xmit_constraint_errors": (
        "port_constraint_errors_transmitted_total",
        "Packets that the port's filters did not let out, such as those of another partition.",
    ),
    "port_rcv_data": ("port_data_received_bytes_total", "Received data in bytes, on all lanes."),
    "port_xmit_data": ("port_data_transmitted_bytes_total", "Sent data in bytes, on all lanes."),
    "port_rcv_discards": (
        "port_discards_received_total",
        "Received packets that the port dropped because it was down or congested.",
    ),
    "port_xmit_discards": (
        "port_discards_transmitted_total",
        "Packets that the port dropped instead of sending them, because it was down or congested.",
    ),
    "port_rcv_errors": ("port_errors_received_total", "Received packets that had an error."),
    "port_rcv_packets": ("port_packets_received_total", "Received packets, those with errors included."),
    "port_xmit_packets": ("port_packets_transmitted_total", "Sent packets, those with errors included."),
    "port_xmit_wait": (
        "port_transmit_wait_total",
        "Ticks of the port's clock in which data waited and none of it could be sent.",
    ),
    "unicast_rcv_packets": ("unicast_packets_received_total", "Received unicast packets, those with errors included."),
    "unicast_xmit_packets": ("unicast_packets_transmitted_total", "Sent unicast packets, those with errors included."),
    "port_rcv_remote_physical_errors": (
        "port_receive_remote_physical_errors_total",
        "Received packets that a port on their way had marked as bad.",
    ),
    "port_rcv_switch_relay_errors": (
        "port_receive_switch_relay_errors_total",
        "Received packets that a switch had no port for.",
    ),
    "symbol_error": ("symbol_error_total", "Small errors on the physical lanes."),
    "VL15_dropped": ("vl15_dropped_total", "Packets of subnet management that were dropped for lack of buffers."),
}
GAUGES: Dict[str, str] = {
    "state_id": "State of the port: 1 down, 2 initialising, 3 armed, 4 active, 5 active but deferring.",
    "physical_state_id": (
        "Physical state of the port: 1 sleep, 2 polling, 3 disabled, 4 training, 5 link up, 6 recovery, 7 test."
    ),
    "rate_bytes_per_second": "Rate of the link in bytes a second.",
}

# Behind node_exporter's prefix, these metrics need its texts, letter for letter. Where one HCA is on the host and
# another one in a pod, its collector and our textfile both have the metric. Its registry takes samples of one metric
# with two texts for an error, and drops those that come second (client_golang, prometheus/registry.go, processMetric);
# a textfile without a text is given another one (collector/textfile.go). It has had these texts since 1.2 (2021). Those
# of hw_counters are of 1.11 (2026) and may still change, so these counters have our names alone.
NODE_TEXTS: Dict[str, str] = {
    "excessive_buffer_overrun_errors_total": (
        "Number of times that OverrunErrors consecutive flow control update periods occurred, each having at "
        "least one overrun error."
    ),
    "link_downed_total": "Number of times the link failed to recover from an error state and went down",
    "link_error_recovery_total": "Number of times the link successfully recovered from an error state",
    "local_link_integrity_errors_total": (
        "Number of times that the count of local physical errors exceeded the threshold specified by LocalPhyErrors."
    ),
    "multicast_packets_received_total": "Number of multicast packets received (including errors)",
    "multicast_packets_transmitted_total": "Number of multicast packets transmitted (including errors)",
    "port_constraint_errors_received_total": (
        "Number of packets received on the switch physical port that are discarded"
    ),
    "port_constraint_errors_transmitted_total": "Number of packets not transmitted from the switch physical port",
    "port_data_received_bytes_total": "Number of data octets received on all links",
    "port_data_transmitted_bytes_total": "Number of data octets transmitted on all links",
    "port_discards_received_total": (
        "Number of inbound packets discarded by the port because the port is down or congested"
    ),
    "port_discards_transmitted_total": (
        "Number of outbound packets discarded by the port because the port is down or congested"
    ),
    "port_errors_received_total": "Number of packets containing an error that were received on this port",
    "port_packets_received_total": "Number of packets received on all VLs by this port (including errors)",
    "port_packets_transmitted_total": "Number of packets transmitted on all VLs from this port (including errors)",
    "port_transmit_wait_total": (
        "Number of ticks during which the port had data to transmit but no data was sent during the entire tick"
    ),
    "unicast_packets_received_total": "Number of unicast packets received (including errors)",
    "unicast_packets_transmitted_total": "Number of unicast packets transmitted (including errors)",
    "port_receive_remote_physical_errors_total": (
        "Number of packets marked with the EBP (End of Bad Packet) delimiter received on the port."
    ),
    "port_receive_switch_relay_errors_total": "Number of packets that could not be forwarded by the switch.",
    "symbol_error_total": "Number of minor link errors detected on one or more physical lanes.",
    "vl15_dropped_total": "Number of incoming VL15 packets dropped due to resource limitations.",
    "state_id": "State of the InfiniBand port (0: no change, 1: down, 2: init, 3: armed, 4: active, 5: act defer)",
    "physical_state_id": (
        "Physical state of the InfiniBand port (0: no change, 1: sleep, 2: polling, 3: disable, 4: shift, 5: "
        "link up, 6: link error recover, 7: phytest)"
    ),
    "rate_bytes_per_second": "Maximum signal transfer rate",
}

# By file below ``hw_counters``, where the name is not that of the file.
HARDWARE: Dict[str, str] = {
    "duplicate_request": "duplicate_requests_packets_total",
    "implied_nak_seq_err": "implied_nak_seq_errors_total",
    "local_ack_timeout_err": "local_ack_timeout_errors_total",
    "np_cnp_sent": "np_cnp_packets_sent_total",
    "np_ecn_marked_roce_packets": "np_ecn_marked_roce_packets_received_total",
    "out_of_buffer": "out_of_buffer_drops_total",
    "out_of_sequence": "out_of_sequence_packets_received_total",
    "packet_seq_err": "packet_sequence_errors_total",
    "req_cqe_error": "req_cqes_errors_total",
    "req_cqe_flush_error": "req_cqes_flush_errors_total",
    "req_remote_access_errors": "req_remote_access_errors_total",
    "req_remote_invalid_request": "req_remote_invalid_request_errors_total",
    "resp_cqe_error": "resp_cqes_errors_total",
    "resp_cqe_flush_error": "resp_cqes_flush_errors_total",
    "resp_local_length_error": "resp_local_length_errors_total",
    "resp_remote_access_errors": "resp_remote_access_errors_total",
    "rnr_nak_retry_err": "rnr_nak_retry_packets_received_total",
    "roce_adp_retrans": "roce_adp_retransmits_total",
    "roce_adp_retrans_to": "roce_adp_retransmits_timeout_total",
    "roce_slow_restart": "roce_slow_restart_used_total",
    "roce_slow_restart_cnps": "roce_slow_restart_cnps_total",
    "roce_slow_restart_trans": "roce_slow_restart_total",
    "rp_cnp_handled": "rp_cnp_packets_handled_total",
    "rp_cnp_ignored": "rp_cnp_ignored_packets_received_total",
    "rx_atomic_requests": "rx_atomic_requests_total",
    "rx_dct_connect": "rx_dct_connect_requests_total",
    "rx_icrc_encapsulated": "rx_icrc_encapsulated_errors_total",
    "rx_read_requests": "rx_read_requests_total",
    "rx_write_requests": "rx_write_requests_total",
}
# Of the time for which the kernel keeps what it has read: no counter.
_SETTING = "lifespan"


def own(suffix: str) -> str:
    """Our metric for one of node_exporter's: all of ours are of ports."""
    return OWN + (suffix[len("port_") :] if suffix.startswith("port_") else suffix)


def hardware(file: str) -> Optional[str]:
    """Our metric for a file below ``hw_counters``; drivers have counters of their own, which keep their names."""
    if file == _SETTING:
        return None
    found = HARDWARE.get(file)
    return own(found) if found else f"{OWN}hw_{file}_total"


def octets(file: str, value: int) -> int:
    """A counter of ``counters`` in the unit of its metric."""
    return value * _WORD if file in ("port_rcv_data", "port_xmit_data") else value
