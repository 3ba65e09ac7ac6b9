"""Every rule, listed by hand: a rule that is not in `RULES` does not exist.

To add one: copy the file of a neighbor, take the next free code at the end of its family (codes
are never reused), list it here, and write its test with a case that fires and one that stays
silent. `l4strace explain CODE` prints the module's docstring.
"""

from collections.abc import Iterable

from l4strace.errors import UsageError
from l4strace.model import Rule
from l4strace.rules import (
    l4s001_truncated_capture,
    l4s002_capture_drops,
    l4s003_offload_super_packets,
    l4s004_mid_stream_start,
    l4s005_one_sided_capture,
    l4s006_clock_steps,
    l4s007_undecoded_packets,
    l4s008_kernel_log_incomplete,
    l4s009_kernel_log_not_joined,
    l4s010_packets_seen_twice,
    l4s011_packets_out_of_window,
    l4s012_connections_without_data,
    l4s013_capture_in_pieces,
    l4s014_interface_clocks,
    l4s101_accecn_not_negotiated,
    l4s102_ect1_without_accecn,
    l4s103_ect0_under_accecn,
    l4s104_ecn_bleached,
    l4s105_ect1_remarked,
    l4s106_ce_on_syn,
    l4s107_path_changes_codepoint,
    l4s108_ace_mangled,
    l4s109_accecn_option_stripped,
    l4s110_accecn_option_implausible,
    l4s111_accecn_option_contradicts_ace,
    l4s112_feedback_mismatch,
    l4s113_ecn_without_ect,
    l4s114_tunnel_loses_ecn,
    l4s115_ecn_validation_failed,
    l4s116_ect_kept_unheard,
    l4s117_one_family_unmarked,
    l4s118_dscp_remarked,
    l4s119_marks_not_reported,
    l4s201_ece_ignored,
    l4s202_no_response_to_ce,
    l4s203_loss_ignored,
    l4s204_slow_start_overshoot,
    l4s205_alpha_starts_at_zero,
    l4s206_burst_too_long,
    l4s207_alpha_stuck,
    l4s208_kernel_packets_disagree,
    l4s209_alpha_scale_misread,
    l4s210_l4s_given_up,
    l4s211_own_bursts_marked,
    l4s212_ce_at_the_sender,
    l4s214_waits_for_feedback,
    l4s215_trains_share_codepoint,
    l4s216_reduces_without_marks,
    l4s301_fallback_misfire,
    l4s302_fallback_scaling_bug,
    l4s303_fallback_false_positive,
    l4s304_classic_aqm_missed,
    l4s305_fallback_inert,
    l4s306_fallback_absent,
    l4s307_detector_never_armed,
    l4s308_fallback_cuts_from_packets,
    l4s309_fallback_justified,
    l4s401_bottleneck,
    l4s402_no_ce,
    l4s403_every_packet_ce,
    l4s404_queue_over_target,
    l4s405_path_jitter,
    l4s406_bursty_link,
    l4s407_reordering,
    l4s408_path_changed,
    l4s409_marking_stopped,
    l4s410_loss_without_queue,
    l4s411_nqb_in_deep_queue,
    l4s501_starvation,
    l4s502_unfairness,
    l4s503_latency_spike,
    l4s504_under_utilisation,
    l4s505_slow_ramp,
    l4s601_no_fq_under_prague,
    l4s602_offloads_on,
    l4s603_tcp_ecn_cannot_negotiate,
    l4s604_fallback_parameter_off,
    l4s605_wrong_qdisc,
    l4s606_accecn_option_off,
)

RULES: tuple[Rule, ...] = (
    l4s001_truncated_capture.RULE,
    l4s002_capture_drops.RULE,
    l4s003_offload_super_packets.RULE,
    l4s004_mid_stream_start.RULE,
    l4s005_one_sided_capture.RULE,
    l4s006_clock_steps.RULE,
    l4s007_undecoded_packets.RULE,
    l4s008_kernel_log_incomplete.RULE,
    l4s009_kernel_log_not_joined.RULE,
    l4s010_packets_seen_twice.RULE,
    l4s011_packets_out_of_window.RULE,
    l4s012_connections_without_data.RULE,
    l4s013_capture_in_pieces.RULE,
    l4s014_interface_clocks.RULE,
    l4s101_accecn_not_negotiated.RULE,
    l4s102_ect1_without_accecn.RULE,
    l4s103_ect0_under_accecn.RULE,
    l4s104_ecn_bleached.RULE,
    l4s105_ect1_remarked.RULE,
    l4s106_ce_on_syn.RULE,
    l4s107_path_changes_codepoint.RULE,
    l4s108_ace_mangled.RULE,
    l4s109_accecn_option_stripped.RULE,
    l4s110_accecn_option_implausible.RULE,
    l4s111_accecn_option_contradicts_ace.RULE,
    l4s112_feedback_mismatch.RULE,
    l4s113_ecn_without_ect.RULE,
    l4s114_tunnel_loses_ecn.RULE,
    l4s115_ecn_validation_failed.RULE,
    l4s116_ect_kept_unheard.RULE,
    l4s117_one_family_unmarked.RULE,
    l4s118_dscp_remarked.RULE,
    l4s119_marks_not_reported.RULE,
    l4s201_ece_ignored.RULE,
    l4s202_no_response_to_ce.RULE,
    l4s203_loss_ignored.RULE,
    l4s204_slow_start_overshoot.RULE,
    l4s205_alpha_starts_at_zero.RULE,
    l4s206_burst_too_long.RULE,
    l4s207_alpha_stuck.RULE,
    l4s208_kernel_packets_disagree.RULE,
    l4s209_alpha_scale_misread.RULE,
    l4s210_l4s_given_up.RULE,
    l4s211_own_bursts_marked.RULE,
    l4s212_ce_at_the_sender.RULE,
    l4s214_waits_for_feedback.RULE,
    l4s215_trains_share_codepoint.RULE,
    l4s216_reduces_without_marks.RULE,
    l4s301_fallback_misfire.RULE,
    l4s302_fallback_scaling_bug.RULE,
    l4s303_fallback_false_positive.RULE,
    l4s304_classic_aqm_missed.RULE,
    l4s305_fallback_inert.RULE,
    l4s306_fallback_absent.RULE,
    l4s307_detector_never_armed.RULE,
    l4s308_fallback_cuts_from_packets.RULE,
    l4s309_fallback_justified.RULE,
    l4s401_bottleneck.RULE,
    l4s402_no_ce.RULE,
    l4s403_every_packet_ce.RULE,
    l4s404_queue_over_target.RULE,
    l4s405_path_jitter.RULE,
    l4s406_bursty_link.RULE,
    l4s407_reordering.RULE,
    l4s408_path_changed.RULE,
    l4s409_marking_stopped.RULE,
    l4s410_loss_without_queue.RULE,
    l4s411_nqb_in_deep_queue.RULE,
    l4s501_starvation.RULE,
    l4s502_unfairness.RULE,
    l4s503_latency_spike.RULE,
    l4s504_under_utilisation.RULE,
    l4s505_slow_ramp.RULE,
    l4s601_no_fq_under_prague.RULE,
    l4s602_offloads_on.RULE,
    l4s603_tcp_ecn_cannot_negotiate.RULE,
    l4s604_fallback_parameter_off.RULE,
    l4s605_wrong_qdisc.RULE,
    l4s606_accecn_option_off.RULE,
)

FAMILIES = {
    "0": "capture quality",
    "1": "negotiation and path",
    "2": "sender behaviour",
    "3": "classic-ECN fallback",
    "4": "bottleneck and queue",
    "5": "coexistence",
    "6": "host set-up",
}
"""What the first digit of a code means."""


def find(word: str) -> Rule:
    """The rule with this code (`L4S301`, `301`) or name (`fallback-misfire`)."""
    for rule in RULES:
        if word.lower() == rule.name or word.upper().removeprefix("L4S") == rule.code[3:]:
            return rule
    raise UsageError(f"no rule {word!r}", "l4strace explain lists all rules.")


def select(chosen: Iterable[str] = (), ignored: Iterable[str] = ()) -> tuple[Rule, ...]:
    """The rules to ask: all or those ``chosen``, without those ``ignored``.

    Words are codes, prefixes of codes (`L4S3`) or names. Raises UsageError for a word that means
    no rule.
    """
    wanted = {rule.code for word in chosen for rule in _some(word)} or {r.code for r in RULES}
    unwanted = {rule.code for word in ignored for rule in _some(word)}
    return tuple(rule for rule in RULES if rule.code in wanted - unwanted)


def _some(word: str) -> list[Rule]:
    matches = _matching(word)
    if not matches:
        raise UsageError(f"no rule begins with {word!r}", "l4strace explain lists all rules.")
    return matches


def _matching(word: str) -> list[Rule]:
    code = word.upper()
    code = code if code.startswith("L4S") else f"L4S{code}"
    return [rule for rule in RULES if rule.name == word.lower() or rule.code.startswith(code)]
