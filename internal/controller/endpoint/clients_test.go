// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package endpoint

import (
	"encoding/pem"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/client/kube"
	"github.com/nestor-dev/nestor/internal/cluster/resolve"
	"github.com/nestor-dev/nestor/internal/model"
	"github.com/nestor-dev/nestor/internal/outbound"
)

func clients(t *testing.T, objects ...client.Object) *Clients {
	t.Helper()
	cluster := fake.NewClientBuilder().WithScheme(kube.NewScheme()).WithObjects(objects...).Build()
	return &Clients{Finder: resolve.Finder{Reader: cluster, Live: cluster, OperatorNamespace: "system"}, Outbound: outbound.Options{AllowLoopback: true}, KeyDir: t.TempDir()}
}

func provider(url string, change func(*v1beta1.ModelProviderSpec)) *v1beta1.ModelProvider {
	object := &v1beta1.ModelProvider{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "default", UID: "u", Generation: 1}}
	object.Spec.BaseURL, object.Spec.RequestTimeoutSeconds = url, 10
	change(&object.Spec)
	return object
}

func models(t *testing.T, c *Clients, object *v1beta1.ModelProvider) error {
	t.Helper()
	made, err := c.Get(t.Context(), object)
	if err != nil {
		return err
	}
	_, err = made.Models(t.Context())
	return err
}

// list serves a list of models and passes the requests on.
func list(seen *[]*http.Request) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		*seen = append(*seen, r)
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"object":"list","data":[{"id":"m","object":"model"}]}`))
	})
}

func TestKeyFileIsReadPerRequest(t *testing.T) {
	var seen []*http.Request
	server := httptest.NewServer(list(&seen))
	defer server.Close()
	c := clients(t)
	object := provider(server.URL+"/v1", func(s *v1beta1.ModelProviderSpec) { s.APIKeyFile = "token" })
	dir := filepath.Join(c.KeyDir, "team")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"first-key", "second-key"} { // a workload identity renews it
		if err := os.WriteFile(filepath.Join(dir, "token"), []byte(key+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := models(t, c, object); err != nil {
			t.Fatal(err)
		}
		if got := seen[len(seen)-1].Header.Get("Authorization"); got != "Bearer "+key {
			t.Errorf("the request has %q", got)
		}
	}
}

// TestForeignKeyFileIsRefused tries to read the keys of another namespace, and any other file.
func TestForeignKeyFileIsRefused(t *testing.T) {
	c := clients(t)
	outside := filepath.Join(t.TempDir(), "secret")
	for path, content := range map[string]string{
		filepath.Join(c.KeyDir, "other", "token"): "other-key", outside: "outside-key", filepath.Join(c.KeyDir, "team", "empty"): "  \n",
		filepath.Join(c.KeyDir, "team", "huge"): strings.Repeat("k", maxKeyBytes+1),
	} {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(outside, filepath.Join(c.KeyDir, "team", "link")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"../other/token", "link", "absent", "empty", "huge", outside, "."} {
		key, err := c.Key(t.Context(), provider("http://127.0.0.1:1", func(s *v1beta1.ModelProviderSpec) { s.APIKeyFile = name }))
		var missing *resolve.Missing
		if !errors.As(err, &missing) || missing.Reason != v1beta1.ReasonAPIKeyFileNotFound || key != "" {
			t.Errorf("%s: got the key %q and %v", name, key, err)
		}
	}
	c.KeyDir = ""
	if err := c.Check(t.Context(), provider("http://127.0.0.1:1", func(s *v1beta1.ModelProviderSpec) { s.APIKeyFile = "token" })); err == nil || !strings.Contains(err.Error(), "--api-key-dir") {
		t.Errorf("without a directory: %v", err)
	}
}

func TestHeadersComeFromSecrets(t *testing.T) {
	var seen []*http.Request
	server := httptest.NewServer(list(&seen))
	defer server.Close()
	c := clients(t, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "gateway"}, Data: map[string][]byte{"tenant": []byte("blue\n")}})
	object := provider(server.URL+"/v1?api-version=2026-01-01", func(s *v1beta1.ModelProviderSpec) {
		s.HeadersFrom = []v1beta1.HeaderSource{{Name: "X-Tenant", SecretKeyRef: v1beta1.SecretKeyRef{Name: "gateway", Key: "tenant"}}}
	})
	if err := models(t, c, object); err != nil {
		t.Fatal(err)
	}
	if got := seen[0]; got.Header.Get("X-Tenant") != "blue" || got.URL.Query().Get("api-version") != "2026-01-01" || got.URL.Path != "/v1/models" {
		t.Errorf("the request is %s with headers %v", got.URL, got.Header)
	}
	object.Spec.HeadersFrom[0].SecretKeyRef.Key = "absent"
	var missing *resolve.Missing
	if err := c.Check(t.Context(), object); !errors.As(err, &missing) || missing.Reason != v1beta1.ReasonSecretNotFound {
		t.Errorf("a header without a value: %v", err)
	}
}

// TestClientKeepsItsSettings overwrites a provider after its client was made, as a write of its status does while a
// probe runs. A probe without the key would report that the provider rejects it.
func TestClientKeepsItsSettings(t *testing.T) {
	var seen []*http.Request
	server := httptest.NewServer(list(&seen))
	defer server.Close()
	c := clients(t, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "key"}, Data: map[string][]byte{"apiKey": []byte("the-key"), "tenant": []byte("blue")}})
	object := provider(server.URL+"/v1", func(s *v1beta1.ModelProviderSpec) {
		s.APIKeyRef = &v1beta1.SecretKeyRef{Name: "key", Key: "apiKey"}
		s.HeadersFrom = []v1beta1.HeaderSource{{Name: "X-Tenant", SecretKeyRef: v1beta1.SecretKeyRef{Name: "key", Key: "tenant"}}}
	})
	probe, release, err := c.Probe(t.Context(), object, 10*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	kept, err := c.Get(t.Context(), object)
	if err != nil {
		t.Fatal(err)
	}
	object.Spec.HeadersFrom[0] = v1beta1.HeaderSource{}
	*object = v1beta1.ModelProvider{}
	for name, made := range map[string]model.Client{"probe": probe, "kept": kept} {
		if _, err := made.Models(t.Context()); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got := seen[len(seen)-1].Header
		if got.Get("Authorization") != "Bearer the-key" || got.Get("X-Tenant") != "blue" {
			t.Errorf("%s: the request has the key %q and the tenant %q", name, got.Get("Authorization"), got.Get("X-Tenant"))
		}
	}
}

// TestCertificatesOfAProvider calls a server whose certificate only the bundle vouches for, and changes the bundle.
func TestCertificatesOfAProvider(t *testing.T) {
	var seen []*http.Request
	server := httptest.NewTLSServer(list(&seen))
	defer server.Close()
	bundle := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	config := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "ca"}, Data: map[string]string{"ca.crt": "nothing"}}
	c := clients(t, config)
	object := provider(server.URL+"/v1", func(*v1beta1.ModelProviderSpec) {})
	var failure *model.Error
	if err := models(t, c, object); !errors.As(err, &failure) || failure.Kind != model.Transient {
		t.Fatalf("without a bundle: %v", err)
	}
	object.Generation++
	object.Spec.CABundle = &v1beta1.CABundleSource{ConfigMapKeyRef: &v1beta1.ConfigMapKeyRef{Name: "ca", Key: "ca.crt"}}
	var missing *resolve.Missing
	if err := models(t, c, object); !errors.As(err, &missing) || !strings.Contains(missing.Message, "no certificate in PEM form") {
		t.Fatalf("with a bundle that is none: %v", err)
	}
	config.Data["ca.crt"] = string(bundle)
	writer, ok := c.Finder.Reader.(client.Client)
	if !ok {
		t.Fatal("the cluster cannot be written")
	}
	if err := writer.Update(t.Context(), config); err != nil {
		t.Fatal(err)
	}
	if err := models(t, c, object); err != nil {
		t.Errorf("with the bundle: %v", err)
	}
	probe, release, err := c.Probe(t.Context(), object, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	if _, err := probe.Models(t.Context()); err != nil {
		t.Errorf("the probe: %v", err)
	}
	before, err := c.Fingerprint(t.Context(), object)
	if err != nil {
		t.Fatal(err)
	}
	config.Data["ca.crt"] += "\n"
	if err := writer.Update(t.Context(), config); err != nil {
		t.Fatal(err)
	}
	if after, err := c.Fingerprint(t.Context(), object); err != nil || after == before {
		t.Errorf("the fingerprint does not change with the bundle: %v", err)
	}
}
