"""State backends as a program chooses and sets them."""

import pytest

from headrace.common import Configuration
from headrace.datastream import StreamExecutionEnvironment
from headrace.datastream.state_backend import (
    CustomStateBackend,
    EmbeddedRocksDBStateBackend,
    HashMapStateBackend,
    PredefinedOptions,
    StateBackend,
)
from headrace.errors import InvalidArgument, TypeMismatch, Unsupported
from headrace.runtime.backends import SETTING, BackendChoice


def test_both_are_state_backends() -> None:
    assert isinstance(HashMapStateBackend(), StateBackend)
    assert isinstance(EmbeddedRocksDBStateBackend(), StateBackend)


def test_the_disk_backend_has_flinks_defaults() -> None:
    backend = EmbeddedRocksDBStateBackend()
    assert backend.get_db_storage_paths() == []
    assert backend.get_number_of_transfer_threads() == 4
    assert backend.get_options() is None
    assert backend.get_predefined_options() is PredefinedOptions.DEFAULT
    assert not backend.is_incremental_checkpoints_enabled()


def test_the_disk_backend_keeps_what_is_set() -> None:
    backend = EmbeddedRocksDBStateBackend(True)
    backend.set_predefined_options(PredefinedOptions.FLASH_SSD_OPTIMIZED)
    backend.set_number_of_transfer_threads(2)
    assert backend.is_incremental_checkpoints_enabled()
    assert backend.get_predefined_options() is PredefinedOptions.FLASH_SSD_OPTIMIZED
    assert backend.get_number_of_transfer_threads() == 2


def test_storage_paths_are_local_and_absolute() -> None:
    backend = EmbeddedRocksDBStateBackend()
    backend.set_db_storage_paths("/data/a", "file:///data/b/")
    assert backend.get_db_storage_paths() == ["/data/a", "/data/b"]
    for wrong in ("relative", "hdfs://host/path", 5):
        with pytest.raises(InvalidArgument, match="absolute path"):
            backend.set_db_storage_paths(wrong)  # type: ignore[arg-type]
    assert backend.get_db_storage_paths() == ["/data/a", "/data/b"]
    backend.set_db_storage_paths()
    assert backend.get_db_storage_paths() == []


def test_wrong_arguments_are_refused() -> None:
    backend = EmbeddedRocksDBStateBackend()
    with pytest.raises(InvalidArgument, match="at least 1"):
        backend.set_number_of_transfer_threads(0)
    with pytest.raises(TypeMismatch, match="PredefinedOptions"):
        backend.set_predefined_options("FLASH_SSD_OPTIMIZED")  # type: ignore[arg-type]
    with pytest.raises(TypeMismatch, match="incremental"):
        EmbeddedRocksDBStateBackend("yes")  # type: ignore[arg-type]


def test_what_needs_a_jvm_is_refused() -> None:
    with pytest.raises(Unsupported, match="Java class"):
        EmbeddedRocksDBStateBackend().set_options("com.example.Factory")
    with pytest.raises(Unsupported, match="Java object"):
        CustomStateBackend(object())


def choice(**settings: str) -> BackendChoice:
    keys = {key.replace("__", ".").replace("_", "-"): value for key, value in settings.items()}
    env = StreamExecutionEnvironment(Configuration.from_dict(keys))
    chosen: BackendChoice = env._task_settings()[SETTING]
    return chosen


def test_state_is_in_memory_unless_something_else_is_said() -> None:
    assert choice() == BackendChoice("hashmap")
    assert choice(state__backend__type="HashMap").type == "hashmap"


def test_settings_choose_the_backend() -> None:
    assert choice(state__backend__type="rocksdb") == BackendChoice("rocksdb")
    assert choice(state__backend="rocksdb").type == "rocksdb"
    assert choice(state__backend="rocksdb", state__backend__type="hashmap").type == "hashmap"
    chosen = choice(
        state__backend__type="rocksdb",
        state__backend__rocksdb__localdir="/data/a:/data/b",
        state__backend__rocksdb__memory__fixed_per_slot="32 MB",
    )
    assert chosen == BackendChoice("rocksdb", 32 * 1024 * 1024, ("/data/a", "/data/b"))


def test_a_backend_object_chooses_itself() -> None:
    env = StreamExecutionEnvironment()
    backend = EmbeddedRocksDBStateBackend()
    backend.set_db_storage_paths("file:///data/a", "/data/b")
    assert env.set_state_backend(backend) is env
    assert env._task_settings()[SETTING] == BackendChoice("rocksdb", folders=("/data/a", "/data/b"))
    env.set_state_backend(HashMapStateBackend())
    assert env._task_settings()[SETTING].type == "hashmap"
    with pytest.raises(InvalidArgument, match="no state backend"):
        env.set_state_backend("rocksdb")  # type: ignore[arg-type]


def test_wrong_settings_are_refused_before_anything_runs() -> None:
    with pytest.raises(InvalidArgument, match="no state backend 'forst'"):
        choice(state__backend__type="forst")
    for wrong in ("much", "12 parsec", "-1mb", ""):
        with pytest.raises(InvalidArgument, match="no memory size"):
            choice(state__backend__rocksdb__memory__fixed_per_slot=wrong)
    with pytest.raises(InvalidArgument, match="absolute path"):
        choice(state__backend__rocksdb__localdir="data")


def test_a_backend_of_ones_own_is_refused() -> None:
    class Mine(StateBackend):
        pass

    env = StreamExecutionEnvironment.get_execution_environment()
    with pytest.raises(Unsupported, match="Mine is no state backend"):
        env.set_state_backend(Mine())
