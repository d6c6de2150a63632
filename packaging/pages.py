"""Pages made from capd's own tables: sample configuration, reference, man pages, completion.

    python3 packaging/pages.py sample | reference | capd.8 | capd.conf.5 | completion

The options table (`capd.options`) and the argument parser (`capd.cli.build_parser`) are the only
sources, so that no page can say what the program does not do.
"""

from __future__ import annotations

import argparse
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from capd import __version__
from capd.cli import build_parser
from capd.options import OPTIONS, Option

#: what the sections are about, in the order of the pages
GROUPS = {
    "DEFAULT": "The daemon itself.",
    "libvirt": "How libvirt is asked. connection_uri, virt_type and hw_machine_type mean what "
    "they mean in nova.conf.",
    "placement": "Where traits are reported, beside keystoneauth's own options: auth_type, "
    "auth_url, username, password, project_name, user_domain_name, project_domain_name, cafile, "
    "certfile, keyfile, insecure, region_name, valid_interfaces, endpoint_override. A Placement "
    "without keystone: auth_type = admin_token, endpoint, token.",
    "traits": "What is reported.",
    "records": "What is recorded of each instance.",
    "metrics": "Figures for Prometheus.",
}

#: not in the options table because keystoneauth owns them; shown commented, as an example
AUTHENTICATION = """\
#auth_type = password
#auth_url = https://keystone.example.org/v3
#username = placement
#password = SECRET
#project_name = service
#user_domain_name = Default
#project_domain_name = Default
#cafile = /etc/ssl/certs/ca-certificates.crt
"""


def value(option: Option) -> str:
    """The default as it stands in a configuration file."""
    default = option.default
    if default is None:
        return ""
    if isinstance(default, bool):
        return str(default).lower()
    if isinstance(default, tuple):
        return ", ".join(default)
    return number(default) if isinstance(default, float) else str(default)


def number(value: float) -> str:
    """A number without exponent, which nobody would write."""
    return f"{value:.15g}"


def facts(option: Option) -> list[str]:
    """What the table says of an option besides its help, in words."""
    kind = option.kind.value + (f", in {option.unit}" if option.unit else "")
    lines = [kind]
    if option.choices:
        unset = "" if value(option) else "; unset by default"
        lines.append("one of: " + ", ".join(option.choices) + unset)
    if option.minimum is not None:
        lines.append(f"at least {number(option.minimum)}")
    if option.maximum is not None:
        lines.append(f"at most {number(option.maximum)}")
    if option.shared:
        lines.append("the same in nova.conf")
    if not option.reload:
        lines.append("takes effect at the next start")
    return lines


def grouped() -> Iterator[tuple[str, list[Option]]]:
    """The options by section, the sections in the order of GROUPS."""
    unknown = {option.group for option in OPTIONS} - set(GROUPS)
    if unknown:
        raise SystemExit(f"packaging/pages.py: no words for sections {sorted(unknown)}")
    for group in GROUPS:
        yield group, [option for option in OPTIONS if option.group == group]


def sample() -> str:
    """The commented capd.conf: every option with its default, nothing set."""
    lines = [
        "# capd.conf: see capd.conf(5). Every line that sets something is commented out and shows",
        "# the default. This file may hold a password: keep it 0640, owner root, group capd.",
        "#",
        "# To reuse nova.conf, leave this file as it is and set in /etc/default/capd:",
        "#   CAPD_OPTS=--config-file /etc/nova/nova.conf --config-file /etc/capd/capd.conf",
    ]
    for group, options in grouped():
        lines += ["", f"[{group}]", *_comment(GROUPS[group])]
        if group == "placement":
            lines += ["", *AUTHENTICATION.rstrip().splitlines()]
        for option in options:
            lines += ["", *_comment(option.help), *_comment(f"({'; '.join(facts(option))})")]
            shown = value(option) or (option.choices[0] if option.choices else "")
            lines.append(f"#{option.name} = {shown}".rstrip())
    return "\n".join(lines) + "\n"


def _comment(text: str) -> list[str]:
    return textwrap.wrap(
        text, 95, initial_indent="# ", subsequent_indent="# ", break_on_hyphens=False
    )


def reference() -> str:
    """docs/configuration.md."""
    lines = [
        "# Configuration",
        "",
        "Made from `capd/options.py` by `make pages`. Files are read in the order given with",
        "`--config-file`; a later one wins. Without any, `/etc/capd/capd.conf` is read if it",
        "exists. Files that systemd hands over with `LoadCredential=NAME.conf:PATH` come last.",
        "",
        "A file that was named must be readable. The default one, which ordinary users may not",
        "read, is needed by the daemon and by every mode (`--once`, `--dump`, `--check`,",
        "`--withdraw`); `capd match`, `capd diff` and `capd image-property list --xml` go on with",
        "defaults and a warning.",
        "",
        "`$` begins the name of another option, as everywhere in oslo.config; `$$` is a dollar",
        "sign. A value that names no option this way is refused, in a password as well.",
    ]
    for group, options in grouped():
        lines += ["", f"## [{group}]", "", GROUPS[group], "", "| option | default | meaning |"]
        lines.append("| --- | --- | --- |")
        for option in options:
            default = f"`{value(option)}`" if value(option) else ""
            meaning = f"{option.help} ({'; '.join(facts(option))})".replace("|", "\\|")
            lines.append(f"| `{option.name}` | {default} | {meaning} |")
    return "\n".join(lines) + "\n"


def roff(text: str) -> str:
    """Text safe for troff: no control lines, no escapes."""
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq")
    return "\n".join("\\&" + line if line[:1] in (".", "'") else line for line in text.split("\n"))


def _title(name: str, section: int) -> str:
    return f'.TH {name.upper()} {section} "" "capd {__version__}" "capd"\n'


def man_conf() -> str:
    """capd.conf(5)."""
    out = [_title("capd.conf", 5), ".SH NAME\ncapd.conf \\- configuration of capd(8)"]
    out.append(".SH DESCRIPTION")
    out.append(
        roff(
            "Read with oslo.config: sections in brackets, one option = value per line, lists "
            "separated by commas. /etc/nova/nova.conf may be given beside it; its [placement], "
            "[libvirt], [database] and [api_database] are then used as they stand. An option "
            "that capd does not know is an error in capd's own files."
        )
    )
    for group, options in grouped():
        out += [f".SH [{group}]", roff(GROUPS[group])]
        for option in options:
            default = value(option) or "unset"
            out.append(f".TP\n.B {roff(option.name)}\n{roff(option.help)}")
            out.append(f"({roff('; '.join(facts(option)))}; default: {roff(default)})")
    out.append(".SH FILES\n.TP\n.I /etc/capd/capd.conf")
    out.append("Read if no \\-\\-config\\-file is given; 0640, owner root, group capd.")
    out.append(".SH SEE ALSO\n.BR capd (8)")
    return "\n".join(out) + "\n"


def subcommands(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    """Subcommand to its parser, in order; empty if there are none."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            return dict(action.choices)
    return {}


def actions(parser: argparse.ArgumentParser) -> list[argparse.Action]:
    """The options and positional arguments of one parser."""
    return [
        action
        for action in parser._actions
        if not isinstance(action, argparse._SubParsersAction) and action.help != argparse.SUPPRESS
    ]


def metavar(action: argparse.Action) -> str:
    """What stands for the action's value, '' for a flag."""
    if action.nargs == 0:
        return ""
    if isinstance(action.metavar, str):
        return action.metavar
    if action.choices is not None:
        return "{" + ",".join(str(choice) for choice in action.choices) + "}"
    return action.dest.upper()


def _arguments(parser: argparse.ArgumentParser) -> Iterator[str]:
    for action in actions(parser):
        name = ", ".join(action.option_strings) or metavar(action)
        word = f" \\fI{roff(metavar(action))}\\fR" if action.option_strings else ""
        help_text = (action.help or "").replace("%(default)s", str(action.default))
        yield f".TP\n\\fB{roff(name)}\\fR{word}\n{roff(help_text.replace('%%', '%')) or '.br'}"


def man_capd() -> str:
    """capd(8)."""
    parser = build_parser()
    out = [_title("capd", 8), ".SH NAME"]
    out.append("capd \\- tell OpenStack Placement what this hypervisor can emulate")
    out.append(".SH SYNOPSIS\n.B capd\n.RI [ OPTION ...]\n.br\n.B capd")
    out.append(".I COMMAND\n.RI [ ARGUMENT ...]")
    out += [".SH DESCRIPTION", roff(parser.description or "")]
    out += [".SH OPTIONS", *_arguments(parser), ".SH COMMANDS"]
    for name, child in _leaves(parser):
        out += [f".SS capd {roff(name)}", roff((child.description or "").strip())]
        out += _arguments(child)
    out += [".SH EXIT STATUS\n.nf", roff((parser.epilog or "").strip()), ".fi"]
    out.append(
        ".SH SIGNALS\n.TP\n.B SIGHUP\nRead the configuration anew; if it is bad, keep the old one "
        "and say so in the journal and in the unit\\(aqs status.\n.TP\n.B SIGTERM, SIGINT\nEnd, "
        "in less than five seconds."
    )
    out.append(
        ".SH JOURNAL\nEntries carry CAPD_TRAIT, CAPD_MACHINE, CAPD_INSTANCE, CAPD_PROVIDER, "
        "CAPD_EMULATOR, CAPD_STAGE and CAPD_SETTING where a line is about one, for example\n.RS\n"
        ".B journalctl \\-u capd CAPD_TRAIT=COMPUTE_STORAGE_BUS_IDE\n.RE"
    )
    out.append(
        ".SH FILES\n.TP\n.I /etc/capd/capd.conf\nConfiguration, see\n.BR capd.conf (5).\n.TP\n"
        ".I /var/lib/capd/capd.db\nState: records, owned traits, last known support. 0600.\n.TP\n"
        ".I /etc/default/capd\nCAPD_OPTS, the arguments of the service."
    )
    out.append(".SH SEE ALSO\n.BR capd.conf (5),\n.BR virt\\-host\\-validate (1)")
    return "\n".join(out) + "\n"


def _leaves(
    parser: argparse.ArgumentParser, prefix: str = ""
) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    """Each subcommand, and each of its own."""
    for name, child in subcommands(parser).items():
        yield f"{prefix}{name}", child
        yield from _leaves(child, f"{prefix}{name} ")


def completion() -> str:
    """Completion for bash: words by subcommand, files where an argument is a file."""
    parser = build_parser()
    cases = [("", parser), *_leaves(parser)]
    lines = ["# bash completion for capd, made from its own argument parser", "_capd() {"]
    lines += ["    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}"]
    lines += ["    local word path= options= next= files="]
    lines += [
        '    for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do',
        "        case $path/$word in",
    ]
    for name, _ in cases[1:]:
        before, _, last = name.rpartition(" ")
        lines.append(f"            '{before}/{last}') path='{name}' ;;")
    lines += ["        esac", "    done", "    case $path in"]
    for name, child in cases:
        words = [option for action in actions(child) for option in action.option_strings]
        taking = [
            option
            for action in actions(child)
            if action.nargs != 0
            and metavar(action) in ("FILE", "DIR", "BEFORE.json", "AFTER.json")
            for option in action.option_strings
        ]
        lines.append(f"        '{name}') options='{' '.join(words)}'")
        lines.append(f"            next='{' '.join(subcommands(child))}'")
        lines.append(f"            files=' {' '.join(taking)} ' ;;")
    lines += ["    esac"]
    lines += ['    if [[ -n $prev && $files == *" $prev "* ]]; then']
    lines += ["        compopt -o default; COMPREPLY=()"]
    lines += ["    elif [[ $cur == -* ]]; then"]
    lines += ['        COMPREPLY=($(compgen -W "$options" -- "$cur"))']
    lines += ["    else", '        COMPREPLY=($(compgen -W "$next" -- "$cur"))']
    lines += ["        [[ ${COMPREPLY[*]} ]] || compopt -o default", "    fi", "}"]
    lines += ["complete -F _capd capd", ""]
    return "\n".join(lines)


PAGES = {
    "sample": sample,
    "reference": reference,
    "capd.8": man_capd,
    "capd.conf.5": man_conf,
    "completion": completion,
}


def main() -> int:
    """Print one page."""
    if len(sys.argv) != 2 or sys.argv[1] not in PAGES:
        print(f"usage: pages.py {' | '.join(PAGES)}", file=sys.stderr)
        return 2
    sys.stdout.write(PAGES[sys.argv[1]]())
    return 0


if __name__ == "__main__":
    sys.exit(main())
