//! TLS, for traffic that leaves the machine: a certificate for each run, known by its digest.
//!
//! There is no authority that could be asked: whoever has the token file knows the digest of the one certificate that
//! is right. TLS keeps others from reading and from taking a connection over; who may work is still decided by the
//! handshake inside.

use std::fmt;
use std::sync::Arc;

use rustls::client::Resumption;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer, ServerName, UnixTime};
use rustls::version::TLS13;
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, OtherError, ServerConfig, SignatureScheme,
};
use sha2::{Digest, Sha256};

use crate::error::{Error, ErrorKind, Result};

/// First byte of whatever a peer that speaks TLS says; no frame of a peer that is not proven begins with it.
pub(crate) const TLS_HANDSHAKE: u8 = 22;
/// The name in the certificate. It is not looked at, but TLS wants one.
const NAME: &str = "daisy";

/// SHA-256 of a certificate in DER.
pub type Fingerprint = [u8; 32];

/// A new certificate with its key, for the server of one run.
///
/// # Errors
/// `Io` if no key can be made.
pub(crate) fn new_server() -> Result<(Arc<ServerConfig>, Fingerprint)> {
    let failed = |error: &dyn fmt::Display| {
        Error::new(ErrorKind::Io, "no certificate can be made for this run")
            .with_context("got", error)
            .with_context("way out", "DAISY_TLS=off, where nobody else can read the network")
    };
    let made = rcgen::generate_simple_self_signed([NAME.to_owned()]).map_err(|error| failed(&error))?;
    let certificate = made.cert.der().clone();
    let fingerprint = digest(&certificate);
    let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
    let mut config = ServerConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&TLS13])
        .and_then(|builder| builder.with_no_client_auth().with_single_cert(vec![certificate], key.into()))
        .map_err(|error| failed(&error))?;
    // A worker that comes back shakes hands anew.
    config.send_tls13_tickets = 0;
    Ok((Arc::new(config), fingerprint))
}

/// What a worker needs to speak with the server of this certificate and with no other.
pub(super) fn client_of(expected: Fingerprint) -> Result<Arc<ClientConfig>> {
    let provider = provider();
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_protocol_versions(&[&TLS13])
        .map_err(|error| Error::new(ErrorKind::Protocol, "TLS cannot be set up").with_source(error))?;
    let mut config = builder
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Pinned { expected, provider }))
        .with_no_client_auth();
    config.resumption = Resumption::disabled();
    Ok(Arc::new(config))
}

/// The name that [`client_of`] expects, and does not look at.
pub(super) fn server_name() -> ServerName<'static> {
    ServerName::try_from(NAME).expect("it is a name")
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}

fn digest(certificate: &CertificateDer<'_>) -> Fingerprint {
    Sha256::digest(certificate).into()
}

/// Takes the one certificate that has this digest, and proves that the server has its key.
#[derive(Debug)]
struct Pinned {
    expected: Fingerprint,
    provider: Arc<CryptoProvider>,
}

/// A certificate with another digest.
#[derive(Debug)]
pub(super) struct AnotherCertificate {
    got: Fingerprint,
    expected: Fingerprint,
}

impl fmt::Display for AnotherCertificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (got, expected) = (hex(&self.got), hex(&self.expected));
        write!(f, "the SHA-256 of its certificate is {got}, the token file says {expected}")
    }
}

impl std::error::Error for AnotherCertificate {}

impl ServerCertVerifier for Pinned {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> std::result::Result<ServerCertVerified, rustls::Error> {
        let got = digest(certificate);
        if got == self.expected {
            return Ok(ServerCertVerified::assertion());
        }
        let other = AnotherCertificate { got, expected: self.expected };
        Err(CertificateError::Other(OtherError(Arc::new(other))).into())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> std::result::Result<HandshakeSignatureValid, rustls::Error> {
        Err(rustls::Error::General("TLS 1.2 is not spoken here".to_owned()))
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> std::result::Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signed, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

/// What went wrong while a worker and its server agreed on TLS, as seen by the worker.
pub(super) fn explain(error: &rustls::Error) -> Error {
    match error {
        rustls::Error::InvalidCertificate(CertificateError::Other(OtherError(other))) => {
            Error::new(ErrorKind::Authentication, "the server is not the one of this token file")
                .with_context("got", other)
                .with_context("expected", "the driver that wrote the token file")
        }
        rustls::Error::InvalidMessage(_) => {
            Error::new(ErrorKind::Protocol, "the server does not speak TLS, which the token file asks for")
                .with_context("got", error)
                .with_context("expected", "the driver that wrote the token file")
        }
        _ => Error::new(ErrorKind::Protocol, "no agreement on TLS with the server")
            .with_context("got", error)
            .with_context("expected", "TLS 1.3"),
    }
}

/// Bytes as text.
pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// 32 bytes from text.
pub(super) fn from_hex(text: &str) -> Option<[u8; 32]> {
    let mut bytes = [0; 32];
    if text.len() != 64 || !text.is_ascii() {
        return None;
    }
    for (place, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&text[2 * place..2 * place + 2], 16).ok()?;
    }
    Some(bytes)
}
