//! What a host shows anybody: its time, and how long its certificate is good for. One GET of
//! its root, without credentials; whatever it answers will do.

use chrono::{DateTime, Utc};
use reqwest::Url;
use reqwest::header::DATE;
use reqwest::tls::TlsInfo;
use x509_parser::parse_x509_certificate;

use super::transport::{RequestTiming, cause, http};

/// A host as it answered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Host {
    /// Its clock, to the second.
    pub date: Option<DateTime<Utc>>,
    /// When its certificate ends; `None` without TLS.
    pub certificate_until: Option<DateTime<Utc>>,
}

/// Asks the host of an address.
///
/// # Errors
/// Where it gives no answer at all, and why.
pub(crate) async fn probe(address: &Url) -> Result<Host, String> {
    let client = http(&RequestTiming::default()).tls_info(true).build().map_err(|error| cause(&error))?;
    let mut root = super::address::bare(address);
    root.set_path("/");
    let answer = client.get(root).send().await.map_err(|error| cause(&error.without_url()))?;
    let date = answer.headers().get(DATE).and_then(|date| date.to_str().ok());
    let certificate = answer.extensions().get::<TlsInfo>().and_then(TlsInfo::peer_certificate);
    Ok(Host {
        // The form of HTTP (RFC 9110, section 5.6.7) is one of mail's.
        date: date
            .and_then(|date| DateTime::parse_from_rfc2822(date).ok())
            .map(|date| date.with_timezone(&Utc)),
        certificate_until: certificate.and_then(until),
    })
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
