"""Why feedback bounds the number of CE marks, where it does not give one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from l4strace.wording.quantities import count

ACE_MOST = 7
"""ACE has three bits (RFC 9768 section 3.2.2)."""


def why(sent: Mapping[str, Any], back: Mapping[str, Any] | None) -> str:
    """Half a sentence; empty where there is one number.

    ``sent`` is the row of `directions` of the data, ``back`` that of its ACKs.
    """
    least, most = sent["ce_fed_back_lo"], sent["ce_fed_back_hi"]
    if least is None or most is None or least == most:
        return ""
    segments, payload = sent["data_segments"] or 0, sent["payload_bytes"] or 0
    open_bytes = max(0, payload - (sent["acked_bytes"] or 0))
    unreported = round(open_bytes * segments / payload) if payload else 0
    if 2 * unreported >= most - least:
        return f"the capture ends before {count(unreported, 'packet')} were acknowledged"
    acks = 0 if back is None else back["packets"] or 0
    option = back is not None and back["accecn_options"]
    each = segments / acks if acks else 0.0
    if not option and each > ACE_MOST:
        return (
            f"ACE counts to {ACE_MOST}, and without the AccECN option one ACK reports "
            f"{each:.0f} packets on average"
        )
    return f"ACE counts to {ACE_MOST}, and ACKs are missing or out of order"
