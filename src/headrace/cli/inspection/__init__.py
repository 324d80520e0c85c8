"""Follow a program's PyFlink names through its source, without running it."""

from headrace.cli.inspection.report import Finding, Report
from headrace.cli.inspection.statements import Inspection

__all__ = ["Finding", "Inspection", "Report"]
