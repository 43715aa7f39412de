//! L1.5: the cache of code and constants between an SM's instruction and constant caches and L2.
//!
//! It stands in the SM's port. A request for code or constants that hits is answered after the cache's latency and
//! never reaches the crossbar; one that misses fetches its whole line from L2, once for all that ask for the line
//! meanwhile.

use crate::config::GpuConfig;
use crate::memory::cache::Tags;
use crate::memory::{ALL_SECTORS, LINE_BYTES, Reply, Served, Token};
use std::collections::VecDeque;

/// A request that waits for a line from L2.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    line: u64,
    sectors: u8,
    token: Token,
}

/// The cache, with its requests in flight.
#[derive(Clone, Debug)]
pub(crate) struct SecondLevel {
    sm: u16,
    tags: Tags,
    hit_latency: u64,
    waiting: Vec<Waiting>,
    /// Answers, in order of the cycles at which they are due.
    answers: VecDeque<Reply>,
}

impl SecondLevel {
    /// The cache with the contents that earlier kernels left.
    #[must_use]
    pub(super) fn new(sm: u16, config: &GpuConfig, tags: Tags) -> SecondLevel {
        SecondLevel {
            sm,
            tags,
            hit_latency: u64::from(config.l15.hit_latency_cycles),
            waiting: Vec::new(),
            answers: VecDeque::new(),
        }
    }

    /// The contents, for the next kernel.
    #[must_use]
    pub(super) fn into_tags(self) -> Tags {
        self.tags
    }

    /// Whether the cache serves requests with a token.
    #[must_use]
    pub(super) fn serves(token: Token) -> bool {
        matches!(token, Token::InstructionCache | Token::ConstantCache)
    }

    /// Takes a request for sectors of a line; returns whether L2 has to be asked for the line.
    pub(super) fn ask(&mut self, now: u64, line: u64, sectors: u8, token: Token) -> bool {
        if self.tags.probe(line / LINE_BYTES) != 0 {
            let answer = self.answer(now + self.hit_latency, Waiting { line, sectors, token }, Served::L1);
            self.answers.push_back(answer);
            return false;
        }
        let first = self.waiting.iter().all(|waiting| waiting.line != line);
        self.waiting.push(Waiting { line, sectors, token });
        first
    }

    /// Accepts a line from L2; the requests that waited for it are answered in this cycle.
    pub(super) fn fill(&mut self, now: u64, reply: &Reply) {
        self.tags.insert(reply.line / LINE_BYTES, ALL_SECTORS, 0);
        let (here, rest): (Vec<Waiting>, Vec<Waiting>) =
            self.waiting.iter().partition(|waiting| waiting.line == reply.line);
        self.waiting = rest;
        for waiting in here.into_iter().rev() {
            let answer = self.answer(now, waiting, reply.served);
            self.answers.push_front(answer);
        }
    }

    /// The oldest answer, if it is due.
    pub(super) fn take(&mut self, now: u64) -> Option<Reply> {
        if self.answers.front()?.arrival > now {
            return None;
        }
        self.answers.pop_front()
    }

    /// Cycle of the next answer.
    #[must_use]
    pub(super) fn next_event(&self) -> Option<u64> {
        self.answers.front().map(|answer| answer.arrival)
    }

    /// Whether no request is in flight.
    #[must_use]
    pub(super) fn is_drained(&self) -> bool {
        self.waiting.is_empty() && self.answers.is_empty()
    }

    fn answer(&self, at: u64, Waiting { line, sectors, token }: Waiting, served: Served) -> Reply {
        let sm = self.sm;
        Reply { arrival: at, sm, line, sectors, flits: 0, token, served, sent_at: at, looked_up_after: 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::SetHash;
    use crate::memory::replacement::Replacement;
    use crate::testing::config;

    fn reply(line: u64, sectors: u8, token: Token) -> Reply {
        crate::sm::parts::mock::reply(line, sectors, token)
    }

    fn cache() -> SecondLevel {
        let set = ["l15.size_bytes=1024", "l15.sets=4", "l15.ways=2", "l15.hit_latency_cycles=20"];
        let config = config("gtx480", &set);
        let tags = Tags::new(4, 2, SetHash::Linear, Replacement::new(&config, "lru"));
        SecondLevel::new(0, &config, tags)
    }

    fn due(cache: &mut SecondLevel, now: u64) -> Vec<(u64, u8, Token)> {
        std::iter::from_fn(|| cache.take(now)).map(|reply| (reply.line, reply.sectors, reply.token)).collect()
    }

    #[test]
    fn a_line_comes_from_l2_once_for_all_that_ask_for_it() {
        let mut cache = cache();
        let (code, constants) = (Token::InstructionCache, Token::ConstantCache);
        assert!(cache.ask(5, 256, 0b1111, code));
        assert!(!cache.ask(6, 256, 0b0011, constants), "the line is on its way");
        assert!(cache.ask(6, 384, 0b1111, code));
        assert_eq!((due(&mut cache, 100), cache.next_event()), (vec![], None));
        cache.fill(200, &reply(256, ALL_SECTORS, code));
        assert_eq!(due(&mut cache, 200), [(256, 0b1111, code), (256, 0b0011, constants)]);
        assert!(!cache.is_drained());
        cache.fill(210, &reply(384, ALL_SECTORS, code));
        assert_eq!(due(&mut cache, 210), [(384, 0b1111, code)]);
        assert!(cache.is_drained());
    }

    #[test]
    fn a_hit_is_answered_after_the_latency_and_a_fill_at_once() {
        let mut cache = cache();
        let code = Token::InstructionCache;
        assert!(cache.ask(0, 0, 0b1111, code));
        cache.fill(10, &reply(0, ALL_SECTORS, code));
        assert_eq!(due(&mut cache, 10).len(), 1);
        assert!(!cache.ask(11, 0, 0b1100, code));
        assert!(cache.ask(12, 128, 0b1111, code));
        assert_eq!(cache.next_event(), Some(31));
        cache.fill(20, &reply(128, ALL_SECTORS, code));
        assert_eq!(due(&mut cache, 20), [(128, 0b1111, code)]);
        assert_eq!(due(&mut cache, 30), []);
        assert_eq!(due(&mut cache, 31), [(0, 0b1100, code)]);
    }
}
