"""Webhooks: the outbox, and the delivery of its rows. It may import what `services` may."""
