//! Streams, events and capture.
//!
//! Work is done when it is submitted, so a stream holds no queue: it is empty, or it captures. A capture
//! belongs to a graph under construction that several streams may join (by waiting for an event that one of
//! them has recorded); each keeps the nodes on which its next piece of work depends.

use super::beside::{Beside, LEGACY, Lane};
use super::graph::NodeId;
use super::node::Nodes;
use super::shared_event::SharedEvent;
use super::user_object::UserObject;
use super::work::{Graph, Work};
use crate::error::{Outcome, Status};
use crate::handles::{Handles, Kind};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

/// The default stream of a thread.
pub(crate) const PER_THREAD: u64 = 2;

/// A stream.
#[derive(Debug, Default)]
pub struct Stream {
    /// Flags at its creation; bit 0: it does not wait for the legacy stream.
    pub flags: u32,
    /// Priority, the lower the more urgent.
    pub priority: i32,
    /// Its part in a capture.
    pub capture: Option<Joined>,
    /// Hints that programs set and read back, by the numbers of launch attributes.
    hints: BTreeMap<u32, [u64; 8]>,
}

/// Attributes of streams that are hints: windows of the L2 cache, ways to wait, domains of memory ordering.
const HINTS: [u32; 4] = [1, 3, 9, 10];
/// The attribute that is the priority.
const PRIORITY: u32 = 8;

/// A stream's part in a capture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Joined {
    /// Handle of the capture.
    pub capture: u64,
    /// Nodes on which the stream's next work depends.
    pub after: BTreeSet<NodeId>,
}

/// A graph under construction.
#[derive(Debug)]
pub struct Capture {
    /// The captured work.
    pub graph: Graph,
    /// Handle of the resulting graph, if the program already has one.
    pub into: Option<u64>,
    /// Whether the program passed that graph at the start; it may contain work that no stream waits for.
    pub given: bool,
    /// The stream that has to end it.
    pub origin: u64,
    /// Whether an error has invalidated it.
    pub invalid: bool,
    /// A number that is never used again.
    pub id: u64,
}

/// An event.
#[derive(Debug, Default)]
pub struct Event {
    /// Flags at its creation; bit 1: without times.
    pub flags: u32,
    /// Time at which it was last reached.
    pub reached: Option<Instant>,
    /// Captured work that it represents, if it was recorded in a capture.
    pub captured: Option<Joined>,
    /// What other processes see of it, if it was shared with them or is theirs.
    pub shared: Option<SharedEvent>,
}

/// Flags of events that other processes may open, and of events without times.
pub(crate) const EVENT_INTERPROCESS: u32 = 4;
pub(crate) const EVENT_DISABLE_TIMING: u32 = 2;

/// All streams, events, captures and graphs.
#[derive(Debug)]
pub struct Streams {
    /// Streams that programs made.
    streams: Handles<Stream>,
    /// Events.
    pub events: Handles<Event>,
    captures: Handles<Capture>,
    per_thread: Stream,
    captures_begun: u64,
    /// Graphs.
    pub graphs: Handles<Graph>,
    /// Instantiated graphs.
    pub executables: Handles<Graph>,
    /// Handles of nodes.
    pub nodes: Nodes,
    /// Objects of the program that graphs retain.
    pub user_objects: Handles<UserObject>,
    /// Launches that run concurrently with the program.
    pub beside: Beside,
}

impl Default for Streams {
    fn default() -> Streams {
        Streams {
            streams: Handles::new(Kind::Stream),
            events: Handles::new(Kind::Event),
            captures: Handles::new(Kind::Graph),
            per_thread: Stream::default(),
            captures_begun: 0,
            graphs: Handles::new(Kind::Graph),
            executables: Handles::new(Kind::Executable),
            nodes: Nodes::default(),
            user_objects: Handles::new(Kind::UserObject),
            beside: Beside::default(),
        }
    }
}

/// Result of a submission.
#[derive(Debug, PartialEq)]
pub enum Submitted {
    /// The work must be executed now.
    Now(Work),
    /// It has become a node.
    Captured(NodeId),
}

impl Streams {
    /// Makes a stream.
    pub fn create(&mut self, flags: u32, priority: i32) -> u64 {
        self.streams.insert(Stream { flags, priority, ..Stream::default() })
    }

    /// Ends all streams, events and captures.
    pub fn clear(&mut self) {
        self.streams.clear();
        self.events.clear();
        self.captures.clear();
        self.per_thread = Stream::default();
    }

    /// An attribute of a stream; the legacy stream has the defaults.
    ///
    /// # Errors
    /// When there is no such stream or attribute.
    pub fn attribute(&self, stream: u64, number: u32) -> Outcome<[u64; 8]> {
        let found = self.get(stream)?;
        let priority = found.map_or(0, |s| s.priority);
        match number {
            PRIORITY => Ok([priority.cast_unsigned().into(), 0, 0, 0, 0, 0, 0, 0]),
            hint if HINTS.contains(&hint) => {
                Ok(found.and_then(|s| s.hints.get(&hint).copied()).unwrap_or_default())
            }
            _ => Err(Status::INVALID_VALUE),
        }
    }

    /// Sets an attribute of a stream, other than the legacy one.
    ///
    /// # Errors
    /// When there is no such stream, or the attribute cannot be set.
    pub fn set_attribute(&mut self, stream: u64, number: u32, value: [u64; 8]) -> Outcome {
        let found = self.get_mut(stream)?;
        match number {
            hint if HINTS.contains(&hint) => drop(found.map(|s| s.hints.insert(hint, value))),
            PRIORITY => drop(found.map(|s| s.priority = (value[0] as u32).cast_signed())),
            _ => return Err(Status::INVALID_VALUE),
        }
        Ok(())
    }

    /// Copies the attributes of one stream to another.
    ///
    /// # Errors
    /// When there is no such stream.
    pub fn copy_attributes(&mut self, to: u64, from: u64) -> Outcome {
        let hints = self.get(from)?.map(|s| s.hints.clone()).unwrap_or_default();
        if let Some(stream) = self.get_mut(to)? {
            stream.hints = hints;
        }
        Ok(())
    }

    /// Ends a stream.
    ///
    /// # Errors
    /// When there is no such stream, or it is a default one.
    pub fn destroy(&mut self, stream: u64) -> Outcome {
        let ended = self.streams.remove(stream)?;
        // Work captured by a stream that only joined stays in the graph; the end of the capture checks that
        // the origin waits for it.
        if let Some(joined) = ended.capture
            && self.captures.get(joined.capture).is_ok_and(|capture| capture.origin == stream)
        {
            self.finish_capture(joined.capture)?;
        }
        Ok(())
    }

    /// A stream; the legacy one has no state and never captures.
    ///
    /// # Errors
    /// When there is no such stream.
    pub fn get(&self, stream: u64) -> Outcome<Option<&Stream>> {
        match stream {
            0 | LEGACY => Ok(None),
            PER_THREAD => Ok(Some(&self.per_thread)),
            other => self.streams.get(other).map(Some),
        }
    }

    /// The properties of a stream that determine order.
    pub(crate) fn lane(&self, stream: u64) -> Lane {
        Lane::new(stream, self.get(stream).ok().flatten().map_or(0, |s| s.flags))
    }

    fn get_mut(&mut self, stream: u64) -> Outcome<Option<&mut Stream>> {
        match stream {
            0 | LEGACY => Ok(None),
            PER_THREAD => Ok(Some(&mut self.per_thread)),
            other => self.streams.get_mut(other).map(Some),
        }
    }

    /// The capture that a stream takes part in.
    ///
    /// # Errors
    /// When there is no such stream.
    pub fn capture_of(&self, stream: u64) -> Outcome<Option<(&Joined, &Capture)>> {
        let Some(joined) = self.get(stream)?.and_then(|s| s.capture.as_ref()) else { return Ok(None) };
        Ok(Some((joined, self.captures.get(joined.capture)?)))
    }

    /// Replaces or extends the dependencies of a capturing stream's next work.
    ///
    /// # Errors
    /// When the stream does not capture, or a node is unknown.
    pub fn set_capture_dependencies(
        &mut self,
        stream: u64,
        nodes: BTreeSet<NodeId>,
        replace: bool,
    ) -> Outcome {
        let (_, capture) = self.capture_of(stream)?.ok_or(Status::ILLEGAL_STATE)?;
        for &node in &nodes {
            capture.graph.node(node)?;
        }
        let stream = self.get_mut(stream)?.ok_or(Status::ILLEGAL_STATE)?;
        let joined = stream.capture.as_mut().ok_or(Status::ILLEGAL_STATE)?;
        if replace {
            joined.after = nodes;
        } else {
            joined.after.extend(nodes);
        }
        Ok(())
    }

    /// The graph under construction that has a handle.
    #[must_use]
    pub fn building(&self, graph: u64) -> Option<&Graph> {
        self.captures.iter().find(|(_, c)| c.into == Some(graph)).map(|(_, c)| &c.graph)
    }

    /// The same, to change.
    pub fn building_mut(&mut self, graph: u64) -> Option<&mut Graph> {
        self.captures.iter_mut().find(|c| c.into == Some(graph)).map(|c| &mut c.graph)
    }

    /// Gives the graph that a stream's capture builds a handle.
    ///
    /// # Errors
    /// When the stream does not capture.
    pub fn name_capture(&mut self, stream: u64, graph: u64) -> Outcome {
        let capture = self.get(stream)?.and_then(|s| s.capture.as_ref()).map(|j| j.capture);
        self.captures.get_mut(capture.ok_or(Status::ILLEGAL_STATE)?)?.into = Some(graph);
        Ok(())
    }

    /// Whether any stream captures.
    #[must_use]
    pub fn any_capture(&self) -> bool {
        self.captures.iter().next().is_some()
    }

    /// Accepts a piece of work: a capturing stream makes it a node, any other stream has it executed now.
    ///
    /// # Errors
    /// When there is no such stream, or its capture is invalid, or the work cannot be captured.
    pub fn submit(&mut self, stream: u64, work: Work) -> Outcome<Submitted> {
        let Some(joined) = self.get(stream)?.and_then(|s| s.capture.clone()) else {
            return self.submit_uncaptured(stream, work);
        };
        let capture = self.captures.get_mut(joined.capture)?;
        if capture.invalid {
            return Err(Status::STREAM_CAPTURE_INVALIDATED);
        }
        match work {
            Work::Record(event) => {
                self.events.get_mut(event)?.captured = Some(joined);
                Ok(Submitted::Captured(NodeId::MAX))
            }
            Work::Wait(event) => {
                let Some(recorded) = self.events.get(event)?.captured.clone() else {
                    capture.invalid = true;
                    return Err(Status::STREAM_CAPTURE_ISOLATION);
                };
                if recorded.capture != joined.capture {
                    capture.invalid = true;
                    return Err(Status::STREAM_CAPTURE_MERGE);
                }
                self.join(stream, recorded)?;
                Ok(Submitted::Captured(NodeId::MAX))
            }
            work => {
                let node = capture.graph.add(work, joined.after)?;
                if let Some(joined) = self.get_mut(stream)?.and_then(|s| s.capture.as_mut()) {
                    joined.after = BTreeSet::from([node]);
                }
                Ok(Submitted::Captured(node))
            }
        }
    }

    fn submit_uncaptured(&mut self, stream: u64, work: Work) -> Outcome<Submitted> {
        match work {
            Work::Record(event) => {
                self.events.get_mut(event)?.captured = None;
                Ok(Submitted::Now(work))
            }
            Work::Wait(event) => {
                // Waiting for captured work makes the stream part of the capture.
                match self.events.get(event)?.captured.clone() {
                    Some(recorded) if self.captures.get(recorded.capture).is_ok() => {
                        if matches!(stream, 0 | LEGACY) {
                            return Err(Status::STREAM_CAPTURE_IMPLICIT);
                        }
                        self.join(stream, recorded)?;
                        Ok(Submitted::Captured(NodeId::MAX))
                    }
                    Some(_) => Err(Status::CAPTURED_EVENT),
                    None => Ok(Submitted::Now(work)),
                }
            }
            work => {
                // The legacy stream would have to wait for those that capture.
                if matches!(stream, 0 | LEGACY) && self.blocking_capture() {
                    return Err(Status::STREAM_CAPTURE_IMPLICIT);
                }
                Ok(Submitted::Now(work))
            }
        }
    }

    fn blocking_capture(&self) -> bool {
        self.any_capture() && self.streams.iter().any(|(_, s)| s.capture.is_some() && s.flags & 1 == 0)
    }

    fn join(&mut self, stream: u64, recorded: Joined) -> Outcome {
        let stream = self.get_mut(stream)?.ok_or(Status::STREAM_CAPTURE_IMPLICIT)?;
        match &mut stream.capture {
            Some(joined) => joined.after.extend(recorded.after),
            None => stream.capture = Some(recorded),
        }
        Ok(())
    }

    /// Starts a capture, into the program's graph if one is given, after nodes of it.
    ///
    /// # Errors
    /// When the stream cannot capture or does already.
    pub fn start_capture(&mut self, stream: u64, into: Option<(u64, Graph, BTreeSet<NodeId>)>) -> Outcome {
        match self.get(stream)? {
            None => return Err(Status::STREAM_CAPTURE_UNSUPPORTED),
            Some(s) if s.capture.is_some() => return Err(Status::ILLEGAL_STATE),
            Some(_) => {}
        }
        self.captures_begun += 1;
        let (into, graph, after) = match into {
            Some((handle, graph, after)) => (Some(handle), graph, after),
            None => (None, Graph::default(), BTreeSet::new()),
        };
        let given = into.is_some();
        let capture = Capture { graph, into, given, origin: stream, invalid: false, id: self.captures_begun };
        let capture = self.captures.insert(capture);
        if let Some(stream) = self.get_mut(stream)? {
            stream.capture = Some(Joined { capture, after });
        }
        Ok(())
    }

    /// Ends a capture: returns the graph, and the program's graph that receives it.
    ///
    /// # Errors
    /// When the stream did not begin it, when it is invalid, or when another stream has work in it that the
    /// stream does not wait for. The capture is over in any case but the first.
    pub fn stop_capture(&mut self, stream: u64) -> Outcome<Capture> {
        let Some(joined) = self.get(stream)?.and_then(|s| s.capture.clone()) else {
            return Err(Status::ILLEGAL_STATE);
        };
        if self.captures.get(joined.capture)?.origin != stream {
            return Err(Status::STREAM_CAPTURE_UNMATCHED);
        }
        let capture = self.finish_capture(joined.capture)?;
        if capture.invalid {
            return Err(Status::STREAM_CAPTURE_INVALIDATED);
        }
        if capture.graph.leaves().difference(&joined.after).next().is_some() && !capture.given {
            return Err(Status::STREAM_CAPTURE_UNJOINED);
        }
        Ok(capture)
    }

    /// Removes a capture; no stream takes part in it any more.
    fn finish_capture(&mut self, handle: u64) -> Outcome<Capture> {
        let capture = self.captures.remove(handle)?;
        for stream in self.streams.iter_mut().chain([&mut self.per_thread]) {
            stream.capture.take_if(|joined| joined.capture == handle);
        }
        Ok(capture)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn captured(streams: &mut Streams, stream: u64) -> NodeId {
        match streams.submit(stream, Work::Empty) {
            Ok(Submitted::Captured(node)) => node,
            other => panic!("{other:?}"),
        }
    }

    /// A stream that only joined may be destroyed before the capture ends; destroying the origin ends the
    /// capture.
    #[test]
    fn streams_end_while_they_capture() {
        let mut streams = Streams::default();
        let (fork, join) = (streams.events.insert(Event::default()), streams.events.insert(Event::default()));
        let begin = |streams: &mut Streams, joins: bool| {
            let (a, b) = (streams.create(1, 0), streams.create(1, 0));
            streams.start_capture(a, None).unwrap();
            streams.submit(a, Work::Record(fork)).unwrap();
            streams.submit(b, Work::Wait(fork)).unwrap();
            captured(streams, b);
            if joins {
                streams.submit(b, Work::Record(join)).unwrap();
                streams.submit(a, Work::Wait(join)).unwrap();
            }
            (a, b)
        };
        let (a, b) = begin(&mut streams, true);
        streams.destroy(b).unwrap();
        assert_eq!(streams.stop_capture(a).map(|c| c.graph.nodes().count()), Ok(1));
        let (a, b) = begin(&mut streams, false);
        streams.destroy(b).unwrap();
        assert_eq!(streams.stop_capture(a).map(drop), Err(Status::STREAM_CAPTURE_UNJOINED));
        let (a, b) = begin(&mut streams, false);
        streams.destroy(a).unwrap();
        assert!(!streams.any_capture() && streams.capture_of(b).unwrap().is_none());
    }

    #[test]
    fn streams_fork_and_join_in_a_capture() {
        let mut streams = Streams::default();
        let (a, b) = (streams.create(1, 0), streams.create(1, 0));
        let (fork, join) = (streams.events.insert(Event::default()), streams.events.insert(Event::default()));
        streams.start_capture(a, None).unwrap();
        let first = captured(&mut streams, a);
        streams.submit(a, Work::Record(fork)).unwrap();
        streams.submit(b, Work::Wait(fork)).unwrap();
        let left = captured(&mut streams, a);
        let right = captured(&mut streams, b);
        streams.submit(b, Work::Record(join)).unwrap();
        streams.submit(a, Work::Wait(join)).unwrap();
        let last = captured(&mut streams, a);
        let graph = streams.stop_capture(a).unwrap().graph;
        let edges: Vec<_> = graph.edges().collect();
        assert_eq!(edges, [(first, left), (first, right), (left, last), (right, last)]);
        assert_eq!(streams.submit(b, Work::Empty), Ok(Submitted::Now(Work::Empty)));
    }

    #[test]
    fn unjoined_work_is_an_error() {
        let mut streams = Streams::default();
        let (a, b) = (streams.create(1, 0), streams.create(1, 0));
        let fork = streams.events.insert(Event::default());
        streams.start_capture(a, None).unwrap();
        streams.submit(a, Work::Record(fork)).unwrap();
        streams.submit(b, Work::Wait(fork)).unwrap();
        captured(&mut streams, b);
        assert_eq!(streams.stop_capture(b).err(), Some(Status::STREAM_CAPTURE_UNMATCHED));
        assert_eq!(streams.stop_capture(a).err(), Some(Status::STREAM_CAPTURE_UNJOINED));
        assert_eq!(streams.stop_capture(a).err(), Some(Status::ILLEGAL_STATE));
    }

    #[test]
    fn the_legacy_stream_neither_captures_nor_waits_for_captures() {
        let mut streams = Streams::default();
        assert_eq!(streams.start_capture(0, None), Err(Status::STREAM_CAPTURE_UNSUPPORTED));
        let a = streams.create(0, 0);
        streams.start_capture(a, None).unwrap();
        assert_eq!(streams.submit(0, Work::Empty), Err(Status::STREAM_CAPTURE_IMPLICIT));
    }
}
