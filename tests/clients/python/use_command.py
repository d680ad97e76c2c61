"""A command that gets a URL as its last argument: ``use_command.py COMMAND [ARGUMENT...] -- URL...``."""

import subprocess
import sys

from ask import each

end = sys.argv.index("--")
COMMAND = sys.argv[1:end]
del sys.argv[1 : end + 1]


def get(url):
    done = subprocess.run([*COMMAND, url], capture_output=True, text=True, timeout=30, check=False)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip() or done.stdout.strip())
    return done.returncode, done.stdout


each(get)
