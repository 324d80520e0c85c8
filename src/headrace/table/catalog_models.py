"""Models that a catalog knows by name; nothing here can call them."""

from __future__ import annotations

from abc import ABC, abstractmethod

from headrace.errors import ModelAlreadyExistException, ModelNotExistException
from headrace.sql import catalog as sc
from headrace.table.catalog_objects import CatalogDatabase, CatalogModel
from headrace.table.catalog_partitions import missing, place_of, present
from headrace.table.object_names import ObjectPath


class ModelMethods(ABC):
    """What a catalog knows of models."""

    catalog: sc.Catalog

    @abstractmethod
    def get_database(self, database_name: str) -> CatalogDatabase:
        """Of the catalog itself."""

    def list_models(self, database_name: str) -> list[str]:
        self.get_database(database_name)
        return list(self.catalog.models(database_name))

    def get_model(self, model_path: ObjectPath) -> CatalogModel:
        return CatalogModel(self._model(model_path))

    def _model(self, path: ObjectPath) -> sc.CatalogModel:
        found = self.catalog.model(*place_of(path))
        if found is None:
            raise missing(ModelNotExistException, "model", path)
        return found

    def model_exists(self, model_path: ObjectPath) -> bool:
        return self.catalog.model(*place_of(model_path)) is not None

    def create_model(
        self, model_path: ObjectPath, model: CatalogModel, ignore_if_exists: bool
    ) -> None:
        self.get_database(model_path.get_database_name())
        if not self.model_exists(model_path):
            self.catalog.put_model(*place_of(model_path), model.model)
        elif not ignore_if_exists:
            raise present(ModelAlreadyExistException, "model", model_path)

    def alter_model(
        self, model_path: ObjectPath, new_model: CatalogModel, ignore_if_not_exists: bool
    ) -> None:
        if self._may_change(model_path, ignore_if_not_exists):
            self.catalog.put_model(*place_of(model_path), new_model.model)

    def rename_model(
        self, model_path: ObjectPath, new_model_name: str, ignore_if_not_exists: bool
    ) -> None:
        if not self._may_change(model_path, ignore_if_not_exists):
            return
        new = ObjectPath(model_path.get_database_name(), new_model_name)
        if self.model_exists(new):
            raise present(ModelAlreadyExistException, "model", new)
        self.catalog.put_model(*place_of(new), self._model(model_path))
        self.catalog.drop_model(*place_of(model_path))

    def drop_model(self, model_path: ObjectPath, ignore_if_not_exists: bool) -> None:
        if self._may_change(model_path, ignore_if_not_exists):
            self.catalog.drop_model(*place_of(model_path))

    def _may_change(self, path: ObjectPath, ignore_if_not_exists: bool) -> bool:
        if not ignore_if_not_exists:
            self._model(path)
        return self.model_exists(path)
