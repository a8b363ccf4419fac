"""Delivery: the outbox, the deliverer, and the channels `webhooks` and `mail`. It may import what `services` may."""
