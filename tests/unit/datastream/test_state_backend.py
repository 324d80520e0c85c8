"""State backends as a program chooses and sets them."""

import pytest

from headrace.datastream.state_backend import (
    CustomStateBackend,
    EmbeddedRocksDBStateBackend,
    HashMapStateBackend,
    PredefinedOptions,
    StateBackend,
)
from headrace.errors import InvalidArgument, TypeMismatch, Unsupported


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
    backend.set_db_storage_paths("/data/a", "file:///data/b")
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
