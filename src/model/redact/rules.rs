//! What secrets look like. `transcript.redact` turns the replacing on and off.
//!
//! Texts are JSON as often as not: a quote may be escaped, and a line break may be the letters `\n`.

/// One kind of secret.
pub(super) struct Pattern {
    /// What stands in the place of such a secret.
    pub(super) name: &'static str,
    /// What it matches holds one of these, in small or capital letters: only texts that do have it looked for, and few are made
    /// ready for a short text.
    pub(super) holds: &'static [&'static str],
    /// Whether the secret must have a digit, so that words of prose and code are left alone.
    pub(super) needs_digit: bool,
    /// In the syntax of the crate regex, on bytes. What its group `secret` matches (without one: all of it) is replaced.
    pub(super) expression: &'static str,
}

/// What makes a word look random.
pub(super) struct Entropy {
    pub(super) name: &'static str,
    pub(super) min_length: usize,
    pub(super) max_length: usize,
    pub(super) min_bits: f64,
    pub(super) min_changes: f64,
    pub(super) spare_prefixes: &'static [&'static str],
    pub(super) spare_after: &'static [&'static str],
}

/// All of them.
pub(super) const PATTERNS: &[Pattern] = &[
    Pattern {
        name: "aws-key",
        holds: &["akia", "asia", "abia", "acca"],
        needs_digit: false,
        expression: "(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}",
    },
    Pattern {
        name: "github-token",
        holds: &["ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"],
        needs_digit: false,
        expression: "gh[pousr]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{22,}",
    },
    Pattern {
        name: "gitlab-token",
        holds: &[
            "glpat-", "gldt-", "glrt-", "glcbt-", "glptt-", "glft-", "glimt-", "glagent-", "glsoat-", "glffct-",
            "gloas-",
        ],
        needs_digit: false,
        expression: "(?:glpat|gldt|glrt|glcbt|glptt|glft|glimt|glagent|glsoat|glffct|gloas)-[A-Za-z0-9_=.-]{20,}",
    },
    Pattern {
        name: "slack-token",
        holds: &["xox", "xapp-"],
        needs_digit: false,
        expression: "xox[abeoprs]-[A-Za-z0-9-]{10,}|xapp-[0-9]-[A-Za-z0-9-]{10,}",
    },
    Pattern {
        name: "slack-webhook",
        holds: &["hooks.slack.com"],
        needs_digit: false,
        expression: r"hooks\.slack\.com/(?:services|workflows|triggers)/(?P<secret>[A-Za-z0-9/+_-]{20,})",
    },
    Pattern {
        name: "discord-webhook",
        holds: &["/api/webhooks/"],
        needs_digit: false,
        expression: r"discord(?:app)?\.com/api/webhooks/(?P<secret>[0-9]{10,}/[A-Za-z0-9_-]{20,})",
    },
    Pattern {
        name: "stripe-key",
        holds: &["k_live_", "k_test_", "k_prod_", "whsec_"],
        needs_digit: false,
        expression: "[rs]k_(?:live|test|prod)_[A-Za-z0-9]{10,}|whsec_[A-Za-z0-9+/=]{24,}",
    },
    Pattern {
        name: "google-key",
        holds: &["aiza", "ya29.", "gocspx-", "1//0"],
        needs_digit: false,
        expression: r"AIza[A-Za-z0-9_-]{35}|ya29\.[A-Za-z0-9_-]{20,}|GOCSPX-[A-Za-z0-9_-]{20,}|1//0[A-Za-z0-9_-]{30,}",
    },
    Pattern { name: "anthropic-key", holds: &["sk-ant-"], needs_digit: false, expression: "sk-ant-[A-Za-z0-9_-]{20,}" },
    Pattern {
        name: "openai-key",
        holds: &["sk-"],
        needs_digit: true,
        expression: r"(?:\b|\\[nrt])(?P<secret>sk-[A-Za-z0-9_-]{20,})",
    },
    Pattern {
        name: "model-provider-key",
        holds: &["hf_", "gsk_", "xai-", "pplx-", "r8_"],
        needs_digit: false,
        expression: "hf_[A-Za-z0-9]{30,}|gsk_[A-Za-z0-9]{40,}|xai-[A-Za-z0-9]{40,}|pplx-[A-Za-z0-9]{40,}|r8_[A-Za-z0-9]{30,}",
    },
    Pattern { name: "npm-token", holds: &["npm_"], needs_digit: false, expression: "npm_[A-Za-z0-9]{36,}" },
    Pattern { name: "pypi-token", holds: &["pypi-"], needs_digit: false, expression: "pypi-[A-Za-z0-9_-]{50,}" },
    Pattern {
        name: "sendgrid-key",
        holds: &["sg."],
        needs_digit: false,
        expression: r"SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}",
    },
    Pattern { name: "twilio-key", holds: &["sk"], needs_digit: false, expression: "SK[0-9a-f]{32}" },
    Pattern {
        name: "telegram-token",
        holds: &[":aa"],
        needs_digit: false,
        expression: "[0-9]{8,10}:AA[A-Za-z0-9_-]{33}",
    },
    Pattern {
        name: "service-token",
        holds: &[
            "_v1_",
            "dapi",
            "hvs.",
            "hvb.",
            "hvr.",
            "dckr_pat_",
            "lin_api_",
            "ntn_",
            "sbp_",
            "shpat_",
            "shpca_",
            "shppa_",
            "shpss_",
            "glsa_",
            "glc_",
            "nrak-",
            "sntrys_",
            "pmak-",
            "hrku-",
            "sq0",
            "dp.",
            ".atlasv1.",
            "cio",
        ],
        needs_digit: false,
        expression: r"(?x) do[opr]_v1_[a-f0-9]{64} | dapi[a-f0-9]{32} | hv[sbr]\.[A-Za-z0-9_-]{20,} | dckr_pat_[A-Za-z0-9_-]{20,}
| lin_api_[A-Za-z0-9]{32,} | ntn_[A-Za-z0-9]{40,} | sbp_[a-f0-9]{40} | shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}
| glsa_[A-Za-z0-9_]{32,} | glc_[A-Za-z0-9+/=]{32,} | NRAK-[A-Z0-9]{27} | sntrys_[A-Za-z0-9+/=_]{40,}
| PMAK-[a-f0-9]{24}-[a-f0-9]{34} | HRKU-[A-Za-z0-9_-]{36,} | sq0(?:atp|csp)-[A-Za-z0-9_-]{22,}
| dp\.(?:pt|st|sa|ct)\.[A-Za-z0-9]{40,} | [A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_-]{60,} | cio[A-Za-z0-9]{32}",
    },
    Pattern {
        name: "age-key",
        holds: &["age-secret-key-1"],
        needs_digit: false,
        expression: "AGE-SECRET-KEY-1[0-9A-Z]{58}",
    },
    Pattern {
        name: "azure-key",
        holds: &["accesskey=", "accountkey="],
        needs_digit: false,
        expression: "(?:AccountKey|SharedAccessKey)=(?P<secret>[A-Za-z0-9+/=]{32,})",
    },
    Pattern {
        name: "jwt",
        holds: &["eyj"],
        needs_digit: false,
        expression: r"eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}(?:\.[A-Za-z0-9_-]*)+",
    },
    Pattern {
        name: "url-password",
        holds: &["://"],
        needs_digit: false,
        expression: r#"://[^\s/:@"'\\<>]{0,100}:(?P<secret>[^\s/@"'\\<>${*]{1,200})@"#,
    },
    Pattern {
        name: "url-token",
        holds: &["://"],
        needs_digit: false,
        expression: "://(?P<secret>[A-Za-z0-9_-]{20,200})@",
    },
    Pattern {
        name: "authorization",
        holds: &["authorization"],
        needs_digit: false,
        expression: r#"(?i)authorization["'\\]{0,3}\s{0,3}[:=]\s{0,3}["'\\]{0,3}(?:bearer|basic|token|bot)\s{1,3}(?P<secret>[a-z0-9._~+/=:-]{6,})"#,
    },
    Pattern {
        name: "authorization",
        holds: &["authorization", "bearer", "basic"],
        needs_digit: true,
        expression: r#"(?i)(?:authorization["'\\]{0,3}\s{0,3}[:=]\s{0,3}["'\\]{0,3}|\b(?:bearer|basic)\s{1,3})(?P<secret>[a-z0-9._~+/=-]{16,})"#,
    },
    // A quoted value.
    Pattern {
        name: "password",
        holds: &["passw", "passphrase", "pwd"],
        needs_digit: false,
        expression: r#"(?i)(?:passw(?:or)?d|passphrase|pwd)["'\\]{0,3}\s{0,3}(?::=?|=>?|==)\s{0,3}\\?["'](?P<secret>[^\s"'\\<>${*][^"'\\\r\n]{4,200})\\?["']"#,
    },
    Pattern {
        name: "secret",
        holds: &["secret", "token", "key", "credential"],
        needs_digit: true,
        expression: r#"(?i)(?:secret|token|api[_-]?key|access[_-]?key|auth[_-]?key|private[_-]?key|credentials?)["'\\]{0,3}\s{0,3}(?::=?|=>?|==)\s{0,3}\\?["'](?P<secret>[^\s"'\\<>${*(][^\s"'\\]{7,400})\\?["']"#,
    },
    // A bare one, as in files of variables.
    Pattern {
        name: "secret",
        holds: &["passw", "passphrase", "pwd", "secret", "token", "key"],
        needs_digit: true,
        expression: r#"(?i)(?:passw(?:or)?d|passphrase|pwd|secret|token|api[_-]?key|access[_-]?key|auth[_-]?key|private[_-]?key)["'\\]{0,3}\s{0,3}(?:[:=]|:=)\s{0,3}(?P<secret>[a-z0-9/+_!@#%^&*~?=-][a-z0-9/+_.!@#%^&*~?=-]{7,400})(?:[\s,;"'\\}&\])]|$)"#,
    },
];

/// What looks like nothing but chance: long, of small and capital letters and digits that alternate often.
pub(super) const ENTROPY: Entropy = Entropy {
    name: "random-text",
    min_length: 24,
    max_length: 256,
    // Bits a character, as far as its own characters tell.
    min_bits: 3.8,
    // Of all neighbours, how many are of different kinds.
    min_changes: 0.4,
    // Names of agents' own, in every line of a transcript, and digests of public files.
    spare_prefixes: &[
        "toolu_",
        "srvtoolu_",
        "msg_",
        "req_",
        "call_",
        "chatcmpl-",
        "resp_",
        "run_",
        "thread_",
        "asst_",
        "file-",
        "fc_",
        "rs_",
        "sha1-",
        "sha256-",
        "sha384-",
        "sha512-",
    ],
    spare_after: &["h1:", "SHA256:", "sha256:", "sha512:", "base64,"],
};
