//! The SM's port to the crossbar: requests wait in the miss queue for a credit and for the port, replies for their
//! turn.

use super::second_level::SecondLevel;
use crate::config::GpuConfig;
use crate::memory::cache::Tags;
use crate::memory::port::{ClockRatio, Port};
use crate::memory::{ALL_SECTORS, Credit, Reply, Request, RequestKind, Served, Token, flits, sector_bytes};
use std::collections::VecDeque;

/// Where the caches of an SM send their requests.
pub(crate) trait Requests {
    /// Whether one more request is taken.
    fn has_room(&self) -> bool;

    /// Whether two more requests are taken at once.
    fn has_room_for_two(&self) -> bool;

    /// Takes a request for sectors of a line, for which there must be room, from an instruction in flight or
    /// [`NO_FLIGHT`].
    fn send(&mut self, line: u64, sectors: u8, kind: RequestKind, token: Token, flight: u16);
}

/// Miss queue, credits and both directions of an SM's port.
#[derive(Clone, Debug)]
pub(crate) struct MemoryPort {
    sm: u16,
    header_bytes: u32,
    flit_bytes: u32,
    request_latency: u64,
    queue: VecDeque<Request>,
    capacity: usize,
    out: Port,
    back: Port,
    credits: u32,
    all_credits: u32,
    /// Replies in flight, by arrival, and those delivered since the SM last ran.
    replies: VecDeque<Reply>,
    returning: VecDeque<Credit>,
    new_replies: Vec<Reply>,
    new_credits: Vec<Credit>,
    /// The cache of code and constants in front of the queue.
    second_level: Option<SecondLevel>,
    /// Cycle of the latest call of [`MemoryPort::answer_nearby`].
    now: u64,
}

impl MemoryPort {
    /// The port of an SM, with all of its credits, and what earlier kernels left in L1.5.
    #[must_use]
    pub(crate) fn new(
        sm: usize,
        config: &GpuConfig,
        clock: ClockRatio,
        second_level: Option<Tags>,
    ) -> MemoryPort {
        let net = &config.interconnect;
        MemoryPort {
            sm: sm as u16,
            header_bytes: net.header_bytes,
            flit_bytes: net.flit_bytes,
            request_latency: u64::from(net.request_latency_cycles),
            queue: VecDeque::new(),
            capacity: config.load_store.miss_queue_entries as usize,
            out: Port::new(clock),
            back: Port::new(clock),
            credits: net.sm_credits,
            all_credits: net.sm_credits,
            replies: VecDeque::new(),
            returning: VecDeque::new(),
            new_replies: Vec::new(),
            new_credits: Vec::new(),
            second_level: second_level.map(|tags| SecondLevel::new(sm as u16, config, tags)),
            now: 0,
        }
    }

    /// The contents of L1.5 for the next kernel, if there is one.
    #[must_use]
    pub(crate) fn into_second_level(self) -> Option<Tags> {
        self.second_level.map(SecondLevel::into_tags)
    }

    /// The next answer of L1.5 that is due in this cycle.
    #[inline]
    pub(crate) fn answer_nearby(&mut self, now: u64) -> Option<Reply> {
        self.now = now;
        self.second_level.as_mut()?.take(now)
    }

    /// Whether L1.5 keeps the line of a reply and answers in its place.
    #[inline]
    pub(crate) fn keep_nearby(&mut self, reply: &Reply) -> bool {
        match &mut self.second_level {
            Some(cache) if SecondLevel::serves(reply.token) => {
                cache.fill(self.now, reply);
                true
            }
            _ => false,
        }
    }

    /// Accepts replies and credits in flight to this SM; returns the earliest arrival.
    pub(crate) fn deliver(&mut self, replies: &mut Vec<Reply>, credits: &mut Vec<Credit>) -> Option<u64> {
        let arrivals =
            replies.iter().map(|reply| reply.arrival).chain(credits.iter().map(|credit| credit.arrival));
        let earliest = arrivals.min();
        self.new_replies.append(replies);
        self.new_credits.append(credits);
        earliest
    }

    /// Merges packets delivered between two epochs into those in flight, by arrival and then by sender.
    pub(crate) fn take_in(&mut self) {
        if !self.new_replies.is_empty() {
            self.replies.extend(self.new_replies.drain(..));
            self.replies.make_contiguous().sort_by_key(|reply| reply.arrival);
        }
        if !self.new_credits.is_empty() {
            self.returning.extend(self.new_credits.drain(..));
            self.returning.make_contiguous().sort_by_key(|credit| credit.arrival);
        }
    }

    /// Sends the oldest request, if a credit and the port are free; the packet carries its arrival cycle.
    #[inline]
    pub(crate) fn transmit(&mut self, now: u64) -> Option<Request> {
        while self.returning.front().is_some_and(|credit| credit.arrival <= now) {
            self.returning.pop_front();
            self.credits += 1;
        }
        if self.queue.is_empty() || self.credits == 0 || !self.out.is_free(now) {
            return None;
        }
        let mut request = self.queue.pop_front()?;
        self.credits -= 1;
        request.sent_at = now;
        request.arrival = self.out.send(now, request.flits) + self.request_latency;
        Some(request)
    }

    /// The next reply that passes the port in this cycle, if the SM has room for its data.
    #[inline]
    pub(crate) fn receive(
        &mut self,
        now: u64,
        has_room: impl FnOnce(&Reply, &MemoryPort) -> bool,
    ) -> Option<Reply> {
        let reply = self.replies.front().copied()?;
        if reply.arrival > now || !self.back.is_free(now) || !has_room(&reply, self) {
            return None;
        }
        self.replies.pop_front();
        self.back.send(now, reply.flits);
        Some(reply)
    }

    /// Whether a request leaves in this cycle.
    #[must_use]
    pub(crate) fn is_active(&self, now: u64) -> bool {
        !self.queue.is_empty() && self.out.is_free(now) && self.credits > 0
    }

    /// Whether sending is blocked until a credit in flight arrives.
    #[must_use]
    pub(crate) fn awaits_credit(&self) -> bool {
        !self.has_room() && self.credits == 0 && !self.returning.is_empty()
    }

    /// Earliest cycle in which a packet can pass in either direction, or a credit comes.
    #[must_use]
    pub(crate) fn next_event(&self) -> Option<u64> {
        let reply = self.replies.front().map(|reply| reply.arrival.max(self.back.free_at_core()));
        let credit = self.returning.front().map(|credit| credit.arrival);
        let request = (!self.queue.is_empty() && self.credits > 0).then(|| self.out.free_at_core());
        let nearby = self.second_level.as_ref().and_then(SecondLevel::next_event);
        [reply, credit, request, nearby].into_iter().flatten().min()
    }

    /// Whether no request waits, nothing is in flight, and all credits have returned.
    #[must_use]
    pub(crate) fn is_drained(&self) -> bool {
        self.queue.is_empty()
            && self.credits == self.all_credits
            && self.replies.is_empty()
            && self.new_replies.is_empty()
            && self.second_level.as_ref().is_none_or(SecondLevel::is_drained)
    }

    /// State of the port, for the watchdog's report.
    #[must_use]
    pub(crate) fn describe(&self) -> String {
        format!(
            "  port: {} in the miss queue, {} of {} credits; on their way: {} replies, {} credits\n",
            self.queue.len(),
            self.credits,
            self.all_credits,
            self.replies.len() + self.new_replies.len(),
            self.returning.len() + self.new_credits.len()
        )
    }
}

impl Requests for MemoryPort {
    #[inline]
    fn has_room(&self) -> bool {
        self.queue.len() < self.capacity
    }

    /// A queue of capacity 1 takes two when it is empty.
    fn has_room_for_two(&self) -> bool {
        self.queue.is_empty() || self.queue.len() + 2 <= self.capacity
    }

    fn send(&mut self, line: u64, mut sectors: u8, kind: RequestKind, token: Token, flight: u16) {
        if let Some(cache) = &mut self.second_level
            && SecondLevel::serves(token)
        {
            if !cache.ask(self.now, line, sectors, token) {
                return;
            }
            sectors = ALL_SECTORS;
        }
        let data = if kind == RequestKind::Read { 0 } else { sector_bytes(sectors) };
        self.queue.push_back(Request {
            arrival: 0,
            sm: self.sm,
            line,
            sectors,
            flits: flits(data, self.header_bytes, self.flit_bytes),
            kind,
            token,
            served: Served::L2,
            sent_at: 0,
            looked_up_after: 0,
            flight,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::NO_FLIGHT;
    use crate::testing::config;

    /// Core and crossbar at one clock, packets of 32-byte flits with 8 bytes of header.
    fn port(set: &[&str]) -> MemoryPort {
        let mut all = vec![
            "interconnect.header_bytes=8",
            "interconnect.flit_bytes=32",
            "interconnect.request_latency_cycles=5",
            "interconnect.sm_credits=2",
            "load_store.miss_queue_entries=3",
        ];
        all.extend(set);
        let config = config("titanx-pascal", &all);
        MemoryPort::new(3, &config, ClockRatio::new(1, 1), None)
    }

    fn reply(arrival: u64, line: u64, flits: u8) -> Reply {
        Reply {
            arrival,
            sm: 3,
            line,
            sectors: 1,
            flits,
            token: Token::L1Fill,
            served: Served::L2,
            sent_at: 0,
            looked_up_after: 0,
        }
    }

    #[test]
    fn requests_leave_in_order_at_the_rate_of_the_port_and_as_credits_allow() {
        let mut port = port(&[]);
        // 128 bytes and a header are 5 flits, a read is one.
        port.send(0, 0b1111, RequestKind::Write { words: u32::MAX }, Token::StoreDone(0), NO_FLIGHT);
        port.send(128, 1, RequestKind::Read, Token::L1Fill, NO_FLIGHT);
        port.send(256, 1, RequestKind::Read, Token::L1Fill, NO_FLIGHT);
        assert!(!port.has_room());
        let first = port.transmit(10).unwrap();
        assert_eq!((first.line, first.flits, first.sent_at, first.arrival), (0, 5, 10, 10 + 5 + 5));
        assert_eq!(port.next_event(), Some(15));
        assert!((11..15).all(|now| port.transmit(now).is_none()), "the port is taken by five flits");
        let second = port.transmit(15).unwrap();
        assert_eq!((second.line, second.flits, second.arrival), (128, 1, 15 + 1 + 5));
        assert!(port.transmit(30).is_none(), "both credits are used");
        assert_eq!(port.next_event(), None);
        port.deliver(&mut Vec::new(), &mut vec![Credit { arrival: 40, sm: 3 }]);
        port.take_in();
        assert_eq!(port.next_event(), Some(40));
        assert!(port.transmit(39).is_none());
        assert_eq!(port.transmit(40).map(|request| request.line), Some(256));
    }

    #[test]
    fn replies_pass_by_arrival_at_the_rate_of_the_port_and_wait_for_room() {
        let mut port = port(&[]);
        let earliest = port.deliver(&mut vec![reply(9, 2, 1), reply(7, 1, 2)], &mut Vec::new());
        assert_eq!(earliest, Some(7));
        port.take_in();
        assert_eq!(port.next_event(), Some(7));
        assert!(port.receive(6, |_, _| true).is_none());
        assert!(port.receive(7, |_, _| false).is_none(), "no room");
        assert_eq!(port.receive(8, |_, _| true).map(|reply| reply.line), Some(1));
        assert!(port.receive(9, |_, _| true).is_none(), "two flits take two cycles");
        assert_eq!(port.next_event(), Some(10));
        assert_eq!(port.receive(10, |_, _| true).map(|reply| reply.line), Some(2));
        assert!(port.is_drained());
    }

    #[test]
    fn a_queue_of_one_takes_two_requests_when_it_is_empty() {
        let mut port = port(&["load_store.miss_queue_entries=1"]);
        assert!(port.has_room_for_two());
        port.send(0, 1, RequestKind::Read, Token::L1Fill, NO_FLIGHT);
        assert!(!port.has_room_for_two() && !port.has_room());
    }
}
