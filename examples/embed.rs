//! Takes a checkpoint of the repository in the current directory, as an editor or orchestrator would.

use std::path::Path;

use git_checkpoint::{Context, Event, SaveOptions, Subscriber};

struct Printer;

impl Subscriber for Printer {
    fn event(&self, event: &Event) {
        #[expect(clippy::print_stdout, reason = "an example")]
        {
            println!("{event:?}");
        }
    }
}

fn main() -> git_checkpoint::Result<()> {
    let mut context = Context::open(Path::new("."))?;
    context.subscribe(Box::new(Printer));
    let saved = git_checkpoint::save(&context, &SaveOptions::default())?;
    #[expect(clippy::print_stdout, reason = "an example")]
    {
        println!("{} {}", saved.r#ref, saved.id.map_or_else(|| "nothing to save".into(), |id| id.to_string()));
    }
    Ok(())
}
