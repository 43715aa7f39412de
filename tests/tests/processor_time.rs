//! `mutate` measures processor time. This is the only test of its process, so that no other test uses processor time.

use std::time::Duration;
use test_kit::Watchdog;
use tests::trying::Stopwatch;

#[test]
fn waiting_takes_no_processor_time_and_work_does() {
    let (watch, _watchdog) = (Stopwatch::start(), Watchdog::over("work that takes no processor time"));
    std::thread::sleep(Duration::from_millis(600));
    let waited = watch.processor_time();
    assert!(waited < Duration::from_millis(300), "{waited:?}");
    while watch.processor_time() - waited < Duration::from_millis(100) {
        std::hint::spin_loop();
    }
}
