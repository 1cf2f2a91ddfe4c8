//! One page of a listing: its rows, the number of all rows, and the next page.

use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{MapAccess, SeqAccess};

use crate::model::Group;
use crate::provider::error::ErrorKind;
use crate::provider::said::web_page;

use super::diagnostics::{DecodeContext, Diagnostics, Reader, Record, row};
use super::field::{Field, Wire, is_none, rest};
use super::lenient::tolerant;

/// The number of rows that a page is asked for: the maximum of the interface (8).
pub(crate) const PAGE_ROWS: usize = 100;
/// The maximum rows of a listing. A provider without paging shows all rows on one page.
pub(crate) const MOST_ROWS: usize = 250_000;

/// A decoded page.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct WirePage<T> {
    /// The number of rows in the whole listing, if the page has it.
    pub count: Option<u64>,
    pub next: NextPage,
    pub rows: Vec<T>,
    /// The number of rows that could not be decoded.
    pub rejected: u64,
    /// The ids of those among them that have one.
    pub unreadable: Vec<u64>,
}

impl<T> WirePage<T> {
    /// The number of rows on the page.
    pub(crate) fn shown(&self) -> u64 {
        self.rows.len() as u64 + self.rejected
    }
}

/// The page's link to the next one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum NextPage {
    /// Null, or another word for none: this was the last page.
    End,
    /// Missing, of an unknown form, or without a query.
    Unsaid,
    /// The query of the next page.
    At(Box<str>),
}

impl Wire<'_> for NextPage {
    fn text(text: &str) -> Option<Self> {
        if is_none(text) || ["#", "false"].contains(&text.trim()) {
            return Some(Self::End);
        }
        let address = text.split('#').next().unwrap_or(text);
        let query = address.split_once('?').map_or("", |(_, query)| query);
        Some(query.trim()).filter(|query| !query.is_empty()).map(|query| Self::At(query.into()))
    }
}

/// Decodes one page. Each group has its own shape (interface 4.1, 4.5, 4.8). One has `count` and `entities`,
/// asked for by offset and limit. One has `count`, `next` and `results`. One has `meta` with `total_count` and
/// `next`, and `objects`.
pub(crate) fn page<R: Record>(
    body: &[u8],
    group: Group,
    parent: R::Parent,
    context: &DecodeContext,
    notes: &mut Diagnostics,
) -> Result<WirePage<R::Model>, ErrorKind> {
    let page = match tolerant::<Field<WholePage<R>>>(body) {
        Ok(Field::Value(page)) => page,
        Ok(_) => return Err(ErrorKind::WrongShape("it is no object".into())),
        Err(error) if error.is_data() => return Err(ErrorKind::WrongShape(error.to_string())),
        Err(error) => {
            return Err(ErrorKind::NotJson(web_page(body).unwrap_or_else(|| format!(": {error}"))));
        }
    };
    let (list, rows, count, next) = match group {
        Group::Hosting => ("entities", page.entities, page.count, page.next),
        Group::Vm => ("results", page.results, page.count, page.next),
        Group::Billing => {
            let Field::Value(meta) = page.meta else {
                return Err(ErrorKind::WrongShape("$.meta is no object".into()));
            };
            ("objects", page.objects, meta.total_count, meta.next)
        }
    };
    let count = count.value().ok();
    let rows = match rows {
        Field::Value(RowList(rows)) => rows,
        Field::Null if count.is_none_or(|count| count == 0) => Vec::new(),
        Field::Missing | Field::Null | Field::Mistyped(_) => {
            return Err(ErrorKind::WrongShape(format!("$.{list} is no list")));
        }
    };
    let mut decoded = WirePage {
        count,
        next: match next {
            Field::Null => NextPage::End,
            Field::Value(next) => next,
            Field::Missing | Field::Mistyped(_) => NextPage::Unsaid,
        },
        rows: Vec::with_capacity(rows.len()),
        rejected: 0,
        unreadable: Vec::new(),
    };
    for (index, row) in rows.into_iter().enumerate() {
        let mut reader = Reader { context, notes, list: Some((list, index)) };
        let Field::Value(row) = row else {
            notes.refusal(|| format!("$.{list}[{index}]"), "no object");
            decoded.rejected += 1;
            continue;
        };
        match row.into_model(parent, &mut reader) {
            Ok(row) => decoded.rows.push(row),
            Err(row) => {
                decoded.rejected += 1;
                decoded.unreadable.extend(row.id);
            }
        }
    }
    Ok(decoded)
}

/// The rows of a page, at most one more than a listing may have.
struct RowList<R>(Vec<Field<R>>);

impl<'de, R: Wire<'de>> Wire<'de> for RowList<R> {
    fn list<A: SeqAccess<'de>>(mut list: A) -> Result<Field<Self>, A::Error> {
        let mut rows = Vec::with_capacity(PAGE_ROWS);
        while let Some(row) = list.next_element()? {
            rows.push(row);
            if rows.len() > MOST_ROWS {
                rest(&mut list)?;
            }
        }
        Ok(Field::Value(Self(rows)))
    }
}

/// A page of any shape.
#[derive(Deserialize, Default)]
#[serde(default, bound(deserialize = "R: Wire<'de> + Default"))]
struct WholePage<R> {
    count: Field<u64>,
    next: Field<NextPage>,
    entities: Field<RowList<R>>,
    results: Field<RowList<R>>,
    meta: Field<Meta>,
    objects: Field<RowList<R>>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Meta {
    total_count: Field<u64>,
    next: Field<NextPage>,
}
row!(Meta);

impl<'de, R: Wire<'de> + Default> Wire<'de> for WholePage<R> {
    fn object<A: MapAccess<'de>>(object: A) -> Result<Field<Self>, A::Error> {
        Deserialize::deserialize(MapAccessDeserializer::new(object)).map(Field::Value)
    }
}
