"""The HTTP API: one blueprint a file, and the OpenAPI document.

A view parses nothing and commits nothing itself: it calls one
rule, and `http` does the rest.
"""
