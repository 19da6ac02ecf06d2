//! Library tests, one file per verb.
