//! A task runs an engine in a child process, forwards orders and reports answers. An engine's failure ends the task
//! with [`EngineEvent::Failed`], never the server.

use std::collections::HashMap;
use std::time::Duration;

use engine::apps::uci_client::{EngineLine, Greeting, InfoLine, MoveNumbers, OptionSpec, engine_process};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::{Instant, sleep_until, timeout};

use super::roster::EngineSpec;

/// Longest wait until the engine starts, is ready, or answers after the search time or `stop`.
const ANSWER_TIME: Duration = Duration::from_secs(20);

/// Longest wait after `quit`, before the engine is killed.
const EXIT_TIME: Duration = Duration::from_millis(500);

/// In bytes; a longer line is an error.
const LONGEST_LINE: usize = 1 << 20;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchOrder {
    /// Repeated in every report of this search.
    pub id: u64,
    /// Options to set before the search, if the engine has them. Unchanged values are not sent again.
    pub options: Vec<(String, String)>,
    /// The position belongs to another game than the previous search.
    pub new_game: bool,
    pub position: String,
    pub go: String,
    pub longest: Duration,
}

#[derive(Clone, Debug, PartialEq)]
pub enum EngineEvent {
    Ready {
        /// From `id name`.
        name: String,
        options: Vec<OptionSpec>,
    },
    /// A variation of search `id`.
    Info { id: u64, info: InfoLine },
    /// The statistics of a root move of search `id`.
    Numbers { id: u64, numbers: MoveNumbers },
    /// The answer to [`EngineHandle::tree`] as JSON, or the reason why there is none.
    Tree(Result<String, String>),
    Best {
        id: u64,
        /// UCI notation, if the engine follows the protocol.
        text: String,
    },
    /// The process has ended, or was killed because it did not answer.
    Failed {
        /// Text that continues the engine's name: "ended (exit status: 1)".
        reason: String,
    },
}

enum Order {
    Search(SearchOrder),
    Stop,
    Tree(Vec<String>),
}

/// Ends the process when dropped.
#[derive(Debug)]
pub struct EngineHandle {
    orders: UnboundedSender<Order>,
}

impl EngineHandle {
    /// Stops a running search, which then reports nothing more.
    pub fn search(&self, order: SearchOrder) {
        // Fails if the process has ended, which was reported.
        let _ = self.orders.send(Order::Search(order));
    }

    /// The stopped search reports nothing more.
    pub fn stop(&self) {
        let _ = self.orders.send(Order::Stop);
    }

    /// Asks for the statistics of the moves after a line of the last or running search. Only Philidor answers.
    pub fn tree(&self, moves: Vec<String>) {
        let _ = self.orders.send(Order::Tree(moves));
    }
}

pub fn start(spec: &EngineSpec, report: impl Fn(EngineEvent) + Send + Sync + 'static) -> EngineHandle {
    let (orders, received) = unbounded_channel();
    let spec = spec.clone();
    tokio::spawn(async move {
        if let Err(reason) = run(&spec, received, &report).await {
            log::warn!("the engine {} {reason}", spec.name);
            report(EngineEvent::Failed { reason });
        }
    });
    EngineHandle { orders }
}

async fn run(
    spec: &EngineSpec,
    orders: UnboundedReceiver<Order>,
    report: &(impl Fn(EngineEvent) + Send + Sync),
) -> Result<(), String> {
    let mut command = Command::from(engine_process(&spec.program, &spec.arguments));
    command.kill_on_drop(true);
    let mut child = command
        .spawn()
        .map_err(|error| format!("cannot be started ({}: {error})", spec.program.display()))?;
    let input = child.stdin.take().expect("it is piped");
    let output = BufReader::new(child.stdout.take().expect("it is piped")).lines();
    let mut conversation =
        Conversation { input, output, greeting: Greeting::default(), set: HashMap::new(), current: None };
    let result = async {
        conversation.greet(spec).await?;
        let Greeting { name, options } = conversation.greeting.clone();
        report(EngineEvent::Ready { name: name.unwrap_or_else(|| spec.name.clone()), options });
        conversation.serve(orders, report).await
    }
    .await;
    match result {
        Ok(()) => {
            let _ = conversation.send("quit").await;
            drop(conversation);
            if timeout(EXIT_TIME, child.wait()).await.is_err() {
                let _ = child.kill().await;
            }
            Ok(())
        }
        Err(fault) => Err(fault.describe(&mut child).await),
    }
}

enum Fault {
    Closed,
    Silent,
    Garbled(String),
}

impl Fault {
    async fn describe(self, child: &mut Child) -> String {
        let reason = match self {
            Fault::Closed => match timeout(EXIT_TIME, child.wait()).await {
                Ok(Ok(status)) => return format!("ended ({status})"),
                _ => "closed its output".to_owned(),
            },
            Fault::Silent => format!("did not answer within {} s", ANSWER_TIME.as_secs()),
            Fault::Garbled(what) => what,
        };
        let _ = child.kill().await;
        reason
    }
}

struct Search {
    id: u64,
    is_wanted: bool,
    deadline: Instant,
}

struct Conversation {
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
    greeting: Greeting,
    set: HashMap<String, String>,
    current: Option<Search>,
}

impl Conversation {
    async fn send(&mut self, line: &str) -> Result<(), Fault> {
        let text = format!("{line}\n");
        let written = timeout(ANSWER_TIME, self.input.write_all(text.as_bytes())).await;
        written.map_err(|_| Fault::Silent)?.map_err(|_| Fault::Closed)
    }

    /// Sends `uci` and the options of the command line, and waits until the engine is ready.
    async fn greet(&mut self, spec: &EngineSpec) -> Result<(), Fault> {
        self.send("uci").await?;
        while !self.hear_greeting().await? {}
        for (option, value) in &spec.options {
            let command = self.greeting.set_option(option, value).map_err(Fault::Garbled)?;
            self.send(&command).await?;
        }
        self.wait_until_ready().await
    }

    async fn hear_greeting(&mut self) -> Result<bool, Fault> {
        let line = self.answer().await?;
        Ok(self.greeting.hear(&line))
    }

    async fn wait_until_ready(&mut self) -> Result<(), Fault> {
        self.send("isready").await?;
        while EngineLine::parse(&self.answer().await?) != EngineLine::ReadyOk {}
        Ok(())
    }

    async fn answer(&mut self) -> Result<String, Fault> {
        timeout(ANSWER_TIME, next_line(&mut self.output)).await.map_err(|_| Fault::Silent)?
    }

    async fn serve(
        &mut self,
        mut orders: UnboundedReceiver<Order>,
        report: &(impl Fn(EngineEvent) + Send + Sync),
    ) -> Result<(), Fault> {
        let mut next: Option<SearchOrder> = None;
        loop {
            let deadline = self.current.as_ref().map(|search| search.deadline);
            tokio::select! {
                order = orders.recv() => match order {
                    None => return Ok(()),
                    Some(Order::Search(search)) => {
                        next = Some(search);
                        self.abandon().await?;
                    }
                    Some(Order::Stop) => {
                        next = None;
                        self.abandon().await?;
                    }
                    Some(Order::Tree(moves)) => self.ask_tree(&moves).await?,
                },
                line = next_line(&mut self.output) => self.hear(&line?, report),
                () = sleep_until(deadline.unwrap_or_else(Instant::now)), if deadline.is_some() => {
                    return Err(Fault::Silent);
                }
            }
            if self.current.is_none()
                && let Some(order) = next.take()
            {
                self.begin(order).await?;
            }
        }
    }

    async fn abandon(&mut self) -> Result<(), Fault> {
        if let Some(search) = self.current.as_mut().filter(|search| search.is_wanted) {
            search.is_wanted = false;
            search.deadline = Instant::now() + ANSWER_TIME;
            self.send("stop").await?;
        }
        Ok(())
    }

    async fn ask_tree(&mut self, moves: &[String]) -> Result<(), Fault> {
        let line =
            if moves.is_empty() { "tree".to_owned() } else { format!("tree moves {}", moves.join(" ")) };
        self.send(&line).await
    }

    fn hear(&mut self, line: &str, report: &impl Fn(EngineEvent)) {
        let line = match EngineLine::parse(line) {
            EngineLine::Tree(answer) => return report(EngineEvent::Tree(Ok(answer))),
            EngineLine::NoTree(reason) => return report(EngineEvent::Tree(Err(reason))),
            line => line,
        };
        let Some(search) = &self.current else { return };
        let id = search.id;
        match line {
            EngineLine::Info(info) if search.is_wanted => report(EngineEvent::Info { id, info }),
            EngineLine::Numbers(numbers) if search.is_wanted => report(EngineEvent::Numbers { id, numbers }),
            EngineLine::Best(text) => {
                if search.is_wanted {
                    report(EngineEvent::Best { id, text });
                }
                self.current = None;
            }
            _ => (),
        }
    }

    async fn begin(&mut self, order: SearchOrder) -> Result<(), Fault> {
        for (name, value) in order.options {
            if let Ok(command) = self.greeting.set_option(&name, &value)
                && self.set.get(&name) != Some(&value)
            {
                self.send(&command).await?;
                self.set.insert(name, value);
            }
        }
        if order.new_game {
            self.send("ucinewgame").await?;
            self.wait_until_ready().await?;
        }
        self.send(&order.position).await?;
        self.send(&order.go).await?;
        let deadline = Instant::now() + order.longest + ANSWER_TIME;
        self.current = Some(Search { id: order.id, is_wanted: true, deadline });
        Ok(())
    }
}

async fn next_line<R: AsyncRead + Unpin>(lines: &mut Lines<BufReader<R>>) -> Result<String, Fault> {
    match lines.next_line().await {
        Ok(Some(line)) if line.len() <= LONGEST_LINE => Ok(line),
        Ok(Some(_)) => Err(Fault::Garbled("wrote a line of more than a megabyte".to_owned())),
        Ok(None) => Err(Fault::Closed),
        Err(_) => Err(Fault::Garbled("wrote bytes that are not text".to_owned())),
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use tokio::sync::mpsc::unbounded_channel;

    /// An engine as a shell script; `body` handles the line `$l`.
    fn shell(body: &str) -> EngineSpec {
        let script = format!(
            "while read -r l; do case $l in uci) echo option name Hash type spin min 1 max 9; echo uciok;; isready) echo readyok;; quit) exit;; {body} esac; done"
        );
        EngineSpec {
            name: "shell".into(),
            program: "/bin/sh".into(),
            arguments: vec!["-c".into(), script],
            options: Vec::new(),
        }
    }

    fn order(id: u64) -> SearchOrder {
        SearchOrder {
            id,
            options: vec![("Hash".into(), "2".into()), ("Unknown".into(), "1".into())],
            new_game: id == 1,
            position: "position startpos".into(),
            go: "go".into(),
            longest: Duration::ZERO,
        }
    }

    async fn events(spec: &EngineSpec, orders: &[u64], count: usize) -> Vec<EngineEvent> {
        let (report, mut reported) = unbounded_channel();
        let handle = start(spec, move |event| {
            let _ = report.send(event);
        });
        for id in orders {
            handle.search(order(*id));
        }
        let mut events = Vec::new();
        while events.len() < count {
            events.push(reported.recv().await.expect("the engine reports"));
        }
        events
    }

    #[tokio::test]
    async fn a_search_answers_and_options_are_set_once() {
        // The answer is the number of options set.
        let spec = shell("setoption*) n=$((n+1));; go*) echo bestmove n$n;;");
        let (report, mut reported) = unbounded_channel();
        let handle = start(&spec, move |event| {
            let _ = report.send(event);
        });
        assert!(
            matches!(reported.recv().await, Some(EngineEvent::Ready { options, .. }) if options.len() == 1)
        );
        for id in [1, 2] {
            handle.search(order(id));
            let best = EngineEvent::Best { id, text: "n1".into() };
            assert_eq!(reported.recv().await, Some(best), "Hash once, Unknown never");
        }
    }

    #[tokio::test]
    async fn a_search_that_is_replaced_reports_nothing_more() {
        // The first search answers only to `stop`, the second at once.
        let spec = shell("go*) n=$((n+1)); [ $n = 1 ] || echo bestmove second;; stop) echo bestmove first;;");
        let events = events(&spec, &[1, 2], 2).await;
        assert_eq!(events[1], EngineEvent::Best { id: 2, text: "second".into() });
    }

    #[tokio::test]
    async fn an_engine_that_dies_is_told_with_its_status() {
        let events = events(&shell("go*) exit 3;;"), &[1], 2).await;
        let EngineEvent::Failed { reason } = &events[1] else { panic!("{events:?}") };
        assert!(reason.contains("ended") && reason.contains('3'), "{reason}");
    }

    #[tokio::test]
    async fn a_program_that_is_not_there_is_told() {
        let spec = EngineSpec { program: "/nonexistent/engine".into(), ..shell("") };
        let events = events(&spec, &[], 1).await;
        assert!(
            matches!(&events[0], EngineEvent::Failed { reason } if reason.contains("/nonexistent/engine"))
        );
    }

    #[tokio::test]
    async fn an_option_that_the_engine_lacks_is_told() {
        let spec = EngineSpec { options: vec![("Nonsense".into(), "1".into())], ..shell("") };
        let events = events(&spec, &[], 1).await;
        assert!(matches!(&events[0], EngineEvent::Failed { reason } if reason.contains("Nonsense")));
    }
}
