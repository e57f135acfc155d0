"""The process that the embedded chat model lives in: ``python -m agentic_qt.client.local_server``.

It serves llama.cpp's own HTTP server on the loopback address and does nothing else. Its settings are the first line
of standard input, as JSON, so that the key is in no list of processes; what it tells is lines of JSON on standard
output: ``loading``, then ``ready`` with the address, or ``failed`` with the reason. It lives as long as standard input
is open, so it ends with its parent however that ends, on every platform; on Linux the kernel is asked to see to it too,
for a parent that dies while the model is being loaded.
"""

import ctypes
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any, TextIO

LOOPBACK = "127.0.0.1"
_PR_SET_PDEATHSIG = 1  # linux/prctl.h
_ERRORS_ONLY = 1
_CACHE_MIB = 64


def main() -> None:
    """Serve until standard input ends."""
    answers = _take_standard_output()
    parent = os.getppid()
    _die_with_parent(parent)
    settings = json.loads(sys.stdin.readline() or "null")
    if settings is None:
        return
    _tell(answers, event="loading")
    try:
        server = _serve(settings)
    except Exception as error:  # a library of another language: whatever it is, the parent is told
        _tell(answers, event="failed", reason=f"{type(error).__name__}: {error}")
        sys.exit(1)
    _tell(answers, event="ready", address=server.listening_address)
    while sys.stdin.readline():
        pass
    # The server's threads may be in the middle of an answer that nobody reads any more: no orderly end.
    os._exit(0)


def _serve(settings: dict[str, Any]) -> Any:
    import xllamacpp  # an optional extra: without it the parent does not get here

    parameters = xllamacpp.CommonParams()
    parameters.model.path = settings["model"]
    parameters.model_alias = {settings["alias"]}
    parameters.chat_template = Path(settings["template"]).read_text(encoding="utf-8")
    parameters.use_jinja = True
    parameters.n_ctx = settings["context"]
    parameters.n_parallel = 1
    parameters.cpuparams.n_threads = settings["threads"]
    # Threads that wait must sleep: by default they spin, and the application's window stutters.
    parameters.cpuparams.poll = 0
    parameters.cpuparams_batch.n_threads = settings["threads"]
    parameters.cpuparams_batch.poll = 0
    parameters.cache_ram_mib = _CACHE_MIB
    parameters.hostnames = [LOOPBACK]
    parameters.port = 0  # any that is free
    parameters.api_keys = [settings["key"]]
    parameters.cors_origins = ""
    parameters.offline = True
    parameters.ui = False
    parameters.endpoint_slots = False  # would show what was asked
    parameters.warmup = False
    parameters.sampling.temp = 0.0
    parameters.verbosity = _ERRORS_ONLY
    return xllamacpp.Server(parameters)


def _take_standard_output() -> TextIO:
    """Keep standard output for ourselves, so that what libraries print cannot get between our lines."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    return answers


def _tell(answers: TextIO, **fields: Any) -> None:
    print(json.dumps(fields), file=answers, flush=True)


def _die_with_parent(parent: int) -> None:
    if sys.platform != "linux":
        return
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it died just before
        os._exit(0)


if __name__ == "__main__":
    main()
