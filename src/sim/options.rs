//! Flags of `hostwatch simulate`: the size of the account and of its pages, credentials, rate limits.

use super::time::Span;
use std::path::PathBuf;

/// Flags of `hostwatch simulate`.
#[derive(clap::Args, Debug, Clone)]
pub struct Args {
    /// Address to listen on
    #[arg(long, default_value = "127.0.0.1:10246", value_name = "ADDRESS")]
    pub listen_address: String,
    /// Token for the hosting endpoints
    #[arg(long, default_value = "hosting-token", value_name = "TOKEN")]
    pub hosting_token: String,
    /// Buy hosting tokens at /token/, by POST, with the key of --hosting-api-key; each ends after this time,
    /// such as 5m. --hosting-token then opens nothing
    #[arg(long, value_name = "DURATION", value_parser = Span::parse)]
    pub token_lifetime: Option<Span>,
    /// Key that buys hosting tokens
    #[arg(long, default_value = "hosting-api-key", value_name = "KEY")]
    pub hosting_api_key: String,
    /// API key for the VM endpoints
    #[arg(long, default_value = "vm-api-key", value_name = "KEY")]
    pub vm_api_key: String,
    /// User name for the billing endpoints
    #[arg(long, default_value = "billing-user", value_name = "NAME")]
    pub billing_username: String,
    /// Password for the billing endpoints
    #[arg(long, default_value = "billing-password", value_name = "PASSWORD")]
    pub billing_password: String,
    /// Scenario file (TOML): size, names, orders, timetable; see docs/provider.md
    #[arg(long, value_name = "FILE")]
    pub scenario: Option<PathBuf>,
    /// Number of VMs
    #[arg(long, value_name = "N")]
    pub vms: Option<usize>,
    /// Number of containers
    #[arg(long, value_name = "N")]
    pub containers: Option<usize>,
    /// Number of sites
    #[arg(long, value_name = "N")]
    pub sites: Option<usize>,
    /// Seed: the same seed and scenario make the same account
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Open the /_sim/ endpoints: set states, pay, switch faults
    #[arg(long)]
    pub control: bool,
    /// Rows on a page of VMs, SSH keys and IPs
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=100_000), value_name = "N")]
    pub vm_page_size: u32,
    /// Answer requests past a rate limit too, instead of 429 with Retry-After
    #[arg(long)]
    pub unlimited: bool,
}

impl Default for Args {
    /// The flags of a bare `hostwatch simulate`.
    fn default() -> Args {
        #[derive(clap::Parser)]
        struct Bare {
            #[command(flatten)]
            args: Args,
        }
        <Bare as clap::Parser>::parse_from(["simulate"]).args
    }
}
