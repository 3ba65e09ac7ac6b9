//! Where the capture stood: near the client, near the server or between them.

/// Side of the flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Vantage {
    Client,
    Server,
    Middle,
    #[default]
    Unknown,
}

/// The half of the path to a side may take this share of the whole for the capture to stand there.
const NEAR: f64 = 0.15;

/// Below this RTT the hosts' own delays decide, not the path.
const TOO_SHORT_NS: i64 = 100_000;

impl Vantage {
    pub fn name(self) -> &'static str {
        match self {
            Vantage::Client => "client",
            Vantage::Server => "server",
            Vantage::Middle => "middle",
            Vantage::Unknown => "unknown",
        }
    }

    /// From the smallest RTT seen to the server and back, and to the client and back.
    pub fn from_halves(to_server_ns: Option<i64>, to_client_ns: Option<i64>) -> Self {
        let (Some(server), Some(client)) = (to_server_ns, to_client_ns) else { return Vantage::Unknown };
        let whole = server.saturating_add(client);
        if whole < TOO_SHORT_NS {
            return Vantage::Unknown;
        }
        let share = client as f64 / whole as f64;
        if share <= NEAR {
            Vantage::Client
        } else if share >= 1.0 - NEAR {
            Vantage::Server
        } else {
            Vantage::Middle
        }
    }

    /// At the receiver of a direction data is acknowledged as it arrives: nothing is in flight there.
    pub fn at_receiver(self, forward: bool) -> bool {
        self == if forward { Vantage::Server } else { Vantage::Client }
    }

    /// The window of the direction's sender cannot be seen from here.
    pub fn is_far(self, forward: bool) -> bool {
        match self {
            Vantage::Client => !forward,
            Vantage::Server => forward,
            Vantage::Middle => true,
            Vantage::Unknown => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_tell_the_side() {
        let ms = |n: i64| Some(n * 1_000_000);
        assert_eq!(Vantage::from_halves(ms(20), ms(1)), Vantage::Client);
        assert_eq!(Vantage::from_halves(ms(1), ms(20)), Vantage::Server);
        assert_eq!(Vantage::from_halves(ms(10), ms(10)), Vantage::Middle);
        assert_eq!(Vantage::from_halves(None, ms(10)), Vantage::Unknown);
    }
}
