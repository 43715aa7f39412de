//! Stand-ins for neighbours that the tests of several components share.

use super::memory_port::Requests;
use crate::memory::{Reply, RequestKind, Served, Token};

/// Stand-in for the port to L2: accepts a number of requests and records them.
#[derive(Default)]
pub(super) struct Sent {
    /// Requests that it still accepts.
    pub room: usize,
    /// Line, sectors, kind and token of the requests that it accepted.
    pub requests: Vec<(u64, u8, RequestKind, Token)>,
}

impl Sent {
    /// A port that accepts a number of requests.
    pub(super) fn with_room(room: usize) -> Sent {
        Sent { room, requests: Vec::new() }
    }
}

impl Requests for Sent {
    fn has_room(&self) -> bool {
        self.room > 0
    }

    fn has_room_for_two(&self) -> bool {
        self.room > 1
    }

    fn send(&mut self, line: u64, sectors: u8, kind: RequestKind, token: Token, _flight: u16) {
        assert!(self.has_room(), "a request without room");
        self.room -= 1;
        self.requests.push((line, sectors, kind, token));
    }
}

/// Sectors of a line that come from DRAM.
pub(super) fn reply(line: u64, sectors: u8, token: Token) -> Reply {
    let served = Served::Dram;
    Reply { arrival: 0, sm: 0, line, sectors, flits: 1, token, served, sent_at: 0, looked_up_after: 0 }
}
