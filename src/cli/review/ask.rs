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
        review::{Choice, Hunk, Review},
    },
};

/// What the keys mean, as git says it.
const HELP: [&str; 11] = [
    "y - accept this hunk: it is reviewed, and stays",
    "n - reject this hunk: take it out of the worktree",
    "c - comment on this hunk: it stays, and is to be changed",
    "l, j - leave this hunk for later, and go on",
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
            show::print_commit(context, shown.map(|shown: usize| &review.files[shown]), &review.files[file], call)?;
            show::print_names(&review.files[file], call)?;
            shown = Some(file);
        }
        show::print_hunk(&review.files[file], &asked[at].hunk, &sessions, call)?;
        match ask_one(context, review, &mut asked, at, call)? {
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
fn ask_one(context: &Context, review: &Review, asked: &mut Vec<Asked>, at: usize, call: &mut Call) -> Result<Next> {
    let go_on = || context.check_interrupt();
    let file = asked[at].file;
    let can_split = asked[at].hunk.items.len() > 1;
    // What is committed stays.
    let can_reject = review.files[file].commit.is_none();
    let keys: String = "yncladskq?"
        .chars()
        .filter(|key| can_split || *key != 's')
        .filter(|key| can_reject || !"nd".contains(*key))
        .flat_map(|key| [key, ','])
        .collect();
    let what = show::question(&asked[at].hunk, review.files[file].state(&asked[at].hunk));
    let question = format!("({}/{}) {what} [{}]?", at + 1, asked.len(), keys.trim_end_matches(','));
    let question = call.out.paint(phrase::BOLD, &question);
    let Some(typed) = question::line(&question, &go_on, &mut call.out)? else { return Ok(Next::Quit) };
    // As git, it takes the first letter.
    let key = typed.chars().next().map(|c| c.to_ascii_lowercase());
    let verdict = match key {
        Some('y' | 'a') => Verdict::Accept,
        Some('n' | 'd') if can_reject => Verdict::Reject,
        Some('c') => Verdict::Comment,
        Some('l' | 'j') => Verdict::Later,
        Some('s') if can_split => {
            let parts = asked[at].hunk.split();
            call.out.line(&format!("split into {}", phrase::count(parts.len(), "hunk")))?;
            asked.splice(at..=at, parts.into_iter().map(|hunk| Asked { file, hunk, answer: None }));
            return Ok(Next::Again);
        }
        Some('k') => return Ok(Next::Back),
        Some('q') => return Ok(Next::Quit),
        Some('!') => return Ok(Next::Nothing),
        _ => {
            let help = HELP.iter().filter(|line| can_reject || !line.starts_with(['n', 'd']));
            help.into_iter().try_for_each(|line| call.out.line(line))?;
            return Ok(Next::Again);
        }
    };
    let asks = match verdict {
        Verdict::Reject => Some("Why (empty: no reason)?"),
        Verdict::Comment => Some("What is to be changed (empty: no comment)?"),
        Verdict::Accept | Verdict::Later => None,
    };
    let mut text = None;
    if let Some(asks) = asks {
        // Without the end of the line, it is no answer.
        let Some(typed) = question::line(asks, &go_on, &mut call.out)? else { return Ok(Next::Quit) };
        text = Some(typed).filter(|text| !text.is_empty());
    }
    if verdict == Verdict::Comment && text.is_none() {
        return Ok(Next::Again);
    }
    let is_for_all = matches!(key, Some('a' | 'd'));
    let rest = asked[at..].iter_mut().take_while(|later| later.file == file);
    let count = rest
        .take(if is_for_all { usize::MAX } else { 1 })
        .map(|later| later.answer = Some((verdict, text.clone())))
        .count();
    Ok(Next::Forward(count))
}
