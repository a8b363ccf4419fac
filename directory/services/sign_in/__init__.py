"""Signing in without a password: by providers (OpenID Connect, GitHub), passkeys and links; and a forgotten password.

Authlib is imported only if a provider is configured.
"""
