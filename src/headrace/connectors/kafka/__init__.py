"""Kafka, read and written in the workers by confluent-kafka: there is no jar."""
