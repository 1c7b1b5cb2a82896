"""The workbook's tool: python3 -B checks/workbook COMMAND ...   `make` is its front door and lists the commands."""

import os
import signal
import sys

if sys.version_info < (3, 8):
    sys.stderr.write("Python %d.%d is too old: %s\n" % (sys.version_info[0], sys.version_info[1], sys.executable))
    sys.exit(86)  # start.sh looks for another
sys.path[0] = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

if __name__ == "__main__":
    try:
        from workbook import cli
        code = cli.main(sys.argv[1:])
        sys.stdout.flush()
    except KeyboardInterrupt:  # make says that it was interrupted; once is enough
        sys.stdout.flush()
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
    except BrokenPipeError:  # the reader, `head` for instance, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 1
    except OSError as problem:  # a full disk, a file that cannot be read: said in one form
        sys.stderr.write("error: %s\n" % problem.strerror + ("  where  %s\n" % problem.filename if problem.filename else ""))
        code = 2
    sys.exit(code)
