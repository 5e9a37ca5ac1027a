//! One stream of events for each tab.
//!
//! Every message is a JSON object with the topics that have changed; the first has all. A tab receives at most ten a
//! second: what changes in between is left out, since every topic is sent as a whole.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::response::sse::Event;
use futures_util::future::select_all;
use futures_util::stream::{self, Stream};
use tokio::sync::watch;
use tokio::time::Instant;

/// Time between two messages to a tab.
const INTERVAL: Duration = Duration::from_millis(100);

/// Tabs that may listen at once.
const MOST_TABS: usize = 200;

/// A topic: its name and its present state as JSON.
pub type Topic = (&'static str, watch::Receiver<Arc<str>>);

/// What tabs can listen to.
#[derive(Clone, Debug)]
pub struct EventSource {
    topics: Vec<Topic>,
    tabs: Arc<AtomicUsize>,
}

/// A tab that listens; dropping it frees its place.
struct Seat(Arc<AtomicUsize>);

impl Drop for Seat {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl EventSource {
    /// Topics to listen to.
    pub fn new(topics: Vec<Topic>) -> EventSource {
        EventSource { topics, tabs: Arc::default() }
    }

    /// The messages for one tab; `None` if there are too many tabs.
    pub fn listen(&self) -> Option<impl Stream<Item = Result<Event, Infallible>> + use<>> {
        let messages = self.messages()?;
        Some(futures_util::StreamExt::map(messages, |text| Ok(Event::default().data(text))))
    }

    fn messages(&self) -> Option<impl Stream<Item = String> + use<>> {
        if self.tabs.fetch_add(1, Ordering::Relaxed) >= MOST_TABS {
            self.tabs.fetch_sub(1, Ordering::Relaxed);
            return None;
        }
        let seat = Seat(self.tabs.clone());
        let mut topics = self.topics.clone();
        topics.iter_mut().for_each(|(_, state)| state.mark_changed());
        let begin = (topics, seat, None::<Instant>);
        Some(stream::unfold(begin, |(mut topics, seat, last)| async move {
            let (_, changed, _) =
                select_all(topics.iter_mut().map(|(_, state)| Box::pin(change(state)))).await;
            // Waiting for the change has marked it as seen.
            topics[changed].1.mark_changed();
            if let Some(last) = last {
                tokio::time::sleep_until(last + INTERVAL).await;
            }
            Some((message(&mut topics), (topics, seat, Some(Instant::now()))))
        }))
    }
}

/// Waits for a topic to change; one whose owner has ended stays as it is.
async fn change(state: &mut watch::Receiver<Arc<str>>) {
    if state.changed().await.is_err() {
        std::future::pending::<()>().await;
    }
}

fn message(topics: &mut [Topic]) -> String {
    let mut parts = Vec::new();
    for (name, state) in topics {
        let present = state.borrow_and_update();
        if present.has_changed() {
            parts.push(format!("\"{name}\":{}", &**present));
        }
    }
    format!("{{{}}}", parts.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::StreamExt;

    #[tokio::test]
    async fn the_first_message_has_everything_and_later_ones_what_changed_at_most_ten_a_second() {
        let (a, a_out) = watch::channel(Arc::from("1"));
        let (b, b_out) = watch::channel(Arc::from("\"x\""));
        let source = EventSource::new(vec![("a", a_out), ("b", b_out)]);
        let begin = Instant::now();
        let mut messages = Box::pin(source.messages().unwrap());
        assert_eq!(messages.next().await.unwrap(), "{\"a\":1,\"b\":\"x\"}");
        for n in 2..50 {
            a.send_replace(Arc::from(n.to_string()));
        }
        assert_eq!(messages.next().await.unwrap(), "{\"a\":49}", "the last state only");
        assert!(begin.elapsed() >= INTERVAL);
        b.send_replace(Arc::from("2"));
        assert_eq!(messages.next().await.unwrap(), "{\"b\":2}");
        b.send_replace(Arc::from("3"));
        drop(b);
        assert_eq!(messages.next().await.unwrap(), "{\"b\":3}", "the last word of an owner that has ended");
        a.send_replace(Arc::from("50"));
        assert_eq!(messages.next().await.unwrap(), "{\"a\":50}", "an owner that has ended ends no stream");
        assert!(begin.elapsed() >= 2 * INTERVAL);
    }

    #[tokio::test]
    async fn places_are_limited_and_freed() {
        let (_keep, out) = watch::channel(Arc::from("1"));
        let source = EventSource::new(vec![("a", out)]);
        let mut tabs: Vec<_> = (0..MOST_TABS).map(|_| source.messages().unwrap()).collect();
        assert!(source.messages().is_none());
        tabs.pop();
        assert!(source.messages().is_some());
    }
}
