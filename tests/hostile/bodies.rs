//! The bytes of an attacker: heads and bodies, written while they are sent, so that a test needs no memory for
//! them.

use std::io::{self, Write};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use flate2::{Compress, Compression, FlushCompress};

use super::server::Request;

/// Writes head and body of an answer. Fails if the client disconnects.
pub type Answer = Arc<dyn Fn(&Request, &mut dyn Write) -> io::Result<()> + Send + Sync>;

/// The targets of attacks.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Endpoint {
    Vms,
    Containers,
    Sites,
    ExpectedBalance,
    Charges,
    Databases,
}

impl Endpoint {
    pub const ALL: [Self; 6] =
        [Self::Vms, Self::Containers, Self::Sites, Self::ExpectedBalance, Self::Charges, Self::Databases];
    /// The endpoints that are lists of records.
    pub const LISTS: [Self; 5] = [Self::Vms, Self::Containers, Self::Sites, Self::Charges, Self::Databases];

    pub fn of(path: &str) -> Option<Self> {
        match path {
            "/api/cvds/v1/vms/" => Some(Self::Vms),
            "/api/v1/hosting/containers/" => Some(Self::Containers),
            "/api/v1/charge/" => Some(Self::Charges),
            _ if path.starts_with("/api/v1/expected_balance/") => Some(Self::ExpectedBalance),
            _ if path.starts_with("/api/v2/hosting/containers/") => Some(Self::Sites),
            _ if path.ends_with("/databases/") => Some(Self::Databases),
            _ => None,
        }
    }

    /// Whether there are several of its kind, one for each container or site.
    pub fn is_below(self) -> bool {
        matches!(self, Self::Sites | Self::Databases)
    }

    /// Whether its records have listings of their own.
    pub fn is_parent(self) -> bool {
        matches!(self, Self::Containers | Self::Sites)
    }

    pub fn collector(self) -> &'static str {
        match self {
            Self::Vms => "vms",
            Self::Containers => "containers",
            Self::Sites => "sites",
            Self::ExpectedBalance => "expected_balance",
            Self::Charges => "charges",
            Self::Databases => "databases",
        }
    }

    /// A record with this id (or a text in its place) and further members, which begin with a comma.
    pub fn row(self, id: &str, more: &str) -> String {
        match self {
            Self::Vms => format!(r#"{{"id":{id},"state":"active"{more}}}"#),
            Self::Containers => format!(r#"{{"id":{id},"state":0{more}}}"#),
            Self::Sites => format!(r#"{{"id":{id},"state":"Active"{more}}}"#),
            Self::Databases => format!(r#"{{"id":{id},"name":"d"{more}}}"#),
            Self::Charges => {
                format!(r#"{{"resource_uri":"/c/{id}/","event_date":"2026-11-01","total":"1"{more}}}"#)
            }
            Self::ExpectedBalance => format!(
                r#"{{"amount":"1","balance":"9","moment":"2026-12-01T00:00:00","order":{{"id":{id},"state":"ORDERED"}}{more}}}"#
            ),
        }
    }

    /// The text before and behind the records of a page that claims to have `count` of them.
    pub fn page(self, count: u64) -> (String, String) {
        match self {
            Self::Vms => (format!(r#"{{"count":{count},"next":null,"previous":null,"results":["#), "]}".into()),
            Self::Charges => (
                format!(r#"{{"meta":{{"limit":20,"offset":0,"next":null,"previous":null,"total_count":{count}}},"objects":["#),
                "]}".into(),
            ),
            Self::ExpectedBalance => (
                r#"{"date":"2027-02-01T00:00:00","edd":null,"error":null,"expected_balance":"9","charge_moments":["#
                    .into(),
                "]}".into(),
            ),
            Self::Containers | Self::Sites | Self::Databases => {
                (format!(r#"{{"count":{count},"entities":["#), "]}".into())
            }
        }
    }

    /// A page of these records.
    pub fn page_of(self, rows: &[String]) -> String {
        let (before, behind) = self.page(rows.len() as u64);
        format!("{before}{}{behind}", rows.join(","))
    }
}

const JSON: &str = "Content-Type: application/json\r\nConnection: close\r\n";

/// An ordinary answer.
pub fn json(body: impl Into<Vec<u8>>) -> Answer {
    let body = body.into();
    Arc::new(move |_, out| {
        write!(out, "HTTP/1.1 200 OK\r\n{JSON}Content-Length: {}\r\n\r\n", body.len())?;
        out.write_all(&body)
    })
}

/// These bytes, and then the end of the connection.
pub fn raw(bytes: impl Into<Vec<u8>>) -> Answer {
    let bytes = bytes.into();
    Arc::new(move |_, out| out.write_all(&bytes))
}

/// A body that ends with the connection, written while it is sent.
pub fn streamed(body: impl Fn(&mut dyn Write) -> io::Result<()> + Send + Sync + 'static) -> Answer {
    Arc::new(move |_, out| {
        write!(out, "HTTP/1.1 200 OK\r\n{JSON}\r\n")?;
        body(out)
    })
}

/// Writes the same piece this many times.
pub fn repeat(out: &mut dyn Write, piece: &[u8], times: usize) -> io::Result<()> {
    let many = (1 << 16) / piece.len().max(1);
    if many > 1 && times > many {
        let block = piece.repeat(many);
        for _ in 0..times / many {
            out.write_all(&block)?;
        }
        return repeat(out, piece, times % many);
    }
    (0..times).try_for_each(|_| out.write_all(piece))
}

/// A body with `piece`, a comma, `piece`, … `times` times between the beginning and the end of a page.
pub fn many(endpoint: Endpoint, piece: &'static str, times: usize) -> Answer {
    let (before, behind) = endpoint.page(times as u64);
    streamed(move |out| {
        out.write_all(before.as_bytes())?;
        repeat(out, format!("{piece},").as_bytes(), times - 1)?;
        write!(out, "{piece}{behind}")
    })
}

/// A page of `rows` records with different ids.
pub fn rows(endpoint: Endpoint, count: u64) -> Answer {
    let (before, behind) = endpoint.page(count);
    streamed(move |out| {
        out.write_all(before.as_bytes())?;
        for id in 1..=count {
            let comma = if id < count { "," } else { "" };
            write!(out, "{}{comma}", endpoint.row(&id.to_string(), ""))?;
        }
        out.write_all(behind.as_bytes())
    })
}

/// A string of this many letters in place of a name; `%` in the page marks the place.
pub fn long(page: &str, letters: usize) -> Answer {
    let (before, behind) = page.split_once('%').unwrap();
    let (before, behind) = (before.to_owned(), behind.to_owned());
    streamed(move |out| {
        write!(out, "{before}\"")?;
        repeat(out, b"x", letters)?;
        write!(out, "\"{behind}")
    })
}

/// This many nested lists in place of `%`.
pub fn deep(page: &str, depth: usize) -> Answer {
    let (before, behind) = page.split_once('%').unwrap();
    json(format!("{before}{}{}{behind}", "[".repeat(depth), "]".repeat(depth)))
}

/// A deflated mebibyte of one character, with a full flush at its end, so that it can follow itself.
fn deflated(character: u8) -> Vec<u8> {
    let mut packed = Vec::with_capacity(1 << 20);
    let mut deflate = Compress::new(Compression::best(), false);
    deflate.compress_vec(&vec![character; 1 << 20], &mut packed, FlushCompress::Full).unwrap();
    packed
}

/// `start`, then gibibytes of one character, which are a thousandth of that when sent.
pub fn bomb(start: &str, character: u8, gibibytes: usize) -> Answer {
    static BLANKS: LazyLock<Vec<u8>> = LazyLock::new(|| deflated(b' '));
    static LETTERS: LazyLock<Vec<u8>> = LazyLock::new(|| deflated(b'x'));
    let mut begin = b"\x1f\x8b\x08\0\0\0\0\0\0\xff".to_vec();
    let mut deflate = Compress::new(Compression::fast(), false);
    let mut packed = Vec::with_capacity(start.len() + 1024);
    deflate.compress_vec(start.as_bytes(), &mut packed, FlushCompress::Full).unwrap();
    begin.extend_from_slice(&packed);
    Arc::new(move |_, out| {
        let piece = if character == b' ' { &*BLANKS } else { &*LETTERS };
        write!(out, "HTTP/1.1 200 OK\r\n{JSON}Content-Encoding: gzip\r\n\r\n")?;
        out.write_all(&begin)?;
        repeat(out, piece, gibibytes << 10)
    })
}

/// An answer whose body is compressed in these ways, one after the other.
pub fn packed(body: &str, encoding: &str, times: usize) -> Answer {
    let mut body = body.as_bytes().to_vec();
    for _ in 0..times {
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), Compression::fast());
        gzip.write_all(&body).unwrap();
        body = gzip.finish().unwrap();
    }
    let mut answer = format!(
        "HTTP/1.1 200 OK\r\n{JSON}Content-Encoding: {encoding}\r\nContent-Length: {}\r\n\r\n",
        body.len()
    )
    .into_bytes();
    answer.extend_from_slice(&body);
    raw(answer)
}

/// `start`, and then `piece` again and again with a pause before each, longer than any client waits.
pub fn dripping(start: &str, piece: &'static str, pause: Duration) -> Answer {
    let start = start.to_owned();
    Arc::new(move |_, out| {
        out.write_all(start.as_bytes())?;
        out.flush()?;
        let end = std::time::Instant::now() + Duration::from_secs(50);
        while std::time::Instant::now() < end {
            if !pause.is_zero() {
                std::thread::sleep(pause);
            }
            out.write_all(piece.as_bytes())?;
            if !pause.is_zero() {
                out.flush()?;
            }
        }
        Ok(())
    })
}
