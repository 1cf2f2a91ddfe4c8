//! Links for people: to pay, to the provider's panel, to the status page. Made once for mails and page. Pure.

use crate::alert::{Key, Kind};
use crate::model::{AccountName, Guide, Language, Sort};

/// An address with its label.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Link {
    pub word: &'static str,
    pub url: String,
}

impl Link {
    /// The link to pay.
    pub(crate) fn pay(guide: &Guide, language: Language) -> Option<Self> {
        Some(Self { word: language.pick("Pay", "Оплатить"), url: guide.pay_link.clone()? })
    }

    /// The provider's panel at the incident's resource; without a resource, the part of the address that all
    /// resources share.
    pub(crate) fn panel(guide: &Guide, key: Option<&Key>, language: Language) -> Option<Self> {
        let link = guide.panel_link.as_deref()?;
        let resource = key.and_then(|key| Some((kind(key.kind)?, key.id()?)));
        let url = match resource {
            Some((kind, id)) => link.replace("{kind}", kind).replace("{id}", &id.to_string()),
            None => whole(link).to_owned(),
        };
        Some(Self { word: language.pick("Panel", "Панель провайдера"), url })
    }

    /// The status page, of one account if the mail is about one.
    pub(crate) fn page(external_url: &str, account: Option<&AccountName>, language: Language) -> Self {
        let page = external_url.trim_end_matches('/');
        let of = account.map_or_else(String::new, |account| format!("?account={account}"));
        Self {
            word: language.pick("Status page", "Страница состояния"), url: format!("{page}/{of}")
        }
    }
}

fn kind(kind: Kind) -> Option<&'static str> {
    let order = (kind == Kind::OrderSuspended).then_some("order");
    kind.sort().map(Sort::as_str).or(order)
}

/// The part of an address that is the same for every resource.
fn whole(link: &str) -> &str {
    let names = ["{kind}", "{id}"].into_iter().filter_map(|name| link.find(name)).min();
    let Some(first) = names else { return link };
    let head = &link[..first];
    match head.find(['?', '#']) {
        Some(query) => &head[..query],
        None => &head[..head.rfind('/').map_or(first, |slash| slash + 1)],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panel_is_opened_at_the_resource_or_in_front_of_all() {
        let account: AccountName = "main".parse().unwrap();
        let vm = Key::new(&account, Kind::VmError, 17);
        let order = Key::new(&account, Kind::OrderSuspended, 71);
        let money = Key::new(&account, Kind::Disconnect, "account");
        for (link, vm_at, order_at, else_at) in [
            ("https://p/{kind}/{id}/edit", "https://p/vm/17/edit", "https://p/order/71/edit", "https://p/"),
            (
                "https://p/a?k={kind}&i={id}",
                "https://p/a?k=vm&i=17",
                "https://p/a?k=order&i=71",
                "https://p/a",
            ),
            ("https://p/home#x", "https://p/home#x", "https://p/home#x", "https://p/home#x"),
        ] {
            let guide = Guide { panel_link: Some(link.to_owned()), ..Guide::default() };
            let url = |key| Link::panel(&guide, key, Language::En).unwrap().url;
            let found = [url(Some(&vm)), url(Some(&order)), url(Some(&money)), url(None)];
            assert_eq!(found, [vm_at, order_at, else_at, else_at], "{link}");
        }
        assert_eq!(Link::panel(&Guide::default(), Some(&vm), Language::En), None);
        assert_eq!(
            Link::page("https://w/hw/", Some(&account), Language::En).url,
            "https://w/hw/?account=main"
        );
        assert_eq!(Link::page("https://w", None, Language::En).url, "https://w/");
    }
}
