"""Logos and pictures: decoding what was sent, storing it, and deleting what nobody uses."""
