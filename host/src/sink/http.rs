//! The HTTP sink: one `POST` an effect, the payload as its body.
//!
//! | answer | means |
//! |---|---|
//! | 2xx | done |
//! | 412 | fenced: the receiver has seen a higher token, so a newer owner acts |
//! | 408, 409, 425, 429, 5xx, nonsense | tried again; `Retry-After` counts, up to an hour |
//! | none: refused, not in time | unreachable: tried again, at no attempt's cost |
//! | other 4xx, any 3xx | permanent: a `POST` is never redirected |

mod resolve;

use std::fmt;
use std::io::ErrorKind;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ureq::http::{Response, Uri, header::RETRY_AFTER};
use ureq::unversioned::transport::DefaultConnector;
use ureq::{Agent, Body, Error, Timeout};

use resolve::Remembering;

use super::{Sink, SinkAnswer};
use crate::clock;
use crate::record::Effect;

/// How an [`HttpSink`] is made.
#[derive(Clone)]
pub struct HttpSettings {
    /// Where to post, `http://…`.
    pub url: String,
    /// Longest wait for a connection.
    pub connect: Duration,
    /// Longest wait for the whole exchange.
    pub total: Duration,
    /// Connections kept open between exchanges: as many as there are workers.
    pub connections: usize,
}

impl HttpSettings {
    /// Default of [`HttpSettings::connect`].
    pub const CONNECT: Duration = Duration::from_secs(2);
    /// Default of [`HttpSettings::total`].
    pub const TOTAL: Duration = Duration::from_secs(10);
}

/// Posts each effect, over connections that are kept open.
///
/// Headers: `Idempotency-Key`, `Fencing-Token` (`A.B`), `Kafka-Topic`, `Kafka-Partition`,
/// `Kafka-Offset`, and `Kafka-Tombstone: true` with an empty body for a record without payload.
/// Key and topic are written by [`visible_ascii`]. Proxies of the environment are not used.
pub struct HttpSink {
    agent: Agent,
    url: Uri,
}

/// Why a URL cannot be the sink. Says nothing of the URL that may be secret.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum HttpSinkError {
    /// It cannot be read.
    #[error("the sink's URL cannot be read: {0}; write for example http://127.0.0.1:8080/orders")]
    Unreadable(String),
    /// TLS is not in this build.
    #[error(
        "https:// sinks are not supported by this build: give an http:// URL, for example of a \
         proxy on this machine that speaks TLS to the receiver"
    )]
    Https,
    /// Neither of the two.
    #[error("the sink's URL begins with {0}:// and only http:// is supported")]
    Scheme(String),
    /// Credentials in a URL end up in logs.
    #[error("the sink's URL holds a user name or password: remove it, it would not be sent")]
    Credentials,
}

impl HttpSink {
    /// A sink that posts to the URL; nothing is sent yet.
    ///
    /// # Errors
    /// The URL is none that can be posted to.
    pub fn new(settings: &HttpSettings) -> Result<Self, HttpSinkError> {
        let url = check(&settings.url)?;
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .proxy(None)
            .user_agent(concat!("rebalance-guard/", env!("CARGO_PKG_VERSION")))
            .max_idle_connections(settings.connections)
            .max_idle_connections_per_host(settings.connections)
            .timeout_connect(Some(settings.connect))
            .timeout_global(Some(settings.total))
            .timeout_recv_body(Some(BODY_TIME_MAX.min(settings.total)))
            .build();
        let (connector, resolver) = (DefaultConnector::default(), Remembering::default());
        Ok(Self { agent: Agent::with_parts(config, connector, resolver), url })
    }

    fn post(&self, effect: &Effect<'_>) -> Result<Response<Body>, Error> {
        let record = effect.record;
        let mut request = self
            .agent
            .post(&self.url)
            .content_type("application/octet-stream")
            .header("Kafka-Topic", visible_ascii(&record.topic))
            .header("Kafka-Partition", record.partition.index)
            .header("Kafka-Offset", record.offset);
        if let Some(key) = effect.idempotency_key {
            request = request.header("Idempotency-Key", visible_ascii(key));
        }
        if let Some(token) = effect.token {
            request = request.header("Fencing-Token", token.to_string());
        }
        if record.payload.is_none() {
            request = request.header("Kafka-Tombstone", "true");
        }
        request.send(record.payload.as_deref().unwrap_or_default())
    }
}

impl Sink for HttpSink {
    fn deliver(&self, effect: &Effect<'_>) -> SinkAnswer {
        match self.post(effect) {
            Ok(response) => answer(response),
            Err(error) => unanswered(&error),
        }
    }
}

impl fmt::Debug for HttpSink {
    /// Without the path and query, which may hold secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let host = self.url.authority().map(ToString::to_string);
        f.debug_struct("HttpSink").field("host", &host).finish_non_exhaustive()
    }
}

impl fmt::Debug for HttpSettings {
    /// Without the URL, which may hold secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpSettings")
            .field("connect", &self.connect)
            .field("total", &self.total)
            .field("connections", &self.connections)
            .finish_non_exhaustive()
    }
}

/// `text` as a header value that means the same text to everybody: `%` and every byte that is not
/// visible ASCII (blanks, control bytes, everything beyond) as `%XX`. Two texts never become one.
pub fn visible_ascii(text: &str) -> String {
    use fmt::Write as _;
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_graphic() && byte != b'%' {
            out.push(char::from(byte));
        } else {
            // Writing to a string cannot fail.
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}

/// Longest wait for what follows an answer's headers: it only explains, and an open connection is
/// not worth more.
const BODY_TIME_MAX: Duration = Duration::from_secs(1);
/// A longer answer is not read to its end, and its connection not used again.
const BODY_BYTES_MAX: u64 = 64 * 1024;
/// Characters of an answer that are told on.
const WORDS_MAX: usize = 200;
/// A receiver that asks for more would stop the partition for ever.
const RETRY_AFTER_MAX: Duration = Duration::from_secs(3600);

fn check(url: &str) -> Result<Uri, HttpSinkError> {
    let parsed: Uri = url.parse().map_err(|error: ureq::http::uri::InvalidUri| {
        HttpSinkError::Unreadable(error.to_string())
    })?;
    match parsed.scheme_str() {
        Some("http") => {}
        Some("https") => return Err(HttpSinkError::Https),
        Some(other) => return Err(HttpSinkError::Scheme(other.to_owned())),
        None => return Err(HttpSinkError::Unreadable("it names no scheme".to_owned())),
    }
    let authority = parsed.authority().map_or("", |authority| authority.as_str());
    if authority.contains('@') {
        return Err(HttpSinkError::Credentials);
    }
    if parsed.host().is_none_or(str::is_empty) {
        return Err(HttpSinkError::Unreadable("it names no host".to_owned()));
    }
    Ok(parsed)
}

/// The headers decide. The body is read for its words, and so that the connection can be used
/// again.
fn answer(mut response: Response<Body>) -> SinkAnswer {
    let status = response.status();
    let after = retry_after(&response);
    let body = response.body_mut().with_config().limit(BODY_BYTES_MAX).read_to_vec();
    let why = || match body {
        Ok(body) if !body.is_empty() => format!("the sink answered {status}: {}", excerpt(&body)),
        _ => format!("the sink answered {status}"),
    };
    match status.as_u16() {
        200..=299 => SinkAnswer::Done,
        412 => SinkAnswer::Fenced { why: why() },
        300..=399 => SinkAnswer::Permanent {
            why: format!("{}; a POST is not redirected, give the URL that it names", why()),
        },
        408 | 409 | 425 | 429 | 500.. | ..=199 => SinkAnswer::Retry { after, why: why() },
        400..=499 => SinkAnswer::Permanent { why: why() },
    }
}

fn retry_after(response: &Response<Body>) -> Option<Duration> {
    let text = response.headers().get(RETRY_AFTER)?.to_str().ok()?.trim();
    let span = match text.parse() {
        Ok(seconds) => Duration::from_secs(seconds),
        Err(_) => until(httpdate::parse_http_date(text).ok()?),
    };
    Some(span.min(RETRY_AFTER_MAX))
}

/// From now until `moment`; nothing when it is past.
fn until(moment: SystemTime) -> Duration {
    let moment = moment.duration_since(UNIX_EPOCH).unwrap_or_default();
    moment.saturating_sub(clock::since_epoch())
}

/// The beginning of a body on one line.
fn excerpt(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(body);
    let one_line = text.chars().map(|char| if char.is_control() { ' ' } else { char });
    one_line.take(WORDS_MAX).collect::<String>().trim().to_owned()
}

/// Without an answer. What is no fault of the way there may be one of the record.
fn unanswered(error: &Error) -> SinkAnswer {
    let why = words_of(error);
    let sent = match error {
        Error::Timeout(Timeout::Connect | Timeout::Resolve)
        | Error::HostNotFound
        | Error::ConnectionFailed => false,
        Error::Io(error) => !matches!(
            error.kind(),
            ErrorKind::ConnectionRefused
                | ErrorKind::HostUnreachable
                | ErrorKind::NetworkUnreachable
                | ErrorKind::NetworkDown
                | ErrorKind::AddrNotAvailable
        ),
        Error::Timeout(_) => true,
        _ => return SinkAnswer::Retry { after: None, why },
    };
    SinkAnswer::Unreachable { sent, why }
}

fn words_of(error: &Error) -> String {
    match error {
        Error::Timeout(Timeout::Connect | Timeout::Resolve) => {
            "the sink cannot be connected in time".to_owned()
        }
        Error::Timeout(_) => "no answer from the sink in time; it may have acted".to_owned(),
        Error::HostNotFound => "the sink's host name is not known".to_owned(),
        Error::Protocol(error) => format!("the sink's answer is not HTTP: {error}"),
        other => format!("no answer from the sink: {other}"),
    }
}
