//! Takes a checkpoint of the repository in the current directory, as an editor or orchestrator would.

use std::path::Path;

use git_checkpoint::{model::event::Event, ops};

struct Printer;

impl ops::Subscriber for Printer {
    fn event(&self, event: &Event) {
        #[expect(clippy::print_stdout, reason = "an example")]
        {
            println!("{event:?}");
        }
    }
}

fn main() -> git_checkpoint::error::Result<()> {
    let mut context = ops::Context::open(Path::new("."))?;
    context.subscribe(Box::new(Printer));
    let saved = ops::save::save(&context, &ops::save::Options::default())?;
    #[expect(clippy::print_stdout, reason = "an example")]
    {
        println!("{} {}", saved.r#ref, saved.id.map_or_else(|| "nothing to save".into(), |id| id.to_string()));
    }
    Ok(())
}
