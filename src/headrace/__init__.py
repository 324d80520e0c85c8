"""The Apache Flink programming model in Python, executed by Spark."""

__version__ = "0.1.0"
