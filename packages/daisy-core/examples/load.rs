//! How fast the server is: no-op blocks through real sockets, many connections or few.
//!
//! `load CONNECTIONS BLOCKS [PROCESSES]`: the connections are spread over worker processes (default 1) that are this
//! program again. With at most 8 connections each is a [`WorkerClient`] in a process of its own, as in a real run;
//! with more, one thread per process plays all of them.
#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::process::{Child, Command};
use std::sync::Arc;
use std::time::{Duration, Instant};

use daisy_core::geometry::Roi;
use daisy_core::ids::WorkerId;
use daisy_core::plan::{Fit, Pipeline, TaskOptions, TaskPlan};
use daisy_core::run::{Request, Run, RunConfig};
use daisy_core::scheduler::Outcome;
use daisy_core::wire::{
    FrameBuffer, MAX_FRAME, PROTOCOL_VERSION, Report, Role, ServerMessage, Token, Transcript, WorkerClient,
    WorkerConfig, WorkerMessage, append_frame, new_nonce,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

const TASK: &str = "nothing";
const MOST_REAL_CLIENTS: u32 = 8;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let number = |place: usize| arguments.get(place).map(|text| text.parse::<u64>().unwrap());
    match arguments.get(1).map(String::as_str) {
        Some("real") => work_really(&arguments[2], Path::new(&arguments[3]), number(4).unwrap()),
        Some("play") => play(&arguments[2], Path::new(&arguments[3]), number(4).unwrap()..number(5).unwrap()),
        _ => drive(number(1).unwrap_or(2) as u32, number(2).unwrap_or(1_000_000), number(3).unwrap_or(1)),
    }
}

fn drive(connections: u32, blocks: u64, processes: u64) {
    let (total, block) = (Roi::new(&[0], &[blocks as i64]).unwrap(), Roi::new(&[0], &[1]).unwrap());
    let options = TaskOptions { max_workers: connections, ..TaskOptions::default() };
    let task = TaskPlan::new(TASK, total, block, block, Fit::Valid, options).unwrap();
    let folder = std::env::temp_dir().join(format!("daisy-load-{}", std::process::id()));
    std::fs::create_dir(&folder).unwrap();
    let run = Run::start(RunConfig::new(Arc::new(Pipeline::new(vec![task], &[]).unwrap()))).unwrap();
    let token_file = folder.join("token");
    run.token().write_file(&token_file).unwrap();
    let (mut children, mut workers) = (Vec::new(), Vec::new());
    let mut began = Instant::now();
    loop {
        match run.next_request(Duration::from_secs(1)) {
            Some(Request::Launch { workers: more, .. }) => {
                workers.extend(more);
                if workers.len() == connections as usize {
                    began = Instant::now();
                    children = start_workers(&run, &token_file, &workers, processes);
                }
            }
            Some(Request::Ended) => break,
            Some(_) | None => {}
        }
    }
    let seconds = began.elapsed().as_secs_f64();
    let end = run.join();
    let cpu = cpu_seconds();
    for mut child in children {
        child.wait().unwrap();
    }
    std::fs::remove_dir_all(&folder).unwrap();
    assert!(end.outcome.has_succeeded());
    println!(
        "{connections} connections, {blocks} blocks: {:.0} blocks/s, server CPU {:.2} us/block",
        blocks as f64 / seconds,
        cpu * 1e6 / blocks as f64,
    );
}

/// Processor time of this process.
fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks =
        |place: usize| fields.get(place).and_then(|text| text.parse::<f64>().ok()).unwrap_or(f64::NAN);
    (ticks(11) + ticks(12)) / 100.0
}

fn start_workers(run: &Run, token: &Path, workers: &[WorkerId], processes: u64) -> Vec<Child> {
    let program = std::env::current_exe().unwrap();
    let start = |mode: &str, numbers: &[u64]| {
        let mut command = Command::new(&program);
        command.arg(mode).arg(&run.addresses()[0]).arg(token);
        command.args(numbers.iter().map(u64::to_string)).spawn().unwrap()
    };
    if workers.len() <= MOST_REAL_CLIENTS as usize {
        return workers.iter().map(|worker| start("real", &[worker.0])).collect();
    }
    let share = (workers.len() as u64).div_ceil(processes);
    (0..processes)
        .map(|part| start("play", &[part * share, ((part + 1) * share).min(workers.len() as u64)]))
        .collect()
}

fn work_really(address: &str, token: &Path, worker: u64) {
    let client = WorkerClient::connect(&WorkerConfig {
        addresses: vec![address.to_owned()],
        token: Token::read_file(token).unwrap(),
        task: TASK.to_owned(),
        worker: Some(WorkerId(worker)),
        capacity: 64,
        owns_process: true,
    })
    .unwrap();
    while let Some(grant) = client.acquire().unwrap() {
        client.report(grant, Outcome::Succeeded, Duration::from_nanos(300), None).unwrap();
    }
    client.close();
}

fn play(address: &str, token: &Path, workers: std::ops::Range<u64>) {
    let token = Token::read_file(token).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build().unwrap();
    runtime.block_on(async {
        let mut tasks = tokio::task::JoinSet::new();
        for worker in workers {
            tasks.spawn(play_one(address.to_owned(), token.clone(), WorkerId(worker)));
        }
        tasks.join_all().await;
    });
}

struct Peer {
    stream: TcpStream,
    frames: FrameBuffer,
}

impl Peer {
    async fn send(&mut self, message: &WorkerMessage) {
        let mut frame = Vec::new();
        append_frame(&mut frame, |body| message.pack(body)).unwrap();
        self.stream.write_all(&frame).await.unwrap();
    }

    async fn receive(&mut self) -> ServerMessage {
        loop {
            if let Some(body) = self.frames.next_frame().unwrap() {
                return ServerMessage::unpack(body).unwrap();
            }
            let count = self.stream.read(self.frames.room()).await.unwrap();
            assert!(count > 0, "the server closed the connection");
            self.frames.filled(count);
        }
    }
}

async fn play_one(address: String, token: Token, worker: WorkerId) {
    let stream = TcpStream::connect(address).await.unwrap();
    stream.set_nodelay(true).unwrap();
    let mut peer = Peer { stream, frames: FrameBuffer::new(MAX_FRAME) };
    let worker_nonce = new_nonce().unwrap();
    peer.send(&WorkerMessage::Hello { version: PROTOCOL_VERSION, nonce: worker_nonce }).await;
    let ServerMessage::Challenge { nonce: server_nonce, .. } = peer.receive().await else { panic!() };
    let transcript = Transcript { worker_nonce, server_nonce, worker: Some(worker) };
    let proof = transcript.prove(&token, Role::Worker);
    peer.send(&WorkerMessage::Proof { worker: Some(worker), proof }).await;
    let ServerMessage::Proof(_) = peer.receive().await else { panic!() };
    let incarnation = [worker.0 as u8; 16];
    peer.send(&WorkerMessage::Register {
        task: TASK.to_owned(),
        incarnation,
        capacity: 64,
        held: Vec::new(),
    })
    .await;
    loop {
        match peer.receive().await {
            ServerMessage::Grants { grants, .. } => {
                let duration = Duration::from_nanos(300);
                let report =
                    |grant| Report { grant, outcome: Outcome::Succeeded, duration, measurement: None };
                peer.send(&WorkerMessage::Reports(grants.into_iter().map(report).collect())).await;
            }
            ServerMessage::Dismiss => return,
            _ => {}
        }
    }
}
