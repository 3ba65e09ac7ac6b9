"""Words that may stay as they are: kernel and tool names that identify no person and no host."""

from __future__ import annotations

import re

from l4strace.redact.mask import Mask


def vocabulary(text: str) -> frozenset[str]:
    """The words of ``text``."""
    return frozenset(text.split())


CONGESTION_CONTROLS = vocabulary("""
    prague prague-reno dctcp cubic reno bbr bbr1 bbr2 bbr3 bic westwood vegas veno htcp hybla
    highspeed illinois scalable yeah nv lp cdg hystart dctcp-reno
""")
QDISCS = vocabulary("""
    dualpi2 fq fq_codel codel fq_pie pie cake pfifo bfifo pfifo_fast noqueue mq mqprio htb tbf
    netem red gred sfq sfb hfsc ets etf taprio prio drr clsact ingress dualq
""")
VALUES = (
    CONGESTION_CONTROLS
    | QDISCS
    | vocabulary("""
    l4strace-host x86_64 aarch64 arm64 armv7l i686 riscv64 ppc64le s390x tsc hpet acpi_pm
    kvm-clock hyperv_clocksource_tsc_page xen arch_sys_counter root none drop ecn split_gso exit
    signal duration error tcpdump dumpcap bcc tracefs diag veth e1000 e1000e igb igc ixgbe i40e
    ice mlx4_en mlx5_core virtio_net tg3 bnxt_en r8169 ena gve hv_netvsc vmxnet3 bridge bonding
    tun packets kernel true false on off
""")
)
"""Values of host files."""
KEYS = vocabulary("""
    format version kernel release machine cpus versions sysctls modules parameters srcversion
    clock current available monotonic unix_offset_ns uncertainty_ns interfaces driver mtu
    speed_mbps offloads tso gso gro lro rx_checksum tx_checksum before after netstat
    TCPLostRetransmit TCPTimeouts TCPDelivered TCPDeliveredCE InNoECTPkts InECT1Pkts InECT0Pkts
    InCEPkts qdiscs kind handle parent bytes packets qlen backlog_bytes backlog drops requeues
    overlimits options statistics sockets sport dport cc ecn pacing_rate_bps complete capture
    ended seconds snaplen events lost source received dropped damaged died error backend
    command command_exit truncated tc zstd iperf3 dumpcap tcpdump python collectors tcp_prague
    tcp_dctcp tcp_bbr sch_dualpi2 sch_fq sch_fq_codel limit target tupdate alpha beta step_thresh
    step_packets min_qlen_step coupling_factor coupling drop_overload drop_early
    drop_on_overload classic_protection classic_prot split_gso max_rtt typical_rtt memlimit
    memory_limit memory_used max_memory_used maxpacket ecn_mark ce_threshold flows quantum
    interval drop_batch new_flows_len old_flows_len new_flow_count flow_limit buckets
    orphan_mask initial_quantum refill_delay low_rate_threshold maxrate timer_slack horizon
    horizon_drop pacing prob delay_c delay_l pkts_in_c pkts_in_l
    maxq step_marks step_mark ecn-mark step-mark delay-c delay-l pkts-in-c pkts-in-l
    credit delay rate ceil burst loss duplicate reorder direct_qlen throttled gc inactive
    net.ipv4.tcp_ecn net.ipv4.tcp_ecn_fallback net.ipv4.tcp_ecn_option
    net.ipv4.tcp_ecn_option_beacon net.ipv4.tcp_congestion_control
    net.ipv4.tcp_available_congestion_control net.ipv4.tcp_timestamps net.ipv4.tcp_sack
    net.ipv4.tcp_window_scaling net.ipv4.tcp_mtu_probing net.ipv4.tcp_pacing_ss_ratio
    net.ipv4.tcp_pacing_ca_ratio net.ipv4.tcp_limit_output_bytes net.ipv4.tcp_notsent_lowat
    net.ipv4.tcp_min_tso_segs net.ipv4.tcp_tso_win_divisor net.ipv4.tcp_no_metrics_save
    net.ipv4.tcp_slow_start_after_idle net.ipv4.tcp_rmem net.ipv4.tcp_wmem net.core.rmem_max
    net.core.wmem_max net.core.default_qdisc prague_burst_shift prague_ecn_fallback
    prague_ecn_plus_plus prague_rtt_scaling prague_rtt_target prague_rtt_transition
    prague_cwnd_by_inflight prague_cwnd_transit prague_hsrate_thresh prague_shift_g
    prague_max_tso_segs prague_rate_offset prague_ca_mode dctcp_shift_g dctcp_alpha_on_init
    fast_convergence tcp_friendliness hystart hystart_detect hystart_low_window
    hystart_ack_delta_us initial_ssthresh bic_scale
""")
"""Keys of host files."""

NUMBER = re.compile(
    r"-?\d{1,20}(?:\.\d{1,9})?(?:[eE][+-]?\d{1,3})?(?:[num]?s|%|[KMGTkmgt]?i?(?:bit|b|B)?)"
)
HANDLE = re.compile(r"[0-9a-f]{0,4}:[0-9a-f]{0,4}")
RELEASE = re.compile(r"\d{1,3}(?:\.\d{1,3}){1,2}(?!\.?\d)")
VERSION = re.compile(r"(?<![\d.])\d{1,4}(?:\.\d{1,4}){1,2}(?!\.?\d)")
"""Four numbers could be an address."""
BUILD_WORDS = vocabulary("""
    prague generic lowlatency amd64 arm64 cloud rt lts azure aws gcp
""")


def value(text: str, mask: Mask) -> str:
    """``text`` when it holds known words and numbers alone, else another name for it."""
    words = text.split()
    plain = all(w in VALUES or NUMBER.fullmatch(w) or HANDLE.fullmatch(w) for w in words)
    return text if plain else mask.name(text)


def key(text: str, mask: Mask) -> str:
    """``text`` as the name of a field or interface: kept if well known, else masked."""
    return text if text in KEYS or text == "lo" else mask.name(text)


def congestion_control(text: str, mask: Mask) -> str:
    """``text`` as the name of a congestion control: kept if well known, else masked."""
    return text if text in CONGESTION_CONTROLS else mask.name(text)


def version(text: str) -> str:
    """Versions in what a tool states about itself, without the words around them."""
    return " ".join(VERSION.findall(text)) or "unknown"


def release(text: str) -> str:
    """Version of a kernel with the words of distributions; what its builder added is left out."""
    found = RELEASE.match(text)
    if found is None:
        return "unknown"
    rest = re.split(r"[^0-9A-Za-z]+", text[found.end() :])
    known = [word for word in rest if word in BUILD_WORDS or re.fullmatch(r"rc\d{1,2}", word)]
    return "-".join([found[0], *known])
