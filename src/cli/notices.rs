//! Messages for the user about what a command did beside its task.

use std::sync::{Arc, Mutex};

use super::phrase;
use crate::{model::event::Event, ops::Subscriber};

/// Collects them from the events of a command.
pub(super) struct Notices(pub(super) Arc<Mutex<Vec<String>>>);

impl Subscriber for Notices {
    fn event(&self, event: &Event) {
        let text = match event {
            Event::Broken { shadow, archive, checkpoints, unreadable, tip } => {
                let held = match archive {
                    Some(archive) => {
                        format!("{} of it can be read, in '{archive}'", phrase::count(*checkpoints, "checkpoint"))
                    }
                    None => format!(
                        "nothing of it can be read; its id {tip} is kept, and once its objects are back, the next \
                         'git checkpoint save' or 'git checkpoint doctor --fix' brings it back"
                    ),
                };
                let missing = if unreadable.is_empty() { "its objects".to_owned() } else { unreadable.join(", ") };
                format!("'{shadow}' is broken ({missing} cannot be read) and was set aside: {held}")
            }
            Event::Recovered { r#ref: name, archive, file } => {
                let held = match archive {
                    Some(archive) => format!("what it led to is in '{archive}'"),
                    None => "what it led to is not known".to_owned(),
                };
                match file {
                    Some(file) => format!("'{name}' had no id, and its file is now '{file}': {held}"),
                    None => format!("'{name}' can be read again: {held}"),
                }
            }
            _ => return,
        };
        if let Ok(mut notices) = self.0.lock() {
            notices.push(text);
        }
    }
}
