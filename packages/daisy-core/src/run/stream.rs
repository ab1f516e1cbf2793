//! The one place in the server that knows what lies under the frames: a socket, or TLS over one.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::server::TlsStream;

use crate::error::{Error, ErrorKind, Result};
use crate::wire::TLS_HANDSHAKE;

/// A connection.
pub(super) enum Stream {
    /// As it is.
    Plain(TcpStream),
    /// Over TLS.
    Secured(Box<TlsStream<TcpStream>>),
}

/// Waits for the first byte, and says no if the peer speaks TLS with a server that does not, or the other way round.
/// Nothing is taken from the stream, so that the peer can be told.
pub(super) async fn check_opening(socket: &TcpStream, is_secured: bool) -> Result<()> {
    let mut first = [0];
    if socket.peek(&mut first).await? == 0 {
        return Err(Error::new(ErrorKind::ConnectionLost, "the peer closed the connection"));
    }
    match (is_secured, first[0] == TLS_HANDSHAKE) {
        (true, false) => Err(Error::new(ErrorKind::Protocol, "this run speaks TLS")
            .with_context("got", "something that is no TLS")
            .with_context("expected", "TLS 1.3, with the certificate that the token file names")
            .with_context("way out", "a worker with the token file and the daisy of this run")),
        (false, true) => Err(Error::new(ErrorKind::Protocol, "this run does not speak TLS")
            .with_context("got", "the opening of TLS")
            .with_context("expected", "a worker with the token file of this run")),
        _ => Ok(()),
    }
}

/// Agrees on TLS with a peer.
pub(super) async fn secure(socket: TcpStream, config: &Arc<ServerConfig>) -> Result<Stream> {
    let agreed = TlsAcceptor::from(Arc::clone(config)).accept(socket).await;
    let stream = agreed.map_err(|error| {
        Error::new(ErrorKind::Protocol, "no agreement on TLS with the peer").with_source(error)
    })?;
    Ok(Stream::Secured(Box::new(stream)))
}

impl AsyncRead for Stream {
    #[inline]
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        room: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_read(context, room),
            Self::Secured(stream) => Pin::new(stream).poll_read(context, room),
        }
    }
}

impl AsyncWrite for Stream {
    #[inline]
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_write(context, bytes),
            Self::Secured(stream) => Pin::new(stream).poll_write(context, bytes),
        }
    }

    #[inline]
    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_flush(context),
            Self::Secured(stream) => Pin::new(stream).poll_flush(context),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Plain(stream) => Pin::new(stream).poll_shutdown(context),
            Self::Secured(stream) => Pin::new(stream).poll_shutdown(context),
        }
    }
}
