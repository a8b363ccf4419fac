"""Webhooks: the outbox, and the delivery of what is in it. It may import what `services` may."""
