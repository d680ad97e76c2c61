"""What Python programs see of a run."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from eve_mocks.environment import PYTHON_PRELOAD

if TYPE_CHECKING:
    from conftest import Project

PAY = "{kind: http, url: 'https://api.pay.test/', routes: {/x: {GET: {response: {ok: true}}}}}"
URL = "https://api.pay.test/x"


@pytest.fixture
def pay(project: Project) -> Project:
    project.file("mocks/pay.yaml", PAY)
    return project


def python(project: Project, code: str, *options: str, env: dict[str, str] | None = None) -> str:
    run = project.eve_mocks("run", "--", sys.executable, *options, "-c", code, env=env)
    assert run.returncode == 0, run.stderr
    return run.stdout


@pytest.mark.parametrize("form", ["import certifi", "from certifi import where", "from pip._vendor import certifi"])
def test_certifi_names_the_runs_certificates(pay: Project, form: str) -> None:
    where = "where()" if "where" in form else "certifi.where()"
    code = f"{form}; import os; print({where} == os.environ['SSL_CERT_FILE'])"
    assert python(pay, code) == "True\n"
    code = "import certifi; print(certifi.contents() == open(certifi.where()).read())"
    assert python(pay, code) == "True\n"


def test_a_client_that_asks_certifi_and_nothing_else(pay: Project) -> None:
    code = f"""
import certifi, os, ssl, urllib.request
for name in [n for n in os.environ if "CERT" in n or "CA_" in n]:
    if name != "EVE_MOCKS_CA_BUNDLE":
        del os.environ[name]
import requests, httpx
print(requests.get("{URL}").json(), httpx.get("{URL}").json())
print(urllib.request.urlopen("{URL}", context=ssl.create_default_context(cafile=certifi.where())).read())
"""
    assert python(pay, code) == "{'ok': True} {'ok': True}\nb'{\"ok\": true}'\n"


def test_certifi_is_not_imported_for_it(pay: Project) -> None:
    code = "import sys; print([m for m in sys.modules if 'certifi' in m or m == 'importlib.machinery'])"
    assert python(pay, code, "-S") == "[]\n"
    assert "certifi" not in python(pay, code)


OWN = "import sys; print('own', __name__, file=sys.stderr); import builtins; builtins.OWN = sys.modules[__name__]"


def test_a_projects_own_sitecustomize_runs_too(pay: Project) -> None:
    own = pay.file("own/sitecustomize.py", OWN)
    code = f"import sys, certifi, sitecustomize; print(OWN is sitecustomize, sitecustomize.__file__ == {str(own)!r})"
    run = pay.eve_mocks("run", "--", sys.executable, "-c", code, env={"PYTHONPATH": str(own.parent)})
    assert run.stdout == "True True\n"
    assert run.stderr.startswith("own sitecustomize\n")


@pytest.mark.parametrize(
    "own", ["raise RuntimeError('mine')", "import no_such_module", "1 +", "import sys; sys.exit(4)"]
)
def test_its_errors_are_its_own(pay: Project, own: str) -> None:
    """What Python makes of an error there is what it makes of it in a run."""
    folder = pay.file("own/sitecustomize.py", own).parent
    command = [sys.executable, "-c", "print('on')"]
    native = subprocess.run(
        command, env=pay.environment | {"PYTHONPATH": str(folder)}, capture_output=True, text=True, check=False
    )
    # Set by the command itself: eve-mocks is a Python program too, and would have the same error.
    inside = pay.eve_mocks("run", "--", "sh", "-c", f'PYTHONPATH="$PYTHONPATH:{folder}" exec "$@"', "sh", *command)
    assert (inside.stdout, inside.returncode) == (native.stdout, native.returncode)
    assert native.stderr.splitlines()[-1] in inside.stderr.splitlines()


def test_the_path_is_what_it_would_be(pay: Project) -> None:
    code = "import sys; print(sys.path)"
    environment = pay.environment | {"PYTHONPATH": "/one:/two"}
    native = subprocess.check_output([sys.executable, "-c", code], env=environment, text=True, cwd=pay.root)
    assert python(pay, code, env={"PYTHONPATH": "/one:/two"}) == native


@pytest.mark.parametrize("option", ["-I", "-E"])
def test_an_isolated_python_is_not_broken(pay: Project, option: str) -> None:
    assert python(pay, "print(1)", option) == "1\n"


PYTHONS = sorted(Path("/usr/bin").glob("python3.[0-9]*[0-9]")) + sorted(
    Path.home().glob(".pyenv/versions/3.*/bin/python")
)


@pytest.mark.parametrize("found", PYTHONS or [Path(sys.executable)], ids=lambda path: str(path).replace("/", " "))
def test_other_versions_of_this_machine(found: Path) -> None:
    done = subprocess.run(
        [found, "-c", "import sys; print(sys.version_info[:2] >= (3, 6), 'sitecustomize' in sys.modules)"],
        env={"PYTHONPATH": str(PYTHON_PRELOAD), "EVE_MOCKS_CA_BUNDLE": "/x", "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.startswith("True ")
    assert done.stderr == ""
