//! The settings and files that follow from answers.
#![allow(clippy::unwrap_used)]

use super::*;

#[test]
fn the_answers_of_later_questions_are_no_mistake_of_earlier_ones() {
    for later in [
        (Question::SmtpUrl, "smtps://mail.example.com"),
        (Question::From, "hostwatch@example.com"),
        (Question::To, "ops@example.com"),
        (Question::TelegramToken, "123456789:AAE-planted_0123456789abcdefghijklmn"),
        (Question::TelegramChat, "-1001234567890"),
        (Question::TelegramProxy, "socks5h://127.0.0.1:1"),
        (Question::TelegramApiUrl, "https://telegram.example.com"),
        (Question::HeartbeatUrl, "no address"),
    ] {
        let account = "main".parse().unwrap();
        let mut answers = Answers { account, values: BTreeMap::new(), container_states: BTreeMap::new() };
        answers.set(Question::PanelUrl, "https://panel.example.com");
        answers.set(Question::VmApiKey, "the-key");
        answers.set(later.0, later.1);
        assert!(answers.settings().is_err(), "{later:?}");
        assert!(answers.before(Question::SmtpUrl).settings().is_ok(), "{later:?}");
        let is_whole = later.0 == Question::HeartbeatUrl;
        assert_eq!(answers.before(Question::HeartbeatUrl).settings().is_ok(), is_whole, "{later:?}");
    }
}

#[test]
fn a_variable_lists_recipients_as_the_file_does() {
    for (text, want) in [
        (r#"["a@example.com", "b@example.com"]"#, Some("a@example.com, b@example.com")),
        ("['a@example.com']", Some("a@example.com")),
        ("a@example.com,b@example.com", Some("a@example.com, b@example.com")),
        ("[]", None),
    ] {
        let account = "main".parse().unwrap();
        let mut answers = Answers { account, values: BTreeMap::new(), container_states: BTreeMap::new() };
        answers.take_variables(&[("HOSTWATCH_EMAIL__TO", text)].into(), Path::new("")).unwrap();
        assert_eq!(answers.get(Question::To), want);
    }
}

#[test]
fn a_chat_stands_among_the_recipients_with_a_mail_server_or_without() {
    for to in ["", "ops@example.com"] {
        let account = "main".parse().unwrap();
        let mut answers = Answers { account, values: BTreeMap::new(), container_states: BTreeMap::new() };
        let given = [
            (Question::PanelUrl, "https://panel.example.com"),
            (Question::VmApiKey, "the-key"),
            (Question::TelegramToken, "123456789:AAE-planted_0123456789abcdefghijklmn"),
            (Question::TelegramChat, "-1001234567890"),
            (Question::To, to),
            (Question::SmtpUrl, if to.is_empty() { "" } else { "smtp://127.0.0.1:25" }),
            (Question::From, if to.is_empty() { "" } else { "hostwatch@example.com" }),
        ];
        for (question, text) in given {
            answers.set(question, text);
        }
        let settings = answers.settings().unwrap_or_else(|problems| panic!("{problems}"));
        let all: Vec<String> = settings.accounts[0].to.iter().map(ToString::to_string).collect();
        let want: Vec<&str> = [to, "telegram:chat"].into_iter().filter(|one| !one.is_empty()).collect();
        assert_eq!(all, want);
        let toml = answers.toml(None);
        assert!(toml.contains("[telegram.chat]\nchat_id = -1001234567890\n"), "{toml}");
        let list = want.iter().map(|one| format!("\"{one}\"")).collect::<Vec<_>>().join(", ");
        assert!(toml.contains(&format!("\nto = [{list}]\n")) && !toml.contains("planted"), "{toml}");
        assert_eq!(toml.matches("\nto = ").count(), 1, "each recipient is written once: {toml}");
        let names: Vec<String> = answers.secrets().into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["main.vm_api_key", "telegram.chat.token"]);
    }
}
