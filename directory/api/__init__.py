"""HTTP: parse, authorise, call one rule, commit, serialise."""
