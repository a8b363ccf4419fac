"""A model of the service on many hosts: measured costs, a simulation of them, and what it was held against."""
