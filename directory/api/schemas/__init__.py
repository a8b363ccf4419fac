"""Marshmallow schemas: what the API takes and what it gives, field by field."""
