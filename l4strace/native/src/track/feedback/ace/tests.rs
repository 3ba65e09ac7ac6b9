use super::*;

fn of(delivered: u32) -> Arrived {
    Arrived { delivered, ..Arrived::default() }
}

fn started() -> CeCount {
    let mut c = CeCount::default();
    c.start(ACE_START);
    c
}

#[test]
fn small_steps_are_exact_across_the_wrap() {
    let mut c = started();
    for i in 1..=20u8 {
        c.feed((ACE_START + i) & 7, of(2));
    }
    assert_eq!((c.lo, c.hi, c.best), (20, 20, 20));
}

#[test]
fn a_packet_behind_a_hole_is_counted_before_it_is_acknowledged() {
    let seven_and_one = Arrived { hidden: true, ..of(7) };
    let mut c = started();
    // Seven that the ACK covers and one that it does not, or none at all.
    assert_eq!(c.feed(5, seven_and_one), Step::default());
    c.at_hole();
    assert_eq!(c.feed(6, of(1)), Step { lo: 1, hi: 9, best: 1 });
    // No hole showed: nothing was hidden.
    c.feed(6, seven_and_one);
    assert_eq!(c.feed(7, of(1)), Step { lo: 1, hi: 1, best: 1 });
    // One packet acknowledged, and two marks.
    assert_eq!(c.feed(1, Arrived { hidden: true, ..of(1) }).lo, 2);
}

#[test]
fn ce_bytes_show_what_was_hidden_behind_a_hole() {
    let mut c = started();
    c.feed(5, Arrived { hidden: true, ..of(7) });
    c.narrow(CeBytes { bytes: 8000, shortest: 1000, longest: 1000 });
    assert_eq!((c.lo, c.hi, c.best), (8, 8, 8));
}

#[test]
fn lost_acks_leave_bounds() {
    let mut c = started();
    assert_eq!(c.feed(7, of(20)), Step { lo: 2, hi: 18, best: 2 });
}

#[test]
fn a_stretch_ack_after_no_loss_is_exact_unless_marks_come_in_runs() {
    let stretch = Arrived { delivered: 20, gapless: true, ..Arrived::default() };
    let mut c = started();
    feed(&mut c, 20, of(2));
    assert_eq!(c.feed(7, stretch), Step { lo: 2, hi: 2, best: 2 });
    for i in 1..=40u8 {
        c.feed((7 + i) & 7, of(1));
    }
    assert!(c.feed(7, stretch).hi > 7);
}

/// ACKs that report no mark.
fn feed(c: &mut CeCount, acks: u32, arrived: Arrived) {
    for _ in 0..acks {
        c.feed(5, arrived);
    }
}

/// ACKs for 10 to 44 packets, all of them marked, as receive offload merges them: (lo, hi, best).
fn merged(c: &mut CeCount, packets: u32) -> (u64, u64, u64) {
    let (mut sent, mut size) = (0, 10);
    while sent < packets {
        let delivered = size.min(packets - sent);
        sent += delivered;
        size = 10 + (size * 7 + 3) % 35;
        let ace = (u32::from(c.ace) + delivered) as u8 & 7;
        c.feed(ace, Arrived { delivered, gapless: true, ..Arrived::default() });
    }
    (c.lo, c.hi, c.best)
}

#[test]
fn a_width_of_nothing_needs_proof() {
    let (lo, hi, best) = merged(&mut started(), 6000);
    assert!(lo <= 6000 && 6000 <= hi, "{lo}..{hi}");
    assert!(best > 4500, "{best}");
}

#[test]
fn runs_of_marks_that_begin_late_are_within_the_bounds() {
    let mut c = started();
    // Marks are known to be rare for a long time.
    feed(&mut c, 500, of(2));
    feed(&mut c, 500, Arrived { delivered: 20, gapless: true, ..Arrived::default() });
    assert_eq!((c.lo, c.hi), (0, 0));
    let (lo, hi, _) = merged(&mut c, 6000);
    assert!(lo <= 6000 && 6000 <= hi, "{lo}..{hi}");
}

#[test]
fn stretch_acks_without_marks_are_no_proof_that_all_were_marked() {
    let mut c = started();
    for _ in 0..200 {
        c.feed(5, of(16));
        c.feed(5, of(21));
    }
    assert_eq!((c.lo, c.best), (0, 0));
}

#[test]
fn the_share_so_far_decides_between_the_bounds() {
    let mut c = started();
    for i in 1..=40u32 {
        c.feed(((5 + i) & 7) as u8, of(1)); // every packet is marked
    }
    let before = c.best;
    // 18 packets with ACKs lost, all marked: ACE moves by 18 modulo 8.
    c.feed(((5 + 40 + 18) & 7) as u8, of(18));
    assert_eq!(c.best - before, 18);
}

#[test]
fn an_ack_without_new_packets_cannot_wrap() {
    let mut c = started();
    assert_eq!(c.feed(4, of(0)), Step { lo: 0, hi: 7, best: 7 });
}

#[test]
fn the_option_decides_the_number_of_wraps() {
    let mut c = started();
    c.feed(5, of(20));
    assert_eq!((c.lo, c.hi), (0, 16));
    c.narrow(CeBytes { bytes: 8000, shortest: 1000, longest: 1000 });
    assert_eq!((c.lo, c.hi, c.best), (8, 8, 8));
}

#[test]
fn the_option_shows_a_run_of_marks_that_receive_offload_merged() {
    let mut c = started();
    for _ in 0..20 {
        c.feed(5, of(2));
    }
    // Eight marked packets, one ACK, nothing lost: ACE stands still.
    assert_eq!(c.feed(5, Arrived { delivered: 8, gapless: true, ..Arrived::default() }), Step::default());
    let moved = c.narrow(CeBytes { bytes: 8 * 1436, shortest: 1436, longest: 1436 });
    assert_eq!((c.lo, c.hi, c.best), (8, 8, 8));
    assert_eq!(moved, (8, 8, 8));
}

#[test]
fn the_naive_sum_runs_away_under_reordering() {
    let mut c = started();
    for ace in [6, 5, 6, 5, 6] {
        c.sum_naively(ace);
    }
    assert_eq!(c.naive, 1 + 7 + 1 + 7 + 1);
}
