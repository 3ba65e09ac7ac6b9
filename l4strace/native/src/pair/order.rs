//! Which capture stood nearer to the client. The sign of a one-way delay cannot show it: the
//! clocks may differ; the part of the round trip that each capture saw can.

/// Smallest round trips from one capture to the two ends, per conversation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Halves {
    /// From this capture to the server and back: data of the client until its ACK, or SYN to SYN/ACK.
    pub to_server_ns: Option<i64>,
    /// To the client and back.
    pub to_client_ns: Option<i64>,
}

impl Halves {
    /// Positive when `self` is nearer to the client than `other`: how much longer its way to the
    /// server is, and how much shorter that to the client.
    fn nearer_by(&self, other: &Halves) -> i64 {
        let difference = |a: Option<i64>, b: Option<i64>| a.zip(b).map_or(0, |(a, b)| a.saturating_sub(b));
        difference(self.to_server_ns, other.to_server_ns)
            .saturating_add(difference(other.to_client_ns, self.to_client_ns))
    }
}

/// Sources of one conversation from client to server; equals keep their order.
///
/// Each is weighed against all others: where captures know different halves, comparing them two by two
/// gives no order (a before b before c before a).
pub fn from_client(mut sources: Vec<(u16, Halves)>) -> Vec<u16> {
    let all: Vec<Halves> = sources.iter().map(|(_, halves)| *halves).collect();
    let weight = |own: &Halves| all.iter().map(|other| i128::from(own.nearer_by(other))).sum::<i128>();
    sources.sort_by_cached_key(|(_, own)| -weight(own));
    sources.into_iter().map(|(source, _)| source).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn halves(to_server: Option<i64>, to_client: Option<i64>) -> Halves {
        Halves { to_server_ns: to_server, to_client_ns: to_client }
    }

    #[test]
    fn the_longer_way_to_the_server_is_nearer_to_the_client() {
        assert_eq!(from_client(vec![(0, halves(Some(1), None)), (1, halves(Some(20), None))]), [1, 0]);
        assert_eq!(from_client(vec![(0, halves(None, Some(1))), (1, halves(None, Some(20)))]), [0, 1]);
        assert_eq!(from_client(vec![(0, halves(None, None)), (1, halves(None, Some(20)))]), [0, 1]);
    }

    #[test]
    fn captures_that_know_different_halves_have_an_order_too() {
        // Two by two, 0 comes before 1, 1 before 2, and 2 before 0.
        let cycle =
            [(0, halves(Some(2), None)), (1, halves(Some(1), Some(0))), (2, halves(Some(3), Some(100)))];
        for turn in 0..cycle.len() {
            let mut turned = cycle;
            turned.rotate_left(turn);
            assert_eq!(from_client(turned.to_vec()), [1, 0, 2]);
        }
        // Many of them: a sort that is given no order may panic.
        let mixed = |n: u16| match n % 3 {
            0 => halves(Some(i64::from(n * 7 % 31)), None),
            1 => halves(None, Some(i64::from(n * 5 % 29))),
            _ => halves(Some(i64::from(n * 3 % 23)), Some(i64::from(n % 19))),
        };
        assert_eq!(from_client((0..500).map(|n| (n, mixed(n))).collect()).len(), 500);
    }
}
