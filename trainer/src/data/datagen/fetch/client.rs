//! An HTTP client for public servers: one request at a time, with pauses, obeying `Retry-After`.

use std::time::Duration;

use anyhow::anyhow;
use jiff::Timestamp;
use thiserror::Error;
use ureq::http::{Response, StatusCode};
use ureq::{Agent, Body};

const TIMEOUT: Duration = Duration::from_secs(60);
/// Wait after HTTP 429 without `Retry-After`; Lichess asks for a full minute.
const FULL_MINUTE: Duration = Duration::from_secs(60);
const LONGEST_WAIT: Duration = Duration::from_secs(15 * 60);
/// Doubles with each further failure.
const FIRST_WAIT: Duration = Duration::from_secs(2);

/// Waits; false if interrupted.
pub type Pause<'a> = dyn FnMut(Duration) -> bool + 'a;

#[derive(Debug, Error)]
pub enum FetchError {
    #[error("{0}: not found")]
    Missing(String),
    #[error("{url}: {why}; the same command continues")]
    Failed { url: String, why: String },
    #[error("{0}")]
    Unwritable(String),
    #[error("interrupted; the same command continues")]
    Interrupted,
}

pub struct HttpClient<'a> {
    agent: Agent,
    /// Pause between two requests.
    gap: Duration,
    tries: u32,
    pause: &'a mut Pause<'a>,
    begun: bool,
}

impl<'a> HttpClient<'a> {
    pub fn new(name: &str, gap: Duration, tries: u32, pause: &'a mut Pause<'a>) -> HttpClient<'a> {
        let config = Agent::config_builder()
            .user_agent(name)
            .http_status_as_error(false)
            .timeout_connect(Some(TIMEOUT))
            .timeout_recv_response(Some(TIMEOUT))
            .timeout_per_read(Some(TIMEOUT));
        HttpClient { agent: config.build().into(), gap, tries: tries.max(1), pause, begun: false }
    }

    /// Requests `url`, called anew for each attempt, until `receive` accepts a successful response. Follows at most ten
    /// redirects.
    pub fn get(
        &mut self,
        url: impl Fn() -> String,
        accept: &str,
        mut receive: impl FnMut(&mut Body) -> anyhow::Result<()>,
    ) -> Result<(), FetchError> {
        let mut wait = if self.begun { self.gap } else { Duration::ZERO };
        let mut backoff = FIRST_WAIT;
        self.begun = true;
        for attempt in 1.. {
            if !(self.pause)(wait) {
                return Err(FetchError::Interrupted);
            }
            let url = url();
            let (error, asked) = match self.agent.get(&url).header("Accept", accept).call() {
                Ok(mut response) if response.status().is_success() => match receive(response.body_mut()) {
                    Ok(()) => return Ok(()),
                    Err(error) => (error, Duration::ZERO),
                },
                Ok(response) => match refusal(&response) {
                    Refusal::Missing => return Err(FetchError::Missing(url)),
                    Refusal::Final(why) => return Err(FetchError::Failed { url, why }),
                    Refusal::Later(why, asked) => (anyhow!(why), asked),
                },
                // Another attempt would meet the same redirects.
                Err(error @ ureq::Error::TooManyRedirects) => {
                    return Err(FetchError::Failed { url, why: error.to_string() });
                }
                Err(error) => (error.into(), Duration::ZERO),
            };
            if attempt == self.tries {
                return Err(FetchError::Failed { url, why: format!("{error:#}") });
            }
            wait = backoff.max(asked).min(LONGEST_WAIT);
            backoff *= 2;
            log::warn!("{url}: {error:#}; next attempt in {} s", wait.as_secs());
        }
        unreachable!("the last attempt returns")
    }
}

enum Refusal {
    Missing,
    Final(String),
    Later(String, Duration),
}

fn refusal(response: &Response<Body>) -> Refusal {
    let status = response.status();
    let why = format!("the server answered {status}");
    match status {
        StatusCode::NOT_FOUND | StatusCode::GONE => Refusal::Missing,
        StatusCode::TOO_MANY_REQUESTS => Refusal::Later(why, asked(response).unwrap_or(FULL_MINUTE)),
        _ if status.is_server_error() => Refusal::Later(why, asked(response).unwrap_or_default()),
        _ => Refusal::Final(why),
    }
}

/// `Retry-After`, in seconds or as a date; `None` if invalid.
fn asked(response: &Response<Body>) -> Option<Duration> {
    let text = response.headers().get("retry-after")?.to_str().ok()?.trim();
    if let Ok(seconds) = text.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let date = jiff::fmt::rfc2822::parse(text).ok()?.timestamp();
    Some(date.duration_since(Timestamp::now()).try_into().unwrap_or(Duration::ZERO))
}
