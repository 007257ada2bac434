//! The sink's address, remembered for a while.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use ureq::Error;
use ureq::config::Config;
use ureq::http::Uri;
use ureq::unversioned::resolver::{DefaultResolver, ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::NextTimeout;

use crate::clock;

/// Looks the one host of a sink up anew every ten seconds. The client asks before each request,
/// open connection or not, and the usual resolver starts a thread a question.
#[derive(Debug, Default)]
pub(super) struct Remembering {
    inner: DefaultResolver,
    known: Mutex<Option<(Instant, ResolvedSocketAddrs)>>,
}

const REMEMBERED: Duration = Duration::from_secs(10);

impl Resolver for Remembering {
    fn resolve(
        &self,
        uri: &Uri,
        config: &Config,
        timeout: NextTimeout,
    ) -> Result<ResolvedSocketAddrs, Error> {
        let now = clock::now();
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner).clone();
        match known {
            Some((since, addresses)) if now.duration_since(since) < REMEMBERED => Ok(addresses),
            _ => {
                let found = self.inner.resolve(uri, config, timeout)?;
                let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
                *known = Some((now, found.clone()));
                Ok(found)
            }
        }
    }
}
