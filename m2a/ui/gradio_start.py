"""Gradio imported in half the time."""

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType

_MODULE = "gradio.component_meta"


class _WithoutInterfaceFiles(MetaPathFinder):
    """For each of its components Gradio reads the source and writes a `.pyi` file for editors beside it, at every import."""

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        spec = PathFinder.find_spec(name, path) if name == _MODULE else None
        if spec is None or spec.loader is None:
            return None
        execute = spec.loader.exec_module

        def without(module: ModuleType) -> None:
            execute(module)
            module.create_or_modify_pyi = lambda *_of_a_component: None  # type: ignore[attr-defined]

        spec.loader.exec_module = without  # type: ignore[method-assign]
        return spec


def without_interface_files() -> None:
    """Called before Gradio is first imported; later it does nothing."""
    if _MODULE not in sys.modules and not any(isinstance(one, _WithoutInterfaceFiles) for one in sys.meta_path):
        sys.meta_path.insert(0, _WithoutInterfaceFiles())
