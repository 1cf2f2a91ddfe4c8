"""Draws a dashboard as an SVG from what its queries give: each panel in its place, with its unit and colours.

Not what Grafana draws: a picture for docs/dashboards.md where no Grafana is at hand. `.ci/dashboards BINARY --draw` calls
it with a real Prometheus.
"""

import datetime
import html
import re

COLUMN, ROW, GAP, MARGIN = 50, 34, 6, 12
COLOURS = {"red": "#d1242f", "orange": "#e8710a", "blue": "#1f6feb", "green": "#1a7f37", "text": "#24292f",
           "transparent": "#24292f"}
PALETTE = ["#1f6feb", "#1a7f37", "#e8710a", "#8250df", "#0a7ea4", "#d1242f", "#9a6700", "#57606a"]


def shown(value, field):
    """A value in its unit, or in the words of a mapping: (text, colour)."""
    colour = None
    for step in field.get("thresholds", {}).get("steps", ()):
        if step["value"] is None or value >= step["value"]:
            colour = step["color"]
    for mapping in field.get("mappings", ()):
        options = mapping["options"]
        if mapping["type"] == "value" and (found := options.get(f"{value:g}")):
            return found["text"], found.get("color")
        if mapping["type"] == "range" and value >= options["from"]:
            return options["result"]["text"], options["result"]["color"]
    return in_unit(value, field.get("unit", "none"), field.get("decimals")), colour


def in_unit(value, unit, decimals):
    if unit.startswith("dateTime"):
        return datetime.datetime.fromtimestamp(value / 1000, datetime.timezone.utc).strftime("%Y-%m-%d %H:%M")
    if unit == "s":
        return next((f"{value / size:.{0 if size == 1 else 1}f} {name}" for size, name in ((86400, "d"), (3600, "h"), (60, "min"))
                     if abs(value) >= size), f"{value:.3g} s")
    if unit == "bytes":
        return next((f"{value / size:.1f} {name}" for size, name in ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"))
                     if value >= size), f"{value:.0f} B")
    if unit == "percentunit":
        return f"{value * 100:.1f} %"
    if unit == "bool_yes_no":
        return "yes" if value else "no"
    if decimals is None:
        decimals = 0 if value % 1 == 0 or abs(value) >= 100 else 1 if abs(value) >= 1 else 2
    plain = f"{value:,.{decimals}f}"
    return plain.replace(",", " ") + {"suffix: days": " days", "d": " days"}.get(unit, "")


def named(series, legend):
    if legend == "__auto":
        return ", ".join(value for name, value in series["metric"].items() if name != "__name__") or "value"
    return re.sub(r"\{\{(\w+)\}\}", lambda found: series["metric"].get(found[1], ""), legend)


def text(x, y, words, size=11, colour="#24292f", anchor="start", weight="normal"):
    return (f'<text x="{x:.0f}" y="{y:.0f}" font-size="{size}" fill="{colour}" text-anchor="{anchor}" '
            f'font-weight="{weight}">{html.escape(words)}</text>')


def cut(words, width, size=11):
    most = max(3, int(width / (size * 0.56)))
    return words if len(words) <= most else words[:most - 1] + "…"


class Panel:
    """A panel, and what its queries gave."""

    def __init__(self, panel, ask, end):
        self.panel, self.field = panel, panel.get("fieldConfig", {}).get("defaults")
        self.title, place = panel["title"], panel["gridPos"]
        self.x, self.y = MARGIN + place["x"] * COLUMN, MARGIN + 40 + place["y"] * ROW
        self.w, self.h = place["w"] * COLUMN - GAP, place["h"] * ROW - GAP
        self.given = [(target, series) for target in panel.get("targets", ()) for series in ask(target["expr"])
                      if not target["instant"] or series["values"][-1][0] > end - 1.5]

    def override(self, matcher, options):
        return {one["id"]: one["value"] for each in self.panel["fieldConfig"]["overrides"]
                if each["matcher"] == {"id": matcher, "options": options} for one in each["properties"]}

    def colour_of(self, target):
        fixed = self.override("byFrameRefID", target["refId"]).get("color", {}).get("fixedColor")
        return COLOURS.get(fixed, fixed)

    def svg(self):
        if self.panel["type"] == "row":
            return [text(self.x, self.y + 21, "▾ " + self.title, 14, weight="bold")]
        frame = (f'<rect x="{self.x}" y="{self.y}" width="{self.w}" height="{self.h}" rx="3" fill="#ffffff" stroke="#d0d7de"/>')
        body = {"stat": self.stat, "bargauge": self.bars, "table": self.table, "timeseries": self.lines,
                "state-timeline": self.timeline, "text": self.words}[self.panel["type"]]()
        return [frame, text(self.x + 8, self.y + 17, cut(self.title, self.w - 16, 12), 12, weight="bold"), *body]

    def last(self):
        for target, series in self.given:
            values = [float(value) for _, value in series["values"] if value != "NaN"]
            yield target, series, values[-1]

    def stat(self):
        found = list(self.last())[:3]
        if not found:
            return [text(self.x + self.w / 2, self.y + self.h / 2 + 14, self.field.get("noValue", "no data"), 18, "#57606a", "middle")]
        made, room = [], (self.h - 26) / len(found)
        for index, (target, series, value) in enumerate(found):
            words, colour = shown(value, self.field)
            if self.panel["options"]["textMode"] == "name":
                words = named(series, target["legendFormat"])
            colour = self.colour_of(target) or COLOURS.get(colour, "#24292f")
            top, several = self.y + 24 + room * index, len(found) > 1
            made.append(text(self.x + self.w / 2, top + room / 2 + 8, cut(words, self.w - 12, 22), 15 if several else 22, colour, "middle", "bold"))
            legend = named(series, target["legendFormat"]).strip()
            if legend and target["legendFormat"] != "__auto" and self.panel["options"]["textMode"] != "name":
                made.append(text(self.x + self.w / 2, top + room / 2 + 22, cut(legend, self.w - 12, 10), 10, "#57606a", "middle"))
        return made

    def bars(self):
        found = list(self.last())[:8]
        top = max([value for _, _, value in found] or [1]) or 1
        made, room = [], (self.h - 30) / max(1, len(found))
        for index, (target, series, value) in enumerate(found):
            words, colour = shown(value, self.field)
            y = self.y + 26 + room * index
            made += [text(self.x + 8, y + 11, cut(named(series, target["legendFormat"]), self.w * 0.6, 10), 10, "#57606a"),
                     f'<rect x="{self.x + 8}" y="{y + 14:.0f}" width="{max(2, (self.w - 90) * max(0, value) / top):.0f}" '
                     f'height="{min(14, room - 16):.0f}" fill="{COLOURS.get(colour, "#1f6feb")}"/>',
                     text(self.x + self.w - 8, y + 24, words, 11, anchor="end")]
        return made

    def table(self):
        organised = next(one["options"] for one in self.panel["transformations"] if one["id"] == "organize")
        several, rows = len(self.panel["targets"]) > 1, []
        for target, series in self.given:
            name = f"Value #{target['refId']}" if several else "Value"
            labels = {key: value for key, value in series["metric"].items() if key != "__name__"}
            same = [row for row in rows if name not in row and all(row.get(key, value) == value for key, value in labels.items())]
            for row in same or [rows.append({}) or rows[-1]]:
                row.update(labels, **{name: float(series["values"][-1][1])})
        names = sorted((name for name in organised["renameByName"]), key=lambda name: organised["indexByName"].get(name, 99))
        names = [name for name in names if any(name in row for row in rows)]
        made, width = [], (self.w - 16) / max(1, len(names))
        for column, name in enumerate(names):
            title = organised["renameByName"][name]
            over = self.override("byName", title)
            field = {**self.field, **over, "thresholds": over.get("thresholds", {})}
            made.append(text(self.x + 8 + column * width, self.y + 36, cut(title, width, 11), 11, "#57606a", weight="bold"))
            for index, row in enumerate(self.sorted(rows, organised)[:int((self.h - 44) / 18)]):
                value, colour = row.get(name, ""), None
                if isinstance(value, float):
                    value, colour = shown(value, field)
                for mapping in over.get("mappings", ()):
                    if mapping["type"] == "regex" and re.search(mapping["options"]["pattern"], value):
                        colour = mapping["options"]["result"]["color"]
                        break
                made.append(text(self.x + 8 + column * width, self.y + 54 + 18 * index, cut(value, width - 4), 11, COLOURS.get(colour, "#24292f")))
        return made or [text(self.x + 8, self.y + 40, "nothing", 11, "#57606a")]

    def sorted(self, rows, organised):
        by = self.panel["options"]["sortBy"]
        if not by:
            return rows
        name = next((old for old, new in organised["renameByName"].items() if new == by[0]["displayName"]), "")
        have = [row for row in rows if name in row]
        return sorted(have, key=lambda row: row[name], reverse=by[0]["desc"]) + [row for row in rows if name not in row]

    def lines(self):
        left, right, top, bottom = self.x + 58, self.x + self.w - 10, self.y + 28, self.y + self.h - 40
        points = [[(moment, float(value)) for moment, value in series["values"] if value not in ("NaN", "+Inf")] for _, series in self.given]
        # Of days so many mean that none is expected.
        most = 99000 if self.field["unit"] == "suffix: days" else float("inf")
        values = [value for line in points for _, value in line if value < most]
        times = [moment for line in points for moment, _ in line]
        if not values:
            return [text(self.x + self.w / 2, self.y + self.h / 2, "no data", 12, "#57606a", "middle")]
        low, high = min([*values, *[self.field[key] for key in ("min",) if key in self.field]]), max(values)
        high, begin, end = high if high > low else low + 1, min(times), max(max(times), min(times) + 1)
        made = []
        for share in (0, 0.5, 1):
            y = bottom - (bottom - top) * share
            made += [f'<line x1="{left}" x2="{right}" y1="{y:.0f}" y2="{y:.0f}" stroke="#eaeef2"/>',
                     text(left - 4, y + 4, in_unit(low + (high - low) * share, self.field["unit"], None), 9, "#57606a", "end")]
        for share in (0, 1):
            moment = datetime.datetime.fromtimestamp(begin + (end - begin) * share, datetime.timezone.utc).strftime("%H:%M:%S")
            made.append(text(left + (right - left) * share, bottom + 13, moment, 9, "#57606a", "end" if share else "start"))
        legend = self.x + 10
        for index, ((target, series), line) in enumerate(zip(self.given, points)):
            colour = self.colour_of(target) or PALETTE[index % len(PALETTE)]
            at = [f"{left + (right - left) * (moment - begin) / (end - begin):.1f},{bottom - (bottom - top) * (value - low) / (high - low):.1f}"
                  for moment, value in line if value < most]
            dash = ' stroke-dasharray="6 4"' if "custom.lineStyle" in self.override("byFrameRefID", target["refId"]) else ""
            made.append(f'<polyline points="{" ".join(at)}" fill="none" stroke="{colour}" stroke-width="1.5"{dash}/>')
            words = named(series, target["legendFormat"])
            if legend + len(words) * 5.4 + 16 < self.x + self.w:
                made += [f'<rect x="{legend:.0f}" y="{self.y + self.h - 17}" width="9" height="9" fill="{colour}"/>',
                         text(legend + 12, self.y + self.h - 9, words, 10, "#57606a")]
                legend += len(words) * 5.4 + 26
        return made

    def timeline(self):
        found = self.given[:max(1, int((self.h - 34) / 17))]
        times = [moment for _, series in found for moment, _ in series["values"]]
        if not times:
            return [text(self.x + 8, self.y + 40, "nothing", 11, "#57606a")]
        left, right, begin, end = self.x + 270, self.x + self.w - 10, min(times), max(max(times), min(times) + 1)
        made = []
        for index, (target, series) in enumerate(found):
            y = self.y + 28 + 17 * index
            made.append(text(self.x + 8, y + 11, cut(named(series, target["legendFormat"]), 258, 10), 10))
            for run in runs(series["values"]):
                at = [left + (right - left) * (moment - begin) / (end - begin) for moment in run[:2]]
                colour = COLOURS.get(shown(run[2], self.field)[1], "#8c959f")
                made.append(f'<rect x="{at[0]:.0f}" y="{y}" width="{max(2, at[1] - at[0]):.0f}" height="14" fill="{colour}" opacity="0.8"/>')
        return made

    def words(self):
        lines = re.sub(r"\*\*|\*|`|\[([^]]*)\]\([^)]*\)", lambda found: found[1] or "", self.panel["options"]["content"]).split("\n")
        return [text(self.x + 8, self.y + 40 + 20 * index, cut(line, self.w - 16), 11) for index, line in enumerate(lines)]


def runs(values):
    """Spans of one value: (from, to, value); a gap ends one."""
    made = []
    for moment, value in values:
        if made and made[-1][2] == float(value) and moment - made[-1][1] <= 2:
            made[-1][1] = moment
        else:
            made.append([moment, moment + 1, float(value)])
    return made


def draw(dashboard, ask, end):
    """The SVG of a dashboard; `ask` gives the series of a query over the time that is drawn, up to `end`."""
    flat = [panel for top in dashboard["panels"] for panel in (top, *top.get("panels", ()))]
    panels = [Panel(panel, ask, end) for panel in flat]
    height = max(panel.y + panel.h for panel in panels) + MARGIN
    width = 24 * COLUMN + 2 * MARGIN
    body = [line for panel in panels for line in panel.svg()]
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" font-family="sans-serif">',
        f'<rect width="{width}" height="{height}" fill="#f6f8fa"/>',
        text(MARGIN, MARGIN + 22, dashboard["title"], 18, weight="bold"), *body, "</svg>", ""])
