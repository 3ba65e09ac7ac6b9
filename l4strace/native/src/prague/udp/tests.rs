use super::*;

/// Acknowledgements every ms of all packets sent 10 ms before, so many of them marked.
fn ran(controller: &mut Controller, from: i32, acks: i32, marked: bool) -> Vec<Done> {
    let counted = |n: i32, ce: i32| Counted { received: n, ce, lost: 0 };
    let (mut done, mut ce) = (Vec::new(), controller.counted.ce);
    for n in from..from + acks {
        let now = n * 1000;
        controller.packet_received(now, n, now - 10_000);
        ce += i32::from(marked);
        done.push(controller.ack(now, counted(n, ce), n + 10));
    }
    done
}

#[test]
fn it_begins_as_the_program_does() {
    let mut controller = Controller::new(1);
    assert_eq!((controller.packet, controller.packet_window, controller.rate), (156, 90, 12_500));
    controller.packet_received(10_842, 636_357, 158);
    controller.ack(10_842, Counted { received: 1, ce: 0, lost: 0 }, 1);
    // Its log has 41,715 B/s, which are 3 % more, packets of 506 bytes and a window of 2.
    assert_eq!((controller.rate, controller.packet, controller.packet_window), (40_500, 506, 2));
}

#[test]
fn the_first_reduction_takes_nothing_off_and_later_ones_half_of_alpha() {
    let mut controller = Controller::new(1);
    ran(&mut controller, 1, 20, false);
    let first = ran(&mut controller, 21, 1, true);
    assert_eq!(first, [Done::Marked { by: 0 }]);
    let later = ran(&mut controller, 22, 400, true);
    let cuts: Vec<u64> = later
        .iter()
        .filter_map(|done| match done {
            Done::Marked { by } => Some(*by),
            _ => None,
        })
        .collect();
    assert!((12..=16).contains(&cuts.len()), "one in 25 ms and a window: {}", cuts.len());
    assert!(cuts.iter().all(|&by| by > 0));
    assert!((0.4..0.7).contains(&controller.alpha()), "1 - (15/16)^15: {}", controller.alpha());
}

#[test]
fn a_loss_that_was_none_is_undone_and_a_timeout_begins_anew() {
    let mut controller = Controller::new(1);
    ran(&mut controller, 1, 60, false);
    let before = controller.window;
    controller.packet_received(61_000, 61, 51_000);
    assert_eq!(controller.ack(61_000, Counted { received: 60, ce: 0, lost: 1 }, 71), Done::Lost);
    assert!(controller.window < before * 6 / 10);
    controller.packet_received(62_000, 62, 52_000);
    controller.ack(62_000, Counted { received: 62, ce: 0, lost: 0 }, 72);
    assert!(controller.window >= before * 99 / 100);
    controller.reset(2_000_000);
    assert_eq!((controller.alpha, controller.rate, controller.packet_window), (0, MIN_RATE, MIN_WINDOW));
}

#[test]
fn whatever_is_reported_nothing_breaks() {
    let mut seed = 5u64;
    let mut random = || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (seed >> 32) as i32
    };
    for _ in 0..200 {
        let mut controller = Controller::new(random());
        for _ in 0..200 {
            controller.sends(u64::from(random() as u32 % 70_000));
            controller.packet_received(random(), random(), random());
            controller.rtt(random());
            controller.ack(random(), Counted { received: random(), ce: random(), lost: random() }, random());
        }
        controller.reset(random());
    }
}
