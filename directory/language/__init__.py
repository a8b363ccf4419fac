"""Messages for people, and the catalogues that translate them. It knows no request: the language is an argument."""
