//! Requests to public servers that don't want to be overrun: one at a time, with a pause between them, under
//! a name; asked to wait, we wait.

use std::fmt;
use std::time::Duration;

use jiff::Timestamp;
use ureq::http::{Response, StatusCode};
use ureq::{Agent, Body};

/// A server that is silent for so long is taken to be gone.
const PATIENCE: Duration = Duration::from_secs(60);
/// What to wait after "too many requests" if the server doesn't say how long (Lichess asks for a full minute).
const FULL_MINUTE: Duration = Duration::from_secs(60);
/// Nobody waits longer for one answer.
const LONGEST_WAIT: Duration = Duration::from_secs(15 * 60);
/// What to wait after the first failure; twice as long after each further one.
const FIRST_WAIT: Duration = Duration::from_secs(2);

/// Waits; `false` if it was told not to wait any more.
pub type Pause<'a> = dyn FnMut(Duration) -> bool + 'a;

/// Why something can't be fetched.
#[derive(Debug)]
pub enum FetchError {
    /// The server has no such thing.
    Missing(String),
    /// It doesn't answer as it should, however often it is asked.
    Failed {
        /// What was asked for.
        url: String,
        /// What was wrong the last time.
        why: String,
    },
    /// Told to stop.
    Interrupted,
}

impl fmt::Display for FetchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FetchError::Missing(url) => write!(f, "{url}: not found"),
            FetchError::Failed { url, why } => write!(f, "{url}: {why}; the same line again goes on"),
            FetchError::Interrupted => f.write_str("interrupted; the same line again goes on"),
        }
    }
}

impl std::error::Error for FetchError {}

/// A client with manners.
pub struct Client<'a> {
    agent: Agent,
    /// Between two requests.
    gap: Duration,
    /// How often something is asked for before it is given up.
    tries: u32,
    pause: &'a mut Pause<'a>,
    begun: bool,
}

impl<'a> Client<'a> {
    /// A client that calls itself `name`.
    pub fn new(name: &str, gap: Duration, tries: u32, pause: &'a mut Pause<'a>) -> Client<'a> {
        let config = Agent::config_builder()
            .user_agent(name)
            .http_status_as_error(false)
            .timeout_connect(Some(PATIENCE))
            .timeout_recv_response(Some(PATIENCE))
            .timeout_per_read(Some(PATIENCE));
        Client { agent: config.build().into(), gap, tries: tries.max(1), pause, begun: false }
    }

    /// Asks for something until `receive` has got it: that is given each successful answer and says what was wrong
    /// with it. The address is asked for anew before each try.
    ///
    /// # Errors
    ///
    /// If the server has no such thing, fails too often, or we were told to stop.
    pub fn get(
        &mut self,
        url: impl Fn() -> String,
        accept: &str,
        mut receive: impl FnMut(&mut Body) -> Result<(), String>,
    ) -> Result<(), FetchError> {
        let mut wait = if self.begun { self.gap } else { Duration::ZERO };
        let mut backoff = FIRST_WAIT;
        self.begun = true;
        for attempt in 1.. {
            if !(self.pause)(wait) {
                return Err(FetchError::Interrupted);
            }
            let url = url();
            let (why, asked) = match self.agent.get(&url).header("Accept", accept).call() {
                Ok(mut response) if response.status().is_success() => match receive(response.body_mut()) {
                    Ok(()) => return Ok(()),
                    Err(why) => (why, Duration::ZERO),
                },
                Ok(response) => match refusal(&response) {
                    Refusal::Missing => return Err(FetchError::Missing(url)),
                    Refusal::Final(why) => return Err(FetchError::Failed { url, why }),
                    Refusal::Later(why, asked) => (why, asked),
                },
                Err(error) => (error.to_string(), Duration::ZERO),
            };
            if attempt == self.tries {
                return Err(FetchError::Failed { url, why });
            }
            wait = backoff.max(asked).min(LONGEST_WAIT);
            backoff *= 2;
            log::warn!("{url}: {why}; asking again in {} s", wait.as_secs());
        }
        unreachable!("the last try returns")
    }
}

enum Refusal {
    Missing,
    Final(String),
    Later(String, Duration),
}

fn refusal(response: &Response<Body>) -> Refusal {
    let status = response.status();
    let why = format!("the server says {status}");
    match status {
        StatusCode::NOT_FOUND | StatusCode::GONE => Refusal::Missing,
        StatusCode::TOO_MANY_REQUESTS => Refusal::Later(why, asked(response).unwrap_or(FULL_MINUTE)),
        _ if status.is_server_error() => Refusal::Later(why, asked(response).unwrap_or_default()),
        _ => Refusal::Final(why),
    }
}

/// What `Retry-After` asks for: seconds, or a date.
fn asked(response: &Response<Body>) -> Option<Duration> {
    let text = response.headers().get("retry-after")?.to_str().ok()?.trim();
    if let Ok(seconds) = text.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let date = jiff::fmt::rfc2822::parse(text).ok()?.timestamp();
    Some(date.duration_since(Timestamp::now()).try_into().unwrap_or(Duration::ZERO))
}
