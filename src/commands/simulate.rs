//! `hostwatch simulate`: the simulated provider alone.

use std::sync::Arc;

use anyhow::{Context as _, Result};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::cli::Simulate;
use crate::clock;
use crate::daemon;
use hostwatch_sim::Simulator;

pub(super) async fn run(simulate: Simulate) -> Result<()> {
    let stop = CancellationToken::new();
    daemon::stop_at_signal(&stop)?;
    let address = &simulate.provider.listen_address;
    let listener = TcpListener::bind(address)
        .await
        .with_context(|| format!("cannot listen on {address}; choose another with --listen-address"))?;
    let simulator = Arc::new(Simulator::new(&simulate.provider, Arc::new(clock::now))?);
    let bound = listener.local_addr().context("asking for the address listened on")?;
    tracing::info!(address = %bound, control = simulate.provider.control, "simulating the provider");
    simulator.serve(listener, stop).await;
    Ok(())
}
