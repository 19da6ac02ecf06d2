//! Addresses of other repositories: which are refused, and how one is shown.

/// Returns why nothing is exchanged with `address`; none if it may be used.
pub(crate) fn refusal(address: &str) -> Option<&'static str> {
    if address.is_empty() {
        return Some("it is empty");
    }
    if address.starts_with('-') {
        return Some("it begins with a hyphen, like an option");
    }
    match address.split_once("::").map(|(helper, _)| helper) {
        Some("ext" | "fd") => Some("it runs a command or uses what this process has open"),
        Some("checkpoint") => Some("'checkpoint::' cannot be exchanged with itself"),
        _ => None,
    }
}

/// Returns true if git takes `address` for a path that begins where git is run.
pub(crate) fn is_relative_path(address: &str) -> bool {
    // What has a colon before its first slash names a host.
    let is_path = address.find(':').is_none_or(|colon| address.find('/').is_some_and(|slash| slash < colon));
    // From `~`, git finds a home directory.
    is_path && !address.starts_with(['/', '~'])
}

/// Returns `text` without the names and passwords in its URLs.
pub(crate) fn without_userinfo(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("://") {
        let (before, after) = rest.split_at(at + 3);
        out.push_str(before);
        // A blank or a quote ends the URL in any case.
        let end = after.find(|c: char| c.is_whitespace() || matches!(c, '\'' | '"' | '<' | '>')).unwrap_or(after.len());
        // Git looks for the host where we do. A password with a slash in it is no password to git, so what is before the slash is the
        // host; no more than that is shown.
        let host = after[..end].find(['/', '?', '#']).unwrap_or(end);
        let name = after[..host].rfind('@');
        rest = &after[name.map_or(0, |at| at + 1)..];
        if name.is_none() && after[..end].contains('@') && has_secret(&after[..host]) {
            let colon = after[..host].rfind(':').unwrap_or_default();
            out.push_str(&after[..colon]);
            out.push_str(":***");
            rest = &after[end..];
        }
    }
    out.push_str(rest);
    out
}

/// Returns true if what stands before the first slash is no host with a port, but a name with the beginning of a password.
fn has_secret(host: &str) -> bool {
    let port = host.rsplit_once(':').filter(|_| !host.ends_with(']')).map(|(_, port)| port);
    port.is_some_and(|port| !port.bytes().all(|byte| byte.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[rstest::rstest]
    #[case::plain("https://h/p", "https://h/p")]
    #[case::password("fatal: 'https://a:b@h/p': no", "fatal: 'https://h/p': no")]
    #[case::token("https://token@h/p", "https://h/p")]
    #[case::at_in_password("https://a:b@c@h/p", "https://h/p")]
    #[case::slash_in_password("fatal: https://a:b/c@h/p 'x'", "fatal: https://a:*** 'x'")]
    #[case::mark_in_password("https://a:b?c@h/p", "https://a:***")]
    #[case::host_before_a_query("https://evil.invalid?@h/p", "https://evil.invalid?@h/p")]
    #[case::host_before_a_fragment("https://evil.invalid#@h/p", "https://evil.invalid#@h/p")]
    #[case::no_port("https://evil.invalid:x/@h/p", "https://evil.invalid:***")]
    #[case::port("https://h:80/p@q", "https://h:80/p@q")]
    #[case::two("http://a@h https://b:c@i", "http://h https://i")]
    #[case::scp("git@h:p", "git@h:p")]
    #[case::path("/a/b@c", "/a/b@c")]
    #[case::cut_off("https://", "https://")]
    fn names_and_passwords_are_not_shown(#[case] text: &str, #[case] expected: &str) {
        assert_eq!(without_userinfo(text), expected);
    }

    #[rstest::rstest]
    #[case::parent("../r.git", true)]
    #[case::name("r", true)]
    #[case::colon_in_a_name("./a:b", true)]
    #[case::absolute("/r", false)]
    #[case::home("~/r", false)]
    #[case::scp("h:r", false)]
    #[case::url("https://h/r", false)]
    #[case::file("file:///r", false)]
    fn relative_paths(#[case] address: &str, #[case] expected: bool) {
        assert_eq!(is_relative_path(address), expected);
    }

    #[rstest::rstest]
    #[case::empty("", true)]
    #[case::option("--upload-pack=x", true)]
    #[case::command("ext::sh -c x", true)]
    #[case::descriptor("fd::7", true)]
    #[case::nested("checkpoint::origin", true)]
    #[case::url("https://h/ext::x", false)]
    #[case::path("../r", false)]
    fn dangerous_addresses_are_refused(#[case] address: &str, #[case] is_refused: bool) {
        assert_eq!(refusal(address).is_some(), is_refused);
    }
}
