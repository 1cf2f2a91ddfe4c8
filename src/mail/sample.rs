//! The mail of `hostwatch test-message`: an invented alert, marked as such. Pure.

use super::body::{Body, Section};
use super::context::Context;
use super::subject::{self, Bracket, Subject};
use super::{incident, parts};
use crate::alert::Notice;
use crate::model::say;

/// Subject and contents of a test mail.
pub(super) fn write(notice: &Notice, context: &Context<'_>) -> (Subject, Body) {
    let (accounts, language) = (notice.accounts.as_slice(), context.language);
    let said = language.pick("sample alert, nothing is wrong", "пробное сообщение, ничего не случилось");
    let at = context.of_first(accounts).moment(context.now);
    let title = language.pick("VM web-1 in error (invented)", "Сервер web-1: ошибка (это выдуманный пример)");
    let mut sample = Section::new(title);
    sample.row(language.pick("State", "Состояние"), language.pick("error", "ошибка"));
    sample.row(incident::since_label(language), at.clone());
    let why = language.pick("Somebody asked for a test mail", "Кто-то запросил пробное письмо");
    sample.row(language.pick("Why", "Почему письмо"), why);
    sample.row(
        incident::to_do(language),
        language.pick(
            "Nothing: mails arrive. Check that this one is not in the spam folder.",
            "Ничего: письма доходят. Проверьте, не попало ли это в спам.",
        ),
    );
    let body = Body {
        lead: say!(
            language,
            "Test: mails of hostwatch arrive here; nothing is wrong (sent {at}).",
            "Проверка: письма hostwatch сюда доходят; ничего не случилось (отправлено {at})."
        ),
        sections: vec![sample],
        foot: vec![parts::sender_line(accounts, language)],
        ..Body::default()
    };
    (subject::line(Bracket::Test, said, accounts, language), body)
}
