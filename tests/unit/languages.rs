//! The language of each text: recipients by the configuration, the page by its address, the browser's setting
//! or the account.
#![allow(clippy::unwrap_used, reason = "tests")]

use super::account::*;
use super::config_support::EMAIL;
use super::server::Server;
use crate::config::{self, Environment};
use crate::daemon::mails::MailWriter;
use crate::model::*;

const RECIPIENTS: &str = r#"
[accounts.main]
panel_url = "https://panel.example.com"
vm_api_key = "key"
to = ["ops@example.com", { address = "Ann <ann@Example.com>", language = "ru" }]
[accounts.main.alerts]
escalate_to = [{ address = "boss@example.com", language = "ru" }]
[accounts.shop]
panel_url = "https://panel.example.com"
vm_api_key = "key"
language = "ru"
to = ["ops@example.com", { address = "ann@example.com" }]
"#;

#[test]
fn a_recipient_reads_its_own_language_else_the_accounts() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("x.toml");
    std::fs::write(&file, format!("{RECIPIENTS}{EMAIL}")).unwrap();
    let settings = config::load(Some(&file), &Environment::from([])).unwrap();
    let writer = MailWriter::of(&settings).unwrap();
    let (main, shop): (AccountName, AccountName) = ("main".parse().unwrap(), "shop".parse().unwrap());
    for (to, accounts, want) in [
        ("ops@example.com", vec![&main], Language::En),
        ("ops@example.com", vec![&shop], Language::Ru),
        ("ops@example.com", vec![&main, &shop], Language::En),
        ("ann@example.com", vec![&main], Language::Ru),
        ("boss@example.com", vec![&main], Language::Ru),
        ("ann@example.com", vec![], Language::En),
    ] {
        assert_eq!(writer.language(to, accounts.clone()), want, "{to} {accounts:?}");
    }
}

#[tokio::test]
async fn the_page_is_in_the_requested_language() {
    let server = Server::start(&[&full("main")], false).await;
    let russian = "Accept-Language: ru-RU,ru;q=0.9\r\n";
    for (path, headers, language) in
        [("/", russian, "ru"), ("/incidents?days=30", russian, "ru"), ("/", "", "en")]
    {
        let page = server.ask("GET", path, headers).await;
        assert!(page.text().contains(&format!("<html lang=\"{language}\">")), "{path}: {}", page.text());
    }
}
