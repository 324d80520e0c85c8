"""What happens to a job that fails."""

from headrace.core.restart_strategy import RestartStrategies, RestartStrategyConfiguration

__all__ = ["RestartStrategies", "RestartStrategyConfiguration"]
