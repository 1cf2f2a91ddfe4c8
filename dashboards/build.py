#!/usr/bin/env python3
"""Writes the dashboards: `dashboards/build.py`, or `--check` to see that they are as this file says.

The panels' parts stand in parts.py. Where recorded series are used (config/prometheus/recording.rules.yml), the
description says so. Numbers that must not be wrong at night are asked for directly: a rule file that was not loaded
must not look like an account that is well.
"""

import json
import pathlib
import sys

from parts import (AGE, BROKEN, GREEN_TO_ORANGE, GREEN_TO_RED, PLAIN, bars, NOT_EXPECTED, collapsed, dashboard, link, named, place,
                   query, sectioned, stat, table, text, timeline, timeseries, to_dashboard)

A = 'account=~"$account"'
STATES = 'collector=~"vms|containers|sites|expected_balance"'
VM_BAD, BOX_BAD, SITE_BAD = "error|blocked", "DISABLED_BY_.+", "Error|StoppedBy.+"
VM_KNOWN = "pending|building|active|stopped|blocked|error"
BOX_KNOWN = "ENABLED|DISABLED_BY_SERVICE|DISABLED_BY_ADMIN|DISABLED_BY_QUOTA"
SITE_PASSING = "Building|Starting|Stopping|Restarting|Updating|Backuping|Restoring"
SITE_KNOWN = f"Active|Stopped|{SITE_PASSING}|StoppedByAdmin|StoppedByService|StoppedByQuota|Error"
# Zero only while a daemon is scraped; else nothing is known.
OR_ZERO = "or 0 * max(hostwatch_build_info)"
NEEDS = " From recording.rules.yml; empty without it."

PAGE = "${status_url:raw}/"
ITS_HISTORY = to_dashboard("resources", "&var-resource=${__data.fields.Name}", "Its history")
NAMED = f'{A}, name=~"$resource"'


# Which collector reads a family, by how its name begins. What is configured is read by none.
READ_BY = {"hosting_billing_lead_days": None, "hosting_billing_charged_amount": "charges", "hosting_billing_": "expected_balance",
           "hosting_vm": "vms", "hosting_container": "containers", "hosting_site": "sites"}
# What a daemon that cannot read goes on reporting of the account.
KINDS = {"expected_balance": "disconnect|billing_report|order_suspended|balance_drop", "vms": "vm_.+", "containers": "container_.+",
         "sites": "site_.+"}


def behind(collector):
    """The daemons whose word does not count, as in resources.rules.yml: those that cannot read while another can, or that
    read before another did, which may have died since. Sites are read container by container: a whole reading that is
    older says nothing of them."""
    labels, on = f'{{{A}, collector="{collector}"}}', "on (job, instance, account)"
    reads = f"hostwatch_collector_success{labels}"
    if collector == "sites":
        return f"({reads} == 0 and on (job, account) {reads} == 1)"
    last = f'last_over_time(hostwatch_collector_last_success_timestamp_seconds{labels[:-1]}}}[2d])'
    # Whoever can read comes before all that cannot, by more than those two days.
    rank = f"({last} + {on} 864000 * {reads} or {on} {last} or {on} 0 * {reads})"
    return f"({rank} < on (job, account) group_left () max by (job, account) {rank})"


def counts(metric, more=""):
    """A family of the account, of the daemons whose word counts: the one place where that is decided."""
    collector = next((collector for begins, collector in READ_BY.items() if metric.startswith(begins)), None)
    family = f"{metric}{{{A}{more}}}"
    return f"({family} unless on (job, instance, account) {behind(collector)})" if collector else family


def one(metric, more=""):
    """A family of the account as one series where two daemons watch it."""
    return f"max without (instance, job) ({counts(metric, more)})"


def of_account(metric, more="", by="account", of="max"):
    """What an account has of a family."""
    return f"{of} by ({by}) ({counts(metric, more)})"


def top_up(days):
    return of_account("hosting_billing_top_up_required", f', days="{days}"')


def days_left(by=""):
    """Days until the cut-off; 100000 where every report says that there will be none."""
    expected = counts("hosting_billing_disconnect_expected")
    unknown = (f'hostwatch_collector_polls_total{{{A}, collector="expected_balance", result="success"}} unless on (job, instance, account) '
               f"(hosting_billing_disconnect_expected{{{A}}} or {behind('expected_balance')})")
    return (f"min{by} (({counts('hosting_billing_disconnect_timestamp_seconds')} - time()) / 86400 or 0 * ({expected} == 1)) "
            f"or (min{by} ({expected} == 0) + 100000 unless group{by} ({unknown}))")


LEAD = f"1 + max{{by}} (hosting_billing_lead_days{{{{{A}}}}})"


def until(by=""):
    """Days until the cut-off as four queries, of which one gives something: each has a colour, as the alerts have it. Only
    of now: what one of them gave an hour ago is not so any more."""
    left, lead = f"({days_left(by)})", f"({LEAD.format(by=by)})"
    legend = "{{account}}" if by else ""
    return [query(f"{left} {limits}", legend, colour, instant=True) for limits, colour in (
        (f"<= {lead}", "red"), (f"> {lead} <= 14", "orange"), (f"> {lead} > 14 < 30", "blue"), (f"> {lead} > 14 >= 30", "green"))]


def urgency(by):
    """3 where no payment may be in time any more but today's, 2 within 14 days, 1 within 30, 0 where nothing presses."""
    left, lead = f"({days_left(by)})", f"({LEAD.format(by=by)})"
    return f"clamp_max(3 * ({left} <= bool {lead}) + ({left} <= bool 14) + ({left} < bool 30), 3)"


PAY = [{"type": "value", "options": {str(value): {"text": words, "color": colour, "index": 3 - value} for value, words, colour in (
    (3, "now", "red"), (2, "soon", "orange"), (1, "within weeks", "blue"), (0, "nothing due", "green"))}}]


def money(expression):
    """An amount of an account with its currency beside it."""
    return f"{expression} * on (account) group_left (currency) max by (account, currency) (hosting_account_info{{{A}}})"


def counted(vm, box, site):
    """How many resources are in states that match."""
    pairs = (("hosting_vms", vm), ("hosting_containers", box), ("hosting_sites", site))
    return " + ".join(f'(sum({one(name, f", state{match}")}) or vector(0))' for name, match in pairs if match)


def known(expression):
    """Nothing unless some listing was read completely."""
    return f"({expression}) and on () count({one('hosting_vms')} or {one('hosting_containers')} or {one('hosting_sites')})"


OPEN = ', state=~"firing|recovering"'


def reported(more=""):
    """Open incidents, without what a daemon goes on to say of an account that another has read since."""
    gone = " or ".join(f'hostwatch_incidents{{{A}, kind=~"{kinds}"}} and on (job, instance, account) {behind(collector)}'
                       for collector, kinds in KINDS.items())
    return f"max without (instance, job) (hostwatch_incidents{{{A}{more}{OPEN}}} unless ({gone}))"


def incidents(severity):
    labels = f', severity="{severity}"'
    return f"sum({reported(labels)}) {OR_ZERO}"


BROKEN_NOW = known(counted(f'=~"{VM_BAD}"', f'=~"{BOX_BAD}"', f'=~"{SITE_BAD}"'))
NOT_READ = (f"count({one('hostwatch_collector_complete')} == 0 "
            f"or time() - {one('hostwatch_collector_last_success_timestamp_seconds', f', {STATES}')} > 3600) {OR_ZERO}")

CUT_OFF = ("From the provider's forecast; red from the last day on which a payment arrives (lead_days + 1), orange from 14, "
           "blue below 30, as the alerts have it.")
LAST_DAY = "Dashed: the last day on which a payment arrives. "


def overview():
    to_billing, to_resources, to_self = (to_dashboard(uid) for uid in ("billing", "resources", "self"))
    panels = [
        place(stat("Critical incidents", "Open, of severity critical. Unknown: no daemon is scraped.",
                   [query(incidents("critical"))], thresholds=GREEN_TO_RED, links=[link("Status page", PAGE + "#incidents")]),
              0, 0, 4, 4),
        place(stat("Warnings", "Open incidents of severity warning. Unknown: no daemon is scraped.",
                   [query(incidents("warning"))], thresholds=GREEN_TO_ORANGE,
                   links=[link("Status page", PAGE + "#incidents")]),
              4, 0, 4, 4),
        place(stat("Until cut-off", "Days until the first of the accounts is cut off for non-payment. " + CUT_OFF,
                   until(), unit="suffix: days", decimals=1, links=[to_billing], ranges=[NOT_EXPECTED]),
              8, 0, 4, 4),
        place(stat("To pay for 30 days", "The least payment that keeps each account up for 30 days, in its currency. "
                   "Absent: the report is not known or ends before.",
                   [query(money(top_up(30)), "{{account}} {{currency}}")],
                   unit="locale", decimals=0, thresholds=[("green", None), ("blue", 0.01)], links=[to_billing]),
              12, 0, 4, 4),
        place(stat("Broken resources", "VMs in error or blocked, sites in Error or stopped by somebody else, containers "
                   "that are disabled (once container_states names the provider's codes).",
                   [query(BROKEN_NOW)], thresholds=GREEN_TO_RED, links=[to_resources]),
              16, 0, 4, 4),
        place(stat("Not read", "Collectors whose last poll failed or showed a part only, or whose reading of states or "
                   "balance is older than an hour. What they watch may differ from what is shown.",
                   [query(NOT_READ)], thresholds=GREEN_TO_ORANGE, links=[to_self]),
              20, 0, 4, 4),
        place(table("Accounts", "What to pay, and by when. Amounts are in the currency of the account. An empty date: no "
                    "cut-off is expected, or none is known.",
                    [query(of_account("hosting_billing_balance")),
                     query(days_left(" by (account)")),
                     query(f"{of_account('hosting_billing_disconnect_timestamp_seconds', of='min')} * 1000"),
                     *[query(top_up(days))
                       for days in (7, 30, 90)],
                     query(f"{of_account('hosting_billing_next_charge_timestamp_seconds', of='min')} * 1000"),
                     query(of_account("hosting_billing_next_charge_amount")),
                     query(f"max by (account, currency) (hosting_account_info{{{A}}})"),
                     query(urgency(" by (account)"))],
                    {"account": "Account", "Value #J": "Pay", "Value #A": "Balance", "Value #B": "Days left", "Value #C": "Cut-off",
                     "Value #D": "Pay for 7 days", "Value #E": "30 days", "Value #F": "90 days",
                     "Value #G": "Next charge", "Value #H": "Amount", "currency": "Currency", "Value #I": None},
                    fields={"Balance": ("locale", 2, None), "Days left": ("suffix: days", 1, None),
                            "Cut-off": ("dateTimeAsIso", None, None), "Pay for 7 days": ("locale", 0, None),
                            "30 days": ("locale", 0, None), "90 days": ("locale", 0, None),
                            "Next charge": ("dateTimeAsIso", None, None), "Amount": ("locale", 2, None)},
                    links={"Account": [link("Status page", PAGE + "?account=${__value.raw}")]}, sort=("Days left", False),
                    mappings={"Pay": PAY, "Days left": [NOT_EXPECTED]}),
              0, 4, 24, 6),
        place(table("With a problem", "Every resource that is broken, changing or in a state that nobody knows." + NEEDS,
                    [query(f"max by (account, kind, name, id, state) (account_kind_id:hosting_resource_unwell:max{{{A}}})")],
                    {"kind": "Kind", "name": "Name", "state": "State", "id": "Id", "account": "Account", "Value": None},
                    colours={"State": BROKEN},
                    links={"Name": [ITS_HISTORY, link("Status page", PAGE + "?kind=${__data.fields.Kind}&q=${__data.fields.Id}#resources")]},
                    sort=("State", False), filterable=True),
              0, 10, 14, 9),
        place(table("Open incidents", "How many of each kind are open. The link says what a kind means "
                    "and what to do.",
                    [query(f"sum by (account, kind, severity) ({reported()}) > 0")],
                    {"severity": "Severity", "kind": "Kind", "Value": "Open", "account": "Account"},
                    colours={"Severity": [("critical", "red"), ("warning", "orange"), ("info", "blue")]},
                    links={"Kind": [link("What to do", "https://github.com/hostwatch/hostwatch/blob/main/docs/alerts.md#${__value.raw}")]},
                    sort=("Severity", False)),
              14, 10, 10, 9),
        place(timeseries("Broken resources", "How many are broken, by kind." + NEEDS,
                         [query(f"max by (account, kind) (account_kind:hosting_resources_broken:sum{{{A}}})",
                                "{{account}} {{kind}}")], steps=True, decimals=0),
              0, 19, 8, 8),
        place(timeseries("Until cut-off", "Days until each account is cut off. " + LAST_DAY + CUT_OFF + NEEDS,
                         [query(f"min by (account) (account:hosting_billing_disconnect_days:min{{{A}}})", "{{account}}"),
                          query(LEAD.format(by=" by (account)"), "{{account}}: last day to pay", "red")],
                         unit="suffix: days", floor=None, dashed="B"),
              8, 19, 8, 8),
        place(bars("Age of readings", "How old what is shown is, of all that sees states and balance. Red past an hour, as "
                   "HostwatchReadingsOld.",
                   [query(f"time() - {one('hostwatch_collector_last_success_timestamp_seconds', f', {STATES}')}",
                          "{{account}} {{collector}}")], unit="s", thresholds=AGE),
              16, 19, 8, 8),
    ]
    panels = sectioned(panels, {0: "Now", 4: "Accounts", 10: "What is wrong", 19: "Over time"})
    return dashboard("overview", "Am I all right? What is broken, when the account is cut off and what to pay, "
                     "how fresh all that is.", panels, "now-24h")


def billing():
    costs = (f"max without (instance, job) ({counts('hosting_billing_order_charges_amount')} * on (job, instance, account, order) "
             "group_left (comment, tariff, generic_type, state) hosting_billing_order_info * on (job, instance, account) "
             "group_left (currency) hosting_account_info)")
    days = f"(({of_account('hosting_billing_horizon_timestamp_seconds')} - time()) / 86400)"
    panels = [
        place(stat("Balance", "The balance now, in the currency of the account.",
                   [query(money(of_account("hosting_billing_balance")), "{{account}} {{currency}}")], unit="locale", decimals=2,
                   thresholds=[("red", None), ("text", 0.01)]), 0, 0, 4, 4),
        place(stat("Until cut-off", "Days until each account is cut off for non-payment. " + CUT_OFF,
                   until(" by (account)"), unit="suffix: days", decimals=1, ranges=[NOT_EXPECTED]),
              4, 0, 4, 4),
        *[place(stat(f"To pay for {days} days", f"The least payment that keeps the balance above 0 through every charge "
                     f"within {days} days. Absent: the report ends before.",
                     [query(money(top_up(days)), "{{account}} {{currency}}")],
                     unit="locale", decimals=0, thresholds=[("green", None), (colour, 0.01)]), 8 + 4 * index, 0, 4, 4)
          for index, (days, colour) in enumerate(((7, "orange"), (30, "blue"), (90, "blue")))],
        place(stat("Charged in 30 days", "What was charged in the last 30 days. From the charges, read once a day.",
                   [query(money(of_account("hosting_billing_charged_amount")), "{{account}} {{currency}}")], unit="locale",
                   decimals=0), 20, 0, 4, 4),
        place(timeseries("Balance and forecast", "The balance, and what will be left of it after the last charge within 7, 30 "
                         "and 90 days and at the end of the report. A forecast below 0 is a payment due before.",
                         [query(money(of_account("hosting_billing_balance")), "{{account}} now, {{currency}}"),
                          query(money(of_account("hosting_billing_forecast_balance", by="account, days")), "{{account}} in {{days}} days, {{currency}}"),
                          query(money(of_account("hosting_billing_expected_balance")), "{{account}} at the end of the report, {{currency}}")],
                         unit="locale", thresholds=[("red", None), ("transparent", 0)], steps=True, floor=None),
              0, 4, 24, 9),
        place(table("What comes next", "The next charge, all orders of that moment together; when the account is cut off, and when by "
                    "its charges the balance is used up; how far the report looks.",
                    [query(f"{of_account('hosting_billing_next_charge_timestamp_seconds', of='min')} * 1000"),
                     query(of_account("hosting_billing_next_charge_amount")),
                     query(f"{of_account('hosting_billing_disconnect_timestamp_seconds', of='min')} * 1000"),
                     query(f"{of_account('hosting_billing_disconnect_computed_timestamp_seconds', of='min')} * 1000"),
                     query(f"{of_account('hosting_billing_horizon_timestamp_seconds')} * 1000"),
                     query(f"max by (account) (hosting_billing_lead_days{{{A}}})"),
                     query(f"max by (account, currency, time_zone) (hosting_account_info{{{A}}})")],
                    {"account": "Account", "Value #A": "Next charge", "Value #B": "Amount", "Value #C": "Cut-off",
                     "Value #D": "Used up", "Value #E": "Report ends", "Value #F": "Payment takes", "currency": "Currency", "time_zone": "Time zone",
                     "Value #G": None},
                    fields={"Next charge": ("dateTimeAsIso", None, None), "Amount": ("locale", 2, None),
                            "Cut-off": ("dateTimeAsIso", None, None), "Used up": ("dateTimeAsIso", None, None), "Report ends": ("dateTimeAsIso", None, None),
                            "Payment takes": ("d", 0, None)},
                    links={"Account": [link("Status page", PAGE + "?account=${__value.raw}#billing")]}),
              0, 13, 24, 5),
        place(timeseries("Until cut-off", "Days until each account is cut off; a payment lifts the line. " + LAST_DAY + CUT_OFF + NEEDS,
                         [query(f"min by (account) (account:hosting_billing_disconnect_days:min{{{A}}})", "{{account}}"),
                          query(LEAD.format(by=" by (account)"), "{{account}}: last day to pay", "red")],
                         unit="suffix: days", floor=None, dashed="B"), 0, 18, 12, 8),
        place(timeseries("To pay", "The least payment for 7, 30 and 90 days as it was at each time.",
                         [query(money(of_account("hosting_billing_top_up_required", by="account, days")), "{{account}} for {{days}} days, {{currency}}")],
                         unit="locale", steps=True), 12, 18, 12, 8),
        place(table("Orders by cost", "The 50 most expensive orders with charges ahead: what they cost a day, and in all until the end "
                    "of the report.",
                    [query(f"topk(50, {costs})"), query(f"topk(50, {costs}) / on (account) group_left () {days}")],
                    {"order": "Order", "comment": "Comment", "tariff": "Tariff", "generic_type": "Type", "state": "State",
                     "Value #B": "A day", "Value #A": "Until the end", "currency": "Currency", "account": "Account"},
                    fields={"A day": ("locale", 2, None), "Until the end": ("locale", 2, None)},
                    colours={"State": [("SUSPENDED", "orange")]}, sort=("Until the end", True), filterable=True),
              0, 26, 16, 10),
        place(bars("Cost by type of service", "What all orders of a type cost until the end of the report.",
                   [query(f"sum by (generic_type, currency) ({costs})", "{{generic_type}} {{currency}}")], unit="locale", decimals=0),
              16, 26, 8, 5),
        place(timeseries("Orders by state", "Orders with charges ahead.",
                         [query(f"sum by (state) ({one('hosting_billing_orders')}) > 0", "{{state}}")], steps=True, decimals=0,
                         stacked=True), 16, 31, 8, 5),
    ]
    panels = sectioned(panels, {0: "Now", 4: "Balance and forecast", 18: "Over time", 26: "What costs most"})
    return dashboard("billing", "When the account is cut off for non-payment, what to pay, and what costs most.",
                     panels, "now-30d")


def by_state(title, metric):
    return timeseries(title, f"{title} by state, once the listing was read completely.",
                      [query(f"sum by (state) ({one(metric)}) > 0", "{{state}}")], steps=True, decimals=0, stacked=True,
                      colours=BROKEN)


def unwell(title, noun, well, names):
    """A table of a kind that is in other states than these, with the names of its `_info`."""
    labels = {"name": "Name", "state": "State", noun: "Id", **{name: name.capitalize() for name in names},
              "account": "Account", "Value": None}
    states = f', state!~"{well}"'
    expression = (f"max without (instance, job) (({counts(f'hosting_{noun}_state', states)} == 1) "
                  f"* on (job, instance, account, {noun}) group_left (name, {', '.join(names)}) hosting_{noun}_info{{{NAMED}}})")
    return table(title, f"{title}. Those that their owner stopped are left out.", [query(expression)], labels,
                 colours={"State": BROKEN},
                 links={"Name": [ITS_HISTORY, link("Status page", f"{PAGE}?kind={noun}&q=${{__data.fields.Id}}#resources")]},
                 sort=("State", False))


def inventory(title, description, noun, columns, names, more=()):
    """A table of all of a kind: description labels, then a column for each family (label: family, unit)."""
    queries = [query(f"max by (account, {noun}, {', '.join(names)}) (hosting_{noun}_info{{{NAMED}}})")]
    fields, labels = {}, {"name": "Name", noun: "Id", "account": "Account",
                          **{name: name.replace("_", " ").capitalize() for name in names if name != "name"}}
    for index, (column, (family, unit)) in enumerate(columns.items()):
        times = " * 1000" if unit == "dateTimeAsIso" else ""
        queries.append(query(f"max by (account, {noun}) ({family}{{{A}}} and on (account, {noun}) hosting_{noun}_info{{{NAMED}}}){times}"))
        labels[f"Value #{chr(ord('B') + index)}"] = column
        fields[column] = (unit, None, None)
    labels["Value #A"] = None
    return table(title, description, queries, labels, fields=fields, filterable=True, sort=("Name", False), paged=True,
                 links={"Name": [ITS_HISTORY, link("Status page", f"{PAGE}?kind={noun}&q=${{__data.fields.Id}}#resources")]})


def probed():
    """Each site that is probed: what the provider says of it, and what somebody outside found."""
    ours = f"and on (account, site) hosting_site_info{{{NAMED}}}"
    state = (f"max by (account, site, name, state) ((hosting_site_state{{{A}}} == 1) * on (job, instance, account, site) "
             f"group_left (name) hosting_site_info{{{NAMED}}} and on (account, site) probe_success{{{A}}})")
    return table("Sites from outside", "What the provider says of each site that is probed, whether it opens, and in how many days "
                 "its certificate ends. By the scrape jobs of docs/discovery.md; empty without them.",
                 [query(state), query(f"max by (account, site) (probe_success{{{A}}} {ours})"),
                  query(f"(min by (account, site) (probe_ssl_earliest_cert_expiry{{{A}}} {ours}) - time()) / 86400")],
                 {"name": "Name", "state": "Provider", "Value #B": "Opens", "Value #C": "Certificate", "site": "Id", "account": "Account",
                  "Value #A": None},
                 fields={"Certificate": ("d", 1, [("red", None), ("orange", 3), ("green", 14)])}, colours={"Provider": BROKEN},
                 mappings={"Opens": named({"0": ("no", "red"), "1": ("yes", "green")})},
                 links={"Name": [ITS_HISTORY, link("Status page", f"{PAGE}?kind=site&q=${{__data.fields.Id}}#resources")]},
                 sort=("Opens", False), paged=True)


def resources():
    changing = known(counted('=~"pending|building"', "", f'=~"{SITE_PASSING}"'))
    odd = known(counted(f'!~"{VM_KNOWN}"', f'!~"{BOX_KNOWN}"', f'!~"{SITE_KNOWN}"'))
    panels = [
        *[place(stat(title, f"All {title.lower()}, whatever their state.", [query(f"sum({one(metric)})")], graph=True),
                4 * index, 0, 4, 4)
          for index, (title, metric) in enumerate((("VMs", "hosting_vms"), ("Containers", "hosting_containers"),
                                                   ("Sites", "hosting_sites")))],
        place(stat("Broken", "VMs in error or blocked, sites in Error or stopped by somebody else, disabled containers.",
                   [query(BROKEN_NOW)], thresholds=GREEN_TO_RED), 12, 0, 4, 4),
        place(stat("Changing", "VMs and sites on their way to another state. HostingVmStuck and HostingSiteStuck fire after half an hour.",
                   [query(changing)], thresholds=PLAIN), 16, 0, 4, 4),
        place(stat("State not known", "Resources in a state that the provider's documentation does not list, or in a code "
                   "that container_states does not name: nobody judges them.",
                   [query(odd)], thresholds=[("green", None), ("blue", 1)]), 20, 0, 4, 4),
        place(by_state("VMs", "hosting_vms"), 0, 4, 8, 8),
        place(by_state("Containers", "hosting_containers"), 8, 4, 8, 8),
        place(by_state("Sites", "hosting_sites"), 16, 4, 8, 8),
        place(timeline("With a problem, and when", "Each resource that was broken, changing or in a state that nobody knows, and how "
                       "long; 40 at most. A name in the tables below leads to its own history here." + NEEDS,
                       [query(f"topk(40, max by (kind, name, id, state) (account_kind_id:hosting_resource_unwell:max{{{NAMED}}}))",
                              "{{kind}} {{name}} ({{id}}): {{state}}")], {"1": ("problem", "orange")}), 0, 12, 24, 9),
        place(unwell("VMs with a problem", "vm", "active|stopped", ["tariff"]), 0, 21, 8, 9),
        place(unwell("Containers with a problem", "container", "ENABLED", ["server"]), 8, 21, 8, 9),
        place(unwell("Sites with a problem", "site", "Active|Stopped", ["container"]), 16, 21, 8, 9),
        place(probed(), 0, 30, 24, 8),
        collapsed("Inventory", 38, [
            place(inventory("All VMs", "Every VM with its size. Memory is known once vm_memory_unit is set.", "vm",
                            {"CPUs": ("hosting_vm_cpus", "none"), "Memory": ("hosting_vm_memory_bytes", "bytes"),
                             "Disks": ("hosting_vm_disks", "none"), "IPs": ("hosting_vm_ips", "none"),
                             "Monitored": ("hosting_vm_monitoring_enabled", "bool_yes_no")}, ["name", "vm_id", "tariff"]),
                  0, 39, 24, 9),
            place(inventory("All containers", "Every container with its limits. In transfer: to another account.", "container",
                            {"Memory limit": ("hosting_container_memory_limit_bytes", "bytes"),
                             "Disk quota": ("hosting_container_disk_quota_bytes", "bytes"),
                             "In transfer": ("hosting_container_in_transfer", "bool_yes_no"),
                             "Created": ("hosting_container_created_timestamp_seconds", "dateTimeAsIso"),
                             "Changed": ("hosting_container_updated_timestamp_seconds", "dateTimeAsIso")},
                            ["name", "login", "server"]), 0, 48, 24, 9),
            place(inventory("All sites", "Every site with its engine. HTTPS is effective only with a certificate.", "site",
                            {"Workers": ("hosting_site_workers", "none"), "HTTPS": ("hosting_site_force_https", "bool_yes_no"),
                             "Certificate": ("hosting_site_certificate", "bool_yes_no"),
                             "Databases": ("hosting_databases", "none"), "Cron jobs": ("hosting_cron_jobs", "none"),
                             "Created": ("hosting_site_created_timestamp_seconds", "dateTimeAsIso"),
                             "Changed": ("hosting_site_updated_timestamp_seconds", "dateTimeAsIso")},
                            ["name", "container", "engine", "engine_version"]), 0, 57, 24, 10),
            place(table("IP addresses", "Every address and the VM that has it.",
                        [query(f"max without (instance, job, ip) (hosting_ip_info{{{A}}} * on (job, instance, account, vm) "
                               "group_left (name) hosting_vm_info)")],
                        {"address": "Address", "name": "VM", "vm": "Id", "account": "Account", "Value": None}, filterable=True,
                        sort=("Address", False), paged=True), 0, 67, 12, 8),
            place(bars("Sites by engine", "How many sites run on each engine.",
                       [query(f"sort_desc(count by (engine, engine_version) ({one('hosting_site_info')}))",
                              "{{engine}} {{engine_version}}")], decimals=0), 12, 67, 8, 8),
            place(stat("SSH keys", "Keys of the account. The collector ssh_keys is off unless it is scheduled: the provider calls "
                       "the interface deprecated.", [query(f"sum({one('hosting_ssh_keys')})")], none="not polled"), 20, 67, 4, 8),
        ]),
    ]
    panels = sectioned(panels, {0: "Now", 4: "By state", 12: "Problems", 30: "Probed from outside"})
    return dashboard("resources", "VMs, containers and sites: how they are, how they were, what there is.", panels,
                     "now-24h", resource=True)


def itself():
    i = 'instance=~"$instance"'
    own = f"and on (job, instance) hostwatch_build_info{{{i}}}"
    ai = f"{A}, {i}"
    panels = [
        place(stat("Version", "The version that runs, on each instance.",
                   [query(f"max by (version, instance) (hostwatch_build_info{{{i}}})", "{{version}}")], name=True), 0, 0, 3, 4),
        place(stat("Scraped", "Whether Prometheus reaches the daemon. Without it everything else stands still.",
                   [query(f"min(up and on (job, instance) last_over_time(hostwatch_build_info{{{i}}}[1d]))")],
                   mappings={"0": ("no", "red"), "1": ("yes", "green")}), 3, 0, 3, 4),
        place(stat("Running for", "Since its start.", [query(f"min(time() - (process_start_time_seconds {own}))")], unit="s",
                   decimals=0), 6, 0, 3, 4),
        place(stat("Configuration", "Whether the last reload was taken over. Refused: the old one stays in force; hostwatch "
                   "check-config says why.",
                   [query(f"min(hostwatch_config_last_reload_successful{{{i}}})")],
                   mappings={"0": ("refused", "orange"), "1": ("in force", "green")}), 9, 0, 3, 4),
        place(stat("Loaded", "When the configuration in force was loaded.",
                   [query(f"max(hostwatch_config_last_reload_success_timestamp_seconds{{{i}}}) * 1000")], unit="dateTimeFromNow"),
              12, 0, 3, 4),
        place(stat("Store", "Whether incidents and mails are kept. In memory only: they are lost if the daemon ends.",
                   [query(f"min(hostwatch_store_usable{{{i}}})")],
                   mappings={"0": ("in memory only", "red"), "1": ("on disk", "green")}), 15, 0, 3, 4),
        place(stat("Heartbeat", "Since the last ping of heartbeat.url, or since the start where none got through. Off: none is configured. "
                   "HostwatchHeartbeatFailing fires past a quarter of an hour.",
                   [query(f"max(time() - (hostwatch_heartbeat_last_success_timestamp_seconds{{{i}}} or process_start_time_seconds "
                          f"and on (job, instance) hostwatch_heartbeat_configured{{{i}}} == 1))")], unit="s", decimals=0,
                   thresholds=[("green", None), ("orange", 900)], none="off"), 18, 0, 3, 4),
        place(stat("Collectors failing", "Those whose last poll failed. HostwatchCollectorFailing fires after 20 minutes.",
                   [query(f"count(hostwatch_collector_success{{{ai}}} == 0 and hostwatch_collector_complete{{{ai}}}) {OR_ZERO}")], thresholds=GREEN_TO_ORANGE), 21, 0, 3, 4),
        place(timeline("Polls", "Whether each collector's last poll succeeded, and showed every row.",
                       [query(f"min by (account, collector) (hostwatch_collector_success{{{ai}}} + "
                              f"hostwatch_collector_complete{{{ai}}})", "{{account}} {{collector}}")],
                       {"0": ("failed", "red"), "1": ("in part", "orange"), "2": ("fine", "green")}), 0, 4, 12, 9),
        place(timeseries("Age of readings", "How old what is shown is. HostwatchReadingsOld fires past an hour; collectors that "
                         "poll daily may be a day old.",
                         [query(f"time() - max by (account, collector) (hostwatch_collector_last_success_timestamp_seconds{{{ai}}})",
                                "{{account}} {{collector}}")], unit="s"), 12, 4, 12, 9),
        place(timeseries("Duration of polls", "How long the last poll of each collector took.",
                         [query(f"max by (account, collector) (hostwatch_collector_duration_seconds{{{ai}}})",
                                "{{account}} {{collector}}")], unit="s"), 0, 13, 8, 8),
        place(timeseries("Polls by result", "Polls, of each span that is drawn. Partial: some rows could not be had or decoded.",
                         [query(f"sum by (result) (increase(hostwatch_collector_polls_total{{{ai}}}[$__rate_interval]))", "{{result}}")],
                         decimals=0, colours=[("failure", "red"), ("partial", "orange"), ("success", "green")]), 8, 13, 8, 8),
        place(timeseries("Not understood", "Records without an id or a state, and values that the provider's documentation does "
                         "not list or that are of another type than it says, by field; reports that do not add up.",
                         [query(f"sum by (collector) (increase(hostwatch_records_rejected_total{{{ai}}}[$__rate_interval]))",
                                "records of {{collector}}"),
                          query(f"sum by (field) (increase(hostwatch_unknown_values_total{{{ai}}}[$__rate_interval]))",
                                "values of {{field}}"),
                          query(f"sum by (account) (increase(hostwatch_reports_inconsistent_total{{{ai}}}[$__rate_interval]))",
                                "reports of {{account}} that do not add up")], decimals=0), 16, 13, 8, 8),
        place(timeseries("Requests to the provider", "By endpoint group and status code, or what happened in its place, of each span that is drawn.",
                         [query(f"sum by (group, code) (increase(hostwatch_api_requests_total{{{ai}}}[$__rate_interval]))",
                                "{{group}} {{code}}")], decimals=0), 0, 21, 6, 8),
        place(timeseries("Requests that fail", "The share of requests that did not bring 200, over 5 minutes." + NEEDS,
                         [query(f"max by (account, group) (account_group:hostwatch_api_requests_failed:ratio_rate5m{{{A}}})",
                                "{{account}} {{group}}")], unit="percentunit", top=1), 6, 21, 6, 8),
        place(timeseries("Answer times", "What 95 % and half of the requests take at most. 30 s is the time out.",
                         [query("histogram_quantile(0.95, sum by (le, group) (rate(hostwatch_api_request_duration_seconds_bucket"
                                f"{{{ai}}}[$__rate_interval])))", "{{group}} 95 %"),
                          query("histogram_quantile(0.5, sum by (le, group) (rate(hostwatch_api_request_duration_seconds_bucket"
                                f"{{{ai}}}[$__rate_interval])))", "{{group}} half")], unit="s"), 12, 21, 6, 8),
        place(timeseries("Waiting for the call budget", "Seconds a second that requests wait because of [limits]. Where it stays "
                         "up, polls take longer than they need to.",
                         [query(f"sum by (account, group) (rate(hostwatch_api_throttled_seconds_total{{{ai}}}[$__rate_interval]))",
                                "{{account}} {{group}}")], unit="s"), 18, 21, 6, 8),
        place(timeseries("Deliveries", "Attempts to deliver a mail to one recipient, by result. Dead: given up.",
                         [query(f"sum by (result) (increase(hostwatch_notifications_total{{{i}}}[$__rate_interval]))", "{{result}}")],
                         decimals=0, colours=[("dead", "red"), ("retry", "orange"), ("sent", "green")]), 0, 29, 6, 8),
        place(timeseries("Outbox", "Mails by state, one a recipient.",
                         [query(f"sum by (state) (hostwatch_outbox_messages{{{i}}})", "{{state}}")], steps=True, decimals=0,
                         colours=[("dead", "red"), ("queued", "orange")]), 6, 29, 6, 8),
        place(timeseries("Oldest mail that waits", "For how long it has waited; nothing while none waits. HostwatchMailsStuck fires "
                         "past half an hour.",
                         [query(f"time() - hostwatch_outbox_oldest_timestamp_seconds{{{i}}}", "{{instance}}")], unit="s",
                         thresholds=[("green", None), ("red", 1800)]), 12, 29, 6, 8),
        place(timeseries("Incidents", "Open ones, by state. Pending and watching ones are not open yet: no mail.",
                         [query(f"sum by (state) (hostwatch_incidents{{{ai}}})", "{{state}}")], steps=True, decimals=0), 18, 29, 6, 8),
        place(timeseries("Loops", "How long ago each part of the daemon last ran. HostwatchLoopStuck fires past 20 minutes; "
                         "systemd's watchdog starts the daemon anew before.",
                         [query(f"time() - hostwatch_loop_last_run_timestamp_seconds{{{i}}}", "{{instance}} {{loop}}")], unit="s",
                         thresholds=[("green", None), ("red", 1200)]), 0, 37, 8, 8),
        place(timeseries("Series left out", "What max_series_per_collector leaves out of the metrics, whole resources at a time. "
                         "Mails and status page know them all.",
                         [query(f"max by (account, collector) (hostwatch_series_dropped{{{ai}}})", "{{account}} {{collector}}")],
                         steps=True, decimals=0), 8, 37, 8, 8),
        place(text("Where to look", "Where the log, the outbox and the explanations are.",
                   "- **Collector failing**: *Requests to the provider* shows what it answers; the reason is on the "
                   f"[status page]({PAGE}#freshness).\n"
                   "- **Mails waiting**: `hostwatch outbox` shows the mail server's last answer.\n"
                   "- **Reload refused**: `hostwatch check-config`.\n"
                   "- What each alert means: "
                   "[docs/alerts.md](https://github.com/hostwatch/hostwatch/blob/main/docs/alerts.md#from-prometheus-about-hostwatch-itself)."),
              16, 37, 8, 8),
        place(timeseries("Memory", "Resident, and the address space.",
                         [query(f"process_resident_memory_bytes {own}", "{{instance}} resident"),
                          query(f"process_virtual_memory_bytes {own}", "{{instance}} virtual")], unit="bytes"), 0, 45, 8, 8),
        place(timeseries("CPU", "Seconds a second, user and system.",
                         [query(f"rate(process_cpu_seconds_total[$__rate_interval]) {own}", "{{instance}}")], unit="percentunit"),
              8, 45, 8, 8),
        place(timeseries("File descriptors and threads", "Open descriptors beside their limit, and threads.",
                         [query(f"process_open_fds {own}", "{{instance}} open"), query(f"process_max_fds {own}", "{{instance}} limit"),
                          query(f"process_threads {own}", "{{instance}} threads")], decimals=0, log=True), 16, 45, 8, 8),
    ]
    panels = sectioned(panels, {0: "The daemon", 4: "Polls", 21: "Requests to the provider", 29: "Mails and incidents", 37: "Inside", 45: "The process"})
    return dashboard("self", "Whether what the others show can be trusted: polls, requests, mails, the "
                     "process.", panels, "now-6h", instance=True)


def main():
    folder = pathlib.Path(__file__).parent
    stale = []
    for name, made in (("overview", overview()), ("billing", billing()), ("resources", resources()), ("hostwatch", itself())):
        path, written = folder / f"{name}.json", json.dumps(made, indent=2, ensure_ascii=False) + "\n"
        if "--check" not in sys.argv:
            path.write_text(written)
        elif not path.exists() or path.read_text() != written:
            stale.append(path.name)
    if stale:
        sys.exit(f"not as dashboards/build.py says, run it: {', '.join(stale)}")


if __name__ == "__main__":
    main()
