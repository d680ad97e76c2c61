"""Attempts to leave, in a network namespace whose one way out is a device that a recorder watches.

Each attempt is made without containment too: its packets are seen outside, so the recorder would see a leak. Contained,
none is; the attempt fails soon, and the report has it.
"""

import contextlib
import json
import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import containment
import pytest
import ways_out
from conftest import EVE_MOCKS
from ways_out import ATTEMPTS

CAN_MAKE_NAMESPACES = sys.platform == "linux" and os.geteuid() == 0 and shutil.which("ip") is not None
pytestmark = pytest.mark.skipif(not CAN_MAKE_NAMESPACES, reason="needs root and iproute2")
LIMIT = 2
"""Seconds in which each attempt fails."""
RECORDER = Path(__file__).with_name("recorder.py")

SETUP = """
    netns add {inside}
    netns add {outside}
    link add {device} netns {inside} type veth peer name {device} netns {outside}
    -n {inside} link set lo up
    -n {inside} link set {device} address 02:00:00:00:00:01
    -n {outside} link set {device} address 02:00:00:00:00:02
    -n {inside} link set {device} up
    -n {outside} link set {device} up
    -n {inside} address add 10.77.0.1/24 dev {device}
    -n {inside} address add fd77::1/64 dev {device} nodad
    -n {inside} neighbour add 10.77.0.2 lladdr 02:00:00:00:00:02 dev {device} nud permanent
    -n {inside} neighbour add fd77::2 lladdr 02:00:00:00:00:02 dev {device} nud permanent
    -n {inside} route add default via 10.77.0.2
    -n {inside} route add default via fd77::2
"""


class World:
    """A namespace to run commands in, and what was seen outside of it."""

    def __init__(self, inside: str, recorder: subprocess.Popen) -> None:
        self.prefix = ["ip", "netns", "exec", inside]
        self.recorder = recorder

    def seen(self) -> list[str]:
        self.recorder.stdin.write("\n")
        self.recorder.stdin.flush()
        return json.loads(self.recorder.stdout.readline())


def ip(line: str) -> None:
    subprocess.run(["ip", *line.split()], check=True, timeout=10)


@pytest.fixture(scope="module")
def world():
    names = {"inside": f"em-in-{os.getpid()}", "outside": f"em-out-{os.getpid()}", "device": "em0"}
    try:
        for line in SETUP.strip().splitlines():
            ip(line.format(**names))
        command = ["ip", "netns", "exec", names["outside"], sys.executable, str(RECORDER), names["device"]]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as recorder:
            world = World(names["inside"], recorder)
            world.seen()
            yield world
            recorder.stdin.close()
    finally:
        for name in ("inside", "outside"):
            with contextlib.suppress(subprocess.CalledProcessError):
                ip(f"netns delete {names[name]}")


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    folder = tmp_path_factory.mktemp("built")
    ways_out.build(folder)
    return folder


def here(name, folder):
    if not ways_out.is_here(ATTEMPTS[name], folder):
        pytest.skip(f"no {ATTEMPTS[name].command[0]}")
    return ATTEMPTS[name]


def test_each_way_can_be_told_from_the_others():
    for what in ("leak", "url"):
        found = [getattr(attempt, what) for attempt in ATTEMPTS.values()]
        assert {each for each in found if each and found.count(each) > 1} <= {"socket://icmp/"}, what


@pytest.mark.parametrize("name", [name for name, attempt in ATTEMPTS.items() if attempt.leak])
def test_the_recorder_sees_what_leaves(world, built, name):
    attempt = here(name, built)
    world.seen()
    environment = os.environ | {"PATIENCE": "0.3"}
    with contextlib.suppress(subprocess.TimeoutExpired):  # some wait as long as their system does
        subprocess.run(
            [*world.prefix, *attempt.command],
            cwd=built,
            env=environment,
            capture_output=True,
            timeout=LIMIT,
            check=False,
        )
    assert attempt.leak in world.seen()


@pytest.mark.parametrize("mode", ["fetch", "give"])
@pytest.mark.parametrize("name", ATTEMPTS)
def test_nothing_leaves(world, tmp_path, built, name, mode):
    attempt = here(name, built)
    world.seen()
    options = {"prefix": world.prefix, "env": {"PATIENCE": "0.3"}, "cwd": built}
    done = containment.contained(tmp_path, attempt.command, "--mode", mode, **options)
    assert world.seen() == []
    assert bool(done.redirects or done.refused) is (attempt.url is not None), done


ALL = f"""
    import contextlib, json, subprocess
    for name, command in json.load(open("attempts.json")):
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait({LIMIT})
        print(json.dumps([name, [process.pid, process.poll()]]))
        process.kill()
        process.wait()
"""


def run_all(world, project, contain, **env):
    """What became of each attempt, and how the run ended."""
    ways_out.build(project.root)
    names = [name for name, attempt in ATTEMPTS.items() if ways_out.is_here(attempt, project.root)]
    project.file("attempts.json", json.dumps([(name, ATTEMPTS[name].command) for name in names]))
    project.file("all.py", ALL)
    world.seen()
    command = ["run", "--contain", contain, "--", sys.executable, "all.py"]
    done = project.eve_mocks(*command, prefix=world.prefix, env=env, timeout=150)
    results = dict(map(json.loads, done.stdout.splitlines()))
    assert list(results) == names, done.stderr
    return results, done


def test_a_whole_run(world, project):
    """Nothing leaves, each attempt fails in time, and each is in the report, with who made it."""
    results, done = run_all(world, project, "require")
    assert world.seen() == []
    assert (done.returncode, project.report()["contained"]) == (1, True)
    calls = project.calls()
    assert {call["outcome"] for call in calls} == {"blocked"}
    for name, (pid, code) in results.items():
        attempt = ATTEMPTS[name]
        assert code is not None, f"{name} took too long"
        if attempt.url is None:  # a question of DNS, which is answered, and not by whom it was for
            assert code == 0, name
            continue
        assert code != 0, name
        told = [call for call in calls if (call["url"], call["program"]) == (attempt.url, attempt.program)]
        assert told, f"{name} is not in the report"
        assert attempt.is_of_a_child or attempt.url == "socket://icmp/" or told[0]["pid"] == pid, name
        assert all(call["pid"] > 0 for call in told)
    expected = {ATTEMPTS[name].url for name in results} - {None}
    assert {call["url"] for call in calls} == expected
    assert project.report()["counts"]["blocked"] == len(calls)
    assert f"{len(calls)} blocked" in done.stderr


def test_a_whole_run_that_is_not_contained_leaks(world, project):
    """So the run above could fail, at each of them."""
    results, done = run_all(world, project, "off", PATIENCE="0.3")
    leaks = world.seen()
    assert {ATTEMPTS[name].leak for name in results} - {None} <= set(leaks)
    assert "not contained: --contain off" in done.stderr
    assert project.report()["contained"] is False


def test_a_connected_socket_that_the_caller_left_open_is_closed(world, project):
    use = "import os; os.write(int(os.environ['LEFT']), b'x')"
    code = f"""
        import os, socket
        left = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        left.connect(("203.0.113.9", 2008))
        left.set_inheritable(True)
        os.environ["LEFT"] = str(left.fileno())
        os.execv({EVE_MOCKS!r}, ["eve-mocks", "run", "--contain", "require", "--", *{[sys.executable, "-c", use]!r}])
    """
    world.seen()
    done = subprocess.run(
        [*world.prefix, sys.executable, "-c", textwrap.dedent(code)],
        cwd=project.root,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert "Bad file descriptor" in done.stderr
    assert world.seen() == []
