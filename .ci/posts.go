// Each golden post held to Alertmanager itself, as Debian has it: its own types read the post without anything left over, and the
// message that its own code makes of the same alerts is the post. The posts are those that the test
// each_mail_and_its_post_are_left_for_other_programs leaves.
//
//	.ci/full posts
//
// Two things are ours (docs/webhooks.md): a fingerprint is the incident's, whatever labels say; and an alert that nothing resolves
// has an end while it is firing.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"time"

	"github.com/prometheus/alertmanager/notify/webhook"
	"github.com/prometheus/alertmanager/template"
	"github.com/prometheus/alertmanager/types"
	"github.com/prometheus/common/model"
)

var unresolved = map[string]bool{"HostwatchNotice": true, "HostwatchBalanceDrop": true, "HostwatchOrderCost": true}

func set(from template.KV) model.LabelSet {
	to := model.LabelSet{}
	for name, value := range from {
		to[model.LabelName(name)] = model.LabelValue(value)
	}
	return to
}

// The message that Alertmanager makes of these alerts.
func again(post webhook.Message) (*webhook.Message, error) {
	page, err := url.Parse(post.ExternalURL)
	if err != nil {
		return nil, err
	}
	var alerts []*types.Alert
	for _, one := range post.Alerts {
		alert := &types.Alert{Alert: model.Alert{Labels: set(one.Labels), Annotations: set(one.Annotations), StartsAt: one.StartsAt,
			GeneratorURL: one.GeneratorURL}}
		if one.Status == string(model.AlertResolved) {
			alert.EndsAt = one.EndsAt
		}
		if err := alert.Validate(); err != nil {
			return nil, err
		}
		if _, err := model.ParseFingerprint(one.Fingerprint); err != nil || len(one.Fingerprint) != 16 {
			return nil, fmt.Errorf("fingerprint %q", one.Fingerprint)
		}
		alerts = append(alerts, alert)
	}
	groups := set(post.GroupLabels)
	made := (&template.Template{ExternalURL: page}).Data(post.Receiver, groups, alerts...)
	for at, one := range post.Alerts {
		made.Alerts[at].Fingerprint = one.Fingerprint
		if unresolved[one.Labels["alertname"]] || one.Annotations["event"] == "unwatched" {
			made.Alerts[at].EndsAt = one.EndsAt
		}
	}
	return &webhook.Message{Data: made, Version: "4", GroupKey: "{}:" + groups.String(), TruncatedAlerts: post.TruncatedAlerts}, nil
}

// What is wrong with a post.
func wrong(raw []byte) error {
	var post webhook.Message
	strict := json.NewDecoder(bytes.NewReader(raw))
	strict.DisallowUnknownFields()
	if err := strict.Decode(&post); err != nil {
		return err
	}
	made, err := again(post)
	if err != nil {
		return err
	}
	written, err := json.Marshal(made)
	if err != nil {
		return err
	}
	var have, want any
	if err := json.Unmarshal(raw, &have); err != nil {
		return err
	}
	if err := json.Unmarshal(written, &want); err != nil {
		return err
	}
	if !reflect.DeepEqual(have, want) {
		return fmt.Errorf("%s\nAlertmanager writes\n%s", raw, written)
	}
	return nil
}

func main() {
	// An end that is to come is no end for Alertmanager, and the goldens end in March 2026.
	if time.Now().Before(time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)) {
		fmt.Fprintln(os.Stderr, "this machine's clock is behind the goldens")
		os.Exit(1)
	}
	paths, _ := filepath.Glob(filepath.Join(os.Args[1], "*.json"))
	bad := 0
	for _, path := range paths {
		raw, err := os.ReadFile(path)
		if err == nil {
			err = wrong(raw)
		}
		if err != nil {
			bad++
			fmt.Printf("%s: %v\n", filepath.Base(path), err)
		}
	}
	fmt.Printf("%d posts, %d of them not Alertmanager's\n", len(paths), bad)
	if bad > 0 || len(paths) == 0 {
		os.Exit(1)
	}
}
