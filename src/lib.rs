//! hostwatch: watches an account at a hosting provider. See ARCHITECTURE.md for the layers.

pub mod clock;
pub mod model;
pub mod sim;
