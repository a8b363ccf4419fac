"""Ways to sign in besides a password, as data; links of the operator; and a forgotten password."""
