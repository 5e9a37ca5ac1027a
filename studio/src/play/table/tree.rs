use std::time::Duration;

use super::super::action::Answer;
use super::super::analysts::FIRST;
use super::super::crew::Role;
use super::super::seats::ActionError;
use super::super::tree::{LONGEST_PATH, TreeView};
use super::Table;

const TREE_TIME: Duration = Duration::from_secs(3);

impl Table {
    pub(super) fn ask_tree(&mut self, moves: Vec<String>, answer: Answer<TreeView>) {
        self.tree_questions.retain(|(_, question)| !question.is_closed());
        let refused = self.check_line(&moves).err();
        match refused {
            Some(error) => {
                let _ = answer.send(Err(error));
            }
            None => {
                self.crew.ask_tree(Role::Analyst(FIRST), moves.clone());
                let (question, answered) = tokio::sync::oneshot::channel();
                self.tree_questions.push((moves, question));
                tokio::spawn(async move {
                    let late = || {
                        let text = "The engine does not show its search tree: only Philidor does.";
                        Err(ActionError::NotNow(text.to_owned()))
                    };
                    let result = tokio::time::timeout(TREE_TIME, answered).await;
                    let _ =
                        answer.send(result.map_or_else(|_| late(), |read| read.unwrap_or_else(|_| late())));
                });
            }
        }
    }

    fn check_line(&self, moves: &[String]) -> Result<(), ActionError> {
        let first = &self.analysts[FIRST];
        let is_asked = first.settings.on && self.crew.was_asked(Role::Analyst(FIRST), first.search);
        let none =
            || ActionError::NotNow("There is no search of this position: switch the evaluation on.".into());
        let game = first.game.as_ref().filter(|_| is_asked).ok_or_else(none)?;
        if moves.len() > LONGEST_PATH {
            return Err(ActionError::Invalid(format!("A line has at most {LONGEST_PATH} moves.")));
        }
        // The moves are sent to the engine in a line of text, so they are validated.
        let mut board = game.game().clone();
        for text in moves {
            let illegal = |_| ActionError::Invalid(format!("{text} is no legal move there."));
            board.play(board.parse_uci(text).map_err(illegal)?);
        }
        Ok(())
    }

    pub(super) fn answer_tree(&mut self, answer: Result<String, String>) {
        // The engine also answers questions whose time is over.
        let is_asked = |(line, _): &(Vec<String>, _)| TreeView::is_of(&answer, line);
        let Some(asked) = self.tree_questions.iter().position(is_asked) else { return };
        let (_, question) = self.tree_questions.remove(asked);
        let changed = || ActionError::NotNow("The position has changed meanwhile.".to_owned());
        let tree = match answer {
            Ok(text) => {
                let game = self.analysts[FIRST].game.as_ref();
                game.and_then(|game| TreeView::read(&text, game)).ok_or_else(changed)
            }
            Err(reason) => Err(ActionError::NotNow(format!("The engine shows no tree: {reason}."))),
        };
        let _ = question.send(tree);
    }
}
