"""Parts of Grafana dashboards as current Grafana writes them (schema 42): panels, links, variables."""

import itertools
import re
import string

DATASOURCE = {"type": "prometheus", "uid": "${datasource}"}
SCHEMA = 42
DOCS = "https://github.com/hostwatch/hostwatch/blob/main/docs"
DASHBOARDS = {"overview": "Overview", "billing": "Billing", "resources": "Resources", "self": "Itself"}
METRIC = r"\b((?:hosting|hostwatch|process)_\w+|account\w*:\w+:\w+|up)\b(?! *[=(])(\{)?"

# Thresholds as (colour, from). Red is critical, orange a warning, blue information, as the alerts have it.
PLAIN = [("text", None)]
GREEN_TO_RED = [("green", None), ("red", 1)]
GREEN_TO_ORANGE = [("green", None), ("orange", 1)]
AGE = [("green", None), ("orange", 1200), ("red", 3600)]
# Colours of states, by the beginning of their name.
BROKEN = [("error|blocked|Error|StoppedBy.+|DISABLED_BY_.+", "red"),
          ("pending|building|Building|Starting|Stopping|Restarting|Updating|Backuping|Restoring", "blue"),
          ("active|Active|ENABLED", "green"), ("stopped|Stopped", "text")]
# Past this no date is meant: the account is paid for as far as the report looks.
NOT_EXPECTED = {"type": "range", "options": {"from": 99000, "to": None, "result": {"text": "not expected", "color": "green", "index": 0}}}


def steps(thresholds):
    return {"mode": "absolute", "steps": [{"color": colour, "value": value} for colour, value in thresholds]}


def named(mappings):
    options = {value: {"text": words, "color": colour, "index": index}
               for index, (value, (words, colour)) in enumerate(mappings.items())}
    return [{"type": "value", "options": options}]


def link(title, url):
    return {"title": title, "url": url, "targetBlank": not url.startswith("/")}


def to_dashboard(name, more="", title=None):
    """A link that takes time and variables along."""
    return link(title or DASHBOARDS[name], f"/d/hostwatch-{name}?${{__url_time_range}}&${{datasource:queryparam}}&"
                f"${{job:queryparam}}&${{account:queryparam}}&${{status_url:queryparam}}{more}")


def of_job(expression):
    """The same of the chosen job: a matcher in every selector."""
    return re.sub(METRIC, lambda found: found[1] + '{job=~"$job"' + (", " if found[2] else "}"), expression)


def query(expression, legend="", colour=None, instant=False):
    """With a colour: what this query gives is shown in it. Instant: of the end of the time range alone."""
    return {"expr": of_job(expression), "legendFormat": legend, "colour": colour, "instant": instant}


def targets(queries, table=False):
    return [{"datasource": DATASOURCE, "editorMode": "code", "expr": each["expr"],
             "format": "table" if table else "time_series", "instant": table or each["instant"], "range": not (table or each["instant"]),
             "legendFormat": each["legendFormat"] or "__auto", "refId": letter}
            for letter, each in zip(string.ascii_uppercase, queries)]


def coloured(queries):
    return [{"matcher": {"id": "byFrameRefID", "options": letter},
             "properties": [{"id": "color", "value": {"mode": "fixed", "fixedColor": each["colour"]}}]}
            for letter, each in zip(string.ascii_uppercase, queries) if each["colour"]]


def panel(kind, title, description, queries, options, defaults, overrides=(), table=False, transformations=()):
    made = {"type": kind, "title": title, "description": description, "datasource": DATASOURCE,
            "fieldConfig": {"defaults": defaults, "overrides": [*overrides, *coloured(queries)]}, "options": options,
            "targets": targets(queries, table)}
    if transformations:
        made["transformations"] = list(transformations)
    return made


def place(made, x, y, w, h):
    return {**made, "gridPos": {"x": x, "y": y, "w": w, "h": h}}


def field(unit, decimals=None, thresholds=PLAIN, mode="thresholds", mappings=(), links=(), none=None):
    made = {"unit": unit, "color": {"mode": mode}, "thresholds": steps(thresholds), "mappings": list(mappings),
            "links": list(links)}
    if decimals is not None:
        made["decimals"] = decimals
    if none is not None:
        made["noValue"] = none
    return made


REDUCED = {"calcs": ["lastNotNull"], "fields": "", "values": False}


def stat(title, description, queries, unit="none", decimals=None, thresholds=PLAIN, links=(), mappings=None, none="unknown",
         graph=False, name=False, ranges=()):
    plain = thresholds is PLAIN and not mappings and not any(each["colour"] for each in queries)
    options = {"colorMode": "value" if plain else "background_solid", "graphMode": "area" if graph else "none",
               "justifyMode": "auto", "orientation": "auto", "percentChangeColorMode": "standard",
               "reduceOptions": REDUCED, "showPercentChange": False, "textMode": "name" if name else "auto",
               "wideLayout": True}
    return panel("stat", title, description, queries, options,
                 field(unit, decimals, thresholds, mappings=named(mappings) if mappings else ranges, links=links, none=none))


def bars(title, description, queries, unit="none", decimals=None, thresholds=None):
    options = {"displayMode": "basic", "legend": legend(False), "maxVizHeight": 40, "minVizHeight": 16, "minVizWidth": 8,
               "namePlacement": "left", "orientation": "horizontal", "reduceOptions": REDUCED, "showUnfilled": True,
               "sizing": "auto", "valueMode": "color"}
    colours = thresholds or [("blue", None)]
    return panel("bargauge", title, description, queries, options, {**field(unit, decimals, colours, none="unknown"), "min": 0})


def legend(shown):
    return {"calcs": [], "displayMode": "list", "placement": "bottom", "showLegend": shown}


TOOLTIP = {"hideZeros": False, "mode": "multi", "sort": "desc"}


def timeseries(title, description, queries, unit="none", decimals=None, thresholds=None, steps=False, stacked=False, floor=0,
               top=None, colours=(), log=False, dashed=()):
    custom = {"drawStyle": "line", "lineInterpolation": "stepAfter" if steps else "linear", "lineWidth": 2 if thresholds else 1,
              "fillOpacity": 25 if stacked else 8, "gradientMode": "none", "showPoints": "never", "spanNulls": False,
              "stacking": {"mode": "normal" if stacked else "none", "group": "A"},
              "thresholdsStyle": {"mode": "line+area" if thresholds else "off"}}
    if log:
        custom["scaleDistribution"] = {"type": "log", "log": 10}
        floor = None
    defaults = {**field(unit, decimals, thresholds or PLAIN, mode="palette-classic"), "custom": custom}
    if floor is not None:
        defaults["min"] = floor
    if top is not None:
        defaults["max"] = top
    overrides = [{"matcher": {"id": "byRegexp", "options": f"/^({names})$/"},
                  "properties": [{"id": "color", "value": {"mode": "fixed", "fixedColor": colour}}]}
                 for names, colour in colours]
    overrides += [{"matcher": {"id": "byFrameRefID", "options": letter},
                   "properties": [{"id": "custom.lineStyle", "value": {"fill": "dash", "dash": [10, 10]}},
                                  {"id": "custom.fillOpacity", "value": 0}]} for letter in dashed]
    return panel("timeseries", title, description, queries, {"legend": legend(True), "tooltip": TOOLTIP}, defaults, overrides)


def timeline(title, description, queries, mappings):
    options = {"alignValue": "left", "legend": legend(False), "mergeValues": True, "rowHeight": 0.85, "showValue": "never",
               "tooltip": {**TOOLTIP, "mode": "single", "sort": "none"}}
    defaults = {**field("none", mappings=named(mappings)), "custom": {"fillOpacity": 80, "lineWidth": 0}}
    return panel("state-timeline", title, description, queries, options, defaults)


def table(title, description, queries, columns, fields=None, colours=None, links=None, sort=None, filterable=False, paged=False,
          mappings=None):
    """A table of instant queries. `columns`: label or value to its title in this order, None to leave it out."""
    overrides = []
    wanted = [name for name in columns.values() if name]
    for column in wanted:
        properties = []
        if column in (fields or {}):
            unit, decimals, thresholds = fields[column]
            properties.append({"id": "unit", "value": unit})
            if decimals is not None:
                properties.append({"id": "decimals", "value": decimals})
            if thresholds:
                properties += [{"id": "thresholds", "value": steps(thresholds)},
                               {"id": "custom.cellOptions", "value": {"type": "color-text"}}]
        if column in (mappings or {}):
            properties += [{"id": "mappings", "value": mappings[column]},
                           {"id": "custom.cellOptions", "value": {"type": "color-text"}}]
        if column in (colours or {}):
            properties += [{"id": "mappings", "value": [
                {"type": "regex", "options": {"pattern": f"^({names})$", "result": {"color": colour, "index": index}}}
                for index, (names, colour) in enumerate(colours[column])]},
                           {"id": "custom.cellOptions", "value": {"type": "color-text"}}]
        if column in (links or {}):
            properties.append({"id": "links", "value": links[column]})
        if properties:
            overrides.append({"matcher": {"id": "byName", "options": column}, "properties": properties})
    hidden = {"Time": True, **{name: True for name, title in columns.items() if not title}}
    order = {name: index for index, name in enumerate(name for name, title in columns.items() if title)}
    transformations = [{"id": "merge", "options": {}}] if len(queries) > 1 else []
    transformations.append({"id": "organize", "options": {
        "excludeByName": hidden, "includeByName": {}, "indexByName": order,
        "renameByName": {name: title for name, title in columns.items() if title}}})
    custom = {"align": "auto", "cellOptions": {"type": "auto"}, "filterable": filterable, "inspect": False}
    options = {"cellHeight": "sm", "enablePagination": paged, "frameIndex": 0, "showHeader": True,
               "sortBy": [{"displayName": sort[0], "desc": sort[1]}] if sort else []}
    return panel("table", title, description, queries, options, {**field("none"), "custom": custom}, overrides, True,
                 transformations)


def text(title, description, content):
    return {"type": "text", "title": title, "description": description,
            "options": {"mode": "markdown", "content": content}, "fieldConfig": {"defaults": {}, "overrides": []}}


def collapsed(title, y, panels):
    return {"type": "row", "title": title, "collapsed": True, "panels": panels,
            "gridPos": {"x": 0, "y": y, "w": 24, "h": 1}}


def sectioned(panels, sections):
    """Panels below headings: each section begins at a height of the panels as they were placed without them."""
    made = []
    for index, (height, title) in enumerate(sections.items()):
        made.append({"type": "row", "title": title, "collapsed": False, "panels": [],
                     "gridPos": {"x": 0, "y": height + index, "w": 24, "h": 1}})
    for each in panels:
        down = sum(height <= each["gridPos"]["y"] for height in sections)
        for moved in (each, *each.get("panels", ())):
            moved["gridPos"]["y"] += down
    return sorted([*made, *panels], key=lambda each: (each["gridPos"]["y"], each["gridPos"]["x"]))


def variable(name, label, metric, every=".*"):
    values = f"label_values({of_job(metric)}, {name})" if name != "job" else f"label_values({metric}, {name})"
    return {"name": name, "label": label, "type": "query", "datasource": DATASOURCE,
            "query": {"qryType": 1, "query": values, "refId": name}, "current": {"text": ["All"], "value": ["$__all"]},
            "includeAll": True, "allValue": every, "multi": True, "options": [], "refresh": 2, "regex": "", "sort": 1, "hide": 0}


def page_variable():
    """Where people reach the page: the daemon's own external_url, else the address at which it is scraped."""
    found = of_job('label_replace(hostwatch_web_info, "url", "$1", "external_url", "(.+)") or on () '
                   'label_replace(hostwatch_build_info, "url", "http://$1", "instance", "(.+)")')
    return {"name": "status_url", "label": "Status page", "type": "query", "datasource": DATASOURCE,
            "query": {"qryType": 3, "query": f"query_result(topk(1, {found}))", "refId": "status_url"},
            "regex": '/url="([^"]+)"/', "current": {"text": "", "value": ""}, "includeAll": False, "multi": False, "options": [], "refresh": 2,
            "sort": 0, "hide": 0, "description": "web.external_url of the daemon; without it the address at which it is scraped."}


def variables(instance, resource):
    made = [{"name": "datasource", "label": "Data source", "type": "datasource", "query": "prometheus",
             "includeAll": False, "multi": False, "options": [], "refresh": 1, "regex": "", "hide": 0},
            variable("job", "Job", "hostwatch_build_info", ".+"),
            variable("account", "Account", "hostwatch_collector_polls_total")]
    if instance:
        made.append(variable("instance", "Instance", "hostwatch_build_info", ".+"))
    if resource:
        made.append({**variable("name", "Resource", 'hosting_vm_info{account=~"$account"}'), "name": "resource", "query": {
            "qryType": 3, "refId": "resource", "query": "query_result(count by (name) (" + " or ".join(
                of_job(f'hosting_{kind}_info{{account=~"$account"}}') for kind in ("vm", "container", "site")) + "))"},
            "regex": '/name="([^"]+)"/'})
    return [*made, page_variable()]


def annotation(name, colour, expression, title, tags, at_value=False):
    """What Prometheus knows of, drawn into every panel: a point, or a span while it lasts."""
    return {"name": name, "datasource": DATASOURCE, "enable": True, "hide": False, "iconColor": colour,
            "expr": of_job(expression), "step": "60s", "titleFormat": title, "tagKeys": tags, "textFormat": "",
            "useValueForTime": at_value}


def annotations():
    account = 'account=~"$account"'
    return [
        annotation("Incidents, from opened to over", "red",
                   f'sum by (account, kind, severity) (max without (instance) (hostwatch_incidents{{{account}, state=~"firing|recovering"}})) > 0',
                   "{{severity}}: {{kind}}", "account,kind,severity"),
        annotation("Restarts of hostwatch", "blue",
                   "max by (instance) (process_start_time_seconds and on (job, instance) hostwatch_build_info) * 1000",
                   "hostwatch started", "instance", True),
        annotation("Payments", "green",
                   f"max by (account) (delta(hosting_billing_balance{{{account}}}[$__rate_interval])) > 0",
                   "balance rose", "account"),
    ]


def navigation(name):
    made = []
    entries = [(title, f"/d/hostwatch-{other}", "dashboard", True)
               for other, title in DASHBOARDS.items() if other != name]
    entries += [("Status page", "${status_url:raw}/", "external link", False), ("Metrics", f"{DOCS}/metrics.md", "doc", False),
                ("Alerts", f"{DOCS}/alerts.md", "doc", False)]
    for title, url, icon, ours in entries:
        made.append({"title": title, "type": "link", "icon": icon, "url": url, "targetBlank": not ours, "asDropdown": False,
                     "includeVars": ours, "keepTime": ours, "tags": [], "tooltip": ""})
    return made


def dashboard(name, description, panels, since, instance=False, resource=False):
    numbers = itertools.count(1)
    for made in panels:
        made["id"] = next(numbers)
        for within in made.get("panels", ()):
            within["id"] = next(numbers)
    return {"uid": f"hostwatch-{name}", "title": f"Hostwatch / {DASHBOARDS[name]}",
            "description": description, "tags": ["hostwatch"],
            "schemaVersion": SCHEMA, "id": None, "editable": False, "graphTooltip": 1, "refresh": "1m",
            "time": {"from": since, "to": "now"}, "timezone": "browser", "weekStart": "", "fiscalYearStartMonth": 0,
            "annotations": {"list": [{"builtIn": 1, "datasource": {"type": "grafana", "uid": "-- Grafana --"}, "enable": True,
                                      "hide": True, "iconColor": "rgba(0, 211, 255, 1)", "name": "Annotations & Alerts",
                                      "type": "dashboard"}, *annotations()]},
            "links": navigation(name), "templating": {"list": variables(instance, resource)}, "panels": panels}
