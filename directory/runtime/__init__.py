"""What runs besides requests: starts, reloads, the deliverer, the housekeeping, metrics, traces and error reports."""
