//! Where text is shown: how wide it is, and whether it has colours.

use std::io::IsTerminal as _;

use terminal_size::{Width, terminal_size_of};

use crate::cli::{ColourWhen, Screen};
use crate::terminal::Style;

/// Width where the terminal's is not known.
const WIDTH: usize = 80;

/// The style for standard output.
pub(super) fn style(screen: Screen) -> Style {
    let set = |name| std::env::var_os(name).filter(|value| !value.is_empty());
    let out = std::io::stdout();
    let colour = match screen.colour {
        ColourWhen::Always => true,
        ColourWhen::Never => false,
        ColourWhen::Auto => {
            // https://no-color.org
            let dumb = set("TERM").is_some_and(|terminal| terminal == "dumb");
            out.is_terminal() && set("NO_COLOR").is_none() && !dumb
        }
    };
    let told =
        set("COLUMNS").and_then(|columns| columns.to_str()?.parse().ok()).filter(|&columns| columns > 0);
    let seen = || terminal_size_of(&out).map(|(Width(columns), _)| usize::from(columns));
    Style { width: told.or_else(seen).filter(|&columns| columns > 0).unwrap_or(WIDTH), colour }
}
