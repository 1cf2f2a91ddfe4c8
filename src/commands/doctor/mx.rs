//! The mail servers of a domain: its MX records (RFC 5321, section 5.1), asked of this machine's name servers.
//! The standard library looks up addresses alone.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use simple_dns::rdata::RData;
use simple_dns::{CLASS, Name, Packet, PacketFlag, QCLASS, QTYPE, Question, TYPE};
use tokio::net::UdpSocket;
use tokio::time::timeout;

/// The time limit for one name server, before the next is asked.
const PATIENCE: Duration = Duration::from_secs(1);
const DNS_PORT: u16 = 53;
/// The longest answer over UDP without an extension (RFC 1035, section 4.2.1).
const ANSWER_BYTES: usize = 512;

/// The name servers of a text in the form of resolv.conf(5).
pub(super) fn name_servers(resolv_conf: &str) -> Vec<SocketAddr> {
    let lines = resolv_conf.lines().map(str::split_ascii_whitespace);
    lines
        .filter_map(|mut words| words.next().filter(|&word| word == "nameserver").and_then(|_| words.next()))
        .filter_map(|address| Some(SocketAddr::new(address.parse::<IpAddr>().ok()?, DNS_PORT)))
        .collect()
}

/// The names of a domain's mail servers, as the first name server tells that answers. Empty if the domain has no
/// MX record, and if no name server answers.
pub(super) async fn mail_servers(domain: &str, name_servers: &[SocketAddr]) -> Vec<String> {
    for &name_server in name_servers {
        if let Ok(Some(names)) = timeout(PATIENCE, ask(domain, name_server)).await {
            return names;
        }
    }
    Vec::new()
}

async fn ask(domain: &str, name_server: SocketAddr) -> Option<Vec<String>> {
    let id = fastrand::u16(..);
    let mut query = Packet::new_query(id);
    query.set_flags(PacketFlag::RECURSION_DESIRED);
    let (kind, class) = (QTYPE::TYPE(TYPE::MX), QCLASS::CLASS(CLASS::IN));
    query.questions.push(Question::new(Name::new(domain).ok()?, kind, class, false));
    let any: IpAddr =
        if name_server.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
    let socket = UdpSocket::bind((any, 0)).await.ok()?;
    // A connected socket takes answers from this server alone.
    socket.connect(name_server).await.ok()?;
    socket.send(&query.build_bytes_vec().ok()?).await.ok()?;
    let mut answer = [0; ANSWER_BYTES];
    let length = socket.recv(&mut answer).await.ok()?;
    let answer = Packet::parse(&answer[..length]).ok().filter(|answer| answer.id() == id)?;
    let names = answer.answers.iter().filter_map(|record| {
        let RData::MX(mx) = &record.rdata else { return None };
        Some(mx.exchange.to_string())
    });
    Some(names.collect())
}

#[cfg(test)]
mod tests {
    use simple_dns::ResourceRecord;
    use simple_dns::rdata::MX;

    use super::*;

    #[test]
    fn name_servers_are_read_from_resolv_conf() {
        let text = "# nameserver 192.0.2.1\nsearch example.com\n nameserver\t192.0.2.53\nnameserver 2001:db8::53\nnameserver x\nnameserver\n";
        let found: Vec<String> = name_servers(text).iter().map(SocketAddr::to_string).collect();
        assert_eq!(found, ["192.0.2.53:53", "[2001:db8::53]:53"]);
    }

    #[tokio::test]
    async fn the_first_name_server_that_answers_tells_the_mail_servers() {
        let deaf = UdpSocket::bind(("127.0.0.1", 0)).await.unwrap();
        let server = UdpSocket::bind(("127.0.0.1", 0)).await.unwrap();
        let addresses = [deaf.local_addr().unwrap(), server.local_addr().unwrap()];
        let serve = async {
            let mut bytes = [0; ANSWER_BYTES];
            let (length, client) = server.recv_from(&mut bytes).await.unwrap();
            let query = Packet::parse(&bytes[..length]).unwrap();
            assert_eq!(query.questions[0].qname.to_string(), "shop.example");
            let mut answer = Packet::new_reply(query.id());
            for (preference, exchange) in [(10, "mx1.mail.example"), (20, "mx2.mail.example")] {
                let exchange = Name::new(exchange).unwrap();
                let record = RData::MX(MX { preference, exchange });
                let name = Name::new("shop.example").unwrap();
                answer.answers.push(ResourceRecord::new(name, CLASS::IN, 60, record));
            }
            server.send_to(&answer.build_bytes_vec().unwrap(), client).await.unwrap();
        };
        let both = async { tokio::join!(mail_servers("shop.example", &addresses), serve) };
        let (names, ()) = timeout(Duration::from_secs(20), both).await.unwrap();
        assert_eq!(names, ["mx1.mail.example", "mx2.mail.example"]);
    }
}
