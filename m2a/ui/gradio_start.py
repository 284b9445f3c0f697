"""Halves the time of importing Gradio."""

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType

_MODULE = "gradio.component_meta"


class _WithoutInterfaceFiles(MetaPathFinder):
    """Keeps Gradio from reading each component's source and writing a `.pyi` file for editors at every import."""

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        spec = PathFinder.find_spec(name, path) if name == _MODULE else None
        if spec is None or spec.loader is None:
            return None
        execute = spec.loader.exec_module

        def execute_without_files(module: ModuleType) -> None:
            execute(module)
            module.create_or_modify_pyi = lambda *_: None  # type: ignore[attr-defined]

        spec.loader.exec_module = execute_without_files  # type: ignore[method-assign]
        return spec


def without_interface_files() -> None:
    """Must be called before Gradio is first imported; later it has no effect."""
    if _MODULE not in sys.modules and not any(isinstance(finder, _WithoutInterfaceFiles) for finder in sys.meta_path):
        sys.meta_path.insert(0, _WithoutInterfaceFiles())
