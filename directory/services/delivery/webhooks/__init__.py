"""Webhooks: the channel that sends deliveries to receivers by HTTP. It may import what `services` may."""
