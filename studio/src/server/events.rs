//! One stream of server-sent events per tab.
//!
//! Every message is a JSON object of the changed topics and boards; the first contains all. A tab receives at most ten
//! messages a second. It may miss intermediate states, because a topic is always sent whole.

use std::collections::{BTreeMap, HashMap};
use std::convert::Infallible;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::response::sse::Event;
use futures_util::future::select_all;
use futures_util::stream::{self, Stream};
use tokio::sync::watch;
use tokio::time::Instant;

use crate::boards::{BoardMap, Boards};

const INTERVAL: Duration = Duration::from_millis(100);

/// `LONGEST_NAME` is in bytes, for names of tabs and boards.
const MOST_TABS: usize = 200;
const MOST_BOARDS: usize = 200;
const LONGEST_NAME: usize = 64;

pub type Topic = (&'static str, watch::Receiver<Arc<str>>);

/// The boards that a tab shows, each with the number of the request since which it does.
type View = HashMap<String, u64>;

type TabViews = Arc<Mutex<HashMap<String, watch::Sender<View>>>>;

#[derive(Clone, Debug)]
pub struct EventSource {
    topics: Vec<Topic>,
    boards: Boards,
    tabs: TabViews,
    /// Counts the requests to show boards.
    requests: Arc<AtomicU64>,
}

/// The data stays valid if a holder of the lock panics.
fn lock(tabs: &TabViews) -> MutexGuard<'_, HashMap<String, watch::Sender<View>>> {
    tabs.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Frees the tab's place when dropped.
struct Seat {
    tabs: TabViews,
    boards: Boards,
    name: String,
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut tabs = lock(&self.tabs);
        tabs.remove(&self.name);
        tell_shown(&tabs, &self.boards);
    }
}

/// Tells the boards which of them some tab shows.
fn tell_shown(tabs: &HashMap<String, watch::Sender<View>>, boards: &Boards) {
    boards.show(tabs.values().flat_map(|view| view.borrow().keys().cloned().collect::<Vec<_>>()).collect());
}

struct TabStream {
    topics: Vec<Topic>,
    boards: watch::Receiver<BoardMap>,
    view: watch::Receiver<View>,
    /// What was sent last of each board, and since which request.
    sent: BTreeMap<String, (u64, Arc<str>)>,
    last: Option<Instant>,
    _seat: Seat,
}

impl EventSource {
    pub fn new(topics: Vec<Topic>, boards: Boards) -> EventSource {
        EventSource { topics, boards, tabs: Arc::default(), requests: Arc::default() }
    }

    /// `None` if there are too many tabs or this one listens already.
    pub fn listen(&self, tab: &str) -> Option<impl Stream<Item = Result<Event, Infallible>> + use<>> {
        let messages = self.messages(tab)?;
        Some(futures_util::StreamExt::map(messages, |text| Ok(Event::default().data(text))))
    }

    /// Returns false if the tab does not listen or shows too many boards.
    pub fn show(&self, tab: &str, boards: Vec<String>) -> bool {
        if boards.len() > MOST_BOARDS || boards.iter().any(|name| name.len() > LONGEST_NAME) {
            return false;
        }
        let tabs = lock(&self.tabs);
        let Some(view) = tabs.get(tab) else { return false };
        let request = self.requests.fetch_add(1, Ordering::Relaxed);
        view.send_if_modified(|shown| {
            let since = |name: &String| shown.get(name).copied().unwrap_or(request);
            let boards: View = boards.into_iter().map(|name| (name.clone(), since(&name))).collect();
            let changed = *shown != boards;
            *shown = boards;
            changed
        });
        tell_shown(&tabs, &self.boards);
        true
    }

    fn messages(&self, tab: &str) -> Option<impl Stream<Item = String> + use<>> {
        let mut tabs = lock(&self.tabs);
        if tabs.len() >= MOST_TABS || tabs.contains_key(tab) || tab.len() > LONGEST_NAME {
            return None;
        }
        let (shown, view) = watch::channel(View::new());
        tabs.insert(tab.to_owned(), shown);
        drop(tabs);
        let mut topics = self.topics.clone();
        topics.iter_mut().for_each(|(_, state)| state.mark_changed());
        let seat = Seat { tabs: self.tabs.clone(), boards: self.boards.clone(), name: tab.to_owned() };
        let boards = self.boards.subscribe();
        let stream = TabStream { topics, boards, view, sent: BTreeMap::new(), last: None, _seat: seat };
        Some(stream::unfold(stream, |mut stream| async move {
            let text = stream.next().await;
            Some((text, stream))
        }))
    }
}

impl TabStream {
    /// Skips empty messages.
    async fn next(&mut self) -> String {
        loop {
            self.wait().await;
            if let Some(last) = self.last {
                tokio::time::sleep_until(last + INTERVAL).await;
            }
            let text = self.message();
            if text != "{}" {
                self.last = Some(Instant::now());
                return text;
            }
        }
    }

    async fn wait(&mut self) {
        let shows_boards = !self.view.borrow().is_empty();
        let topics = select_all(self.topics.iter_mut().map(|(_, state)| Box::pin(change(state))));
        let changed = tokio::select! {
            (_, changed, _) = topics => Some(changed),
            () = change(&mut self.boards), if shows_boards => None,
            () = change(&mut self.view) => None,
        };
        // Waiting has marked the change as seen.
        if let Some(changed) = changed {
            self.topics[changed].1.mark_changed();
        }
    }

    fn message(&mut self) -> String {
        let mut parts = Vec::new();
        for (name, state) in &mut self.topics {
            let present = state.borrow_and_update();
            if present.has_changed() {
                parts.push(format!("\"{name}\":{}", &**present));
            }
        }
        let boards = self.changed_boards();
        if !boards.is_empty() {
            parts.push(format!("\"boards\":{{{}}}", boards.join(",")));
        }
        format!("{{{}}}", parts.join(","))
    }

    fn changed_boards(&mut self) -> Vec<String> {
        let view = self.view.borrow_and_update();
        let boards = self.boards.borrow_and_update();
        self.sent.retain(|name, _| view.contains_key(name) && boards.contains_key(name));
        let mut changed = Vec::new();
        for (name, since) in view.iter() {
            let Some(board) = boards.get(name) else { continue };
            // A board that the tab left and shows again may be gone from its memory.
            let now = (*since, board.clone());
            if self.sent.get(name) != Some(&now) {
                changed.push(format!("{}:{board}", serde_json::Value::from(name.as_str())));
                self.sent.insert(name.clone(), now);
            }
        }
        changed
    }
}

/// Waits forever if the sender is gone.
async fn change<T>(state: &mut watch::Receiver<T>) {
    if state.changed().await.is_err() {
        std::future::pending::<()>().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::boards::LiveBoard;
    use futures_util::StreamExt;

    #[tokio::test]
    async fn the_first_message_has_everything_and_later_ones_what_changed_at_most_ten_a_second() {
        let (a, a_out) = watch::channel(Arc::from("1"));
        let (b, b_out) = watch::channel(Arc::from("\"x\""));
        let source = EventSource::new(vec![("a", a_out), ("b", b_out)], Boards::default());
        let begin = Instant::now();
        let mut messages = Box::pin(source.messages("tab").unwrap());
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
    async fn a_tab_receives_the_boards_that_it_shows() {
        let (a, a_out) = watch::channel(Arc::from("1"));
        let boards = Boards::default();
        let source = EventSource::new(vec![("a", a_out)], boards.clone());
        let mut messages = Box::pin(source.messages("tab").unwrap());
        messages.next().await.unwrap();
        let board = |ply| LiveBoard { ply, ..LiveBoard::default() };
        boards.set("match/0", &board(1));
        boards.set("match/1", &board(2));
        assert!(source.show("tab", vec!["match/1".into(), "match/7".into()]));
        let message = messages.next().await.unwrap();
        assert!(
            message.starts_with("{\"boards\":{\"match/1\":{") && message.contains("\"ply\":2"),
            "{message}"
        );
        boards.set("match/0", &board(3));
        a.send_replace(Arc::from("2"));
        assert_eq!(messages.next().await.unwrap(), "{\"a\":2}", "a board that is not in view is not sent");
        boards.set("match/1", &board(4));
        assert!(messages.next().await.unwrap().contains("\"ply\":4"));
        assert!(source.show("tab", vec!["match/0".into()]));
        assert!(messages.next().await.unwrap().contains("\"ply\":3"));
        // It leaves the board and comes back before the stream has told anything: it has forgotten what it knew.
        assert!(source.show("tab", vec![]) && source.show("tab", vec!["match/0".into()]));
        assert!(messages.next().await.unwrap().contains("\"ply\":3"));
        assert!(!source.show("another", vec![]) && !source.show("tab", vec![String::new(); MOST_BOARDS + 1]));
        let mut other = Box::pin(source.messages("other").unwrap());
        other.next().await.unwrap();
        assert!(source.show("other", vec!["match/1".into()]));
        let shown = boards.shown();
        assert_eq!(shown.borrow().len(), 2, "each tab shows one");
        drop(other);
        assert!(shown.borrow().iter().eq(["match/0"]), "a tab has gone");
    }

    #[tokio::test]
    async fn places_are_limited_and_freed() {
        let (_keep, out) = watch::channel(Arc::from("1"));
        let source = EventSource::new(vec![("a", out)], Boards::default());
        let mut tabs: Vec<_> = (0..MOST_TABS).map(|tab| source.messages(&tab.to_string()).unwrap()).collect();
        assert!(source.messages("one more").is_none());
        tabs.pop();
        assert!(source.messages("0").is_none(), "it listens already");
        assert!(source.messages("one more").is_some());
    }
}
