//! The mail of `hostwatch test-message`: an invented alert, marked as such. Pure.

use super::body::{Body, Section, Tone};
use super::context::Context;
use super::{incident, parts, started};
use crate::model::{AccountName, say};

/// The contents of a test mail.
pub(super) fn body(accounts: &[AccountName], context: &Context<'_>) -> Body {
    let language = context.language;
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
    let mut sections = vec![sample];
    let overview = started::overview(accounts, context);
    if !overview.is_empty() {
        sections.push(overview);
    }
    Body {
        tone: Tone::Info,
        lead: say!(
            language,
            "Test: mails of hostwatch arrive here; nothing is wrong (sent {at}).",
            "Проверка: письма hostwatch сюда доходят; ничего не случилось (отправлено {at})."
        ),
        sections,
        foot: vec![parts::sender_line(accounts, language)],
        ..Body::default()
    }
}
