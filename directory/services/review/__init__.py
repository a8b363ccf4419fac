"""Review: submissions, revisions and decisions; claims, approvals, threads and appeals."""
