//! What the streams of this process and events of other processes know of each other.

use super::beside::What;
use super::shared_event::SharedEvent;
use super::stream::Streams;

impl Streams {
    /// Tells other processes, if they have an event, whether work before its last record is pending.
    pub(crate) fn set_pending(&self, event: u64, pending: bool) {
        if let Some(shared) = self.events.get(event).ok().and_then(|event| event.shared.as_ref()) {
            shared.set_pending(pending);
        }
    }

    /// Whether another process has recorded an event and its work has not ended.
    #[must_use]
    pub(crate) fn is_pending_elsewhere(&self, event: u64) -> bool {
        let shared = self.events.get(event).ok().and_then(|event| event.shared.as_ref());
        shared.is_some_and(SharedEvent::is_pending_elsewhere)
    }

    /// Whether the program has to wait for this.
    #[must_use]
    pub(crate) fn holds_up(&self, what: What) -> bool {
        let elsewhere = |event| self.is_pending_elsewhere(event);
        self.beside.holds_up(what) || matches!(what, What::Event(event) if elsewhere(event))
    }
}
