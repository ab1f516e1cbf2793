//! Where to listen, and what to tell workers about it.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, ToSocketAddrs};

use socket2::{Domain, Protocol, Socket, Type};

use super::config::{Encryption, Listen};
use crate::error::{Error, ErrorKind, Result};

/// Connections that the system keeps until they are accepted: a whole fleet may come at once.
const BACKLOG: i32 = 4096;

/// Sockets that listen on one port, and the addresses that workers are told.
pub(super) struct Listening {
    pub(super) sockets: Vec<TcpListener>,
    pub(super) addresses: Vec<String>,
    /// Whether connections are to be encrypted.
    pub(super) is_secured: bool,
}

/// Binds to what was asked for.
pub(super) fn listen(listen: &Listen) -> Result<Listening> {
    let hosts = match &listen.host {
        Some(host) => resolve(host)?,
        None if listen.all_local => vec![IpAddr::V4(Ipv4Addr::LOCALHOST)],
        None => every_address()?,
    };
    let sockets = bind(&hosts, listen)?;
    let addresses =
        sockets.iter().map(|socket| Ok(socket.local_addr()?.to_string())).collect::<Result<Vec<String>>>()?;
    let is_secured = match listen.encryption {
        Encryption::On => true,
        Encryption::Off => false,
        Encryption::Auto => hosts.iter().any(|host| !host.is_loopback()),
    };
    Ok(Listening { sockets, addresses, is_secured })
}

/// The addresses of this machine that a host, an address or the name of an interface stands for.
fn resolve(host: &str) -> Result<Vec<IpAddr>> {
    let own = own_addresses()?;
    let of_interface: Vec<IpAddr> =
        own.iter().filter(|(name, _)| name == host).map(|(_, address)| *address).collect();
    if !of_interface.is_empty() {
        return Ok(of_interface);
    }
    let plain = host.trim_start_matches('[').trim_end_matches(']');
    let resolved: BTreeSet<IpAddr> = match plain.parse::<IpAddr>() {
        Ok(address) => [address].into(),
        Err(_) => (plain, 0)
            .to_socket_addrs()
            .map_err(|error| {
                wrong_host(host, "is no address, interface or known name", &own).with_source(error)
            })?
            .map(|address| address.ip())
            .collect(),
    };
    if let Some(any) = resolved.iter().find(|address| address.is_unspecified()) {
        let same_family = |address: &IpAddr| address.is_ipv4() == any.is_ipv4();
        return Ok(every_address()?.into_iter().filter(same_family).collect());
    }
    let usable: Vec<IpAddr> = resolved.into_iter().filter(|address| is_own(*address, &own)).collect();
    if usable.is_empty() {
        return Err(wrong_host(host, "is not an address of this machine", &own));
    }
    Ok(usable)
}

fn is_own(address: IpAddr, own: &[(String, IpAddr)]) -> bool {
    address.is_loopback() || own.iter().any(|(_, own)| *own == address)
}

/// Every address of this machine that others can reach.
fn every_address() -> Result<Vec<IpAddr>> {
    let own = own_addresses()?;
    let reachable: Vec<IpAddr> =
        own.iter().map(|(_, address)| *address).filter(|address| !address.is_loopback()).collect();
    if reachable.is_empty() {
        return Err(Error::new(
            ErrorKind::Address,
            "this machine has no address that other machines can reach",
        )
        .with_context("got", describe(&own))
        .with_context("expected", "an interface that is up and not loopback")
        .with_context("way out", "workers on this machine only, or host=\"127.0.0.1\""));
    }
    Ok(reachable)
}

fn own_addresses() -> Result<Vec<(String, IpAddr)>> {
    let interfaces = if_addrs::get_if_addrs().map_err(|error| {
        Error::new(ErrorKind::Address, "the network interfaces cannot be listed").with_source(error)
    })?;
    // An IPv6 address that holds on one link only means nothing to others.
    let is_usable = |address: &IpAddr| !matches!(address, IpAddr::V6(v6) if v6.is_unicast_link_local());
    let all = interfaces.into_iter().map(|interface| (interface.name.clone(), interface.ip()));
    Ok(all.filter(|(_, address)| is_usable(address)).collect())
}

fn wrong_host(host: &str, problem: &str, own: &[(String, IpAddr)]) -> Error {
    Error::new(ErrorKind::Address, format!("host {problem}"))
        .with_context("got", format!("{host:?}"))
        .with_context("expected", format!("one of {}, or a name for one of them", describe(own)))
}

fn describe(own: &[(String, IpAddr)]) -> String {
    let all: Vec<String> = own.iter().map(|(name, address)| format!("{address} ({name})")).collect();
    if all.is_empty() { "nothing".to_owned() } else { all.join(", ") }
}

/// Binds every host to one port, the first that is free on all of them.
fn bind(hosts: &[IpAddr], listen: &Listen) -> Result<Vec<TcpListener>> {
    let mut last = None;
    for port in listen.ports.clone() {
        match bind_port(hosts, port) {
            Ok(sockets) => return Ok(sockets),
            Err(error) => last = Some(error),
        }
    }
    let (first, end) = (listen.ports.start(), listen.ports.end());
    let asked = if first == end { format!("port {first}") } else { format!("ports {first}-{end}") };
    let hosts: Vec<String> = hosts.iter().map(IpAddr::to_string).collect();
    let error = Error::new(ErrorKind::Address, "no port is free to listen on")
        .with_context("got", format!("{asked} on {}", hosts.join(", ")))
        .with_context("expected", "a port, or a range such as 5000-5100, that no other program uses");
    Err(match last {
        Some(source) => error.with_source(source),
        None => error,
    })
}

fn bind_port(hosts: &[IpAddr], port: u16) -> std::io::Result<Vec<TcpListener>> {
    let mut sockets: Vec<TcpListener> = Vec::new();
    for host in hosts {
        // All on the port that the first one got.
        let port = match sockets.first() {
            Some(first) => first.local_addr()?.port(),
            None => port,
        };
        sockets.push(bind_one(SocketAddr::new(*host, port))?);
    }
    Ok(sockets)
}

fn bind_one(address: SocketAddr) -> std::io::Result<TcpListener> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    // A port that a finished run used is free at once. (On Windows the option would allow to steal a port in use.)
    socket.set_reuse_address(cfg!(unix))?;
    if address.is_ipv6() {
        socket.set_only_v6(true)?;
    }
    socket.bind(&address.into())?;
    socket.listen(BACKLOG)?;
    socket.set_nonblocking(true)?;
    Ok(socket.into())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn listen_on(host: &str) -> Result<Listening> {
        listen(&Listen { host: Some(host.to_owned()), ..Listen::default() })
    }

    #[test]
    fn local_runs_listen_on_loopback_only() {
        let listening = listen(&Listen::default()).unwrap();
        assert_eq!(listening.sockets.len(), 1);
        assert!(listening.addresses[0].starts_with("127.0.0.1:"));
    }

    #[test]
    fn hosts_are_addresses_names_or_interfaces() {
        for host in ["127.0.0.1", "localhost", "lo"] {
            let listening = listen_on(host).unwrap();
            assert!(!listening.addresses.is_empty(), "{host}");
        }
    }

    #[test]
    fn a_wrong_host_says_what_there_is() {
        for host in ["192.0.2.1", "no-such-host.invalid", "eth99"] {
            let error = listen_on(host).err().unwrap().to_string();
            assert!(error.contains(host) && error.contains("127.0.0.1"), "{error}");
        }
    }

    #[test]
    fn the_first_free_port_of_a_range_is_taken() {
        let taken = listen(&Listen::default()).unwrap();
        let port = taken.sockets[0].local_addr().unwrap().port();
        let error = listen(&Listen { ports: port..=port, ..Listen::default() }).err().unwrap();
        assert!(error.to_string().contains(&port.to_string()), "{error}");
        let end = port.saturating_add(20);
        let next = listen(&Listen { ports: port..=end, ..Listen::default() }).unwrap();
        assert!((port + 1..=end).contains(&next.sockets[0].local_addr().unwrap().port()));
    }
}
