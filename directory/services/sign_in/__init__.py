"""Signing in by providers: OpenID Connect and GitHub. It may import what `services` may.

Authlib and `requests` are imported where a provider is configured, and nowhere else.
"""
