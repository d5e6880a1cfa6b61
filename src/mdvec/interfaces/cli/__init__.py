"""The command line."""

EXIT_INTERRUPTED = 130
"""Exit code after Ctrl-C, as shells have it: 128 + SIGINT."""
