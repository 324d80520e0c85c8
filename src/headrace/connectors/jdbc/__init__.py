"""Databases behind `jdbc:` addresses, served by Python's own drivers."""
