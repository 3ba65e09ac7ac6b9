"""Prague as the kernel computes it: constants, scales, detector steps.

What the other stages may rely on:

* `kernel.alpha` is 0 to 1 and `kernel.classic_ecn` 0 to 17 whatever the build's scale; both are
  null where the scale is not known (`stats` row `alpha_scale_unknown`).
* Samples show the state before the probed call's own update. Those before an `init` event belong to
  the call on the SYN/ACK, with a zeroed private area.
* `detector` rows of origin `kernel` with `exact` are replayed from the logged carry: every step of
  the lab runs comes out to the bit. Without the carry each logarithm may be off by one, half a unit
  of score. `score_fixed` and `score_buggy` start at 0 where the log starts.
* A logged `detector.score` of 0 throughout while `score_fixed` rises means that the detector does
  not run or is switched off; `builds.build` shows whether this build has one.
* Names of `stats` rows are declared in `schema.words.Stat`.
"""
