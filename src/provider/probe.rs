//! Asks a host for its time and its certificate's end, with one GET of its root and without credentials. Any
//! answer suffices.

use chrono::{DateTime, Utc};
use reqwest::Url;
use reqwest::tls::TlsInfo;
use x509_parser::parse_x509_certificate;

use super::error::cause;
use super::hosts::Hosts;
use super::transport::date;
use crate::model::Via;

/// The facts in a host's answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Host {
    /// The host's time, to the second.
    pub date: Option<DateTime<Utc>>,
    /// The end of its certificate; `None` without TLS.
    pub certificate_until: Option<DateTime<Utc>>,
}

/// Asks the host of an address.
///
/// # Errors
/// The reason, if it gives no answer.
pub(crate) async fn probe(address: &Url, via: &Via) -> Result<Host, String> {
    let cause = |error: reqwest::Error| cause(&error.without_url());
    let client = Hosts::default().client(via)?.tls_info(true).build().map_err(cause)?;
    let mut root = super::address::bare(address);
    root.set_path("/");
    let answer = client.get(root).send().await.map_err(cause)?;
    let certificate = answer.extensions().get::<TlsInfo>().and_then(TlsInfo::peer_certificate);
    Ok(Host { date: date(&answer), certificate_until: certificate.and_then(until) })
}

/// The end of a certificate.
fn until(der: &[u8]) -> Option<DateTime<Utc>> {
    let (_, certificate) = parse_x509_certificate(der).ok()?;
    DateTime::from_timestamp(certificate.validity().not_after.timestamp(), 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_certificate_is_read() {
        let key = rcgen::KeyPair::generate().unwrap();
        let mut parameters = rcgen::CertificateParams::new(vec!["panel.example".into()]).unwrap();
        parameters.not_after = rcgen::date_time_ymd(2031, 2, 3);
        let certificate = parameters.self_signed(&key).unwrap();
        assert_eq!(until(certificate.der()).unwrap().to_rfc3339(), "2031-02-03T00:00:00+00:00");
        assert_eq!(until(b"nonsense"), None);
    }
}
