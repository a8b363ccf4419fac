"""The rules, shared by routes, commands and the deliverer. They know no HTTP, and get what they need as arguments."""
