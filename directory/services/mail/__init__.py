"""Mail: an endpoint of the outbox whose deliveries are letters. It may import what `services` may."""
