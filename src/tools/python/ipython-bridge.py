"""Runs cells in one persistent namespace.

Reads requests from file descriptor 3 and answers on 4, a JSON object a line, so that nothing which cells print can be
taken for an answer. Cells print to file descriptors 1 and 2 as any program does. At the end of a cell its marker is
written to both: all that was printed before has been read when the marker has.
"""

import sys

if sys.version_info < (3, 6):
    sys.exit("Python 3.6 or newer is needed, this is %s" % sys.version.split()[0])

# Files of the working folder are for the cells: none of them may stand in for what this file imports.
cell_path = list(sys.path)
sys.path[:] = [path for path in cell_path if path]

import ast
import io
import json
import linecache
import os
import re
import signal
import traceback
import types
import warnings

REQUESTS, ANSWERS = 3, 4
# Standard output and error: second descriptors of both, and the streams that write to the first ones.
ends = []
outputs = []


class Output(io.TextIOWrapper):
    """A standard stream that knows whether it is at the start of a line."""

    at_line_start = True

    def write(self, text):
        if text:
            self.at_line_start = text[-1] == "\n"
        return super().write(text)


def open_output(fd):
    return Output(
        os.fdopen(fd, "wb", closefd=False), encoding="utf-8", errors="replace", newline="", line_buffering=True
    )


def restore_outputs():
    """Undoes what a cell did to its standard streams: nobody hears what is printed elsewhere."""
    for index, fd in enumerate((1, 2)):
        os.dup2(ends[index], fd)
        if outputs[index].closed:
            outputs[index] = open_output(fd)
    sys.stdout, sys.stderr = sys.__stdout__, sys.__stderr__ = outputs


def show(text):
    """Prints a value or a traceback below what the cell printed."""
    if not text:
        return
    output = outputs[0]
    start = "" if output.at_line_start else "\n"
    output.write(start + text.rstrip("\n") + "\n")


def no_input(prompt=""):
    raise EOFError("input() cannot be answered: no one is there")


class PlainShell:
    """Python without IPython: statements, the value of a last expression, tracebacks."""

    kind = "python"

    def __init__(self):
        self.module = types.ModuleType("__main__")
        self.namespace = self.module.__dict__
        self.namespace["__builtins__"] = __builtins__
        self.count = 0

    def run(self, code):
        sys.modules["__main__"] = self.module
        self.count += 1
        name = "<cell %d>" % self.count
        # Tracebacks show the lines of cells; linecache would drop entries whose file is not there.
        linecache.cache[name] = (len(code), None, code.splitlines(True), name)
        try:
            tree = ast.parse(code, name)
            last = None
            if tree.body and isinstance(tree.body[-1], ast.Expr):
                last = ast.Expression(tree.body.pop().value)
            if tree.body:
                exec(compile(tree, name, "exec"), self.namespace)
            if last is not None:
                value = eval(compile(last, name, "eval"), self.namespace)
                if value is not None:
                    self.namespace["_"] = value
                    show(repr(value))
            return True
        except BaseException as error:
            # The frame of this function is no news; a syntax error has no other.
            frames = error.__traceback__.tb_next
            if isinstance(error, SyntaxError) and error.filename == name:
                frames = None
            text = "".join(traceback.format_exception(type(error), error, frames))
            # Without its number the same fault of the same cell reads the same.
            show(text.replace(name, "<cell>"))
            return False


def make_ipython_shell():
    """IPython's shell without terminal, colours and history. Raises when there is no IPython."""
    from IPython.core.displayhook import DisplayHook
    from IPython.core.interactiveshell import InteractiveShell
    from traitlets import Type
    from traitlets.config import Config

    class ValueHook(DisplayHook):
        def write_output_prompt(self):
            pass

        def write_format_data(self, format_dict, md_dict=None):
            show(format_dict.get("text/plain", ""))

    class Shell(InteractiveShell):
        displayhook_class = Type(ValueHook)
        # The other way of running `!command` gives it a terminal.
        system = InteractiveShell.system_raw

        def _showtraceback(self, etype, evalue, stb):
            # Without its number the same fault of the same cell reads the same.
            number = r"(Cell In\[|Input In \[|<ipython-input-)%d\b" % self.execution_count
            show(re.sub(number, r"\1*", self.InteractiveTB.stb2text(stb)))

        def ask_exit(self):
            raise SystemExit("the interpreter stays; it ends with the session")

    # What IPython says about sys.exit() is about terminals.
    warnings.filterwarnings("ignore", message="To exit:")
    config = Config()
    config.HistoryManager.enabled = False
    config.InteractiveShell.colors = "NoColor"
    config.InteractiveShell.xmode = "Context"
    shell = Shell.instance(config=config)

    class IPythonShell:
        kind = "ipython"

        def run(self, code):
            return bool(shell.run_cell(code, store_history=True).success)

    return IPythonShell()


def make_shell():
    try:
        return make_ipython_shell()
    except Exception:
        return PlainShell()


def write_all(fd, data):
    while data:
        data = data[os.write(fd, data) :]


def answer(value):
    write_all(ANSWERS, json.dumps(value).encode() + b"\n")


def flush():
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except Exception:
            pass


def run_cell(shell, code):
    """Runs a cell, which may be interrupted. Returns whether it succeeded."""
    try:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            return shell.run(code)
        finally:
            signal.signal(signal.SIGINT, signal.SIG_IGN)
    except BaseException as error:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        restore_outputs()
        show("".join(traceback.format_exception_only(type(error), error)))
        return False


def serve():
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for fd in (REQUESTS, ANSWERS):
        os.set_inheritable(fd, False)
    ends[:] = os.dup(1), os.dup(2)
    outputs[:] = open_output(1), open_output(2)
    restore_outputs()
    sys.argv = [""]
    __builtins__.input = no_input
    own_pid = os.getpid()
    shell = make_shell()
    sys.path[:] = cell_path
    flush()
    answer({"ready": shell.kind, "version": sys.version.split()[0]})
    for line in os.fdopen(REQUESTS, "r", encoding="utf-8", closefd=False):
        request = json.loads(line)
        outputs[0].at_line_start = True
        ok = run_cell(shell, request["code"])
        flush()
        restore_outputs()
        # What could not be written before can be now.
        flush()
        if os.getpid() != own_pid:
            # A cell forked, and this is the child: the answer is the parent's.
            os._exit(0)
        for end in ends:
            write_all(end, request["marker"].encode())
        answer({"ok": ok})


serve()
