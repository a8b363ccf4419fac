"""Both databases: connections, transactions, deadlines, statements and paging, and what migrations share."""
