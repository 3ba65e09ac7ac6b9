"""Every rule, listed by hand: a rule that is not in `RULES` does not exist.

To add one: copy the file of a neighbor, take the next free code at the end of its family (codes
are never reused), list it here, and write its test with a case that fires and one that stays
silent. `l4strace explain CODE` prints the module's docstring.
"""

from collections.abc import Iterable

from l4strace.errors import UsageError
from l4strace.model import Rule
from l4strace.rules.l4s001_truncated_capture import RULE as L4S001
from l4strace.rules.l4s002_capture_drops import RULE as L4S002
from l4strace.rules.l4s003_offload_super_packets import RULE as L4S003
from l4strace.rules.l4s004_mid_stream_start import RULE as L4S004
from l4strace.rules.l4s005_one_sided_capture import RULE as L4S005
from l4strace.rules.l4s006_clock_steps import RULE as L4S006
from l4strace.rules.l4s007_undecoded_packets import RULE as L4S007
from l4strace.rules.l4s008_kernel_log_incomplete import RULE as L4S008
from l4strace.rules.l4s009_kernel_log_not_joined import RULE as L4S009
from l4strace.rules.l4s010_packets_seen_twice import RULE as L4S010
from l4strace.rules.l4s011_packets_out_of_window import RULE as L4S011
from l4strace.rules.l4s012_connections_without_data import RULE as L4S012
from l4strace.rules.l4s013_capture_in_pieces import RULE as L4S013
from l4strace.rules.l4s014_interface_clocks import RULE as L4S014
from l4strace.rules.l4s101_accecn_not_negotiated import RULE as L4S101
from l4strace.rules.l4s102_ect1_without_accecn import RULE as L4S102
from l4strace.rules.l4s103_ect0_under_accecn import RULE as L4S103
from l4strace.rules.l4s104_ecn_bleached import RULE as L4S104
from l4strace.rules.l4s105_ect1_remarked import RULE as L4S105
from l4strace.rules.l4s106_ce_on_syn import RULE as L4S106
from l4strace.rules.l4s107_path_changes_codepoint import RULE as L4S107
from l4strace.rules.l4s108_ace_mangled import RULE as L4S108
from l4strace.rules.l4s109_accecn_option_stripped import RULE as L4S109
from l4strace.rules.l4s110_accecn_option_implausible import RULE as L4S110
from l4strace.rules.l4s111_accecn_option_contradicts_ace import RULE as L4S111
from l4strace.rules.l4s112_feedback_mismatch import RULE as L4S112
from l4strace.rules.l4s113_ecn_without_ect import RULE as L4S113
from l4strace.rules.l4s114_tunnel_loses_ecn import RULE as L4S114
from l4strace.rules.l4s115_ecn_validation_failed import RULE as L4S115
from l4strace.rules.l4s116_ect_kept_unheard import RULE as L4S116
from l4strace.rules.l4s117_one_family_unmarked import RULE as L4S117
from l4strace.rules.l4s118_dscp_remarked import RULE as L4S118
from l4strace.rules.l4s119_marks_not_reported import RULE as L4S119
from l4strace.rules.l4s201_ece_ignored import RULE as L4S201
from l4strace.rules.l4s202_no_response_to_ce import RULE as L4S202
from l4strace.rules.l4s203_loss_ignored import RULE as L4S203
from l4strace.rules.l4s204_slow_start_overshoot import RULE as L4S204
from l4strace.rules.l4s205_alpha_starts_at_zero import RULE as L4S205
from l4strace.rules.l4s206_burst_too_long import RULE as L4S206
from l4strace.rules.l4s207_alpha_stuck import RULE as L4S207
from l4strace.rules.l4s208_kernel_packets_disagree import RULE as L4S208
from l4strace.rules.l4s209_alpha_scale_misread import RULE as L4S209
from l4strace.rules.l4s210_l4s_given_up import RULE as L4S210
from l4strace.rules.l4s211_own_bursts_marked import RULE as L4S211
from l4strace.rules.l4s212_ce_at_the_sender import RULE as L4S212
from l4strace.rules.l4s214_waits_for_feedback import RULE as L4S214
from l4strace.rules.l4s215_trains_share_codepoint import RULE as L4S215
from l4strace.rules.l4s216_reduces_without_marks import RULE as L4S216
from l4strace.rules.l4s301_fallback_misfire import RULE as L4S301
from l4strace.rules.l4s302_fallback_scaling_bug import RULE as L4S302
from l4strace.rules.l4s303_fallback_false_positive import RULE as L4S303
from l4strace.rules.l4s304_classic_aqm_missed import RULE as L4S304
from l4strace.rules.l4s305_fallback_inert import RULE as L4S305
from l4strace.rules.l4s306_fallback_absent import RULE as L4S306
from l4strace.rules.l4s307_detector_never_armed import RULE as L4S307
from l4strace.rules.l4s308_fallback_cuts_from_packets import RULE as L4S308
from l4strace.rules.l4s309_fallback_justified import RULE as L4S309
from l4strace.rules.l4s401_bottleneck import RULE as L4S401
from l4strace.rules.l4s402_no_ce import RULE as L4S402
from l4strace.rules.l4s403_every_packet_ce import RULE as L4S403
from l4strace.rules.l4s404_queue_over_target import RULE as L4S404
from l4strace.rules.l4s405_path_jitter import RULE as L4S405
from l4strace.rules.l4s406_bursty_link import RULE as L4S406
from l4strace.rules.l4s407_reordering import RULE as L4S407
from l4strace.rules.l4s408_path_changed import RULE as L4S408
from l4strace.rules.l4s409_marking_stopped import RULE as L4S409
from l4strace.rules.l4s410_loss_without_queue import RULE as L4S410
from l4strace.rules.l4s411_nqb_in_deep_queue import RULE as L4S411
from l4strace.rules.l4s501_starvation import RULE as L4S501
from l4strace.rules.l4s502_unfairness import RULE as L4S502
from l4strace.rules.l4s503_latency_spike import RULE as L4S503
from l4strace.rules.l4s504_under_utilisation import RULE as L4S504
from l4strace.rules.l4s505_slow_ramp import RULE as L4S505
from l4strace.rules.l4s601_no_fq_under_prague import RULE as L4S601
from l4strace.rules.l4s602_offloads_on import RULE as L4S602
from l4strace.rules.l4s603_tcp_ecn_cannot_negotiate import RULE as L4S603
from l4strace.rules.l4s604_fallback_parameter_off import RULE as L4S604
from l4strace.rules.l4s605_wrong_qdisc import RULE as L4S605
from l4strace.rules.l4s606_accecn_option_off import RULE as L4S606

RULES: tuple[Rule, ...] = (
    *(L4S001, L4S002, L4S003, L4S004, L4S005, L4S006, L4S007),
    *(L4S008, L4S009, L4S010, L4S011, L4S012, L4S013, L4S014),
    *(L4S101, L4S102, L4S103, L4S104, L4S105, L4S106, L4S107, L4S108, L4S109, L4S110),
    *(L4S111, L4S112, L4S113, L4S114, L4S115, L4S116, L4S117, L4S118, L4S119),
    *(L4S201, L4S202, L4S203, L4S204, L4S205, L4S206, L4S207, L4S208),
    *(L4S209, L4S210, L4S211, L4S212, L4S214, L4S215, L4S216),
    *(L4S301, L4S302, L4S303, L4S304, L4S305, L4S306, L4S307, L4S308, L4S309),
    *(L4S401, L4S402, L4S403, L4S404, L4S405, L4S406),
    *(L4S407, L4S408, L4S409, L4S410, L4S411),
    *(L4S501, L4S502, L4S503, L4S504, L4S505),
    *(L4S601, L4S602, L4S603, L4S604, L4S605, L4S606),
)

FAMILIES = {
    "0": "capture quality",
    "1": "negotiation and path",
    "2": "sender behavior",
    "3": "classic-ECN fallback",
    "4": "bottleneck and queue",
    "5": "coexistence",
    "6": "host setup",
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
