//! `--web.config.file`: TLS, client certificates, passwords and headers, in the file format of the Prometheus
//! exporter toolkit. All errors are reported together, with file, key and remedy.

mod file;
mod findings;
mod tls;
mod users;

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use hyper::header::{self, HeaderName, HeaderValue};
use rustls::ServerConfig;
use tokio_util::sync::CancellationToken;

pub(super) use users::{Admission, Checks};

use file::File;
use findings::WebFindings;
use users::Users;

use crate::config_error::ConfigErrors;
use crate::file_stamp::FileStamp;
use crate::model::nearest::nearest;
use crate::read_file;

/// The headers that may be set, as in the toolkit, with the values that they may have.
const HEADERS: &[(&str, HeaderName, &[&str])] = &[
    ("Content-Security-Policy", header::CONTENT_SECURITY_POLICY, &[]),
    ("Strict-Transport-Security", header::STRICT_TRANSPORT_SECURITY, &[]),
    ("X-Content-Type-Options", header::X_CONTENT_TYPE_OPTIONS, &["nosniff"]),
    ("X-Frame-Options", header::X_FRAME_OPTIONS, &["deny", "sameorigin"]),
    ("X-XSS-Protection", header::X_XSS_PROTECTION, &[]),
];

/// A valid web configuration.
pub(crate) struct WebConfig {
    /// The configuration for TLS handshakes; `None` for plain connections.
    pub(super) tls: Option<Arc<ServerConfig>>,
    pub(super) users: Users,
    /// Whether connections need a client's certificate.
    certificates: bool,
    /// Headers of every response.
    pub(super) headers: Vec<(HeaderName, HeaderValue)>,
    /// Notes about valid settings that deserve attention, one a line.
    pub(crate) notes: Vec<String>,
    /// All files that were read.
    pub(super) files: Vec<FileStamp>,
    /// Cancelled once another configuration is in force. Connections made under this one then end.
    pub(super) replaced: CancellationToken,
}

impl WebConfig {
    /// Reads and checks the file and all files that it names, which blocks for some milliseconds.
    ///
    /// # Errors
    /// All errors.
    pub(crate) fn read(path: &Path) -> Result<Self, ConfigErrors> {
        let mut findings = WebFindings::new(path);
        let text = findings.read(path, "", |path| {
            read_file::text(path).map_err(|why| why.or("name it with --web.config.file"))
        });
        let parsed = text.map(|text| file::parse(&text));
        let file = match parsed {
            Some(Ok(file)) => file,
            Some(Err(message)) => {
                findings.error("", message);
                File::default()
            }
            None => File::default(),
        };
        let tls = file.tls_server_config.as_ref().and_then(|tls| tls::read(tls, &mut findings));
        let certificates = file.tls_server_config.as_ref().is_some_and(tls::requires_certificates);
        let http = file.http_server_config.unwrap_or_default();
        if http.http2 == Some(true) {
            findings
                .note("http_server_config.http2: HTTP/1.1 is all that is spoken; clients fall back to it");
        }
        let headers = http.headers.unwrap_or_default();
        let headers = headers.iter().filter_map(|(name, value)| header(name, value, &mut findings)).collect();
        let users = Users::read(file.basic_auth_users.unwrap_or_default(), &mut findings);
        let (notes, files) = findings.finish()?;
        Ok(Self { tls, users, certificates, headers, notes, files, replaced: CancellationToken::new() })
    }

    /// Whether connections are encrypted.
    pub(crate) fn has_tls(&self) -> bool {
        self.tls.is_some()
    }

    /// Whether requests need a name and a password.
    pub(crate) fn has_users(&self) -> bool {
        !self.users.is_empty()
    }

    /// Whether clients have to authenticate.
    pub(super) fn authenticates(&self) -> bool {
        self.has_users() || (self.has_tls() && self.certificates)
    }
}

/// Keys and hashes are left out.
impl fmt::Debug for WebConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WebConfig")
            .field("tls", &self.has_tls())
            .field("users", &self.users)
            .field("files", &self.files)
            .finish_non_exhaustive()
    }
}

/// A header to be set; `None` if the value is blank or wrong.
fn header(name: &str, value: &str, findings: &mut WebFindings) -> Option<(HeaderName, HeaderValue)> {
    let key = format!("http_server_config.headers.{name}");
    let Some((_, header, allowed)) = HEADERS.iter().find(|(known, ..)| *known == name) else {
        let known = HEADERS.iter().map(|(known, ..)| *known).collect::<Vec<_>>();
        let near = nearest(name, &known);
        findings.error(&key, format!("this header cannot be set; did you mean '{near}'?"));
        return None;
    };
    if value.is_empty() {
        return None;
    }
    if !allowed.is_empty() && !allowed.contains(&value) {
        findings.error(&key, format!("allowed are {}", allowed.join(" and ")));
        return None;
    }
    let Ok(value) = HeaderValue::from_str(value) else {
        findings.error(&key, "holds characters that no header may hold, such as a line break; remove them");
        return None;
    };
    Some((header.clone(), value))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<WebConfig, String> {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("web.yml");
        std::fs::write(&path, text).unwrap();
        let shown = path.display().to_string();
        WebConfig::read(&path).map_err(|problems| problems.to_string().replace(&shown, "web.yml"))
    }

    #[test]
    fn headers_are_those_of_the_toolkit() {
        let config = read(
            "http_server_config:\n  headers:\n    Strict-Transport-Security: max-age=31536000\n    \
             X-Frame-Options: deny\n    X-Content-Type-Options: nosniff\n    X-XSS-Protection: 0\n    \
             Content-Security-Policy: ''\n",
        );
        let headers = config.unwrap().headers;
        let headers: Vec<_> =
            headers.iter().map(|(name, value)| (name.as_str(), value.to_str().unwrap())).collect();
        let want = [
            ("strict-transport-security", "max-age=31536000"),
            ("x-content-type-options", "nosniff"),
            ("x-frame-options", "deny"),
            ("x-xss-protection", "0"),
        ];
        assert_eq!(headers, want);
    }

    #[test]
    fn everything_wrong_is_told_at_once() {
        let text = r#"
tls_server_config:
  min_version: TLS14
http_server_config:
  headers:
    X-Frame-Options: ALLOW
    Server: nginx
    X-XSS-Protection: "1\n2"
basic_auth_users:
  alice: hunter2
"#;
        let wrong = read(text).unwrap_err();
        let want = [
            "web.yml: tls_server_config.min_version: no such version; write TLS12 or TLS13",
            "web.yml: tls_server_config.cert_file: is missing; name a PEM file",
            "web.yml: tls_server_config.key_file: is missing; name a PEM file",
            "web.yml: http_server_config.headers.Server: this header cannot be set",
            "web.yml: http_server_config.headers.X-Frame-Options: allowed are deny and sameorigin",
            "web.yml: http_server_config.headers.X-XSS-Protection: holds characters",
            "web.yml: basic_auth_users.alice: is not a bcrypt hash",
        ];
        for want in want {
            assert!(wrong.contains(want), "{want}\nis not in\n{wrong}");
        }
        assert_eq!(wrong.split("\nweb.yml: ").count(), want.len(), "{wrong}");
        assert!(!wrong.contains("hunter2"));
    }

    #[test]
    fn a_key_about_http2_gives_a_note() {
        assert_eq!(read("http_server_config: {http2: false}").unwrap().notes.len(), 0);
        assert_eq!(read("http_server_config: {http2: true}").unwrap().notes.len(), 1);
    }

    #[test]
    fn a_file_that_cannot_be_read_says_so() {
        let problems = WebConfig::read(Path::new("/no/such/web.yml")).unwrap_err().to_string();
        assert!(problems.starts_with("/no/such/web.yml: cannot be read: No such file"), "{problems}");
    }
}
