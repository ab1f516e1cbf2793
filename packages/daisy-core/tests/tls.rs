//! Runs that speak TLS, and what happens to those who do not, or to the wrong one.
#![allow(missing_docs, clippy::unwrap_used)]

mod rig;

use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use daisy_core::ErrorKind;
use daisy_core::ids::TaskId;
use daisy_core::run::{Encryption, Listen, Note, Run, RunConfig};
use daisy_core::scheduler::Outcome;
use daisy_core::wire::{ServerMessage, Token, WorkerClient, check_address};
use rig::beside::beside_a_run_with;
use rig::peer::Peer;
use rig::wire::Wire;
use rig::{Rig, Tally, Work, chain, nothing, task, workers};

fn secured(config: &mut RunConfig) {
    config.listen.encryption = Encryption::On;
}

fn reasons(notes: &[Note]) -> Vec<String> {
    let reason = |note: &Note| match note {
        Note::PeerRefused { reason, .. } => Some(reason.clone()),
        _ => None,
    };
    notes.iter().filter_map(reason).collect()
}

#[test]
fn blocks_go_over_tls_through_cuts_and_are_done_once() {
    let tally = Arc::new(Tally::default());
    let noted = Arc::clone(&tally);
    let work: Work = Arc::new(move |task, grant| {
        noted.note(task, grant.index);
        Outcome::Succeeded
    });
    let mut config = chain(vec![task("a", 30_000, 0, workers(2)), task("b", 30_000, 3, workers(2))]);
    secured(&mut config);
    config.settings.reconnect_grace = Duration::from_secs(10);
    let mut rig = Rig::start(config, work);
    assert!(rig.run.token().certificate().is_some());
    let wire = Wire::to(&rig.run);
    rig.reach_through = Some(wire.address.clone());
    let mut cuts = 0;
    rig.serve_until(|rig| {
        let completed: u64 = rig.run.snapshot().iter().map(|state| state.counters().completed).sum();
        if completed > 10_000 * (cuts + 1) && cuts < 3 {
            wire.cut();
            cuts += 1;
        }
        cuts == 3
    });
    let (end, _) = rig.finish();
    for task in &end.outcome.tasks {
        let counters = task.state.counters();
        assert_eq!((counters.completed, counters.failed_attempts, counters.worker_deaths), (30_000, 0, 0));
        assert_eq!(counters.refused_reports, 0);
    }
    assert_eq!(tally.runs(), vec![1; 60_000]);
}

#[test]
fn long_errors_pass_in_both_directions_at_once() {
    let text = "x".repeat(8000);
    let work: Work = Arc::new(move |_, _| Outcome::Failed { error: text.as_str().into() });
    let mut config = chain(vec![task("a", 2000, 0, workers(2))]);
    secured(&mut config);
    let (end, _) = Rig::start(config, work).finish();
    assert!(!end.outcome.has_succeeded());
    assert!(end.outcome.tasks[0].state.counters().failed > 0);
}

#[test]
fn another_certificate_is_refused_and_both_are_named() {
    let notes = beside_a_run_with(secured, |rig| {
        let mut config = rig.config(TaskId(0), None);
        config.token = config.token.clone().with_certificate(Some([0xab; 32]));
        let error = WorkerClient::connect(&config).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Authentication);
        let real: String =
            rig.run.token().certificate().unwrap().iter().map(|byte| format!("{byte:02x}")).collect();
        let text = error.to_string();
        assert!(text.contains(&real) && text.contains(&"ab".repeat(32)), "{text}");
    });
    assert_eq!(reasons(&notes).len(), 1);
}

#[test]
fn plain_text_to_a_run_with_tls_is_told_so() {
    let notes = beside_a_run_with(secured, |rig| {
        let mut config = rig.config(TaskId(0), None);
        config.token = config.token.clone().with_certificate(None);
        let error = WorkerClient::connect(&config).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Protocol);
        assert!(error.to_string().contains("this run speaks TLS"), "{error}");
    });
    assert!(reasons(&notes)[0].contains("this run speaks TLS"), "{notes:?}");
}

#[test]
fn tls_to_a_run_without_is_told_so() {
    let notes = beside_a_run_with(
        |_| {},
        |rig| {
            let mut config = rig.config(TaskId(0), None);
            config.token = config.token.clone().with_certificate(Some([1; 32]));
            let error = WorkerClient::connect(&config).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Protocol);
            assert!(error.to_string().contains("does not speak TLS"), "{error}");
        },
    );
    assert!(reasons(&notes)[0].contains("this run does not speak TLS"), "{notes:?}");
}

#[test]
fn the_right_certificate_does_not_replace_the_token() {
    beside_a_run_with(secured, |rig| {
        let mut config = rig.config(TaskId(0), None);
        config.token = Token::from_bytes([0; 32]).with_certificate(rig.run.token().certificate());
        let error = WorkerClient::connect(&config).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Authentication, "{error}");
        assert!(check_address(&rig.run.addresses()[0], rig.run.token()).is_ok());
    });
}

#[test]
fn what_only_looks_like_tls_disturbs_nothing() {
    let openings: [&[u8]; 4] =
        [&[22], &[22, 3, 1, 0xff, 0xff, 1, 2, 3], &[22, 3, 1, 0, 5, 1, 0, 0, 1, 0], &[22; 5000]];
    let notes = beside_a_run_with(secured, |rig| {
        let mut silent = Vec::new();
        for opening in openings {
            let mut peer = Peer::connect(&rig.run);
            peer.stream.write_all(opening).unwrap();
            silent.push(peer);
        }
        // Each is sent away, the silent ones after five seconds.
        for peer in &mut silent {
            peer.drain_bytes();
        }
        let mut plain = Peer::connect(&rig.run);
        plain.stream.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
        let answers = plain.receive_all();
        assert!(matches!(answers[..], [ServerMessage::Refused(_)]), "{answers:?}");
    });
    assert_eq!(reasons(&notes).len(), openings.len() + 1, "{notes:?}");
}

#[test]
fn who_listens_beyond_loopback_speaks_tls_unless_told_otherwise() {
    let start = |listen: Listen| {
        let mut config = chain(vec![task("a", 1, 0, workers(1))]);
        config.listen = listen;
        Run::start(config)
    };
    let is_secured = |listen| start(listen).unwrap().token().certificate().is_some();
    assert!(!is_secured(Listen::default()));
    assert!(is_secured(Listen { encryption: Encryption::On, ..Listen::default() }));
    let beyond = Listen { all_local: false, ..Listen::default() };
    match start(beyond.clone()) {
        Err(error) => {
            assert!(error.to_string().contains("no address that other machines can reach"), "{error}")
        }
        Ok(run) => {
            assert!(run.token().certificate().is_some());
            assert!(!is_secured(Listen { encryption: Encryption::Off, ..beyond }));
        }
    }
}

#[test]
fn each_run_has_a_certificate_of_its_own() {
    let certificate = || {
        let mut config = chain(vec![task("a", 1, 0, workers(1))]);
        secured(&mut config);
        Rig::start(config, nothing()).run.token().certificate().unwrap()
    };
    assert_ne!(certificate(), certificate());
}

struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("daisy-tls-{name}-{}", std::process::id()));
        std::fs::create_dir(&path).unwrap();
        Self(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        std::fs::remove_dir_all(&self.0).unwrap();
    }
}

#[test]
fn token_files_are_for_this_user_and_of_two_versions() {
    let folder = Scratch::new("files");
    let (new, plain, old, later) =
        (folder.0.join("new"), folder.0.join("plain"), folder.0.join("old"), folder.0.join("later"));
    let token = Token::from_bytes([7; 32]).with_certificate(Some([9; 32]));
    token.write_file(&new).unwrap();
    let read = Token::read_file(&new).unwrap();
    assert_eq!((read.secret(), read.certificate()), (&[7; 32], Some([9; 32])));
    #[cfg(unix)]
    assert_eq!(
        std::os::unix::fs::PermissionsExt::mode(&new.metadata().unwrap().permissions()) & 0o777,
        0o600
    );
    let text = std::fs::read_to_string(&new).unwrap();
    let expected =
        format!("daisy-token 2\nsecret {}\ncertificate-sha256 {}\n", "07".repeat(32), "09".repeat(32));
    assert_eq!(text, expected);

    Token::from_bytes([7; 32]).write_file(&plain).unwrap();
    assert_eq!(Token::read_file(&plain).unwrap().certificate(), None);
    std::fs::write(&old, [7; 32]).unwrap();
    let read = Token::read_file(&old).unwrap();
    assert_eq!((read.secret(), read.certificate()), (&[7; 32], None));

    std::fs::write(&later, text.replace("token 2", "token 3")).unwrap();
    let error = Token::read_file(&later).unwrap_err().to_string();
    assert!(error.contains("daisy-token 3") && error.contains("daisy-token 2"), "{error}");
    for broken in ["", "daisy-token 2\n", "daisy-token 2\nsecret 0707\n", &text.replace("09", "zz")] {
        std::fs::write(&later, broken).unwrap();
        let error = Token::read_file(&later).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Authentication, "{error}");
        assert!(!error.to_string().contains("0707"), "the secret is in an error: {error}");
    }
}
