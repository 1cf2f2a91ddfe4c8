//! Thirty days of a resource as a bar in SVG. All colours come from classes; it holds numbers and our own words. Pure.

use std::fmt::Write as _;

use super::cards;
use crate::view::history::Bar;

const WIDTH: f64 = 600.0;
const HEIGHT: f64 = 24.0;
/// What lasts a minute is seen all the same.
const LEAST: f64 = 2.0;

/// The bar as an `<svg>` element.
pub(super) fn svg(bar: &Bar) -> String {
    let mut out = format!(
        "<svg class=\"bar\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" preserveAspectRatio=\"none\" role=\"img\" \
         aria-label=\"{}\"><defs><pattern id=\"hatch\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\" \
         patternTransform=\"rotate(45)\"><line class=\"hatch\" x1=\"0\" y1=\"0\" x2=\"0\" y2=\"6\"/></pattern></defs>\
         <rect class=\"well\" width=\"{WIDTH}\" height=\"{HEIGHT}\"/>",
        bar.summary
    );
    for span in &bar.spans {
        let width = ((span.to - span.from) * WIDTH).max(LEAST);
        let x = (span.from * WIDTH).min(WIDTH - width);
        let _ = match span.severity {
            None => write!(
                out,
                "<rect class=\"well\" x=\"{x:.1}\" width=\"{width:.1}\" height=\"{HEIGHT}\"/>\
                 <rect fill=\"url(#hatch)\" x=\"{x:.1}\" width=\"{width:.1}\" height=\"{HEIGHT}\"/>"
            ),
            severity => write!(
                out,
                "<rect class=\"{}\" x=\"{x:.1}\" width=\"{width:.1}\" height=\"{HEIGHT}\"/>",
                cards::severity(severity)
            ),
        };
    }
    out.push_str("</svg>");
    out
}
