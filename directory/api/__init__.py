"""The HTTP API: one blueprint a file, and the OpenAPI document.

It may import `http`, `services` and whatever these may. A view parses nothing and commits nothing itself: it calls one
rule, and `http` does the rest.
"""
