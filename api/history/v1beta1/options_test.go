// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package v1beta1_test

import (
	"net/url"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/nestor-dev/nestor/api/history/v1beta1"
)

func scheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	s := runtime.NewScheme()
	if err := v1beta1.AddToScheme(s); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestTranscriptNames(t *testing.T) {
	for transcript, want := range map[string][3]string{
		"chat.release":           {"AgentChat", "release", ""},
		"subagent.release-1":     {"SubAgent", "release-1", ""},
		"task.nightly":           {"AgentTask", "nightly", ""},
		"chat.release.0a1b-2c3d": {"AgentChat", "release", "0a1b-2c3d"},
	} {
		kind, name, uid, ok := v1beta1.ParseTranscriptName(transcript)
		if got := [3]string{kind, name, uid}; !ok || got != want {
			t.Errorf("%s: %v %v, want %v", transcript, got, ok, want)
		}
		if uid == "" && v1beta1.TranscriptName(kind, name) != transcript {
			t.Errorf("%s %s is named %s, want %s", kind, name, v1beta1.TranscriptName(kind, name), transcript)
		}
	}
	for _, none := range []string{"", "release", "chat.", "pod.release", "chat.release.", "chat.a.b.c", "AgentChat.release"} {
		if _, _, _, ok := v1beta1.ParseTranscriptName(none); ok {
			t.Errorf("%q is taken for a transcript's name", none)
		}
	}
}

// TestOptionsRoundTrip writes options as a client does and reads them as the server does.
func TestOptionsRoundTrip(t *testing.T) {
	codec := runtime.NewParameterCodec(scheme(t))
	no := false
	for _, options := range []runtime.Object{
		&v1beta1.TranscriptOptions{}, &v1beta1.TranscriptOptions{Since: 7, Limit: 3}, &v1beta1.TranscriptOptions{Tail: 3},
		&v1beta1.TranscriptLogOptions{Since: 7, Follow: true, Deltas: &no}, &v1beta1.TranscriptLogOptions{Tail: 2, Limit: 1},
	} {
		query, err := codec.EncodeParameters(options, v1beta1.GroupVersion)
		if err != nil {
			t.Fatal(err)
		}
		got := reflect.New(reflect.TypeOf(options).Elem()).Interface().(runtime.Object)
		if err := codec.DecodeParameters(query, v1beta1.GroupVersion, got); err != nil {
			t.Fatalf("%v: %v", query, err)
		}
		if diff := cmp.Diff(options, got); diff != "" {
			t.Errorf("%v (-want +got):\n%s", query, diff)
		}
	}
}

func TestWrongParametersAreNamed(t *testing.T) {
	codec := runtime.NewParameterCodec(scheme(t))
	for query, want := range map[string]string{
		"limit=many":          `limit must be a whole number from 0, not "many"`,
		"since=-1":            `since must be a whole number from 0, not "-1"`,
		"follow=perhaps":      `follow must be true or false, not "perhaps"`,
		"deltas=2":            "deltas must be true or false",
		"tail=1&since=1":      "since and tail do not go together",
		"follow=true&limit=1": "limit and follow do not go together",
		"begin=1":             `unknown parameter "begin"`,
	} {
		values, err := url.ParseQuery(query)
		if err != nil {
			t.Fatal(err)
		}
		err = codec.DecodeParameters(values, v1beta1.GroupVersion, &v1beta1.TranscriptLogOptions{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", query, err, want)
		}
	}
}

// TestFieldsAreSelectable keeps the documented fields and those that the server takes the same.
func TestFieldsAreSelectable(t *testing.T) {
	s := scheme(t)
	for kind, field := range map[string]string{"Transcript": v1beta1.FieldTranscriptRoot, "ModelCall": v1beta1.FieldModelCallAgent, "Usage": v1beta1.FieldUsageBy} {
		if label, value, err := s.ConvertFieldLabel(v1beta1.GroupVersion.WithKind(kind), field, "x"); err != nil || label != field || value != "x" {
			t.Errorf("%s by %s: %s=%s (%v)", kind, field, label, value, err)
		}
		if _, _, err := s.ConvertFieldLabel(v1beta1.GroupVersion.WithKind(kind), "status.unknown", "x"); err == nil || !strings.Contains(err.Error(), field) {
			t.Errorf("%s by an unknown field: %v, want the list of fields", kind, err)
		}
	}
}
