// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package upgrade

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/config/operator"
)

// fixture is the state that an operator left behind.
type fixture struct {
	Commit string `json:"commit"`
	// Began and Stopped are the start and stop times of the older operator.
	Began   time.Time `json:"began"`
	Stopped time.Time `json:"stopped"`
	// Calls are the model calls that were answered.
	Calls []string `json:"calls"`
	// Objects are all of its objects, and Ledger is a dump of its ledger.
	Objects []json.RawMessage `json:"objects"`
	Ledger  string            `json:"ledger"`
}

// Placeholders for the addresses of a test.
const (
	modelPlace = "http://model.invalid"
	deskPlace  = "http://desk.invalid"
)

func newObject() *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{}}
}

// capture creates a fixture from the current state. The operator must have stopped.
func (w *environment) capture(ctx context.Context, t *testing.T, ledger, commit string, began time.Time) fixture {
	t.Helper()
	f := fixture{Commit: commit, Began: began, Stopped: time.Now(), Calls: w.model.calls()}
	places := strings.NewReplacer(w.model.URL, modelPlace, w.desk.URL, deskPlace)
	f.Ledger = places.Replace(w.dump(ctx, t, ledger))
	for _, kind := range []string{"ModelProvider", "ToolServer", "AgentRole", "AgentChat", "AgentTask", "SubAgent", "AgentMessage"} {
		var list unstructured.UnstructuredList
		list.SetGroupVersionKind(v1beta1.GroupVersion.WithKind(kind + "List"))
		if err := w.API.List(ctx, &list, client.InNamespace(namespace)); err != nil {
			t.Fatal(err)
		}
		for _, object := range list.Items {
			object.SetManagedFields(nil)
			text, err := json.Marshal(&object)
			if err != nil {
				t.Fatal(err)
			}
			f.Objects = append(f.Objects, json.RawMessage(places.Replace(string(text))))
		}
	}
	return f
}

func (f fixture) write(t *testing.T, path string) {
	t.Helper()
	text, err := json.Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	var packed bytes.Buffer
	zip, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := zip.Write(text); err != nil {
		t.Fatal(err)
	}
	if err := zip.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, packed.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

// readFixture reads a fixture and moves its times, so that its operator was stopped just now.
func (w *environment) readFixture(t *testing.T, path string) fixture {
	t.Helper()
	packed, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	zip, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(zip)
	if err != nil {
		t.Fatal(err)
	}
	var f fixture
	if err := json.Unmarshal(text, &f); err != nil {
		t.Fatal(err)
	}
	places := strings.NewReplacer(modelPlace, w.model.URL, deskPlace, w.desk.URL)
	f.Ledger = places.Replace(f.toNow(f.Ledger))
	for i, object := range f.Objects {
		f.Objects[i] = json.RawMessage(places.Replace(f.toNow(string(object))))
	}
	return f
}

// times matches times in objects, in events (milliseconds) and in columns (microseconds).
var times = regexp.MustCompile(`\b20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ|\b\d{13}\b|\b\d{16}\b`)

// toNow moves the times of the fixture, and nothing else that looks like one.
func (f fixture) toNow(text string) string {
	moved := time.Since(f.Stopped).Truncate(time.Second)
	from, to := f.Began.Add(-time.Minute), f.Stopped.Add(time.Minute)
	return times.ReplaceAllStringFunc(text, func(found string) string {
		var at time.Time
		number, err := strconv.ParseInt(found, 10, 64)
		switch {
		case err != nil:
			at, err = time.Parse(time.RFC3339, found)
		case len(found) == 13:
			at = time.UnixMilli(number)
		default:
			at = time.UnixMicro(number)
		}
		if err != nil || at.Before(from) || at.After(to) {
			return found
		}
		at = at.Add(moved)
		switch len(found) {
		case 13:
			return strconv.FormatInt(at.UnixMilli(), 10)
		case 16:
			return strconv.FormatInt(at.UnixMicro(), 10)
		}
		return at.UTC().Format(time.RFC3339)
	})
}

// restore creates the objects of a fixture in the cluster, and loads its ledger.
func (w *environment) restore(ctx context.Context, t *testing.T, ledger string, f fixture) {
	t.Helper()
	uids := map[types.UID]types.UID{}
	api := w.restorer(t)
	var waiting []*unstructured.Unstructured
	for _, text := range f.Objects {
		object := newObject()
		if err := json.Unmarshal(text, &object.Object); err != nil {
			t.Fatal(err)
		}
		waiting = append(waiting, object)
	}
	for len(waiting) > 0 {
		object := waiting[0]
		waiting = waiting[1:]
		if !updateOwner(object, uids) {
			waiting = append(waiting, object) // its owner is created later
			continue
		}
		recreate(ctx, t, api, object, uids)
	}
	var pairs []string
	for old, now := range uids {
		pairs = append(pairs, string(old), string(now))
	}
	w.load(ctx, t, ledger, strings.NewReplacer(pairs...).Replace(f.Ledger))
}

// restorer returns an administrator's client that counts as the operator, which the policies require.
func (w *environment) restorer(t *testing.T) client.Client {
	t.Helper()
	config := rest.CopyConfig(w.Cluster.Config)
	config.Impersonate = rest.ImpersonationConfig{
		UserName: serviceaccount.MakeUsername(operator.Namespace, operator.ServiceAccount), Groups: []string{user.SystemPrivilegedGroup},
	}
	api, err := client.New(config, client.Options{Scheme: w.API.Scheme()})
	if err != nil {
		t.Fatal(err)
	}
	return api
}

// updateOwner sets an object's owner reference to the owner's new UID. It reports false if the owner does not exist yet.
func updateOwner(object *unstructured.Unstructured, uids map[types.UID]types.UID) bool {
	owners := object.GetOwnerReferences()
	for i := range owners {
		now, ok := uids[owners[i].UID]
		if !ok {
			return false
		}
		owners[i].UID = now
	}
	object.SetOwnerReferences(owners)
	return true
}

// recreate creates an object with its status, and records its new UID.
func recreate(ctx context.Context, t *testing.T, api client.Client, object *unstructured.Unstructured, uids map[types.UID]types.UID) {
	t.Helper()
	old, status := object.GetUID(), object.Object["status"]
	object.SetUID("")
	object.SetResourceVersion("")
	if err := api.Create(ctx, object); err != nil {
		t.Fatalf("create %s %s: %v", object.GetKind(), object.GetName(), err)
	}
	uids[old] = object.GetUID()
	if status == nil {
		return
	}
	object.Object["status"] = status
	if err := api.Status().Update(ctx, object); err != nil {
		t.Fatalf("write the status of %s %s: %v", object.GetKind(), object.GetName(), err)
	}
}
