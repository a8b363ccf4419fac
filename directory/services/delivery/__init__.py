"""Delivery: the outbox, the deliverer, and the channels `webhooks` and `mail`."""
