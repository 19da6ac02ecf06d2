//! Ctrl-C, and readers that have seen enough.
