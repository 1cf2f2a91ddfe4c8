//! The provider, simulated over real HTTP.
