"""The command line's verbs, one module each.

A module has `HELP` (one line), `DESCRIPTION` (what a person reads after `--help`),
`add_arguments(parser)` and `run(args) -> int`. `capd.cli.COMMANDS` lists them. What a command
needs beyond the standard library is imported inside `run`, so that `capd --help` stays quick.
"""
