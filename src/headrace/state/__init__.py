"""The State Processor API: read, write and change the state of jobs as DataFrames."""

from headrace.state.catalog import OperatorInfo, StateInfo
from headrace.state.reader import SavepointReader, read_savepoint
from headrace.state.writer import SavepointWriter

__all__ = ["OperatorInfo", "SavepointReader", "SavepointWriter", "StateInfo", "read_savepoint"]
