//! Independent pieces of work on all cores, taken in order.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Calls `work` with every position below `count`, each once and in ascending order of their beginning, on up to `threads`
/// threads. Its second argument is the number of threads that a piece may use itself: more than one if there are fewer
/// pieces than threads. Once `work` returns `false` no further piece begins.
pub(crate) fn each(threads: usize, count: usize, work: &(dyn Fn(usize, usize) -> bool + Sync)) {
    let workers = threads.min(count).max(1);
    let inner = (threads / workers).max(1);
    let (next, stopped) = (AtomicUsize::new(0), AtomicBool::new(false));
    let run = || {
        while !stopped.load(Ordering::Relaxed) {
            let position = next.fetch_add(1, Ordering::Relaxed);
            if position >= count {
                return;
            }
            if !work(position, inner) {
                stopped.store(true, Ordering::Relaxed);
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..workers {
            scope.spawn(run);
        }
        run();
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    #[test]
    fn every_position_is_worked_on_once_until_one_stops_the_rest() {
        let done = Mutex::new(Vec::new());
        each(3, 100, &|position, inner| {
            assert_eq!(inner, 1);
            done.lock().expect("no panic").push(position);
            true
        });
        let mut done = done.into_inner().expect("no panic");
        done.sort_unstable();
        assert_eq!(done, (0..100).collect::<Vec<_>>());
        let begun = AtomicUsize::new(0);
        each(1, 100, &|position, _| {
            begun.fetch_add(1, Ordering::Relaxed);
            position < 4
        });
        assert_eq!(begun.into_inner(), 5);
        each(8, 2, &|_, inner| inner == 4 || panic!("{inner} threads"));
        each(8, 0, &|_, _| panic!("there is nothing to do"));
    }
}
