"""Work next to the server: the preparation of the database, the deliverer's supervisor, the metrics' folder."""
