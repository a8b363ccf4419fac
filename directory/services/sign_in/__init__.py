"""Signing in by providers: OpenID Connect and GitHub.

Authlib and `requests` are imported where a provider is configured, and nowhere else.
"""
