//! What the provider has, as immutable values. No I/O, no clock.
