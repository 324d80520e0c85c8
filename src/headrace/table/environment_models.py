"""Models by name, of catalogs and of one session."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.errors import InvalidQuery, TypeMismatch
from headrace.origin import calling_origin
from headrace.sql.catalog import CatalogModel
from headrace.table.model_descriptor import ModelDescriptor
from headrace.table.object_names import path_parts

if TYPE_CHECKING:
    from headrace.table.session import TableSession


class EnvironmentModels:
    """What a table environment does with models; nothing here can call them."""

    _session: TableSession

    def create_model(
        self,
        model_path: str,
        model_descriptor: ModelDescriptor,
        ignore_if_exists: bool | None = False,
    ) -> None:
        """Keep a model in its catalog."""
        model = _model(model_descriptor)
        catalogs = self._session.catalogs
        catalog, database, name = catalogs.qualified(path_parts(model_path))
        catalogs.database((catalog, database), calling_origin())
        if catalogs.catalog(catalog).model(database, name) is None:
            catalogs.catalog(catalog).put_model(database, name, model)
        elif not ignore_if_exists:
            raise _present(model_path)

    def create_temporary_model(
        self,
        model_path: str,
        model_descriptor: ModelDescriptor,
        ignore_if_exists: bool | None = False,
    ) -> None:
        """Keep a model for this session."""
        model = _model(model_descriptor)
        catalogs = self._session.catalogs
        full = catalogs.qualified(path_parts(model_path))
        if full not in catalogs.temporary_models:
            catalogs.temporary_models[full] = model
        elif not ignore_if_exists:
            raise _present(model_path)

    def drop_model(self, model_path: str, ignore_if_not_exists: bool | None = True) -> bool:
        """Whether there was one."""
        catalogs = self._session.catalogs
        catalog, database, name = catalogs.qualified(path_parts(model_path))
        found = catalogs.catalog(catalog, calling_origin()).model(database, name)
        if found is not None:
            catalogs.catalog(catalog).drop_model(database, name)
        elif not ignore_if_not_exists:
            raise InvalidQuery(f"there is no model {model_path}", origin=calling_origin())
        return found is not None

    def drop_temporary_model(self, model_path: str) -> bool:
        """Whether there was one."""
        catalogs = self._session.catalogs
        full = catalogs.qualified(path_parts(model_path))
        return catalogs.temporary_models.pop(full, None) is not None

    def list_models(self) -> list[str]:
        """Models of the current database, also temporary ones."""
        catalogs = self._session.catalogs
        kept = catalogs.catalog().models(catalogs.current_database)
        return sorted({*kept, *self.list_temporary_models()})

    def list_temporary_models(self) -> list[str]:
        catalogs = self._session.catalogs
        place = catalogs.database_path(())
        return sorted(path[2] for path in catalogs.temporary_models if path[:2] == place)


def _model(descriptor: ModelDescriptor) -> CatalogModel:
    if not isinstance(descriptor, ModelDescriptor):
        raise TypeMismatch(
            f"a model is declared by a ModelDescriptor, not by {descriptor!r}",
            origin=calling_origin(),
            hint="ModelDescriptor.for_provider(...).input_schema(...).output_schema(...).build()",
        )
    return descriptor.model


def _present(path: str) -> InvalidQuery:
    return InvalidQuery(f"there is a model {path} already", origin=calling_origin())
