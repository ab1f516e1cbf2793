//! Deletes a store, and nothing else.

use std::fs;
use std::io::{self, ErrorKind as Io};
use std::path::Path;

use super::files::{UNFINISHED, store_error};
use super::found::{Found, look};
use super::holder::Holder;
use super::lock::{LOCK_FILE, RunLock};
use super::measured::ARRAYS;
use super::store::MASKED;
use crate::error::{Error, ErrorKind, Result};

/// Deletes the store at this path; whether there was one. `host` names this machine, for the lock.
///
/// Only what a store consists of is deleted, entry by entry, and links are removed, not followed. What else
/// lies in its folder stays, and the folder with it.
///
/// # Errors
/// `Store` if something lies there that daisy did not make, `StoreLocked` if a run is using it.
pub fn reset(path: &Path, host: &str) -> Result<bool> {
    if path.as_os_str().is_empty() {
        return Err(Error::new(ErrorKind::InvalidArgument, "the path of a tracking store is empty")
            .with_context("expected", "the folder of one task"));
    }
    match look(path)? {
        Found::Ours(_) | Found::Old => {}
        Found::Blank(_) => return Ok(false),
        Found::UserMade => return Err(refused(path, "a Zarr group that daisy did not make")),
        Found::Foreign(what) => return Err(refused(path, &what)),
    }
    let done = path.join("done");
    if fs::symlink_metadata(&done).is_ok_and(|metadata| metadata.is_dir()) {
        let lock = RunLock::acquire(&done.join(LOCK_FILE), &Holder::this_process(host), &mut Vec::new())?;
        delete_contents(path)?;
        drop(lock);
        remove_if_empty(&done)?;
    } else {
        delete_contents(path)?;
    }
    remove_if_empty(path).map(|()| true)
}

/// Deletes an array; other files in its folder stay, and the folder then.
pub(super) fn remove_array(folder: &Path) -> Result<()> {
    if fs::symlink_metadata(folder).is_ok_and(|metadata| !metadata.is_dir()) {
        return delete(folder);
    }
    let unfinished = format!("zarr.json{UNFINISHED}");
    for name in ["c", "zarr.json", &unfinished] {
        delete(&folder.join(name))?;
    }
    remove_if_empty(folder)
}

fn remove_if_empty(folder: &Path) -> Result<()> {
    match fs::remove_dir(folder) {
        Err(error) if !is_left_in_place(&error) => Err(store_error("deleting", folder, error)),
        _ => Ok(()),
    }
}

/// Deletes all but the folder of the lock. The group's document, by which a store is known, goes last: a
/// reset that is interrupted can be called again.
fn delete_contents(path: &Path) -> Result<()> {
    for (name, _) in ARRAYS {
        remove_array(&path.join(name))?;
    }
    // The last two are of daisy 2.0.
    for name in [MASKED, "failures", "gpu_util_pct", "gpu_mem_bytes"] {
        remove_array(&path.join(name))?;
    }
    remove_array(&path.join("done"))?;
    delete(&path.join(format!("zarr.json{UNFINISHED}")))?;
    delete(&path.join("zarr.json"))
}

fn delete(path: &Path) -> Result<()> {
    let deleted = match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(error) => Err(error),
    };
    match deleted {
        Err(error) if error.kind() != Io::NotFound => Err(store_error("deleting", path, error)),
        _ => Ok(()),
    }
}

/// A folder that holds other things, or is itself a link or a mount point, stays.
fn is_left_in_place(error: &io::Error) -> bool {
    matches!(error.kind(), Io::DirectoryNotEmpty | Io::NotADirectory | Io::NotFound | Io::ResourceBusy)
}

fn refused(path: &Path, what: &str) -> Error {
    Error::new(ErrorKind::Store, "reset deletes tracking stores of daisy and nothing else")
        .with_context("path", path.display())
        .with_context("got", what)
        .with_context("expected", "a tracking store; delete other things yourself if you mean to")
}
