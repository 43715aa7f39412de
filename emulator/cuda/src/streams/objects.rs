//! Retains and releases objects of the program.

use super::stream::Streams;
use super::user_object::UserObject;
use super::work::{Graph, HostCall, HostFunction};
use crate::error::{Outcome, Status};
use std::ffi::c_void;

impl Streams {
    /// Creates a user object with the program's destructor.
    ///
    /// # Errors
    /// `INVALID_VALUE` without a function or references.
    pub fn create_object(&mut self, pointer: *mut c_void, end: usize, count: u32) -> Outcome<u64> {
        if end == 0 || count == 0 {
            return Err(Status::INVALID_VALUE);
        }
        let end = HostCall { function: HostFunction::Plain(end), user_data: pointer };
        Ok(self.user_objects.insert(UserObject { end, count: count.into() }))
    }

    /// Adds references.
    ///
    /// # Errors
    /// When there is no such object.
    pub fn retain_object(&mut self, object: u64, count: u32) -> Outcome {
        let found = self.user_objects.get_mut(object)?;
        if count == 0 {
            return Err(Status::INVALID_VALUE);
        }
        found.count += u64::from(count);
        Ok(())
    }

    /// Releases references; after the last one, returns the destructor, which the caller must call.
    ///
    /// # Errors
    /// When there is no such object, or it has not so many.
    pub fn release_object(&mut self, object: u64, count: u32) -> Outcome<Option<HostCall>> {
        let found = self.user_objects.get_mut(object)?;
        found.count =
            found.count.checked_sub(count.into()).filter(|_| count > 0).ok_or(Status::INVALID_VALUE)?;
        if found.count > 0 {
            return Ok(None);
        }
        self.user_objects.remove(object).map(|object| Some(object.end))
    }

    /// Makes a graph retain an object: with new references, or with references that the program transfers.
    ///
    /// # Errors
    /// When one of them does not exist.
    pub fn retain_in_graph(&mut self, graph: u64, (object, count): (u64, u32), handed_over: bool) -> Outcome {
        self.graph(graph)?;
        if handed_over {
            let found = self.user_objects.get(object)?;
            if count == 0 || u64::from(count) > found.count {
                return Err(Status::INVALID_VALUE);
            }
        } else {
            self.retain_object(object, count)?;
        }
        *self.graph_mut(graph)?.objects.entry(object).or_insert(0) += count;
        Ok(())
    }

    /// Releases references of a graph.
    ///
    /// # Errors
    /// When it has not so many.
    pub fn release_in_graph(&mut self, graph: u64, object: u64, count: u32) -> Outcome<Option<HostCall>> {
        let objects = &mut self.graph_mut(graph)?.objects;
        let held = objects.get_mut(&object).filter(|held| **held >= count).ok_or(Status::INVALID_VALUE)?;
        *held -= count;
        if *held == 0 {
            objects.remove(&object);
        }
        self.release_object(object, count)
    }

    /// Adds the references of a copy of a graph.
    pub(crate) fn retain_all(&mut self, graph: &Graph) {
        for (&object, &count) in &graph.objects {
            let _ = self.retain_object(object, count);
        }
    }

    /// Releases the references of a destroyed graph.
    pub(crate) fn release_all(&mut self, graph: &Graph) -> Vec<HostCall> {
        let all = graph.objects.iter();
        all.filter_map(|(&object, &count)| self.release_object(object, count).ok().flatten()).collect()
    }
}
