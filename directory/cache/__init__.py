"""A cache of public responses, which are given again until something that they depend on is written.

For signed-in readers it puts their own parts, such as votes, into these responses. It also reads single objects for
many readers at once.

The application and its settings are passed to it. Only the server and `create_app` import it: without it the service
gives the same answers, slower.
"""
