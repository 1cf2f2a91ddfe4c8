//! The advice for an incident, one line for each kind, and hints for finding its resource in the provider's
//! panel. Mails and the page show the same. Pure.

use super::words;
use crate::alert::{Key, Kind};
use crate::model::{AccountState, ContainerId, Language, Sort, VmId, sanitize, say};

/// The advice in one line. It depends on why a container or a site was stopped, if that is known.
pub(crate) fn of(key: &Key, state: Option<&AccountState>, language: Language) -> &'static str {
    let (en, ru) = match key.kind {
        Kind::CollectorFailing => (
            "Look at the error and at the provider's own status page: until this works, nothing is watched there.",
            "Посмотрите на ошибку и на страницу состояния самого провайдера: пока данных нет, наблюдения за ними тоже нет.",
        ),
        Kind::Disconnect => (
            "Pay the amount by the day named; the next report closes this by itself.",
            "Оплатите указанную сумму до названного дня — следующий отчёт закроет проблему сам.",
        ),
        Kind::BillingReport => (
            "Look at the balance in the provider's panel: until a report can be read, hostwatch warns by the last date it knows.",
            "Проверьте баланс в панели провайдера: пока отчёта нет, hostwatch предупреждает по последней известной дате.",
        ),
        Kind::OrderSuspended => (
            "Open the order in the provider's panel: pay what is due, or close it if it is not wanted any more.",
            "Откройте заказ в панели провайдера: оплатите долг или закройте заказ, если он больше не нужен.",
        ),
        Kind::BalanceDrop => (
            "Compare the last charges in the provider's panel with what you expected.",
            "Сверьте последние начисления в панели провайдера с тем, что вы ожидали.",
        ),
        Kind::OrderCost => DEARER,
        Kind::VmError => (
            "Restart the VM in the provider's panel; if it stays in error, write to the provider's support.",
            "Перезапустите сервер в панели провайдера; если ошибка останется, напишите в поддержку.",
        ),
        Kind::VmBlocked => (
            "The provider blocked it: look for an unpaid order or a complaint in the panel, then ask support.",
            "Сервер заблокировал провайдер: поищите в панели неоплаченный заказ или жалобу, затем спросите поддержку.",
        ),
        Kind::VmStopped => (
            "Start it in the provider's panel if it should run.",
            "Если сервер должен работать, запустите его в панели провайдера.",
        ),
        Kind::VmStuck | Kind::SiteStuck => (
            "Waiting won't help. Ask support what is blocking it.",
            "Ждать бесполезно: спросите поддержку, что его держит.",
        ),
        Kind::SiteError => (
            "Read the site's error log and restart it in the provider's panel; if it stays in error, ask support.",
            "Посмотрите журнал ошибок сайта и перезапустите его в панели провайдера; если ошибка останется, напишите в поддержку.",
        ),
        Kind::SiteBlocked | Kind::ContainerDisabled => switched_off(key, state),
        Kind::ResourceGone => (
            "If nobody deleted it on purpose, write to the provider's support at once, while a backup may exist.",
            "Если его не удаляли намеренно, сразу напишите в поддержку: пока может сохраниться резервная копия.",
        ),
        Kind::UnknownState => (
            "See in the provider's panel what the state means, or ask the provider's support.",
            "Посмотрите в панели провайдера, что значит это состояние, или спросите поддержку.",
        ),
        Kind::CredentialsRejected => (
            "Put valid credentials into the configuration and reload (SIGHUP). Nothing behind these endpoints is watched until then.",
            "Укажите в конфигурации действующие учётные данные и перечитайте её (SIGHUP). До этого за этой частью наблюдения нет.",
        ),
    };
    language.pick(en, ru)
}

type Both = (&'static str, &'static str);

const DEARER: Both = (
    "Look at the order in the provider's panel: its price, or its options, changed. Cut-off dates go by the new price.",
    "Посмотрите заказ в панели провайдера: изменилась его цена или состав. Дата отключения считается по новой цене.",
);

/// The advice for a site or container that the provider switched off. The state says why.
fn switched_off(key: &Key, state: Option<&AccountState>) -> Both {
    let seen = state.zip(key.kind.sort().zip(key.id()));
    let seen = seen.and_then(|(state, (sort, id))| state.resource(sort, id));
    match seen.map(|seen| seen.state) {
        Some("StoppedByService" | "DISABLED_BY_SERVICE") => (
            "The provider switched it off, as it does for non-payment: check the balance and pay.",
            "Его отключил провайдер, как бывает при неуплате: проверьте баланс и оплатите.",
        ),
        Some("StoppedByQuota" | "DISABLED_BY_QUOTA") => (
            "The container is over quota. Free disk space or upgrade the plan.",
            "Контейнер превысил квоту. Освободите место на диске или перейдите на тариф побольше.",
        ),
        Some("StoppedByAdmin" | "DISABLED_BY_ADMIN") => (
            "The provider's administrators switched it off: ask support for the reason.",
            "Его отключили администраторы провайдера: спросите причину у поддержки.",
        ),
        _ => (
            "See in the provider's panel who switched it off: an unpaid order, the quota, or an administrator.",
            "Посмотрите в панели провайдера, почему он отключён: неоплаченный заказ, квота или администратор.",
        ),
    }
}

/// Hints for finding the resource of an incident in the provider's panel: `VM` and `web-1 (id 10001), 198.51.100.7`.
pub(crate) fn which(key: &Key, state: &AccountState, language: Language) -> Option<(&'static str, String)> {
    let id = key.id()?;
    let sort = key.kind.sort()?;
    let seen = state.resource(sort, id)?;
    let plain = |name: &str| sanitize::one_line(name, 40);
    let place: Vec<String> = match sort {
        Sort::Vm => addresses(state, id).into_iter().take(3).collect(),
        Sort::Site => {
            let id = ContainerId::new(seen.container?);
            let name = state.container_name(id, 40).unwrap_or_else(|| id.to_string());
            vec![say!(language, "container {name}", "контейнер {name}")]
        }
        Sort::Container => {
            let server = state.containers.get(ContainerId::new(id))?.server.as_deref().map(plain);
            let server = server.map(|name| say!(language, "server {name}", "узел {name}"));
            server.into_iter().collect()
        }
    };
    let name = seen.name.map_or_else(|| format!("id {id}"), |name| format!("{} (id {id})", plain(name)));
    let hints: Vec<String> = std::iter::once(name).chain(place).collect();
    Some((words::sort_label(sort, language), hints.join(", ")))
}

/// The addresses of a VM.
pub(super) fn addresses(state: &AccountState, id: u64) -> Vec<String> {
    let ips = state.vms.get(VmId::new(id)).and_then(|vm| vm.ips.as_ref());
    let addresses = ips.into_iter().flatten().filter_map(|ip| ip.address.as_deref());
    addresses.map(|address| sanitize::one_line(address, 45)).collect()
}
