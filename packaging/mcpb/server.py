"""Runs mdvec in the environment that uv makes for the bundle."""

from mdvec.interfaces.cli.main import main

if __name__ == "__main__":
    main()
