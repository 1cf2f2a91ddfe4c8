//! A mail catcher for `demo`.
