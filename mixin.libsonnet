// Rules and dashboards as a monitoring mixin, for jsonnet 0.22 or newer, or go-jsonnet (std.parseYaml).
{
  _config+:: {
    // What chooses hostwatch among the targets.
    selector: 'job="hostwatch"',
    // The page that says what each alert means and what to do.
    runbookUrl: 'https://github.com/hostwatch/hostwatch/blob/main/docs/alerts.md',
    // Where Grafana is, for dashboard_url of each alert; empty: alerts have none.
    grafanaUrl: '',
    // Alerts about the account are for those who get no mails of hostwatch.
    accountAlerts: true,
    // Other numbers in an alert's expression: { HostwatchMailsStuck: { '1800': '3600' } }.
    thresholds: {},
  },

  local config = self._config,
  local groups(text) = std.parseYaml(std.strReplace(std.strReplace(
    text, 'job="hostwatch"', config.selector
  ), 'https://github.com/hostwatch/hostwatch/blob/main/docs/alerts.md', config.runbookUrl)).groups,
  local replaced(expr, numbers) = std.foldl(
    function(made, from)
      assert std.length(std.findSubstr(from, made)) > 0 : '%s is not in: %s' % [from, made];
      std.strReplace(made, from, numbers[from]),
    std.objectFields(numbers),
    expr
  ),
  // The jsonnet in C++ leaves an alias of YAML as a text: it stands for the annotations of the alert of this name before it.
  local annotations(rule, rules) =
    if std.isObject(rule.annotations) then rule.annotations
    else [other.annotations for other in rules if std.get(other, 'alert') == rule.alert && std.isObject(other.annotations)][0],
  local alert(rule, rules, dashboard) = rule {
    expr: replaced(rule.expr, std.get(config.thresholds, rule.alert, {})),
    annotations: annotations(rule, rules) +
                 if config.grafanaUrl == '' then {} else { dashboard_url: '%s/d/%s' % [config.grafanaUrl, dashboard] },
  },
  local alerts(text, dashboard) = [
    group { rules: [if std.objectHas(rule, 'alert') then alert(rule, group.rules, dashboard) else rule for rule in group.rules] }
    for group in groups(text)
  ],

  prometheusAlerts+:: {
    groups+: alerts(importstr 'config/prometheus/self.rules.yml', 'hostwatch-self') +
             if config.accountAlerts then alerts(importstr 'config/prometheus/resources.rules.yml', 'hostwatch-overview') else [],
  },
  prometheusRules+:: { groups+: groups(importstr 'config/prometheus/recording.rules.yml') },
  grafanaDashboardFolder:: 'hostwatch',
  grafanaDashboards+:: {
    'hostwatch-overview.json': import 'dashboards/overview.json',
    'hostwatch-billing.json': import 'dashboards/billing.json',
    'hostwatch-resources.json': import 'dashboards/resources.json',
    'hostwatch-self.json': import 'dashboards/hostwatch.json',
  },
}
