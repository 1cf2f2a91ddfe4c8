//! A reader of the text format 0.0.4 and of OpenMetrics 1.0.0, written after their specifications and not after
//! our writer. It is strict: anything that a scraper might read differently is an error.

use std::collections::{BTreeMap, BTreeSet};

/// The content of a page.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Page {
    pub families: BTreeMap<String, Family>,
    /// Values as written, by name and labels. Labels with an empty value are left out.
    pub samples: BTreeMap<Series, String>,
}

/// A name and its labels.
pub type Series = (String, BTreeMap<String, String>);

/// The metadata above the samples of a name.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Family {
    pub help: Option<String>,
    pub kind: Option<String>,
    samples: usize,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PageFormat {
    Text,
    OpenMetrics,
}

/// Reads a page, or names the line of the first error.
pub fn read(text: &str, format: PageFormat) -> Result<Page, String> {
    let mut reader =
        Reader { format, page: Page::default(), current: None, left: BTreeSet::new(), ended: false };
    if text.contains('\0') {
        return Err("a NUL ends the page for a scraper".into());
    }
    let Some(body) = text.strip_suffix('\n') else {
        return if text.is_empty() && format == PageFormat::Text {
            Ok(reader.page)
        } else {
            Err("the last line does not end".into())
        };
    };
    for (number, line) in body.split('\n').enumerate() {
        reader.line(line).map_err(|why| format!("line {}: {why}: {line}", number + 1))?;
    }
    if format == PageFormat::OpenMetrics && !reader.ended {
        return Err("no # EOF".into());
    }
    let empty = reader.page.families.iter().find(|(_, family)| family.samples == 0);
    match empty {
        Some((name, _)) => Err(format!("{name} has no sample")),
        None => Ok(reader.page),
    }
}

struct Reader {
    format: PageFormat,
    page: Page,
    /// The family whose lines are being read.
    current: Option<String>,
    /// Families whose lines have ended.
    left: BTreeSet<String>,
    ended: bool,
}

impl Reader {
    fn line(&mut self, line: &str) -> Result<(), String> {
        if self.ended {
            return Err("something after # EOF".into());
        }
        if line == "# EOF" && self.format == PageFormat::OpenMetrics {
            self.ended = true;
            return Ok(());
        }
        match line.strip_prefix('#') {
            Some(comment) => self.comment(comment),
            None => self.sample(line),
        }
    }

    fn comment(&mut self, comment: &str) -> Result<(), String> {
        let mut words = comment.strip_prefix(' ').ok_or("no space after #")?.splitn(3, ' ');
        let (what, name, rest) = (words.next().unwrap_or(""), words.next().unwrap_or(""), words.next());
        if !is_name(name, true) {
            return Err(format!("'{name}' is no name"));
        }
        self.enter(name)?;
        let openmetrics = self.format == PageFormat::OpenMetrics;
        let family = self.page.families.entry(name.to_owned()).or_default();
        if family.samples > 0 {
            return Err("it stands below samples".into());
        }
        let place = match what {
            "HELP" => &mut family.help,
            "TYPE" => &mut family.kind,
            _ => return Err("neither HELP nor TYPE".into()),
        };
        let rest = rest.ok_or("it says nothing")?;
        let text = if what == "HELP" { unescape(rest, openmetrics)? } else { rest.to_owned() };
        if what == "TYPE"
            && !["gauge", "counter", "histogram", "summary", "untyped", "unknown", "info"].contains(&rest)
        {
            return Err(format!("'{rest}' is no type"));
        }
        if place.replace(text).is_some() {
            return Err(format!("the second {what}"));
        }
        Ok(())
    }

    fn sample(&mut self, line: &str) -> Result<(), String> {
        let end = line.find(['{', ' ']).ok_or("no value")?;
        let name = &line[..end];
        if !is_name(name, true) {
            return Err(format!("'{name}' is no name"));
        }
        let (labels, rest) = match line[end..].strip_prefix('{') {
            Some(inside) => labels(inside)?,
            None => (BTreeMap::new(), &line[end..]),
        };
        let value = rest.strip_prefix(' ').ok_or("no space before the value")?;
        if !is_value(value) {
            return Err(format!("'{value}' is no value"));
        }
        let family = self.family_of(name)?;
        self.enter(&family)?;
        self.page.families.get_mut(&family).ok_or("no TYPE above it")?.samples += 1;
        match self.page.samples.insert((name.to_owned(), labels), value.to_owned()) {
            Some(_) => Err("the series is there twice".into()),
            None => Ok(()),
        }
    }

    /// The lines of a family must stand together.
    fn enter(&mut self, family: &str) -> Result<(), String> {
        if self.current.as_deref() == Some(family) {
            return Ok(());
        }
        if self.left.contains(family) {
            return Err(format!("lines of {family} stand apart"));
        }
        if let Some(before) = self.current.replace(family.to_owned()) {
            self.left.insert(before);
        }
        Ok(())
    }

    /// The family whose type allows a sample with this name.
    fn family_of(&self, sample: &str) -> Result<String, String> {
        let kind = |name: &str| self.page.families.get(name).and_then(|family| family.kind.as_deref());
        let openmetrics = self.format == PageFormat::OpenMetrics;
        match kind(sample) {
            Some("counter") if openmetrics => return Err("a counter without _total".into()),
            Some("histogram" | "summary") => return Err("a histogram without _bucket, _sum or _count".into()),
            Some(_) => return Ok(sample.to_owned()),
            None => {}
        }
        let short = |suffix: &str| sample.strip_suffix(suffix).map(str::to_owned);
        let of_counter = short("_total").filter(|name| openmetrics && kind(name) == Some("counter"));
        let parts = ["_bucket", "_sum", "_count"].into_iter().filter_map(short);
        let mut of_histogram = parts.filter(|name| kind(name) == Some("histogram"));
        of_counter.or_else(|| of_histogram.next()).ok_or_else(|| "no TYPE above it".to_owned())
    }
}

/// The labels after `{`, and what comes after `}`.
fn labels(mut rest: &str) -> Result<(BTreeMap<String, String>, &str), String> {
    let mut all = BTreeMap::new();
    loop {
        if let Some(rest) = rest.strip_prefix('}') {
            all.retain(|_, value: &mut String| !value.is_empty());
            return Ok((all, rest));
        }
        let (name, value) = rest.split_once("=\"").ok_or("a label without a value")?;
        if !is_name(name, false) {
            return Err(format!("'{name}' is no label's name"));
        }
        let end = closing_quote(value).ok_or("a label's value does not end")?;
        if all.insert(name.to_owned(), unescape(&value[..end], true)?).is_some() {
            return Err(format!("the label {name} is there twice"));
        }
        rest = &value[end + 1..];
        match rest.strip_prefix(',') {
            Some(next) if next.starts_with('}') => return Err("a comma before the end".into()),
            Some(next) => rest = next,
            None if rest.starts_with('}') => {}
            None => return Err("neither comma nor end after a label".into()),
        }
    }
}

fn closing_quote(text: &str) -> Option<usize> {
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return Some(at),
            _ => {}
        }
    }
    None
}

/// `\\` and `\n`, and `\"` where quotes are escaped; nothing else may follow a backslash.
fn unescape(text: &str, quotes: bool) -> Result<String, String> {
    let mut out = String::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some('\\') => out.push('\\'),
                Some('n') => out.push('\n'),
                Some('"') if quotes => out.push('"'),
                other => return Err(format!("a backslash before {other:?}")),
            },
            '"' if quotes => return Err("a quote that is not escaped".into()),
            _ => out.push(c),
        }
    }
    Ok(out)
}

fn is_name(text: &str, colons: bool) -> bool {
    let starts = |c: char| c.is_ascii_alphabetic() || c == '_' || (colons && c == ':');
    text.starts_with(starts) && text.chars().all(|c| starts(c) || c.is_ascii_digit())
}

/// A number as Go's `ParseFloat` accepts it, without forms that only Go accepts.
fn is_value(text: &str) -> bool {
    let plain =
        text.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'+' | b'-' | b'.' | b'e' | b'E'));
    ["NaN", "+Inf", "-Inf"].contains(&text) || (plain && text.parse::<f64>().is_ok_and(f64::is_finite))
}

#[test]
fn the_reader_is_strict() {
    let head = "# HELP a Help.\n# TYPE a gauge\n";
    let bad = [
        "",
        "a 1",
        "a\n",
        "a 1 \n",
        "a x\n",
        "a 0x1\n",
        "a 1\n\n",
        "b 1\n",
        "a{b} 1\n",
        "a{b=\"c} 1\n",
        "a{b=\"c\"d=\"e\"} 1\n",
        "a{b=\"c\",} 1\n",
        "a{b=\"\\x\"} 1\n",
        "a{1=\"c\"} 1\n",
        "a{b=\"1\",b=\"2\"} 1\n",
        "a 1\na 1\n",
        "a{b=\"\"} 1\na 1\n",
        "a 1\n# TYPE b gauge\nb 1\na{b=\"c\"} 1\n",
        "a 1\n# HELP a Help.\n",
        "# TYPE a gauge\na 1\n",
        "# comment\na 1\n",
        "a\0 1\n",
        "a{b=\"\0\"} 1\n",
        "a{b=\"c\nd\"} 1\n",
        "a_total 1\n",
    ];
    for page in bad {
        assert!(read(&format!("{head}{page}"), PageFormat::Text).is_err(), "{page}");
        assert!(read(&format!("{head}{page}# EOF\n"), PageFormat::OpenMetrics).is_err(), "{page}");
    }
    let counter = |name: &str, sample: &str| format!("# TYPE {name} counter\n{sample} 1\n");
    assert!(read(&counter("a_total", "a_total"), PageFormat::Text).is_ok());
    assert!(read(&(counter("a", "a_total") + "# EOF\n"), PageFormat::OpenMetrics).is_ok());
    assert!(read(&(counter("a_total", "a_total") + "# EOF\n"), PageFormat::OpenMetrics).is_err());
    assert!(read(&counter("a", "a_total"), PageFormat::OpenMetrics).is_err(), "no end");
    assert!(
        read(&format!("{head}a 1\n# EOF\na{{b=\"c\"}} 1\n"), PageFormat::OpenMetrics).is_err(),
        "more after the end"
    );
}
