"""The real parts that capd works with, private to a test run: libvirtd, Placement, databases.

Each is a class with `start()` and `stop()` that is also a context manager; usable from pytest (the
fixtures in `tests/conftest.py`), from `make demo` and from `bench/`. Nothing here touches a
service of the machine: every part has its own directory, socket and port, and all of it ends with
the process that started it.

`python -m tests.rig` starts parts by hand; `tests/rig/setup` installs what they need.
"""
