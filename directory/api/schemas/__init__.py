"""The marshmallow schemas of the API's bodies, parameters and answers."""
