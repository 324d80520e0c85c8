"""Timestamps and watermarks."""

from headrace.core.watermarks import (
    AssignerWithPeriodicWatermarksWrapper,
    IngestionTimeAssigner,
    TimestampAssigner,
    Watermark,
    WatermarkGenerator,
    WatermarkOutput,
    WatermarkStrategy,
)

__all__ = [
    "AssignerWithPeriodicWatermarksWrapper",
    "IngestionTimeAssigner",
    "TimestampAssigner",
    "Watermark",
    "WatermarkGenerator",
    "WatermarkOutput",
    "WatermarkStrategy",
]
