"""Rules of the administrators, which judge what members submit, edit and register."""
