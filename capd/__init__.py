"""capd: tells an OpenStack cloud what each hypervisor can emulate.

Nothing happens at import: no thread, no event loop, no connection.
"""

__version__ = "0.1.0"
