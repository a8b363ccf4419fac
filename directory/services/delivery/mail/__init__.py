"""Mail: the channel that sends deliveries to the mail server. It may import what `services` may."""
