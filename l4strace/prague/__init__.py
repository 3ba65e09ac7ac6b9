"""Prague as the kernel computes it: layouts, scales, detector steps.

What the other stages may rely on:

* `kernel.alpha` is 0 to 1 and `kernel.classic_ecn` 0 to 17 whatever the build's scale; both are
  null where the scale could not be told (`stats` row `alpha_scale_unknown`).
* Samples show the state before the probed call's own update. Those before an `init` event belong to
  the call on the SYN/ACK, with a zeroed private area.
* `detector` rows of origin `kernel` with `exact` are replayed from the logged carry: every step of
  the lab runs comes out to the bit. Without the carry each logarithm may be off by one, half a unit
  of score. `score_fixed` and `score_buggy` start at 0 where the log starts.
* A logged `detector.score` of 0 throughout while `score_fixed` rises means that the detector does
  not run or is switched off; `builds.build` says whether this build has one.
* `stats` names of logs: `kernel_log_not_joined`, `sockets_not_captured`, `clock_steps`,
  `clock_offset_wrong`, `no_trailer`, `truncated_file`, `*_lost`, `lines_unread`,
  `samples_missing`, `samples_thinned`, `events_of_others`, `alpha_scale_corrected`,
  `alpha_scale_unknown`, `note`.
"""
