//! Reads what this process uses, in a few microseconds: it is done around every block.

use std::time::{Duration, Instant};

use crate::measurement::Measurement;

/// What was used when it was made.
///
/// ```
/// let meter = daisy_core::Meter::start();
/// let sum: u64 = (0..1_000_000).sum();
/// let used = meter.read();
/// assert!(sum > 0 && used.wall_seconds > 0.0);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Meter {
    began: Instant,
    cpu: Duration,
    io: IoBytes,
}

/// Bytes through read and write calls; zero where the system does not tell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct IoBytes {
    /// Without what it took to find this out.
    read: u64,
    written: u64,
    /// What it took to find this out.
    own: u64,
}

impl Meter {
    /// Measures from now on.
    #[must_use]
    pub fn start() -> Self {
        Self { io: io::bytes(), cpu: usage::cpu_time(), began: Instant::now() }
    }

    /// What was used since: by all threads of this process, and by its children that have ended.
    #[must_use]
    pub fn read(&self) -> Measurement {
        let wall = self.began.elapsed();
        let (cpu, io) = (usage::cpu_time(), io::bytes());
        Measurement {
            wall_seconds: wall.as_secs_f64(),
            cpu_seconds: cpu.saturating_sub(self.cpu).as_secs_f64(),
            peak_rss_bytes: usage::peak_rss_bytes(),
            io_read_bytes: io.read.saturating_sub(self.io.read + self.io.own),
            io_write_bytes: io.written.saturating_sub(self.io.written),
            ..Measurement::default()
        }
    }
}

#[cfg(unix)]
mod usage {
    use std::time::Duration;

    use nix::sys::resource::{Usage, UsageWho, getrusage};
    use nix::sys::time::TimeValLike;

    fn time_of(usage: &Usage) -> Duration {
        let micros = usage.user_time().num_microseconds() + usage.system_time().num_microseconds();
        Duration::from_micros(micros.try_into().unwrap_or(0))
    }

    pub(super) fn cpu_time() -> Duration {
        [UsageWho::RUSAGE_SELF, UsageWho::RUSAGE_CHILDREN]
            .into_iter()
            .filter_map(|who| getrusage(who).ok())
            .map(|usage| time_of(&usage))
            .sum()
    }

    pub(super) fn peak_rss_bytes() -> u64 {
        let unit = if cfg!(target_vendor = "apple") { 1 } else { 1024 };
        getrusage(UsageWho::RUSAGE_SELF).map_or(0, |usage| usage.max_rss().try_into().unwrap_or(0) * unit)
    }
}

#[cfg(not(unix))]
mod usage {
    use std::time::Duration;

    /// Not told here.
    pub(super) const fn cpu_time() -> Duration {
        Duration::ZERO
    }

    /// Not told here.
    pub(super) const fn peak_rss_bytes() -> u64 {
        0
    }
}

#[cfg(target_os = "linux")]
mod io {
    use std::cell::RefCell;
    use std::fs::File;
    use std::os::unix::fs::FileExt;

    use super::IoBytes;

    thread_local! {
        /// The open file, and the process that it tells of: a fork needs its own.
        static FILE: RefCell<Option<(u32, File)>> = const { RefCell::new(None) };
    }

    pub(super) fn bytes() -> IoBytes {
        FILE.with_borrow_mut(|kept| {
            let pid = std::process::id();
            if kept.as_ref().is_none_or(|(owner, _)| *owner != pid) {
                *kept = File::open("/proc/self/io").ok().map(|file| (pid, file));
            }
            let mut text = [0; 512];
            let length = kept.as_ref().and_then(|(_, file)| file.read_at(&mut text, 0).ok());
            let length = length.unwrap_or(0);
            IoBytes { own: length as u64, ..parse(&text[..length]) }
        })
    }

    fn parse(text: &[u8]) -> IoBytes {
        let text = std::str::from_utf8(text).unwrap_or("");
        let value = |name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(name));
            line.and_then(|number| number.trim().parse().ok()).unwrap_or(0)
        };
        IoBytes { read: value("rchar:"), written: value("wchar:"), own: 0 }
    }

    #[test]
    fn the_text_of_the_kernel_is_understood() {
        let text = b"rchar: 4292\nwchar: 17\nsyscr: 13\nsyscw: 0\nread_bytes: 0\n";
        assert_eq!(parse(text), IoBytes { read: 4292, written: 17, own: 0 });
        assert_eq!(parse(b""), IoBytes::default());
    }
}

#[cfg(not(target_os = "linux"))]
mod io {
    use super::IoBytes;

    /// Not told here.
    pub(super) fn bytes() -> IoBytes {
        IoBytes::default()
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn measuring_is_not_measured() {
        // Other tests read, too, but not in each of a thousand short moments.
        let least = (0..1000).map(|_| Meter::start().read().io_read_bytes).min();
        assert_eq!(least, Some(0));
    }

    #[test]
    fn threads_and_bytes_are_counted() {
        let meter = Meter::start();
        let spun = std::thread::spawn(|| {
            let began = Instant::now();
            while usage::cpu_time() < Duration::from_millis(30) && began.elapsed() < Duration::from_secs(30) {
            }
            std::fs::read("/proc/self/maps").map_or(0, |bytes| bytes.len() as u64)
        });
        let read = spun.join().expect("the thread does not panic");
        let used = meter.read();
        assert!(used.io_read_bytes >= read && read > 0, "{used:?}");
        assert!(used.cpu_seconds > 0.0 && used.peak_rss_bytes > 1 << 20, "{used:?}");
    }
}
