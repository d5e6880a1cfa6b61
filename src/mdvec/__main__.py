"""``python -m mdvec`` is ``mdvec``."""

from mdvec.interfaces.cli.main import main

if __name__ == "__main__":
    main()
