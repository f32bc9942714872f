// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package endpoint

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/cluster/resolve"
	"github.com/nestor-dev/nestor/internal/model"
	"github.com/nestor-dev/nestor/internal/model/scripted"
)

const (
	roleARN   = "arn:aws:iam::123456789012:role/bedrock"
	ambient   = "token-of-the-operator"
	tempToken = "session-token-4711"
)

// cloud is a model, a Security Token Service and a token endpoint of Google.
type cloud struct {
	*httptest.Server

	mu     sync.Mutex
	forms  []url.Values
	signed []bool
	refuse string // the code of an error of the Security Token Service
}

func newCloud(t *testing.T) *cloud {
	t.Helper()
	script, err := scripted.Parse("test.yaml", []byte("fallback: {text: Hello.}"))
	if err != nil {
		t.Fatal(err)
	}
	c := &cloud{}
	mux := http.NewServeMux()
	mux.Handle("/", scripted.NewServer(scripted.Options{Scripts: []*scripted.Script{script}, APIKey: "temporary"}))
	mux.HandleFunc("POST /sts", c.sts)
	mux.HandleFunc("POST /token", func(w http.ResponseWriter, r *http.Request) {
		c.record(r)
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"access_token":"temporary","token_type":"Bearer","expires_in":3600}`)
	})
	c.Server = httptest.NewServer(mux)
	t.Cleanup(c.Close)
	return c
}

func (c *cloud) record(r *http.Request) url.Values {
	_ = r.ParseForm() // a form that is not one is empty
	c.mu.Lock()
	defer c.mu.Unlock()
	c.forms, c.signed = append(c.forms, r.PostForm), append(c.signed, strings.HasPrefix(r.Header.Get("Authorization"), "AWS4-HMAC-SHA256 Credential=AKIA"))
	return r.PostForm
}

func (c *cloud) sts(w http.ResponseWriter, r *http.Request) {
	action := c.record(r).Get("Action")
	if c.refuse != "" {
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprintf(w, "<ErrorResponse><Error><Code>%s</Code><Message>the token is %s</Message></Error></ErrorResponse>", c.refuse, r.PostForm.Get("WebIdentityToken"))
		return
	}
	fmt.Fprintf(w, "<%[1]sResponse><%[1]sResult><Credentials><AccessKeyId>ASIATEMP</AccessKeyId><SecretAccessKey>temporary</SecretAccessKey><SessionToken>%[2]s</SessionToken><Expiration>%[3]s</Expiration></Credentials></%[1]sResult></%[1]sResponse>",
		action, tempToken, time.Now().Add(time.Hour).UTC().Format(time.RFC3339))
}

func bedrockAt(c *cloud, change func(*v1beta1.AWS)) *v1beta1.ModelProvider {
	return provider(c.URL, func(s *v1beta1.ModelProviderSpec) {
		s.API, s.AWS = v1beta1.APIBedrock, &v1beta1.AWS{Region: "eu-central-1", STSURL: c.URL + "/sts"}
		change(s.AWS)
	})
}

func ref(key string) v1beta1.SecretKeyRef { return v1beta1.SecretKeyRef{Name: "cloud", Key: key} }

func secret(data map[string]string) *corev1.Secret {
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "cloud"}, Data: map[string][]byte{}}
	for key, value := range data {
		s.Data[key] = []byte(value)
	}
	return s
}

func complete(t *testing.T, c *Clients, object *v1beta1.ModelProvider) error {
	t.Helper()
	made, err := c.Get(t.Context(), object)
	if err != nil {
		return err
	}
	name := "gemini-3-pro"
	if object.Spec.API == v1beta1.APIBedrock {
		name = "eu.anthropic.claude:0"
	}
	_, err = made.Complete(t.Context(), model.Request{Model: name, Messages: []model.Message{{Role: model.RoleUser, Text: "hi"}}}, nil)
	if err == nil {
		_, err = made.Models(t.Context())
	}
	return err
}

func accessKey(a *v1beta1.AWS) {
	a.AccessKey = &v1beta1.AWSAccessKey{IDRef: ref("id"), SecretRef: ref("secret")}
}

func TestRequestsToBedrockAreSigned(t *testing.T) {
	served := newCloud(t)
	c := clients(t, secret(map[string]string{"id": "AKIAOWN\n", "secret": "temporary\n", "wrong": "wrong", "session": "session-token-0815"}))
	if err := complete(t, c, bedrockAt(served, accessKey)); err != nil {
		t.Errorf("with an access key: %v", err)
	}
	err := complete(t, c, bedrockAt(served, func(a *v1beta1.AWS) {
		a.AccessKey = &v1beta1.AWSAccessKey{IDRef: ref("id"), SecretRef: ref("wrong"), SessionTokenRef: new(ref("session"))}
	}).DeepCopy())
	c.kept = nil
	var failure *model.Error
	if err != nil {
		t.Errorf("the client of the first revision is kept: %v", err)
	}
	err = complete(t, c, bedrockAt(served, func(a *v1beta1.AWS) {
		a.AccessKey = &v1beta1.AWSAccessKey{IDRef: ref("id"), SecretRef: ref("wrong"), SessionTokenRef: new(ref("session"))}
	}))
	if !errors.As(err, &failure) || failure.Kind != model.Unauthorized || strings.Contains(err.Error(), "0815") {
		t.Errorf("with a wrong secret: %v, want Unauthorized without the session token", err)
	}
}

func TestRoleIsAssumed(t *testing.T) {
	served := newCloud(t)
	c := clients(t, secret(map[string]string{"id": "AKIAOWN", "secret": "own"}))
	object := bedrockAt(served, func(a *v1beta1.AWS) {
		accessKey(a)
		a.AssumeRole = &v1beta1.AWSRole{RoleARN: roleARN, ExternalID: "nestor-1"}
	})
	for range 2 {
		if err := complete(t, c, object); err != nil {
			t.Fatal(err)
		}
	}
	if len(served.forms) != 1 || !served.signed[0] || served.forms[0].Get("RoleArn") != roleARN || served.forms[0].Get("ExternalId") != "nestor-1" {
		t.Errorf("requests %v, signed %v; want one that is signed", served.forms, served.signed)
	}
}

func TestWebIdentityIsExchanged(t *testing.T) {
	served := newCloud(t)
	c := clients(t)
	object := bedrockAt(served, func(a *v1beta1.AWS) { a.WebIdentity = &v1beta1.AWSWebIdentity{RoleARN: roleARN, TokenFile: "token"} })
	for i, token := range []string{"first-token", "second-token"} {
		write(t, filepath.Join(c.KeyDir, "team", "token"), token)
		if err := complete(t, c, object); err != nil {
			t.Fatal(err)
		}
		if len(served.forms) != i+1 || served.forms[i].Get("WebIdentityToken") != token || served.signed[i] {
			t.Errorf("requests %v, signed %v", served.forms, served.signed)
		}
	}
	served.refuse = "AccessDenied"
	write(t, filepath.Join(c.KeyDir, "team", "token"), "third-token")
	var failure *model.Error
	if err := complete(t, c, object); !errors.As(err, &failure) || failure.Kind != model.Unauthorized ||
		!strings.Contains(err.Error(), "AccessDenied") || strings.Contains(err.Error(), "third-token") {
		t.Errorf("refused: %v", err)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func serviceAccount(t *testing.T, fields map[string]any) string {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	fields["private_key"] = string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: encoded}))
	data, err := json.Marshal(fields)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func vertexAt(served *cloud) *v1beta1.ModelProvider {
	return provider(served.URL, func(s *v1beta1.ModelProviderSpec) {
		s.API, s.GoogleCloud = v1beta1.APIVertex, &v1beta1.GoogleCloud{Project: "p", Location: "global", ServiceAccountKeyRef: new(ref("key"))}
	})
}

func TestVertexUsesServiceAccount(t *testing.T) {
	served := newCloud(t)
	c := clients(t, secret(map[string]string{"key": serviceAccount(t, map[string]any{
		"type": "service_account", "client_email": "nestor@p.iam.gserviceaccount.com", "token_uri": served.URL + "/token",
	})}))
	for range 2 {
		if err := complete(t, c, vertexAt(served)); err != nil {
			t.Fatal(err)
		}
	}
	if len(served.forms) != 1 || served.forms[0].Get("grant_type") != "urn:ietf:params:oauth:grant-type:jwt-bearer" {
		t.Errorf("requests %v, want one for all calls", served.forms)
	}
}

// TestTenantsCannotBorrowTheOperatorsIdentity tries every way in which a provider of another namespace could get
// requests sent with the identity of the operator's pod, or its token.
func TestTenantsCannotBorrowTheOperatorsIdentity(t *testing.T) {
	served := newCloud(t)
	tokenFile := filepath.Join(t.TempDir(), "ambient")
	write(t, tokenFile, ambient)
	t.Setenv("AWS_ROLE_ARN", roleARN)
	t.Setenv("AWS_WEB_IDENTITY_TOKEN_FILE", tokenFile)
	t.Setenv("AWS_ACCESS_KEY_ID", "AKIAAMBIENT")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "temporary")
	t.Setenv("AWS_BEARER_TOKEN_BEDROCK", "temporary")
	t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", tokenFile)
	external, err := json.Marshal(map[string]any{
		"type": "external_account", "audience": "a", "subject_token_type": "urn:ietf:params:oauth:token-type:jwt",
		"token_url": served.URL + "/token", "credential_source": map[string]string{"file": tokenFile},
	})
	if err != nil {
		t.Fatal(err)
	}
	unshared := bedrockAt(served, func(a *v1beta1.AWS) { a.UseOperatorIdentity = new(true) })
	unshared.Namespace, unshared.Name = "system", "cloud"
	c := clients(t, secret(map[string]string{"key": string(external)}), unshared, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "team"}})
	write(t, filepath.Join(c.KeyDir, "team", "other"), "own")
	if err := os.Symlink(tokenFile, filepath.Join(c.KeyDir, "team", "link")); err != nil {
		t.Fatal(err)
	}
	for name, object := range map[string]*v1beta1.ModelProvider{
		"the operator's identity": bedrockAt(served, func(a *v1beta1.AWS) { a.UseOperatorIdentity = new(true) }),
		"a role of its own on the operator's identity": bedrockAt(served, func(a *v1beta1.AWS) {
			a.UseOperatorIdentity, a.AssumeRole = new(true), &v1beta1.AWSRole{RoleARN: "arn:aws:iam::999999999999:role/mine"}
		}),
		"the operator's identity beside an access key": bedrockAt(served, func(a *v1beta1.AWS) {
			accessKey(a)
			a.UseOperatorIdentity = new(true)
		}),
		"no credentials":              bedrockAt(served, func(*v1beta1.AWS) {}),
		"a role without credentials":  bedrockAt(served, func(a *v1beta1.AWS) { a.AssumeRole = &v1beta1.AWSRole{RoleARN: roleARN} }),
		"the operator's token file":   bedrockAt(served, func(a *v1beta1.AWS) { a.WebIdentity = &v1beta1.AWSWebIdentity{RoleARN: roleARN, TokenFile: tokenFile} }),
		"a link to the token":         bedrockAt(served, func(a *v1beta1.AWS) { a.WebIdentity = &v1beta1.AWSWebIdentity{RoleARN: roleARN, TokenFile: "link"} }),
		"a file that names the token": vertexAt(served),
		"the identity in Google Cloud": provider(served.URL, func(s *v1beta1.ModelProviderSpec) {
			s.API, s.GoogleCloud = v1beta1.APIVertex, &v1beta1.GoogleCloud{Project: "p", UseOperatorIdentity: new(true)}
		}),
		"no credentials in Google Cloud": provider(served.URL, func(s *v1beta1.ModelProviderSpec) {
			s.API, s.GoogleCloud = v1beta1.APIVertex, &v1beta1.GoogleCloud{Project: "p"}
		}),
		"no cloud": provider(served.URL, func(s *v1beta1.ModelProviderSpec) { s.API = v1beta1.APIBedrock }),
	} {
		t.Run(name, func(t *testing.T) {
			c.kept = nil
			if err := complete(t, c, object); err == nil || strings.Contains(err.Error(), ambient) {
				t.Errorf("got %v, want a failure without the token", err)
			}
			if usesOperatorIdentity(&object.Spec) {
				var missing *resolve.Missing
				if err := c.Check(t.Context(), object); !errors.As(err, &missing) || missing.Reason != v1beta1.ReasonIdentityNotAllowed {
					t.Errorf("the check: %v", err)
				}
				if _, _, err := c.Probe(t.Context(), object, time.Second); err == nil {
					t.Error("a probe has the identity")
				}
			}
		})
	}
	if len(served.forms) > 0 {
		t.Errorf("the identity was exchanged: %v", served.forms)
	}
	var missing *resolve.Missing
	if _, err := c.Finder.Provider(t.Context(), "team", "cloud"); !errors.As(err, &missing) {
		t.Errorf("a provider that is not shared, as a fallback: %v", err)
	}
	writer, ok := c.Finder.Reader.(client.Client)
	if !ok {
		t.Fatal("the cluster cannot be written")
	}
	unshared.Spec.AllowedNamespaces = &v1beta1.AllowedNamespaces{From: v1beta1.NamespacesAll}
	if err := writer.Update(t.Context(), unshared); err != nil {
		t.Fatal(err)
	}
	shared, err := c.Finder.Provider(t.Context(), "team", "cloud")
	if err != nil {
		t.Fatal(err)
	}
	c.kept = nil
	if err := complete(t, c, shared); err != nil || len(served.forms) != 1 || served.forms[0].Get("WebIdentityToken") != ambient {
		t.Errorf("the shared provider: %v, requests %v", err, served.forms)
	}
}
