//! How a recipient is written: a mail address, or a webhook by its name.

/// What stands before a webhook's name.
pub(crate) const WEBHOOK: &str = "webhook:";
