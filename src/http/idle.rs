//! How many idle connections one client may hold: kept alive, or not yet asked anything over. One more, and the one that
//! has been idle the longest is closed, so that whoever asks is always let in.

use std::collections::{BTreeMap, HashMap};
use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;

use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

/// Idle connections of one client.
const MOST: usize = 64;

/// The idle connections of a server.
#[derive(Default, Debug)]
pub(super) struct IdleConnections(Mutex<Waiting>);

#[derive(Default, Debug)]
struct Waiting {
    /// The number of the next to become idle.
    next: u64,
    /// In the order in which they became idle.
    by_client: HashMap<IpAddr, BTreeMap<u64, CancellationToken>>,
}

/// One connection, idle until it serves a request.
#[derive(Debug)]
pub(super) struct Idle {
    all: Arc<IdleConnections>,
    /// `None` for who is not counted.
    client: Option<IpAddr>,
    /// Its number while it is idle.
    idle: Mutex<Option<u64>>,
    /// Cancelled once it has to make room.
    pub(super) crowded_out: CancellationToken,
}

/// While a request is served; the connection is idle again when this is dropped.
#[derive(Debug)]
pub(super) struct Serving(Arc<Idle>);

impl IdleConnections {
    /// A new connection of this client.
    pub(super) fn connected(self: &Arc<Self>, client: Option<IpAddr>) -> Arc<Idle> {
        let connected = Idle {
            all: Arc::clone(self),
            client: client.map(of_one_client),
            idle: Mutex::new(None),
            crowded_out: CancellationToken::new(),
        };
        connected.rest();
        Arc::new(connected)
    }
}

impl Idle {
    /// A request is served from now on.
    pub(super) fn serve(self: &Arc<Self>) -> Serving {
        self.leave();
        Serving(Arc::clone(self))
    }

    pub(super) fn is_idle(&self) -> bool {
        self.idle.lock().is_some()
    }

    pub(super) fn is_over_network(&self) -> bool {
        self.client.is_some()
    }

    fn rest(&self) {
        let mut waiting = self.all.0.lock();
        let number = waiting.next;
        waiting.next += 1;
        *self.idle.lock() = Some(number);
        let Some(client) = self.client else { return };
        let others = waiting.by_client.entry(client).or_default();
        others.insert(number, self.crowded_out.clone());
        if others.len() > MOST
            && let Some((_, longest)) = others.pop_first()
        {
            longest.cancel();
        }
    }

    fn leave(&self) {
        let mut waiting = self.all.0.lock();
        let (Some(number), Some(client)) = (self.idle.lock().take(), self.client) else { return };
        if let Some(others) = waiting.by_client.get_mut(&client) {
            others.remove(&number);
            if others.is_empty() {
                waiting.by_client.remove(&client);
            }
        }
    }
}

impl Drop for Idle {
    fn drop(&mut self) {
        self.leave();
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.0.rest();
    }
}

/// Whoever has one address of IPv6 has all that share its first half.
fn of_one_client(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() >> 64 << 64)),
        IpAddr::V4(address) => IpAddr::V4(address),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_idle_of_one_client_makes_room() {
        let all = Arc::new(IdleConnections::default());
        let from = |address: &str| all.connected(Some(address.parse().unwrap()));
        let mut ours: Vec<_> = (0..MOST).map(|_| from("192.0.2.1")).collect();
        let others = [from("192.0.2.2"), all.connected(None), from("2001:db8::1")];
        let crowded_out = |all: &[Arc<Idle>]| -> Vec<usize> {
            let indices = all.iter().enumerate();
            indices.filter(|(_, one)| one.crowded_out.is_cancelled()).map(|(index, _)| index).collect()
        };
        assert_eq!(crowded_out(&ours), [0; 0]);

        // The first one serves, and is idle again after all others.
        let serving = ours[0].serve();
        assert!(!ours[0].is_idle());
        ours.push(from("::ffff:192.0.2.1"));
        assert_eq!(crowded_out(&ours), [0; 0], "one serves, and is not counted");
        drop(serving);
        assert!(ours[0].is_idle());
        assert_eq!(crowded_out(&ours), [1]);
        drop(ours.remove(1));
        drop(ours.pop());
        ours.push(from("192.0.2.1"));
        assert_eq!(crowded_out(&ours), [0; 0], "what has ended is not counted");
        assert_eq!(crowded_out(&others), [0; 0]);

        let half: Vec<_> = (0..MOST).map(|number| from(&format!("2001:db8::1:{number}"))).collect();
        assert_eq!((crowded_out(&others), crowded_out(&half)), (vec![2], vec![]), "one network, one client");
        drop((ours, others, half));
        assert!(all.0.lock().by_client.is_empty());
    }
}
