"""Mail: an endpoint of the outbox whose deliveries are mails. It may import what `services` may."""
