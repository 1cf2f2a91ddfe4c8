"""Parts of Grafana dashboards as current Grafana writes them (schema 42): panels, links, variables."""

import itertools
import string

DATASOURCE = {"type": "prometheus", "uid": "${datasource}"}
SCHEMA = 42
DOCS = "https://github.com/hostwatch/hostwatch/blob/main/docs"
DASHBOARDS = {"overview": "Overview", "billing": "Billing", "resources": "Resources", "self": "hostwatch itself"}

# Thresholds as (colour, from). Red is critical, orange a warning, blue information, as the alerts have it.
PLAIN = [("text", None)]
GREEN_TO_RED = [("green", None), ("red", 1)]
GREEN_TO_ORANGE = [("green", None), ("orange", 1)]
DAYS = [("red", None), ("orange", 4), ("blue", 14), ("green", 30)]
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


def to_dashboard(name):
    """A link that takes time and variables along."""
    return link(DASHBOARDS[name], f"/d/hostwatch-{name}?${{__url_time_range}}&${{datasource:queryparam}}&"
                "${account:queryparam}&${status_url:queryparam}")


def query(expression, legend=""):
    return {"expr": expression, "legendFormat": legend}


def targets(queries, table=False):
    return [{"datasource": DATASOURCE, "editorMode": "code", "expr": each["expr"],
             "format": "table" if table else "time_series", "instant": table, "range": not table,
             "legendFormat": each["legendFormat"] or "__auto", "refId": letter}
            for letter, each in zip(string.ascii_uppercase, queries)]


def panel(kind, title, description, queries, options, defaults, overrides=(), table=False, transformations=()):
    made = {"type": kind, "title": title, "description": description, "datasource": DATASOURCE,
            "fieldConfig": {"defaults": defaults, "overrides": list(overrides)}, "options": options,
            "targets": targets(queries, table)}
    if transformations:
        made["transformations"] = list(transformations)
    return made


def place(made, x, y, w, h):
    return {**made, "gridPos": {"x": x, "y": y, "w": w, "h": h}}


def field(unit, decimals=None, thresholds=PLAIN, mode="thresholds", mappings=(), links=(), none=None):
    made = {"unit": unit, "color": {"mode": mode}, "thresholds": steps(thresholds), "mappings": list(mappings),
            "links": list(links)}
    if thresholds is DAYS:
        made["mappings"] = [NOT_EXPECTED]
    if decimals is not None:
        made["decimals"] = decimals
    if none is not None:
        made["noValue"] = none
    return made


REDUCED = {"calcs": ["lastNotNull"], "fields": "", "values": False}


def stat(title, description, queries, unit="none", decimals=None, thresholds=PLAIN, links=(), mappings=None, none="unknown",
         graph=False, name=False):
    plain = thresholds is PLAIN and not mappings
    options = {"colorMode": "value" if plain else "background_solid", "graphMode": "area" if graph else "none",
               "justifyMode": "auto", "orientation": "auto", "percentChangeColorMode": "standard",
               "reduceOptions": REDUCED, "showPercentChange": False, "textMode": "name" if name else "auto",
               "wideLayout": True}
    return panel("stat", title, description, queries, options,
                 field(unit, decimals, thresholds, mappings=named(mappings) if mappings else (), links=links, none=none))


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
               top=None, colours=(), log=False):
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
    return panel("timeseries", title, description, queries, {"legend": legend(True), "tooltip": TOOLTIP}, defaults, overrides)


def timeline(title, description, queries, mappings):
    options = {"alignValue": "left", "legend": legend(False), "mergeValues": True, "rowHeight": 0.85, "showValue": "never",
               "tooltip": {**TOOLTIP, "mode": "single", "sort": "none"}}
    defaults = {**field("none", mappings=named(mappings)), "custom": {"fillOpacity": 80, "lineWidth": 0}}
    return panel("state-timeline", title, description, queries, options, defaults)


def table(title, description, queries, columns, fields=None, colours=None, links=None, sort=None, filterable=False, paged=False):
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
            if thresholds is DAYS:
                properties.append({"id": "mappings", "value": [NOT_EXPECTED]})
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


def variable(name, label, metric):
    values = f"label_values({metric}, {name})"
    return {"name": name, "label": label, "type": "query", "datasource": DATASOURCE,
            "query": {"qryType": 1, "query": values, "refId": name}, "current": {"text": ["All"], "value": ["$__all"]},
            "includeAll": True, "allValue": ".*", "multi": True, "options": [], "refresh": 2, "regex": "", "sort": 1, "hide": 0}


def variables(instance):
    page = "http://127.0.0.1:10245"
    made = [{"name": "datasource", "label": "Data source", "type": "datasource", "query": "prometheus",
             "includeAll": False, "multi": False, "options": [], "refresh": 1, "regex": "", "hide": 0},
            variable("account", "Account", "hostwatch_collector_polls_total")]
    if instance:
        made.append(variable("instance", "Instance", "hostwatch_build_info"))
    made.append({"name": "status_url", "label": "Status page", "type": "textbox", "query": page, "hide": 0,
                 "description": "Address of hostwatch's status page, as your browser reaches it, without a slash at the end.",
                 "current": {"text": page, "value": page}, "options": [{"selected": True, "text": page, "value": page}]})
    return made


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


def dashboard(name, title, description, panels, since, instance=False):
    numbers = itertools.count(1)
    for made in panels:
        made["id"] = next(numbers)
        for within in made.get("panels", ()):
            within["id"] = next(numbers)
    return {"uid": f"hostwatch-{name}", "title": f"hostwatch: {title}" if name != "self" else title,
            "description": description, "tags": ["hostwatch"],
            "schemaVersion": SCHEMA, "id": None, "editable": True, "graphTooltip": 1, "refresh": "1m",
            "time": {"from": since, "to": "now"}, "timezone": "browser", "weekStart": "", "fiscalYearStartMonth": 0,
            "annotations": {"list": [{"builtIn": 1, "datasource": {"type": "grafana", "uid": "-- Grafana --"}, "enable": True,
                                      "hide": True, "iconColor": "rgba(0, 211, 255, 1)", "name": "Annotations & Alerts",
                                      "type": "dashboard"}]},
            "links": navigation(name), "templating": {"list": variables(instance)}, "panels": panels}
