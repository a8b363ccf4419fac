"""Review: submissions, revisions and decisions; approvals and threads."""
