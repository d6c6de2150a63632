"""Image properties in Nova's own databases, for controllers (needs the extra `capd[nova]`).

Nothing here is imported before a command needs it: SQLAlchemy costs memory and time.
"""
