// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package workspace

import (
	"strings"
	"testing"

	"github.com/nestor-dev/nestor/api/v1beta1"
)

func TestPlacementsOutsideOfListAreRefused(t *testing.T) {
	allow := Placements{
		RuntimeClassNames: []string{"gvisor"}, NodeSelector: map[string][]string{"pool": {"agents", "spot"}},
		Tolerations: []v1beta1.Toleration{
			{Key: "dedicated", Value: "agents", Effect: "NoSchedule"}, {Key: "spot", Operator: v1beta1.TolerationExists},
		},
	}
	tolerate := func(key, value, effect string, operator v1beta1.TolerationOperator) v1beta1.Workspace {
		return v1beta1.Workspace{Tolerations: []v1beta1.Toleration{{Key: key, Operator: operator, Value: value, Effect: effect}}}
	}
	for name, c := range map[string]struct {
		asked   v1beta1.Workspace
		refused string // "" if it is allowed
	}{
		"nothing":              {v1beta1.Workspace{}, ""},
		"runtime":              {v1beta1.Workspace{RuntimeClassName: "gvisor"}, ""},
		"other runtime":        {v1beta1.Workspace{RuntimeClassName: "runc"}, "runtimeClassName runc"},
		"node":                 {v1beta1.Workspace{NodeSelector: map[string]string{"pool": "spot"}}, ""},
		"other value":          {v1beta1.Workspace{NodeSelector: map[string]string{"pool": "control-plane"}}, "nodeSelector pool=control-plane"},
		"other label":          {v1beta1.Workspace{NodeSelector: map[string]string{"pool": "spot", "zone": "a"}}, "nodeSelector zone=a"},
		"taint":                {tolerate("dedicated", "agents", "NoSchedule", v1beta1.TolerationEqual), ""},
		"default operator":     {tolerate("dedicated", "agents", "NoSchedule", ""), ""},
		"other taint value":    {tolerate("dedicated", "gpu", "NoSchedule", v1beta1.TolerationEqual), "toleration dedicated=gpu:NoSchedule"},
		"other effect":         {tolerate("dedicated", "agents", "NoExecute", v1beta1.TolerationEqual), "toleration dedicated=agents:NoExecute"},
		"all effects of taint": {tolerate("dedicated", "agents", "", v1beta1.TolerationEqual), "toleration dedicated=agents"},
		"all values of taint":  {tolerate("dedicated", "", "NoSchedule", v1beta1.TolerationExists), "toleration dedicated:NoSchedule"},
		"any value":            {tolerate("spot", "yes", "NoSchedule", v1beta1.TolerationEqual), ""},
		"all values":           {tolerate("spot", "", "", v1beta1.TolerationExists), ""},
		"other key":            {tolerate("gpu", "", "", v1beta1.TolerationExists), "toleration gpu"},
	} {
		t.Run(name, func(t *testing.T) {
			err := allow.check(placementOf(c.asked))
			if c.refused == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			want := "The workspace asks for " + c.refused + ", and this operator allows only runtimeClassName gvisor, nodeSelector pool=agents, nodeSelector pool=spot, " +
				"toleration dedicated=agents:NoSchedule, toleration spot: "
			if err == nil || !strings.HasPrefix(err.Error(), want) {
				t.Errorf("got %v, want it to begin with %q", err, want)
			}
		})
	}
	if err := (Placements{}).check(placementOf(v1beta1.Workspace{RuntimeClassName: "gvisor"})); err == nil || !strings.Contains(err.Error(), "allows no runtime class, node selector or toleration") {
		t.Errorf("without a list: %v", err)
	}
}
