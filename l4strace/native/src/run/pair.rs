//! Several captures of the same conversations: from tracked captures to matched ones on one clock.

use super::capture::Capture;
use super::Watcher;
use crate::pair::{Pairer, Pairing, Path};
use crate::read::Input;

/// Buffers (256 KiB each) between two looks at the watcher.
const STEPS: u32 = 32;

/// Matches the captures packet by packet, puts all their timestamps on the clock of the first, and
/// returns the paths; none when no conversation was seen twice.
pub fn pair<W: Watcher>(
    captures: &mut [Capture],
    inputs: &[Input],
    numbers: &[Vec<u32>],
    watcher: &mut W,
) -> Result<Vec<Path>, W::Error> {
    if captures.len() < 2 {
        return Ok(Vec::new());
    }
    let named = captures.iter().zip(inputs).zip(numbers);
    let tracked = named.map(|((capture, input), numbers)| capture.tracked(input, numbers)).collect();
    let Some(mut pairer) = Pairer::new(tracked)? else { return Ok(Vec::new()) };
    let mut more = true;
    while more {
        watcher.pause()?;
        for _ in 0..STEPS {
            more = more && pairer.step()?;
        }
    }
    let Pairing { clocks, paths, delays } = pairer.finish();
    for ((capture, clock), delays) in captures.iter_mut().zip(clocks).zip(delays) {
        capture.delays = delays;
        capture.shift(clock);
    }
    Ok(paths)
}
