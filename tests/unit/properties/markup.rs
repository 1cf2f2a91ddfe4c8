//! A strict reader of HTML. It refuses tags and attributes that are not on its list, and everything not closed,
//! quoted or escaped. The list has only the parts of our templates, and none of them can run, load or hide
//! anything.

/// The markup that a document may have beside text: tags with their attributes.
pub struct Allowed {
    pub tags: &'static [(&'static str, &'static [&'static str])],
    /// May an attribute have this value? For links, images and styles.
    pub value: fn(tag: &str, attribute: &str, value: &str) -> bool,
}

const VOID: [&str; 4] = ["meta", "img", "link", "input"];

/// Reads a document and returns its text as a reader gets it, including attributes for screen readers.
pub fn read(html: &str, allowed: &Allowed) -> Result<String, String> {
    let mut rest = html.strip_prefix("<!doctype html>").ok_or("no doctype")?;
    let mut text = String::new();
    let mut open: Vec<&str> = Vec::new();
    while !rest.is_empty() {
        let tag_at = rest.find('<').unwrap_or(rest.len());
        text.push_str(&unescape(&rest[..tag_at])?);
        rest = &rest[tag_at..];
        let Some(inside) = rest.strip_prefix('<') else { break };
        if let Some(closing) = inside.strip_prefix('/') {
            let (name, after) = closing.split_once('>').ok_or("a closing tag does not end")?;
            let last = open.pop();
            if last != Some(name) {
                return Err(format!("</{name}> closes {last:?}"));
            }
            rest = after;
            text.push(' ');
            continue;
        }
        let (name, is_closed, after) = tag(inside, allowed, &mut text)?;
        rest = after;
        text.push(' ');
        // Only SVG has tags that close themselves.
        if is_closed && !open.contains(&"svg") {
            return Err(format!("<{name}/> closes nothing"));
        }
        if !VOID.contains(&name) && !is_closed {
            open.push(name);
        }
        if name == "style" {
            let (style, after) = rest.split_once("</style>").ok_or("a style does not end")?;
            if style.contains(['<', '\\']) || style.contains("url(") || style.contains("@import") {
                return Err("a style that loads or closes".into());
            }
            rest = after;
            open.pop();
        }
    }
    if open.is_empty() { Ok(text) } else { Err(format!("{open:?} are not closed")) }
}

/// A tag after its `<`: its name, whether it closes itself, and the text after its `>`.
fn tag<'a>(
    inside: &'a str,
    allowed: &Allowed,
    text: &mut String,
) -> Result<(&'a str, bool, &'a str), String> {
    let end = inside.find(|c: char| !c.is_ascii_alphanumeric()).ok_or("a tag does not end")?;
    let (name, mut rest) = inside.split_at(end);
    let known = allowed.tags.iter().find(|(known, _)| *known == name);
    let (_, attributes) = known.ok_or_else(|| format!("<{name}> is not allowed"))?;
    loop {
        rest = rest.trim_start();
        if let Some(after) = rest.strip_prefix("/>") {
            return Ok((name, true, after));
        }
        if let Some(after) = rest.strip_prefix('>') {
            return Ok((name, false, after));
        }
        let end = rest.find(['=', '>', ' ', '"', '<']).ok_or("an attribute does not end")?;
        let attribute = &rest[..end];
        if !attributes.contains(&attribute) {
            return Err(format!("<{name} {attribute}> is not allowed"));
        }
        rest = &rest[end..];
        let Some(quoted) = rest.strip_prefix("=\"") else {
            return Err(format!("<{name} {attribute}> has no quoted value"));
        };
        let (value, after) = quoted.split_once('"').ok_or("an attribute's value does not end")?;
        if value.contains('<') {
            return Err(format!("<{name} {attribute}> holds a '<'"));
        }
        let value = unescape(value)?;
        if !(allowed.value)(name, attribute, &value) {
            return Err(format!("<{name} {attribute}=\"{value}\"> is not allowed"));
        }
        if matches!(attribute, "alt" | "value" | "aria-label" | "title") {
            text.push_str(&value);
        }
        rest = after;
    }
}

/// Decodes the few entities of our templates; a bare `&` or `>` is an error.
fn unescape(text: &str) -> Result<String, String> {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(['&', '>']) {
        out.push_str(&rest[..at]);
        let entity = rest[at..].strip_prefix('&').ok_or("a '>' that is not escaped")?;
        let (name, after) = entity.split_once(';').ok_or("an entity does not end")?;
        out.push(match name {
            "nbsp" => '\u{a0}',
            "amp" => '&',
            "lt" => '<',
            "gt" => '>',
            "quot" => '"',
            _ => {
                let code = name.strip_prefix('#').and_then(|code| code.parse().ok()).and_then(char::from_u32);
                code.ok_or_else(|| format!("&{name}; is no entity"))?
            }
        });
        rest = after;
    }
    out.push_str(rest);
    Ok(out)
}

#[test]
fn the_reader_is_strict() {
    let allowed =
        Allowed { tags: &[("p", &["class"]), ("a", &["href"])], value: |_, _, value| !value.contains(':') };
    let page = |body: &str| read(&format!("<!doctype html><p>{body}</p>"), &allowed);
    assert_eq!(page("a &#60;b&#62; &#38;").unwrap(), " a <b> & ");
    assert!(page("<a href=\"/x\">y</a>").is_ok());
    for bad in [
        "<script>",
        "<b>x</b>",
        "a < b",
        "a > b",
        "a & b",
        "&bogus;",
        "<p onload=\"x\"></p>",
        "<p class=x></p>",
        "<p>",
        "</p>",
        "<a href=\"javascript:x\">y</a>",
        "<p class=\"<\"></p>",
        "<!-- x -->",
        "<p class=\"a\" id=\"b\"></p>",
        "<P></P>",
    ] {
        assert!(page(bad).is_err(), "{bad}");
    }
}
