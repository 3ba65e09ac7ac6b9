//! Which capture stood nearer to the client. The sign of a one-way delay cannot tell, because the
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
pub fn from_client(mut sources: Vec<(u16, Halves)>) -> Vec<u16> {
    sources.sort_by(|a, b| b.1.nearer_by(&a.1).cmp(&0));
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
}
