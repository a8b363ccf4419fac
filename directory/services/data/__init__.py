"""Data in bulk: import, export, copy, recount and made-up projects."""
