// Rules and dashboards as a monitoring mixin (jsonnet 0.18 or newer, for std.parseYaml).
local rules(yaml) = { groups+: std.parseYaml(yaml).groups };
{
  grafanaDashboardFolder:: 'hostwatch',
  grafanaDashboards+:: {
    'hostwatch-overview.json': import 'dashboards/overview.json',
    'hostwatch-billing.json': import 'dashboards/billing.json',
    'hostwatch-resources.json': import 'dashboards/resources.json',
    'hostwatch-self.json': import 'dashboards/hostwatch.json',
  },
  // Who gets hostwatch's mails leaves resources.rules.yml out.
  prometheusAlerts+:: rules(importstr 'config/prometheus/self.rules.yml') + rules(importstr 'config/prometheus/resources.rules.yml'),
  prometheusRules+:: rules(importstr 'config/prometheus/recording.rules.yml'),
}
