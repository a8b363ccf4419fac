"""Review: submissions, revisions and decisions; claims, approvals, threads, appeals and reports."""
