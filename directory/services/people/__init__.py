"""What happens to a whole account, with what it owns: its role and status, export and deletion."""
