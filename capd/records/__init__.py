"""Records: what every instance was given, kept stable, and changed only on purpose.

Reading order: `metadata` and `reading` turn domain XML into what a domain has, `ability` says what
this host can do and `defaults` what an instance would get, `records` decides what is written down,
`recordstore` keeps it, `drift` compares, `tracker` follows the hypervisor, `redefine` changes a
domain, `export` carries records to a controller.
"""
