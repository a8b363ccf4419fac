"""The rules and their queries, for routes, pages, commands, the cache and the deliverer.

They know no HTTP. Who acts, and what the settings say, they get as arguments.
"""
