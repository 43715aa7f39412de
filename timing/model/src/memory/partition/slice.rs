//! The stages of an L2 slice, from its reply port back to its request port: replies leave, requests that waited for DRAM
//! are answered, requests are looked up, packets are accepted.

use super::{Partition, Transfer};
use crate::memory::cache::{Evicted, Way};
use crate::memory::{Credit, LINE_BYTES, Reply, Request, RequestKind, flits, sector_bytes};

impl Partition {
    /// Finds a way for a line, evicting another if needed; none if every way waits for data, or if dirty data
    /// find no room in the queue to DRAM beside `others`.
    fn make_room(&mut self, index: usize, line: u64, others: usize) -> Option<usize> {
        let slice = &mut self.slices[index];
        let (way, victim) = match slice.tags.way(line) {
            Way::Resident(way) => return Some(way),
            Way::Free(way, victim) => (way, victim),
            Way::None => return None,
        };
        if let Some(victim) = victim.filter(|victim| victim.dirty != 0) {
            // A queue of capacity 1 takes both when it is empty.
            let places = slice.to_dram.len() + 1 + others;
            if places > self.params.to_dram && !slice.to_dram.is_empty() {
                return None;
            }
            let channel_address = self.map.channel_address(victim.line * LINE_BYTES, index as u32);
            slice.to_dram.push_back(Transfer {
                line: victim.line,
                channel_address,
                sectors: victim.dirty,
                write: true,
                kept: false,
            });
            self.stats.l2_writeback_sectors += u64::from(victim.dirty.count_ones());
        }
        slice.tags.occupy(way, line);
        Some(way)
    }

    /// Writes dirty lines back, which stay, if a store has made more lines of its set dirty than there may be. When the
    /// queue to DRAM is full, a later store to the set does it.
    fn bound_dirty_lines(&mut self, index: usize, way: usize) {
        let Some(most) = self.params.dirty_ways else { return };
        let slice = &mut self.slices[index];
        while slice.to_dram.len() < self.params.to_dram
            && let Some(cleaned) = slice.tags.clean_beyond(way, most)
        {
            let channel_address = self.map.channel_address(cleaned.line * LINE_BYTES, index as u32);
            let Evicted { line, dirty: sectors } = cleaned;
            slice.to_dram.push_back(Transfer { line, channel_address, sectors, write: true, kept: false });
            self.stats.l2_writeback_sectors += u64::from(sectors.count_ones());
        }
    }

    pub(super) fn send_reply(&mut self, index: usize) -> bool {
        let slice = &mut self.slices[index];
        let Some((ready, request)) = slice.replies.front().copied() else { return false };
        if ready > self.now || !slice.out_port.is_free(self.now) {
            return false;
        }
        slice.replies.pop_front();
        slice.refused = false;
        let data =
            if matches!(request.kind, RequestKind::Write { .. }) { 0 } else { sector_bytes(request.sectors) };
        let flits = flits(data, self.params.header_bytes, self.params.flit_bytes);
        let sent = slice.out_port.send(self.now, flits);
        self.stats.reply_packets += 1;
        self.stats.interconnect_flits += u64::from(flits);
        self.stats.reply_flits += u64::from(flits);
        self.replies.push(Reply {
            arrival: sent + self.params.reply_latency,
            sm: request.sm,
            line: request.line,
            sectors: request.sectors,
            flits,
            token: request.token,
            served: request.served,
            sent_at: request.sent_at,
            looked_up_after: request.looked_up_after,
        });
        true
    }

    pub(super) fn answer_woken(&mut self, index: usize) -> bool {
        let slice = &mut self.slices[index];
        if slice.busy_until > self.now || slice.replies.len() >= self.params.replies {
            return false;
        }
        let Some(request) = slice.woken.front().copied() else { return false };
        let line = self.map.home(request.line).slice_address / LINE_BYTES;
        let atomic = matches!(request.kind, RequestKind::Atomic { .. });
        // The line of an atomic may have been evicted again.
        if atomic && self.make_room(index, line, 0).is_none() {
            return false;
        }
        let slice = &mut self.slices[index];
        slice.refused = false;
        slice.woken.pop_front();
        let mut ready = self.now;
        slice.busy_until = self.now + self.params.access;
        if let RequestKind::Atomic { collisions } = request.kind {
            slice.tags.insert(line, 0, request.sectors);
            ready += self.params.atomic * u64::from(collisions.saturating_sub(1));
            // The results are put into the slice as the data of a store are.
            slice.busy_until = ready + self.params.store_cycles(request.sectors);
        }
        slice.replies.push_back((ready, request));
        true
    }

    /// Moves the requests that have passed the pipeline into the queue, as far as it has room.
    pub(super) fn leave_pipeline(&mut self, index: usize) -> bool {
        let slice = &mut self.slices[index];
        let mut progressed = false;
        while slice.queue.len() < self.params.queue
            && slice.pipeline.front().is_some_and(|(ready, _)| *ready <= self.now)
            && let Some((_, request)) = slice.pipeline.pop_front()
        {
            slice.queue.push_back(request);
            progressed = true;
        }
        progressed
    }

    pub(super) fn look_up(&mut self, index: usize) -> bool {
        let slice = &mut self.slices[index];
        if slice.busy_until > self.now || slice.refused {
            return false;
        }
        let Some(mut request) = slice.queue.front().copied() else { return false };
        request.looked_up_after = self.now.saturating_sub(request.sent_at) as u32;
        let done = match request.kind {
            RequestKind::Write { words } => self.write(index, &request, words),
            RequestKind::Read => self.read(index, &request, None),
            RequestKind::Atomic { collisions } => self.read(index, &request, Some(collisions)),
        };
        if done {
            let slice = &mut self.slices[index];
            slice.queue.pop_front();
            slice.busy_until = slice.busy_until.max(self.now + self.params.access);
            self.stats.l2_accesses += 1;
        } else {
            self.slices[index].refused = true;
        }
        done
    }

    fn write(&mut self, index: usize, request: &Request, words: u32) -> bool {
        if self.slices[index].replies.len() >= self.params.replies {
            return false;
        }
        let home = self.map.home(request.line);
        let line = home.slice_address / LINE_BYTES;
        if !self.params.keeps(request) {
            return self.write_past(index, request, line, home.channel_address & !(LINE_BYTES - 1));
        }
        let resident = self.slices[index].tags.contains(line);
        let Some(way) = self.make_room(index, line, 0) else { return false };
        let slice = &mut self.slices[index];
        slice.tags.write(way, request.sectors, words);
        slice.replies.push_back((self.now, *request));
        slice.busy_until = self.now + self.params.store_cycles(request.sectors);
        self.bound_dirty_lines(index, way);
        // The line is not read from DRAM: profilers count such a write as a hit.
        self.stats.l2_hits += 1;
        self.stats.l2_write_allocations += u64::from(!resident);
        true
    }

    /// A store that L2 does not keep.
    fn write_past(&mut self, index: usize, request: &Request, line: u64, channel_address: u64) -> bool {
        let slice = &mut self.slices[index];
        if slice.to_dram.len() >= self.params.to_dram {
            return false;
        }
        let sectors = request.sectors;
        slice.to_dram.push_back(Transfer { line, channel_address, sectors, write: true, kept: false });
        slice.replies.push_back((self.now, *request));
        self.stats.l2_misses += 1;
        true
    }

    fn read(&mut self, index: usize, request: &Request, atomic: Option<u8>) -> bool {
        let home = self.map.home(request.line);
        let line = home.slice_address / LINE_BYTES;
        let params = self.params;
        let slice = &mut self.slices[index];
        let kept = params.keeps(request);
        let missing = if kept { request.sectors & !slice.tags.valid(line) } else { request.sectors };
        if missing == 0 {
            if slice.replies.len() >= params.replies {
                return false;
            }
            slice.tags.probe(line);
            let mut ready = self.now;
            if let Some(collisions) = atomic {
                slice.tags.insert(line, 0, request.sectors);
                ready += params.atomic * u64::from(collisions.saturating_sub(1));
                slice.busy_until = ready + params.store_cycles(request.sectors);
            }
            slice.replies.push_back((ready, *request));
            self.stats.l2_hits += 1;
            return true;
        }
        let missing = if kept { params.fetched(missing) & !slice.tags.valid(line) } else { missing };
        let Ok(to_request) = slice.mshrs.check(line, missing) else { return false };
        if to_request != 0 && slice.to_dram.len() >= params.to_dram {
            return false;
        }
        if kept {
            slice.tags.probe(line);
        }
        if to_request == 0 {
            self.stats.l2_merges += 1;
        } else {
            if kept {
                let Some(way) = self.make_room(index, line, 1) else { return false };
                self.slices[index].tags.reserve(way, to_request);
            }
            let slice = &mut self.slices[index];
            slice.to_dram.push_back(Transfer {
                line,
                channel_address: home.channel_address & !(LINE_BYTES - 1),
                sectors: to_request,
                write: false,
                kept,
            });
            self.stats.l2_misses += 1;
        }
        self.slices[index].mshrs.add(line, missing, *request);
        true
    }

    pub(super) fn accept(&mut self, index: usize) -> bool {
        let slice = &mut self.slices[index];
        let Some(packet) = slice.arrivals.front() else { return false };
        if packet.arrival > self.now
            || slice.queue.len() >= self.params.queue
            || !slice.in_port.is_free(self.now)
        {
            return false;
        }
        let Some(packet) = slice.arrivals.pop_front() else { return false };
        let passed = slice.in_port.send(self.now, packet.flits);
        slice.pipeline.push_back((passed - 1 + self.params.latency, packet));
        self.credits.push(Credit { arrival: self.now + 1 + self.params.reply_latency, sm: packet.sm });
        true
    }
}
