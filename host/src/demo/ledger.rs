//! The demo's sink: an HTTP server that writes effects into a ledger.
//!
//! `POST /MEMBER` with the order as JSON. It can hold one member's next effect open, so that a
//! fault strikes while work is under way.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::header::HeaderMap;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpListener;
use tokio::sync::{Notify, watch};

pub use super::book::{Book, Calls, Line, Rules, read};
use super::book::{Call, Ruling};

/// An effect that is held open: applied, and not answered yet.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
#[non_exhaustive]
pub struct Held {
    /// Who waits for the answer.
    pub member: String,
    /// Where its record was read.
    pub partition: i32,
    /// Its place there.
    pub offset: i64,
}

/// A ledger and the thread that serves it.
#[derive(Debug)]
pub struct Ledger {
    shared: Arc<Shared>,
    address: SocketAddr,
    stop: Arc<Notify>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    path: PathBuf,
    book: Mutex<Book>,
    /// Whose next effect is to be held open.
    wanted: Mutex<Option<String>>,
    held: Mutex<Option<Held>>,
    /// Raised to let held effects go.
    release: watch::Sender<u64>,
    work: Duration,
}

impl Ledger {
    /// Serves a ledger at `path` on a port of its own; an effect takes `work` to be answered.
    ///
    /// # Errors
    /// The file or the port cannot be opened.
    pub fn open(path: &Path, rules: Rules, work: Duration) -> io::Result<Self> {
        let shared = Arc::new(Shared {
            path: path.into(),
            book: Mutex::new(Book::open(path, rules)?),
            wanted: Mutex::new(None),
            held: Mutex::new(None),
            release: watch::Sender::new(0),
            work,
        });
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let listener = runtime.block_on(TcpListener::bind(("127.0.0.1", 0)))?;
        let address = listener.local_addr()?;
        let stop = Arc::new(Notify::new());
        let (serving, stopped) = (Arc::clone(&shared), Arc::clone(&stop));
        let thread = std::thread::Builder::new().name("ledger".into()).spawn(move || {
            runtime.spawn(accept(listener, serving));
            runtime.block_on(stopped.notified());
        })?;
        Ok(Self { shared, address, stop, thread: Some(thread) })
    }

    /// Where `member` posts its effects.
    pub fn url(&self, member: &str) -> String {
        format!("http://{}/{member}", self.address)
    }

    /// What the ledger knows.
    pub fn book(&self) -> MutexGuard<'_, Book> {
        lock(&self.shared.book)
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.shared.path
    }

    /// Holds the next effect of `member` open.
    pub fn hold(&self, member: &str) {
        *lock(&self.shared.wanted) = Some(member.to_owned());
    }

    /// The effect that is held open.
    pub fn held(&self) -> Option<Held> {
        lock(&self.shared.held).clone()
    }

    /// Answers the effect that is held open, and holds nothing more.
    pub fn release(&self) {
        *lock(&self.shared.wanted) = None;
        *lock(&self.shared.held) = None;
        self.shared.release.send_modify(|times| *times = times.wrapping_add(1));
    }
}

impl Drop for Ledger {
    fn drop(&mut self) {
        self.stop.notify_one();
        if let Some(thread) = self.thread.take() {
            // A panic of its thread was told where it happened.
            let _ = thread.join();
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    loop {
        let Ok((stream, _)) = listener.accept().await else { continue };
        // Small answers must not wait for more.
        let _ = stream.set_nodelay(true);
        let shared = Arc::clone(&shared);
        tokio::spawn(async move {
            let service = service_fn(move |request| answer(Arc::clone(&shared), request));
            let server = http1::Builder::new();
            let connection = serve(server, TokioIo::new(stream), service);
            // A member that was killed breaks its connections.
            let _ = connection.await;
        });
    }
}

async fn serve<S>(
    mut server: http1::Builder,
    stream: TokioIo<tokio::net::TcpStream>,
    service: S,
) -> Result<(), hyper::Error>
where
    S: hyper::service::HttpService<Incoming, ResBody = Full<Bytes>>,
    S::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    server.timer(TokioTimer::new()).serve_connection(stream, service).await
}

async fn answer(
    shared: Arc<Shared>,
    request: Request<Incoming>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let (head, body) = request.into_parts();
    let member = head.uri.path().trim_start_matches('/').to_owned();
    let Ok(body) = Limited::new(body, BODY_MAX).collect().await else {
        return Ok(response(StatusCode::BAD_REQUEST, "the body cannot be read".into()));
    };
    let Some(call) = call(&member, &head.headers, &body.to_bytes()) else {
        return Ok(response(StatusCode::BAD_REQUEST, "no order with its Kafka place".into()));
    };
    let _open = Open::new(&shared, &member);
    let (ruling, hold) = shared.rule(&call);
    match hold {
        Some(released) => shared.until_released(released).await,
        None => tokio::time::sleep(shared.work).await,
    }
    Ok(respond(ruling, &call))
}

impl Shared {
    /// Rules on a call; gives what to wait for when its answer is to be held.
    fn rule(&self, call: &Call) -> (Ruling, Option<watch::Receiver<u64>>) {
        let mut book = lock(&self.book);
        let ruling = book.rule(call);
        let mut wanted = lock(&self.wanted);
        if ruling != Ruling::Applied || wanted.as_ref() != Some(&call.line.member) {
            return (ruling, None);
        }
        *wanted = None;
        let released = self.release.subscribe();
        *lock(&self.held) = Some(Held {
            member: call.line.member.clone(),
            partition: call.line.partition,
            offset: call.line.offset,
        });
        (ruling, Some(released))
    }

    /// An answer is never held so long that the caller's time limit (10 s) would pass.
    async fn until_released(&self, mut released: watch::Receiver<u64>) {
        if tokio::time::timeout(HOLD_MAX, released.changed()).await.is_err() {
            *lock(&self.held) = None;
        }
    }
}

/// A call that is being answered; it ends with its connection, too.
struct Open<'a> {
    shared: &'a Shared,
    member: &'a str,
}

impl<'a> Open<'a> {
    fn new(shared: &'a Shared, member: &'a str) -> Self {
        *lock(&shared.book).open.entry(member.to_owned()).or_default() += 1;
        Self { shared, member }
    }
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        if let Some(open) = lock(&self.shared.book).open.get_mut(self.member) {
            *open = open.saturating_sub(1);
        }
    }
}

fn respond(ruling: Ruling, call: &Call) -> Response<Full<Bytes>> {
    let token = call.line.token.as_deref().unwrap_or("none");
    match ruling {
        Ruling::Applied => response(StatusCode::OK, "applied".into()),
        Ruling::Absorbed => response(StatusCode::OK, "known".into()),
        Ruling::Fenced { highest } => response(
            StatusCode::PRECONDITION_FAILED,
            format!("token {token} is below {highest}; after a group was deleted raise the epoch"),
        ),
        Ruling::Refused(why) => response(StatusCode::UNPROCESSABLE_ENTITY, why.into()),
        Ruling::Unavailable => response(StatusCode::SERVICE_UNAVAILABLE, "later".into()),
        Ruling::Failed(why) => response(StatusCode::INSUFFICIENT_STORAGE, why),
    }
}

fn response(status: StatusCode, text: String) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(text)));
    *response.status_mut() = status;
    response
}

fn call(member: &str, headers: &HeaderMap, body: &[u8]) -> Option<Call> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let order: serde_json::Value = serde_json::from_slice(body).ok()?;
    let line = Line {
        order: order.get("order")?.as_str()?.to_owned(),
        partition: text("Kafka-Partition")?.parse().ok()?,
        offset: text("Kafka-Offset")?.parse().ok()?,
        key: text("Idempotency-Key").map(Into::into),
        token: text("Fencing-Token").map(Into::into),
        member: member.to_owned(),
    };
    let amount_cents = order.get("amount_cents")?.as_i64()?;
    Some(Call { line, topic: text("Kafka-Topic")?.to_owned(), amount_cents })
}

const BODY_MAX: usize = 1 << 20;
const HOLD_MAX: Duration = Duration::from_secs(8);
