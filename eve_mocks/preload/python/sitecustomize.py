"""Runs first in every Python process of a run (PYTHONPATH), then runs the project's own ``sitecustomize``.

It makes ``certifi``, which many clients trust instead of the system, name the run's certificates, and HTTP clients say
which session they call for; no package is imported for that. Written for the oldest Python 3 that may load it, and for
a start that costs nothing.
"""
# mypy: ignore-errors

import os
import sys

# What importlib itself is made of: loaded in every interpreter, where importlib and its parts may not be yet.
from _frozen_importlib import module_from_spec
from _frozen_importlib_external import PathFinder

_FOLDER = os.path.dirname(os.path.abspath(__file__))
_BUNDLE = os.environ.get("EVE_MOCKS_CA_BUNDLE")


try:
    from _eve_mocks_session import PATCHES
except ImportError:  # Python 3.6 has no context variables
    PATCHES = {}


class _Patching:
    """A finder that changes modules once they are loaded; ``certifi`` also where a package carries its own copy."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        patch = _certifi if name.endswith("certifi.core") and _BUNDLE else PATCHES.get(name)
        if patch is None:
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and hasattr(spec.loader, "exec_module"):
            load = spec.loader.exec_module

            def exec_module(module):
                load(module)
                patch(module)

            spec.loader.exec_module = exec_module
        return spec


def _certifi(module):
    module.where = _where
    module.contents = _contents


def _where():
    return _BUNDLE


def _contents():
    with open(_BUNDLE, encoding="ascii", errors="replace") as file:
        return file.read()


def _run_the_projects_own():
    spec = PathFinder.find_spec("sitecustomize", sys.path)
    if spec is not None and spec.loader is not None:
        sys.modules["sitecustomize"] = module = module_from_spec(spec)
        spec.loader.exec_module(module)


# The variable stays for the processes below; here the path is again what it would be without it.
sys.path[:] = [folder for folder in sys.path if os.path.abspath(folder) != _FOLDER]
sys.meta_path.insert(0, _Patching)
for _name in set(PATCHES).intersection(sys.modules):
    PATCHES[_name](sys.modules[_name])
_run_the_projects_own()
