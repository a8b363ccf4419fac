"""Logos: decoding what was sent, storing it, and deleting what nobody uses."""
