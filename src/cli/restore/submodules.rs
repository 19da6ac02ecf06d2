//! What a restore says of submodules and nested repositories.

use bstr::BString;

use crate::{
    cli::{call::Call, output::printable, phrase},
    error::Result,
    model::{path_text::shell_word, verdict::Why},
    ops::restore::{Restored, RestoredSubmodule},
};

/// Prints what was done in submodules, one line each; `verb` is what it is called.
pub(super) fn print(restored: &Restored, verb: &str, call: &mut Call) -> Result<()> {
    print_below(restored, &BString::default(), verb, call)
}

fn print_below(restored: &Restored, above: &BString, verb: &str, call: &mut Call) -> Result<()> {
    for RestoredSubmodule { path, restored, why, .. } in &restored.restored_submodules {
        let path = BString::from([above.as_slice(), path.as_slice()].concat());
        let shown = call.names.path(&path);
        if let Some(why) = why {
            call.out.warning(&format!("left alone submodule {shown}: {}", printable(why)));
        }
        let Some(restored) = restored else { continue };
        print_below(restored, &BString::from([path.as_slice(), b"/"].concat()), verb, call)?;
        if restored.is_idle_here() {
            continue;
        }
        let id = call.out.paint(phrase::ID, &call.names.id(&restored.target));
        if !restored.dry_run {
            let paths = phrase::count(restored.written.len() + restored.deleted.len(), "path");
            call.out.note(&format!("{verb} {paths} in {shown} from {id}"))?;
        }
        if let Some(base) = restored.other_base {
            let base = base.commit_id().map_or_else(|| "no commit".into(), |id| call.names.id(&id));
            call.out.hint(&format!("HEAD of {shown} stays where it is; {id} was taken on {base}"));
        }
    }
    Ok(())
}

/// Says how to bring back submodules that are not there. `id` is the checkpoint's.
pub(super) fn print_gone(restored: &Restored, id: &str, call: &mut Call) {
    let gone = || restored.kept.iter().filter(|left| left.why == Why::SubmoduleGone).map(|left| &left.path);
    let words = |paths: &mut dyn Iterator<Item = &BString>| {
        let words: Vec<String> = paths.map(|path| shell_word(&call.names.path(path))).collect();
        words.join(" ")
    };
    let all = words(&mut gone());
    let saved = words(&mut gone().filter(|path| restored.saved_submodules.contains(*path)));
    if all.is_empty() {
        return;
    }
    let rest = if saved.is_empty() {
        String::new()
    } else {
        // The other files stay as they are.
        format!("; then 'git checkpoint restore --recurse-submodules {id} -- {saved}' restores the files in it")
    };
    call.out.hint(&format!("'git submodule update --init {all}' brings back what was committed there{rest}"));
}

/// Returns true if submodules or nested repositories have changes that were left alone.
pub(super) fn are_left_out(restored: &Restored) -> bool {
    !(restored.submodules.is_empty() && restored.nested.is_empty())
}

/// Says how to bring back what is in submodules, too, or how it will be possible. `id` is the checkpoint's.
pub(super) fn print_left_out(restored: &Restored, id: &str, call: &mut Call) {
    if restored.leaves_submodules {
        call.out.hint(&format!("'git checkpoint restore --recurse-submodules {id}' restores submodules, too"));
    } else if are_left_out(restored) {
        call.out.hint("a checkpoint of 'git checkpoint save --recurse-submodules' has what is in them, too");
    }
}
