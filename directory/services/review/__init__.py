"""Review: submissions, revisions and decisions; claims, approvals and threads."""
