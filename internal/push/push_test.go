// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package push

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"math/big"
	"net/netip"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/outbound"
)

func keys(t *testing.T) *Keys {
	t.Helper()
	k, err := newKeys()
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func TestOnlyAllowedURLs(t *testing.T) {
	strict := outbound.Options{PublicOnly: true, Private: []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16")}}
	for text, allowed := range map[string]bool{
		"https://client.example.com/hook?x=1": true, "https://10.1.0.7:8443/": true, "https://[2606:4700::1111]/": true,

		"https://10.0.0.7:8443/": false, "https://192.168.1.1/": false, "https://[fd12::1]/": false, "https://[::ffff:10.0.0.7]/": false,
		"http://client.example.com/": false, "https://user:secret@client.example.com/": false, "https://169.254.169.254/latest": false,
		"https://[fd00:ec2::254]/": false, "https://127.0.0.1/": false, "https://localhost/": false, "https://a.localhost./": false, "https://[::ffff:127.0.0.1]/": false,
		"ftp://client.example.com/": false, "https:///path": false, "https:client": false, "client.example.com": false, "": false, "https://x/#part": false,
		"https://client.example.com/" + strings.Repeat("a", MaxURL): false,
	} {
		if err := CheckURL(text, strict); (err == nil) != allowed {
			t.Errorf("%s: %v, want allowed %t", text, err, allowed)
		}
	}
	for text, allowed := range map[string]bool{"http://127.0.0.1:80/": true, "http://localhost/": true, "http://169.254.169.254/": false} {
		if err := CheckURL(text, outbound.Options{AllowLoopback: true, PublicOnly: true}); (err == nil) != allowed {
			t.Errorf("with loopback, %s: %v, want allowed %t", text, err, allowed)
		}
	}
	if err := CheckURL("https://user:secret@x/", strict); strings.Contains(err.Error(), "secret") {
		t.Errorf("the error contains the password: %v", err)
	}
}

func TestSealedSecretsAreBound(t *testing.T) {
	k, secrets := keys(t), Secrets{Token: "t0ken", Scheme: "Bearer", Credentials: "cr3dentials"}
	sealed, err := k.Seal("team", "task", Config{ID: "one", URL: "https://client.example.com/"}, secrets)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(sealed.Sealed, []byte("t0ken")) || bytes.Contains(sealed.Sealed, []byte("cr3dentials")) {
		t.Error("the secrets are in plain text")
	}
	if opened, err := k.Open("team", "task", sealed); err != nil || opened != secrets {
		t.Errorf("opened %v, %v", opened, err)
	}
	otherURL, otherID, damaged := sealed, sealed, sealed
	otherURL.URL, otherID.ID = "https://attacker.example.com/", "two"
	damaged.Sealed = append([]byte{1}, sealed.Sealed...)
	for name, open := range map[string]func() (Secrets, error){
		"namespace": func() (Secrets, error) { return k.Open("other", "task", sealed) },
		"task":      func() (Secrets, error) { return k.Open("team", "other", sealed) },
		"parts":     func() (Secrets, error) { return k.Open("teamt", "ask", sealed) },
		"url":       func() (Secrets, error) { return k.Open("team", "task", otherURL) },
		"id":        func() (Secrets, error) { return k.Open("team", "task", otherID) },
		"damaged":   func() (Secrets, error) { return k.Open("team", "task", damaged) },
		"keys":      func() (Secrets, error) { return keys(t).Open("team", "task", sealed) },
	} {
		if opened, err := open(); !errors.Is(err, ErrUnsealed) {
			t.Errorf("another %s: opened %v, %v", name, opened, err)
		}
	}
}

func TestSecretsFitIntoHeaders(t *testing.T) {
	for name, secrets := range map[string]Secrets{
		"a line break": {Token: "a\r\nX-Other: b"}, "a letter beyond ASCII": {Token: "ä"}, "a long token": {Token: strings.Repeat("a", maxToken+1)},
		"another scheme": {Scheme: "Digest", Credentials: "x"}, "no scheme": {Credentials: "x"},
	} {
		if _, err := keys(t).Seal("n", "t", Config{ID: "i", URL: "https://x/"}, secrets); err == nil {
			t.Errorf("%s was sealed", name)
		}
	}
}

func TestConfigsOfTask(t *testing.T) {
	task := &v1beta1.AgentTask{}
	var list []Config
	for _, id := range []string{"a", "b", "c", "d"} {
		list = Add(list, Config{ID: id, URL: "https://" + id + "/"})
	}
	list = Add(list, Config{ID: "b", URL: "https://new/"})
	if err := Write(task, list); err != nil {
		t.Fatal(err)
	}
	if read := Read(task); len(read) != 4 || read[1].URL != "https://new/" {
		t.Errorf("read %v", read)
	}
	if err := Write(task, Add(list, Config{ID: "e"})); !errors.Is(err, ErrTooMany) {
		t.Errorf("five configurations: %v", err)
	}
	if err := Write(task, nil); err != nil || len(task.Annotations) != 0 {
		t.Errorf("without configurations: %v, %v", task.Annotations, err)
	}
	// Edited by hand.
	for text, want := range map[string]int{
		"nonsense": 0, `{"id": "a"}`: 0, `[{"id": "a b"}, {"id": "ok", "url": "https://x/"}, {"id": "ok"}]`: 1,
		`[{"id":"1"},{"id":"2"},{"id":"3"},{"id":"4"},{"id":"5"}]`: MaxConfigs, `[{"id":"1","url":"` + strings.Repeat("x", MaxURL+1) + `"}]`: 0,
	} {
		task.Annotations = map[string]string{v1beta1.AnnotationPush: text}
		if read := Read(task); len(read) != want {
			t.Errorf("%s: read %v", text, read)
		}
	}
}

// A receiver verifies a token with the published keys alone.
func TestSignature(t *testing.T) {
	k, body, now := keys(t), []byte(`{"task":{}}`), time.Unix(1_800_000_000, 0)
	token, err := k.Sign("https://gateway", "client.example.com", "team", "task", body, now)
	if err != nil {
		t.Fatal(err)
	}
	parts := strings.Split(token, ".")
	decode := func(text string) []byte {
		t.Helper()
		data, err := base64.RawURLEncoding.DecodeString(text)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	public := k.Public().Keys[0]
	verifier, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), append(append([]byte{4}, decode(public.X)...), decode(public.Y)...))
	if err != nil {
		t.Fatal(err)
	}
	signature, sum := decode(parts[2]), sha256.Sum256([]byte(parts[0]+"."+parts[1]))
	if len(signature) != 64 || !ecdsa.Verify(verifier, sum[:], new(big.Int).SetBytes(signature[:32]), new(big.Int).SetBytes(signature[32:])) {
		t.Error("the signature is not valid")
	}
	var header map[string]string
	var claims Claims
	if json.Unmarshal(decode(parts[0]), &header) != nil || json.Unmarshal(decode(parts[1]), &claims) != nil || header["kid"] != public.ID || header["alg"] != "ES256" {
		t.Errorf("header %v, claims %v", header, claims)
	}
	digest := sha256.Sum256(body)
	want := Claims{Issuer: "https://gateway", Audience: "client.example.com", IssuedAt: now.Unix(), Expires: now.Add(tokenLifetime).Unix(), ID: claims.ID, Namespace: "team", Task: "task", Body: hex.EncodeToString(digest[:])}
	if claims != want || claims.ID == "" {
		t.Errorf("claims %+v, want %+v", claims, want)
	}
	if other, err := k.Sign("i", "a", "n", "t", body, now); err != nil || other == token {
		t.Error("two tokens are the same")
	}
}

// Damaged keys are never replaced automatically.
func TestReplicasShareKeys(t *testing.T) {
	secrets := fake.NewClientset().CoreV1().Secrets("nestor-system")
	owner := &metav1.OwnerReference{APIVersion: "v1", Kind: "ServiceAccount", Name: "nestor-operator", UID: "1"}
	one, two := &Keyring{Secrets: secrets, Name: "keys", Owner: owner}, &Keyring{Secrets: secrets, Name: "keys"}
	first, err := one.Keys(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	second, err := two.Keys(t.Context())
	if err != nil || first.id() != second.id() || !bytes.Equal(first.sealing, second.sealing) {
		t.Errorf("the keys differ: %v", err)
	}
	stored, err := secrets.Get(t.Context(), "keys", metav1.GetOptions{})
	if err != nil || stored.Immutable == nil || !*stored.Immutable || len(stored.OwnerReferences) != 1 {
		t.Errorf("stored %v, %v", stored, err)
	}
	if err := secrets.Delete(t.Context(), "keys", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	one.read = time.Time{}
	if third, err := one.Keys(t.Context()); err != nil || third.id() == first.id() {
		t.Errorf("new keys: %v", err)
	}
	stored.ResourceVersion, stored.Name, stored.Data = "", "damaged", map[string][]byte{sealingField: []byte("short-secret"), signingField: {1}}
	if _, err := secrets.Create(t.Context(), stored, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	damaged := &Keyring{Secrets: secrets, Name: "damaged"}
	if _, err := damaged.Keys(t.Context()); err == nil || strings.Contains(err.Error(), "short-secret") {
		t.Errorf("damaged keys: %v", err)
	}
}
