//! Shows the hunks one after the other, and asks.

use super::{
    super::{attribution::patch, call::Call, phrase, question},
    show,
};
use crate::{
    error::Result,
    model::review::{State, Verdict},
    ops::{
        Context,
        attribution::Who,
        review::{Choice, Hunk, Review},
    },
};

/// What the keys mean, as git says it.
const HELP: [&str; 11] = [
    "y - accept this hunk: it is reviewed, and stays",
    "n - reject this hunk: take it out of the worktree",
    "c - comment on this hunk: it stays, and is to be changed",
    "l - leave this hunk for later, and go on",
    "a - accept this hunk and all later hunks in the file",
    "d - reject this hunk and all later hunks in the file",
    "s - split this hunk into smaller hunks",
    "k - go back to the hunk before this one",
    "q - quit: what is decided so far is done, all else is left for later",
    "! - quit, and do nothing of what was decided",
    "? - print help",
];

/// A hunk that is asked about, and the answer.
struct Asked {
    file: usize,
    hunk: Hunk,
    answer: Option<(Verdict, Option<String>)>,
}

/// What is done next.
enum Next {
    /// The same hunk again.
    Again,
    /// So many hunks on.
    Forward(usize),
    Back,
    Quit,
    Nothing,
}

/// Asks about the hunks of `review` in states that are `wanted`, and returns what the user has decided.
///
/// # Errors
/// If a signal comes: nothing is decided then.
pub(super) fn ask(
    context: &Context,
    review: &Review,
    wanted: &dyn Fn(State) -> bool,
    call: &mut Call,
) -> Result<Vec<Choice>> {
    let owners = || review.hunks().filter_map(|(_, hunk)| hunk.lines.as_ref()).flat_map(|(_, owners)| owners);
    let sessions = patch::sessions_of(owners());
    patch::print_legend(&sessions, owners(), call)?;
    let mut asked: Vec<Asked> = Vec::new();
    for (file, hunk) in review.hunks().filter(|(at, hunk)| wanted(review.files[*at].state(hunk))) {
        asked.push(Asked { file, hunk: hunk.clone(), answer: None });
    }
    let (mut at, mut shown) = (0, None);
    while at < asked.len() {
        let file = asked[at].file;
        if shown != Some(file) {
            show::print_names(&review.files[file], call)?;
            shown = Some(file);
        }
        show::print_hunk(&review.files[file], &asked[at].hunk, &sessions, call)?;
        match ask_one(context, review, &mut asked, at, &sessions, call)? {
            Next::Again => {}
            Next::Forward(count) => at += count,
            Next::Back => at = at.saturating_sub(1),
            Next::Quit => break,
            Next::Nothing => return Ok(Vec::new()),
        }
    }
    let choice = |Asked { file, hunk, answer }: Asked| {
        let (verdict, text) = answer?;
        Some(Choice { file, items: hunk.items, verdict, text })
    };
    Ok(asked.into_iter().filter_map(choice).collect())
}

/// Asks about the hunk `at`.
fn ask_one(
    context: &Context,
    review: &Review,
    asked: &mut Vec<Asked>,
    at: usize,
    sessions: &[&Who],
    call: &mut Call,
) -> Result<Next> {
    let go_on = || context.check_interrupt();
    let can_split = asked[at].hunk.items.len() > 1;
    let keys = if can_split { "y,n,c,l,a,d,s,k,q,?" } else { "y,n,c,l,a,d,k,q,?" };
    let question = format!(
        "({}/{}) {} [{keys}]?",
        at + 1,
        asked.len(),
        show::question(&asked[at].hunk, review.files[asked[at].file].state(&asked[at].hunk))
    );
    let question = call.out.paint(phrase::BOLD, &question);
    let Some(typed) = question::line(&question, &go_on, &mut call.out)? else { return Ok(Next::Quit) };
    let text = |prompt: &str, call: &mut Call| -> Result<Option<String>> {
        Ok(question::line(prompt, &go_on, &mut call.out)?.filter(|text| !text.is_empty()))
    };
    // As git, it takes the first letter.
    match typed.chars().next().map(|c| c.to_ascii_lowercase()) {
        Some('y') => asked[at].answer = Some((Verdict::Accept, None)),
        Some('n') => asked[at].answer = Some((Verdict::Reject, text("Why (empty: no reason)?", call)?)),
        Some('c') => match text("Comment (empty: none)?", call)? {
            Some(text) => asked[at].answer = Some((Verdict::Comment, Some(text))),
            None => return Ok(Next::Again),
        },
        Some('l' | 'j') => asked[at].answer = Some((Verdict::Later, None)),
        Some(key @ ('a' | 'd')) => {
            let answer = if key == 'a' {
                (Verdict::Accept, None)
            } else {
                (Verdict::Reject, text("Why (empty: no reason)?", call)?)
            };
            let file = asked[at].file;
            let rest = asked[at..].iter_mut().take_while(|later| later.file == file);
            let count = rest.map(|later| later.answer = Some(answer.clone())).count();
            return Ok(Next::Forward(count));
        }
        Some('s') if can_split => {
            let file = asked[at].file;
            let parts = asked[at].hunk.split();
            call.out.line(&format!("split into {}", phrase::count(parts.len(), "hunk")))?;
            asked.splice(at..=at, parts.into_iter().map(|hunk| Asked { file, hunk, answer: None }));
            return Ok(Next::Again);
        }
        Some('k') => return Ok(Next::Back),
        Some('q') => return Ok(Next::Quit),
        Some('!') => return Ok(Next::Nothing),
        _ => {
            patch::print_legend(sessions, std::iter::empty(), call)?;
            HELP.iter().try_for_each(|line| call.out.line(line))?;
            return Ok(Next::Again);
        }
    }
    Ok(Next::Forward(1))
}
