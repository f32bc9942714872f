// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package pod_test

import (
	"bytes"
	"flag"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/yaml"

	"github.com/nestor-dev/nestor/internal/tool/workspace/pod"
)

var update = flag.Bool("update", false, "write the golden files instead of comparing with them")

func spec(source pod.Source) pod.Spec {
	return pod.Spec{
		Owner:     pod.Owner{APIVersion: "nestor.dev/v1beta1", Kind: "AgentChat", Name: "release-notes", UID: "0b6a7c2e-8d57-4f7e-9d0e-000000000001", Chat: "release-notes"},
		Namespace: "team-a",
		Image:     "example.com/nestor-workspace:v1",
		Operator:  pod.Peer{Namespace: "nestor-system", Labels: map[string]string{"app.kubernetes.io/name": "nestor-operator"}},
		Source:    source,
	}
}

func TestObjectsMatchGoldenFiles(t *testing.T) {
	limit := resource.MustParse("20Gi")
	for name, source := range map[string]pod.Source{
		"git-https":   {Git: &pod.Git{URL: "https://git.example.com/team/project.git", Ref: "main", SecretName: "git-login"}},
		"git-publish": {Git: &pod.Git{URL: "https://git.example.com/team/project.git", Ref: "main", SecretName: "git-login"}},
		"git-ssh":     {Git: &pod.Git{URL: "ssh://git@git.example.com/team/project.git"}},
		"claim":       {PersistentVolumeClaim: &pod.PersistentVolumeClaim{ClaimName: "sources"}},
		"claim-read":  {PersistentVolumeClaim: &pod.PersistentVolumeClaim{ClaimName: "sources", ReadOnly: true}},
		"empty":       {EmptyDir: &pod.EmptyDir{SizeLimit: &limit}},
		"placed":      {EmptyDir: &pod.EmptyDir{SizeLimit: &limit}},
	} {
		t.Run(name, func(t *testing.T) {
			s := spec(source)
			if source.Git != nil {
				s.Egress = []networkingv1.NetworkPolicyEgressRule{pod.ToAddresses([]netip.Addr{netip.MustParseAddr("192.0.2.7"), netip.MustParseAddr("2001:db8::7")}, 443)}
				s.Hosts = []corev1.HostAlias{{IP: "192.0.2.7", Hostnames: []string{"git.example.com"}}, {IP: "2001:db8::7", Hostnames: []string{"git.example.com"}}}
				s.MaxSize = resource.MustParse("2Gi")
			}
			if name == "git-publish" {
				s.Publish = &pod.Publish{Branch: "nestor/release-notes"}
			}
			if name == "placed" {
				s.Placement = pod.Placement{RuntimeClassName: "gvisor", NodeSelector: map[string]string{"pool": "agents"},
					Tolerations: []corev1.Toleration{{Key: "dedicated", Operator: corev1.TolerationOpEqual, Value: "agents", Effect: corev1.TaintEffectNoSchedule}}}
			}
			if err := s.Validate(); err != nil {
				t.Fatal(err)
			}
			var got bytes.Buffer
			for _, object := range []any{pod.Pod(s), pod.Service(s), pod.Secret(s, "the-token"), pod.NetworkPolicy(s)} {
				text, err := yaml.Marshal(object)
				if err != nil {
					t.Fatal(err)
				}
				got.WriteString("---\n")
				got.Write(text)
			}
			golden := filepath.Join("testdata", name+".yaml")
			if *update {
				if err := os.WriteFile(golden, got.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got.String()); diff != "" {
				t.Errorf("%s (-want +got; run with -update if it is meant):\n%s", golden, diff)
			}
		})
	}
}

func TestNamesDependOnOwner(t *testing.T) {
	seen := map[string]bool{}
	for _, owner := range []pod.Owner{
		{Name: "a", UID: "1"}, {Name: "a", UID: "2"}, {Name: "a.b", UID: "3"}, {Name: "a-b", UID: "4"},
		{Name: strings.Repeat("a", 253), UID: "5"}, {Name: strings.Repeat("a", 39) + ".b", UID: "6"}, {Name: "9lives", UID: "7"},
	} {
		name := pod.Spec{Owner: owner}.Name()
		if len(name) > 63 || strings.ContainsAny(name, ".") || strings.Contains(name, "--") || seen[name] {
			t.Errorf("the name for %s (%s) is %s", owner.Name, owner.UID, name)
		}
		seen[name] = true
	}
}

func TestInvalidSpecsAreRejected(t *testing.T) {
	for name, change := range map[string]func(*pod.Spec){
		"owner":         func(s *pod.Spec) { s.Owner.UID = "" },
		"namespace":     func(s *pod.Spec) { s.Namespace = "" },
		"image":         func(s *pod.Spec) { s.Image = "" },
		"operator":      func(s *pod.Spec) { s.Operator.Labels = nil },
		"no source":     func(s *pod.Spec) { s.Source = pod.Source{} },
		"two sources":   func(s *pod.Spec) { s.Source.PersistentVolumeClaim = &pod.PersistentVolumeClaim{ClaimName: "c"} },
		"claim":         func(s *pod.Spec) { s.Source = pod.Source{PersistentVolumeClaim: &pod.PersistentVolumeClaim{}} },
		"url":           func(s *pod.Spec) { s.Source = pod.Source{Git: &pod.Git{URL: "project"}} },
		"scheme":        func(s *pod.Spec) { s.Source = pod.Source{Git: &pod.Git{URL: "file://host/etc"}} },
		"port":          func(s *pod.Spec) { s.Source = pod.Source{Git: &pod.Git{URL: "https://example.com:99999/x"}} },
		"publish empty": func(s *pod.Spec) { s.Publish = &pod.Publish{Branch: "nestor/x"} },
		"publish on main": func(s *pod.Spec) {
			s.Source, s.Publish = pod.Source{Git: &pod.Git{URL: "https://git.example.com/x"}}, &pod.Publish{Branch: "main"}
		},
		"password":         func(s *pod.Spec) { s.Source = pod.Source{Git: &pod.Git{URL: "https://me:hunter2@example.com/x"}} },
		"unreadable url":   func(s *pod.Spec) { s.Source = pod.Source{Git: &pod.Git{URL: "https://me:hunter2@exam ple.com/x"}} },
		"two hosts":        func(s *pod.Spec) { s.Source = pod.Source{Git: &pod.Git{URL: "https://example.com?@evil.example/x"}} },
		"ssh option":       func(s *pod.Spec) { s.Source = pod.Source{Git: &pod.Git{URL: "ssh://-oProxyCommand=id/x"}} },
		"external command": func(s *pod.Spec) { s.Source = pod.Source{Git: &pod.Git{URL: "ext::sh -c id"}} },
	} {
		t.Run(name, func(t *testing.T) {
			s := spec(pod.Source{EmptyDir: &pod.EmptyDir{}})
			change(&s)
			err := s.Validate()
			if err == nil {
				t.Fatal("accepted")
			}
			if strings.Contains(err.Error(), "hunter2") {
				t.Errorf("the message repeats the password: %v", err)
			}
		})
	}
}
