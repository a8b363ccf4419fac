"""The queue: submissions, revisions, decisions and what is taken down."""
