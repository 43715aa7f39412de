//! Log of the events in a turn of a block's warps, to be visited in the order of a scheduler.

/// Events of one turn, each at a step of a warp.
#[derive(Clone, Debug)]
pub(crate) struct Turns<E> {
    warps: Vec<Vec<(u32, E)>>,
    next: Vec<usize>,
}

impl<E> Turns<E> {
    /// An empty log for a number of warps.
    #[must_use]
    pub(crate) fn new(warps: usize) -> Turns<E> {
        Turns { warps: (0..warps).map(|_| Vec::new()).collect(), next: vec![0; warps] }
    }

    /// Adds an event; steps of a warp ascend.
    #[inline]
    pub(crate) fn push(&mut self, warp: usize, step: u32, event: E) {
        self.warps[warp].push((step, event));
    }

    /// Visits the events as if warps executed one instruction each in turn (loose round robin).
    pub(crate) fn round_robin(&mut self, mut each: impl FnMut(usize, &E)) {
        self.next.fill(0);
        loop {
            let step = |(events, next): (&Vec<(u32, E)>, &usize)| events.get(*next).map(|event| event.0);
            let Some(step) = self.warps.iter().zip(&self.next).filter_map(step).min() else { break };
            for (warp, (events, next)) in self.warps.iter().zip(&mut self.next).enumerate() {
                while let Some((_, event)) = events.get(*next).filter(|event| event.0 == step) {
                    each(warp, event);
                    *next += 1;
                }
            }
        }
    }

    /// Visits the events as if each warp ran as long as it can (greedy then oldest).
    pub(crate) fn greedy(&self, mut each: impl FnMut(usize, &E)) {
        for (warp, events) in self.warps.iter().enumerate() {
            events.iter().for_each(|(_, event)| each(warp, event));
        }
    }

    /// Removes all events.
    pub(crate) fn clear(&mut self) {
        self.warps.iter_mut().for_each(Vec::clear);
    }
}
