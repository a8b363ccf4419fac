"""Rules for what people write: characters, addresses, Markdown."""
