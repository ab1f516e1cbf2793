//! Workers that are processes end when they must, in mid-block if need be.
#![cfg(unix)]
#![allow(missing_docs, clippy::unwrap_used)]

mod rig;

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use daisy_core::ids::TaskId;
use daisy_core::plan::{RetryPolicy, TaskOptions};
use daisy_core::run::{Request, Run, Told};
use daisy_core::wire::{Token, WorkerClient, WorkerConfig};
use rig::wire::Wire;
use rig::{Rig, chain, nothing, task, workers};

const ADDRESS: &str = "DAISY_TEST_ADDRESS";
const TOKEN: &str = "DAISY_TEST_TOKEN";

/// This program again, in another role.
fn again(role: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", role, "--ignored", "--nocapture", "--test-threads=1"]);
    command.stdout(Stdio::piped());
    command
}

/// A line that the other process says, found by its beginning.
fn hear(child: &mut Child, beginning: &str) -> String {
    let lines = BufReader::new(child.stdout.as_mut().unwrap()).lines();
    let found = lines.map(Result::unwrap).find_map(|line| line.split(beginning).nth(1).map(str::to_owned));
    found.expect("the other process says it")
}

fn worker(address: &str, token: &Path) -> Child {
    again("role_of_a_worker_in_an_endless_block").env(ADDRESS, address).env(TOKEN, token).spawn().unwrap()
}

/// How a process ended, which must be soon.
fn end(child: &mut Child, limit: Duration) -> ExitStatus {
    let until = Instant::now() + limit;
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status;
        }
        if Instant::now() > until {
            child.kill().unwrap();
            panic!("the worker goes on");
        }
        std::thread::park_timeout(Duration::from_millis(10));
    }
}

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("daisy-{name}-{}", std::process::id()));
        std::fs::create_dir(&path).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).unwrap();
    }
}

#[test]
#[ignore = "started by other tests"]
fn role_of_a_driver() {
    let run = Run::start(chain(vec![task("a", 10, 0, workers(1))])).unwrap();
    run.token().write_file(Path::new(&std::env::var(TOKEN).unwrap())).unwrap();
    println!("\naddress={}", run.addresses()[0]);
    while run.next_request(Duration::from_secs(60)) != Some(Request::Ended) {}
}

#[test]
#[ignore = "started by other tests"]
fn role_of_a_worker_in_an_endless_block() {
    let client = WorkerClient::connect(&WorkerConfig {
        addresses: vec![std::env::var(ADDRESS).unwrap()],
        token: Token::read_file(Path::new(&std::env::var(TOKEN).unwrap())).unwrap(),
        task: "a".to_owned(),
        worker: None,
        capacity: 1,
        owns_process: true,
    })
    .unwrap();
    client.acquire().unwrap().unwrap();
    println!("\nbusy=");
    std::thread::park_timeout(Duration::from_secs(600));
}

#[test]
fn a_worker_outlives_its_driver_by_seconds_only() {
    let folder = Folder::new("driver-gone");
    let token = folder.0.join("token");
    let mut driver = again("role_of_a_driver").env(TOKEN, &token).spawn().unwrap();
    let address = hear(&mut driver, "address=");
    let mut worker = worker(&address, &token);
    hear(&mut worker, "busy=");
    driver.kill().unwrap();
    driver.wait().unwrap();
    assert_eq!(end(&mut worker, Duration::from_secs(15)).code(), Some(88));
}

#[test]
fn a_worker_whose_connection_is_dead_ends_itself_and_its_block_is_given_on() {
    let mut config = chain(vec![task("a", 1, 0, workers(1))]);
    config.heartbeat = Duration::from_millis(250);
    config.settings.reconnect_grace = Duration::from_secs(1);
    let mut rig = Rig::start(config, nothing());
    rig.launch = Some(Box::new(|_, _| {}));
    rig.serve_until(|rig| rig.launched.len() == 1);
    let folder = Folder::new("half-open");
    let token = folder.0.join("token");
    rig.run.token().write_file(&token).unwrap();
    let wire = Wire::to(&rig.run);
    let mut worker = worker(&wire.address, &token);
    hear(&mut worker, "busy=");
    // Neither side is told; each must find out by itself.
    wire.go_dead_for_good();
    let gone = |rig: &Rig| rig.run.snapshot()[0].counters().worker_deaths == 1;
    rig.serve_until(gone);
    assert_eq!(end(&mut worker, Duration::from_secs(15)).code(), Some(88));
    rig.start_worker(TaskId(0), Some(rig.launched[0].1));
    let (end, _) = rig.finish();
    let counters = end.outcome.tasks[0].state.counters();
    assert_eq!((counters.completed, counters.failed_attempts, counters.worker_deaths), (1, 1, 1));
}

#[test]
fn a_worker_that_is_late_is_ended_over_the_wire() {
    let timeout = Some(Duration::from_millis(300));
    let retry = RetryPolicy { timeout, max_retries: 0, ..RetryPolicy::default() };
    let mut rig = Rig::start(chain(vec![task("a", 1, 0, TaskOptions { retry, ..workers(1) })]), nothing());
    rig.launch = Some(Box::new(|_, _| {}));
    let folder = Folder::new("late");
    let token = folder.0.join("token");
    rig.run.token().write_file(&token).unwrap();
    let mut worker = worker(&rig.run.addresses()[0], &token);
    rig.serve_until(|rig| !rig.killed.is_empty());
    assert_eq!(end(&mut worker, Duration::from_secs(15)).code(), Some(89));
    let (end, _) = rig.finish();
    let counters = end.outcome.tasks[0].state.counters();
    assert_eq!((counters.timeouts, counters.failed), (1, 1));
}

#[test]
fn a_worker_that_is_stopped_for_a_while_goes_on() {
    let mut config = chain(vec![task("a", 2, 0, workers(1))]);
    config.settings.reconnect_grace = Duration::from_secs(20);
    let mut rig = Rig::start(config, nothing());
    rig.launch = Some(Box::new(|_, _| {}));
    let folder = Folder::new("stopped");
    let token = folder.0.join("token");
    rig.run.token().write_file(&token).unwrap();
    let mut worker = worker(&rig.run.addresses()[0], &token);
    hear(&mut worker, "busy=");
    let pid = rustix::process::Pid::from_child(&worker);
    rustix::process::kill_process(pid, rustix::process::Signal::STOP).unwrap();
    // Another worker does what is left; nothing is taken from the one that is stopped.
    rig.start_worker(TaskId(0), None);
    rig.serve_until(|rig| rig.run.snapshot()[0].counters().completed == 1);
    rustix::process::kill_process(pid, rustix::process::Signal::CONT).unwrap();
    assert_eq!(rig.run.snapshot()[0].counters().leased, 1);
    worker.kill().unwrap();
    worker.wait().unwrap();
    rig.run.tell(Told::Cancel);
    let (end, _) = rig.finish();
    assert_eq!(end.outcome.tasks[0].state.counters().worker_deaths, 0);
}
