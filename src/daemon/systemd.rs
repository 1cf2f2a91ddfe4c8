//! Messages to systemd. Without it there is nobody to send them to, and nothing fails.

use sd_notify::NotifyState;

/// Sends it a message.
pub(super) fn notify(state: &[NotifyState<'_>]) {
    let _ = sd_notify::notify(state);
}

/// A reload begins. With Type=notify-reload systemd wants to know when.
pub(super) fn reloading() {
    match NotifyState::monotonic_usec_now() {
        Ok(since) => notify(&[NotifyState::Reloading, since]),
        Err(_) => notify(&[NotifyState::Reloading]),
    }
}
