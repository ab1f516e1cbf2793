//! One run at a time on a store.
//!
//! The lock is an advisory lock of the operating system on a file that names its holder, so a dead process
//! holds nothing. File systems without such locks get the existence of the file as lock, and its holder's
//! life is looked up.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind as Io, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::files::store_error;
use super::holder::{Holder, Life};
use crate::error::{Error, ErrorKind, Result};

/// Name of the lock file. It lies in the folder of the `done` array, where readers of Zarr look at chunk
/// keys alone.
pub(super) const LOCK_FILE: &str = "run.lock";
/// Name of the file whose existence is the lock where there are no others.
pub(super) const EXCLUSIVE_FILE: &str = "run.exclusive";

/// Tries to lock a file: whether it could. An error of kind `Unsupported` means that nobody can.
type TryLock = fn(&File) -> io::Result<bool>;

/// A held lock; dropping it sets the store free.
#[derive(Debug)]
pub(super) struct RunLock {
    path: PathBuf,
    /// Keeps the lock of the operating system; `None` where the file's existence is the lock.
    file: Option<File>,
}

impl RunLock {
    /// Locks the store whose lock file this is. What is worth a line in the log goes to `notices`.
    ///
    /// # Errors
    /// `StoreLocked`, naming the holder, if another run has it; `Store` if the file cannot be written.
    pub(super) fn acquire(path: &Path, holder: &Holder, notices: &mut Vec<String>) -> Result<Self> {
        Self::acquire_with(path, holder, notices, try_lock)
    }

    fn acquire_with(path: &Path, holder: &Holder, notices: &mut Vec<String>, lock: TryLock) -> Result<Self> {
        loop {
            let mut file = open(path).map_err(|error| store_error("opening the lock", path, error))?;
            match lock(&file) {
                Ok(true) if !is_still(&file, path) => {
                    // The holder before us removed the file between our opening and locking it.
                }
                Ok(true) => {
                    if let Some(earlier) = read_holder(&mut file) {
                        notices.push(format!(
                            "took over the lock of the tracking store at {}: {earlier} ended without \
                             releasing it",
                            folder_of(path).display()
                        ));
                    }
                    write_holder(&mut file, holder)
                        .map_err(|error| store_error("writing the lock", path, error))?;
                    return Ok(Self { path: path.to_owned(), file: Some(file) });
                }
                Ok(false) => return Err(refusal(path, read_holder(&mut file), &holder.host)),
                Err(error) if is_unsupported(&error) => {
                    drop(file);
                    return Self::acquire_by_existence(path, holder, notices);
                }
                Err(error) => return Err(store_error("locking", path, error)),
            }
        }
    }

    /// Locks by making a file that must not exist yet.
    fn acquire_by_existence(path: &Path, holder: &Holder, notices: &mut Vec<String>) -> Result<Self> {
        let exclusive = path.with_file_name(EXCLUSIVE_FILE);
        notices.push(format!(
            "the file system of {} has no file locks: the file {} stands for one, and must be deleted by \
             hand if the run ends on another machine without removing it",
            folder_of(path).display(),
            exclusive.display()
        ));
        loop {
            match OpenOptions::new().write(true).create_new(true).open(&exclusive) {
                Ok(mut file) => {
                    write_holder(&mut file, holder)
                        .map_err(|error| store_error("writing the lock", &exclusive, error))?;
                    return Ok(Self { path: exclusive, file: None });
                }
                Err(error) if error.kind() == Io::AlreadyExists => {
                    let found = File::open(&exclusive).ok().and_then(|mut file| read_holder(&mut file));
                    match found {
                        Some(earlier) if earlier.life(&holder.host) == Life::Dead => {
                            remove_stale(&exclusive, &earlier, holder)?;
                            notices.push(format!(
                                "took over the lock of the tracking store at {}: {earlier} is dead",
                                folder_of(path).display()
                            ));
                        }
                        other => return Err(refusal(&exclusive, other, &holder.host)),
                    }
                }
                Err(error) => return Err(store_error("making the lock", &exclusive, error)),
            }
        }
    }
}

impl RunLock {
    /// Whether the store is still ours: nobody removed or replaced its folder under the run.
    ///
    /// # Errors
    /// `Store` if it is not.
    pub(super) fn check(&self) -> Result<()> {
        let is_there = match &self.file {
            Some(file) => is_still(file, &self.path),
            None => self.path.exists(),
        };
        if is_there {
            return Ok(());
        }
        Err(Error::new(
            ErrorKind::Store,
            "the tracking store was removed or replaced while a run was using it",
        )
        .with_context("path", folder_of(&self.path).display())
        .with_context("got", format!("{} is not the file that this run made", self.path.display()))
        .with_context(
            "expected",
            "the folder to stay until the run has ended; run again to go on with what is marked there",
        ))
    }
}

impl Drop for RunLock {
    fn drop(&mut self) {
        // Removed while still locked, so that nobody else's file can be meant. Where that fails the file
        // stays, and the next run takes it over with a line in the log.
        if self.check().is_ok() {
            fs::remove_file(&self.path).ok();
            if self.file.is_none() {
                // What was tried to lock in vain, by us or by others.
                fs::remove_file(self.path.with_file_name(LOCK_FILE)).ok();
            }
        }
        drop(self.file.take());
    }
}

/// Removes the lock of a dead holder, unless another run did so first and has its own there now.
fn remove_stale(path: &Path, stale: &Holder, holder: &Holder) -> Result<()> {
    let aside = path.with_extension(format!("stale-{}", holder.pid));
    match fs::rename(path, &aside) {
        Ok(()) => {}
        Err(error) if error.kind() == Io::NotFound => return Ok(()),
        Err(error) => return Err(store_error("removing a stale lock", path, error)),
    }
    let moved = File::open(&aside).ok().and_then(|mut file| read_holder(&mut file));
    if moved.as_ref() != Some(stale) {
        // It was the fresh lock of another run: put it back.
        fs::hard_link(&aside, path).map_err(|error| store_error("restoring a lock", path, error))?;
    }
    fs::remove_file(&aside).map_err(|error| store_error("removing a stale lock", &aside, error))
}

fn refusal(path: &Path, holder: Option<Holder>, host: &str) -> Error {
    let dead = holder.as_ref().is_some_and(|holder| holder.life(host) == Life::Dead);
    let who = holder.map_or_else(|| "an unknown process".to_owned(), |holder| holder.to_string());
    let (got, expected) = if dead {
        (
            format!("{who}, which is dead, but a process that it forked still holds the lock"),
            format!("end that process, or delete {}", path.display()),
        )
    } else {
        (who, "wait for that run to end, end it, or use another tracking_path".to_owned())
    };
    Error::new(ErrorKind::StoreLocked, "another run is using the tracking store")
        .with_context("store", folder_of(path).display())
        .with_context("holder", got)
        .with_context("expected", expected)
}

/// The folder of the store that a lock file belongs to.
fn folder_of(path: &Path) -> &Path {
    path.parent().and_then(Path::parent).unwrap_or(path)
}

fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)
}

pub(super) fn read_holder(file: &mut File) -> Option<Holder> {
    let mut text = String::new();
    file.seek(SeekFrom::Start(0)).ok()?;
    file.take(4096).read_to_string(&mut text).ok()?;
    serde_json::from_str(&text).ok()
}

fn write_holder(file: &mut File, holder: &Holder) -> io::Result<()> {
    let text = serde_json::to_string(holder)?;
    file.set_len(0)?;
    file.seek(SeekFrom::Start(0))?;
    file.write_all(text.as_bytes())
}

#[cfg(unix)]
fn try_lock(file: &File) -> io::Result<bool> {
    use rustix::fs::{FlockOperation, flock};
    match flock(file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(true),
        Err(rustix::io::Errno::WOULDBLOCK) => Ok(false),
        Err(errno) => Err(errno.into()),
    }
}

#[cfg(not(unix))]
fn try_lock(_: &File) -> io::Result<bool> {
    Err(Io::Unsupported.into())
}

#[cfg(unix)]
fn is_unsupported(error: &io::Error) -> bool {
    use rustix::io::Errno;
    let numbers = [Errno::NOSYS, Errno::OPNOTSUPP, Errno::NOLCK, Errno::INVAL].map(Errno::raw_os_error);
    error.kind() == Io::Unsupported || error.raw_os_error().is_some_and(|number| numbers.contains(&number))
}

#[cfg(not(unix))]
fn is_unsupported(error: &io::Error) -> bool {
    error.kind() == Io::Unsupported
}

/// Whether the file is still the one at this path.
#[cfg(unix)]
fn is_still(file: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    match (file.metadata(), fs::metadata(path)) {
        (Ok(ours), Ok(there)) => (ours.dev(), ours.ino()) == (there.dev(), there.ino()),
        _ => false,
    }
}

#[cfg(not(unix))]
fn is_still(_: &File, _: &Path) -> bool {
    true
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const UNSUPPORTED: TryLock = |_| Err(Io::Unsupported.into());

    fn scratch(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("daisy-lock-{name}-{}", std::process::id()));
        fs::create_dir_all(folder.join("done")).unwrap();
        folder.join("done").join(LOCK_FILE)
    }

    #[test]
    fn a_second_run_is_refused_and_told_who_has_it() {
        for (name, method) in [("flock", try_lock as TryLock), ("existence", UNSUPPORTED)] {
            let path = scratch(name);
            let (holder, mut notices) = (Holder::this_process("here"), Vec::new());
            let first = RunLock::acquire_with(&path, &holder, &mut notices, method).unwrap();
            let said = notices.len();
            let error = RunLock::acquire_with(&path, &holder, &mut notices, method).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::StoreLocked);
            assert!(error.to_string().contains(&format!("process {} on here", holder.pid)), "{error}");
            drop(first);
            notices.clear();
            drop(RunLock::acquire_with(&path, &holder, &mut notices, method).unwrap());
            assert_eq!(notices.len(), said, "a released lock is not taken over: {notices:?}");
            fs::remove_dir_all(folder_of(&path)).unwrap();
        }
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn the_lock_of_a_dead_process_is_taken_over_and_said() {
        for (name, method) in [("flock-stale", try_lock as TryLock), ("existence-stale", UNSUPPORTED)] {
            let path = scratch(name);
            let holder = Holder::this_process("here");
            let dead = Holder { pid: u32::MAX, ..holder.clone() };
            for file in [&path, &path.with_extension("exclusive")] {
                fs::write(file, serde_json::to_string(&dead).unwrap()).unwrap();
            }
            let mut notices = Vec::new();
            let lock = RunLock::acquire_with(&path, &holder, &mut notices, method).unwrap();
            assert!(
                notices.iter().any(|line| line.contains(&format!("process {}", u32::MAX))),
                "{notices:?}"
            );
            drop(lock);
            fs::remove_dir_all(folder_of(&path)).unwrap();
        }
    }

    #[test]
    fn a_holder_on_another_machine_is_never_taken_for_dead() {
        let path = scratch("elsewhere");
        let holder = Holder::this_process("here");
        let other = Holder { host: "elsewhere".into(), pid: u32::MAX, ..holder.clone() };
        fs::write(path.with_extension("exclusive"), serde_json::to_string(&other).unwrap()).unwrap();
        let error = RunLock::acquire_with(&path, &holder, &mut Vec::new(), UNSUPPORTED).unwrap_err();
        assert!(error.to_string().contains("on elsewhere"), "{error}");
        fs::remove_dir_all(folder_of(&path)).unwrap();
    }
}
