// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package push

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/outbound"
)

const (
	// MaxConfigs is how many configurations a task may have.
	MaxConfigs = 4
	// MaxURL is the longest URL.
	MaxURL         = 1024
	maxToken       = 1024
	maxCredentials = 4096
	maxSealed      = 8192
)

var ErrTooMany = fmt.Errorf("a task has at most %d push notification configurations: delete one first", MaxConfigs)

// Secrets prove the origin of a notification.
type Secrets struct {
	// Token is sent in the headers for notification tokens.
	Token string `json:"token,omitempty"`
	// Scheme and Credentials are sent in the header Authorization.
	Scheme      string `json:"scheme,omitempty"`
	Credentials string `json:"credentials,omitempty"`
}

type Config struct {
	ID  string `json:"id"`
	URL string `json:"url"`
	// Sealed are the sealed [Secrets]; empty if there are none.
	Sealed []byte `json:"sealed,omitempty"`
}

var validID = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._-]{0,62}[A-Za-z0-9])?$`)

// CheckID returns an error if id cannot identify a configuration.
func CheckID(id string) error {
	if !validID.MatchString(id) {
		return errors.New("the id of a push notification configuration has up to 64 letters, digits, '-', '_' and '.'")
	}
	return nil
}

// CheckURL returns an error if no notification may be sent to a URL. The address of a name is checked when a
// connection is made. Plain HTTP is allowed only together with loopback addresses, for local mode and tests.
func CheckURL(text string, reach outbound.Options) error {
	if len(text) > MaxURL {
		return fmt.Errorf("the URL for push notifications has more than %d characters", MaxURL)
	}
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Hostname() == "" || u.Opaque != "":
		return errors.New("the URL for push notifications is not valid: use for example https://client.example.com/notifications")
	case u.User != nil:
		return errors.New("the URL for push notifications must not contain a user or a password: use authentication")
	case u.Fragment != "":
		return errors.New("the URL for push notifications must not have a fragment")
	case u.Scheme != "https" && (u.Scheme != "http" || !reach.AllowLoopback):
		return errors.New("the URL for push notifications must begin with https://")
	}
	if address, err := netip.ParseAddr(u.Hostname()); err == nil {
		return reach.Check(address)
	}
	if name := strings.TrimSuffix(strings.ToLower(u.Hostname()), "."); !reach.AllowLoopback && (name == "localhost" || strings.HasSuffix(name, ".localhost")) {
		return &outbound.NotAllowedError{Address: name, Reason: "a loopback address"}
	}
	return nil
}

// check returns an error if secrets cannot be sent.
func (s Secrets) check() error {
	switch {
	case len(s.Token) > maxToken || len(s.Credentials) > maxCredentials:
		return fmt.Errorf("the token has at most %d characters, and the credentials %d", maxToken, maxCredentials)
	case !printable(s.Token) || !printable(s.Credentials):
		return errors.New("the token and the credentials are sent in HTTP headers: they must be printable ASCII")
	case s.Credentials != "" && !strings.EqualFold(s.Scheme, "Bearer") && !strings.EqualFold(s.Scheme, "Basic"):
		return errors.New("the authentication scheme must be Bearer or Basic")
	}
	return nil
}

func printable(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' })
}

// Read returns the configurations of a task. The annotation can be edited by hand, so configurations that exceed the
// limits are left out.
func Read(task *v1beta1.AgentTask) []Config {
	var list []Config
	if json.Unmarshal([]byte(task.Annotations[v1beta1.AnnotationPush]), &list) != nil {
		return nil
	}
	ids := map[string]bool{}
	list = slices.DeleteFunc(list, func(c Config) bool {
		bad := CheckID(c.ID) != nil || len(c.URL) > MaxURL || len(c.Sealed) > maxSealed || ids[c.ID]
		ids[c.ID] = true
		return bad
	})
	return list[:min(len(list), MaxConfigs)]
}

// Write stores configurations in the annotation of a task.
func Write(task *v1beta1.AgentTask, list []Config) error {
	if len(list) > MaxConfigs {
		return ErrTooMany
	}
	text, err := json.Marshal(list)
	if err != nil {
		return fmt.Errorf("encode the push notification configurations: %w", err)
	}
	annotate(task, v1beta1.AnnotationPush, string(text), len(list))
	return nil
}

// annotate sets an annotation that contains n items, or removes it if there are none.
func annotate(object metav1.Object, name, text string, n int) {
	annotations := maps.Clone(object.GetAnnotations())
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[name] = text
	if n == 0 {
		delete(annotations, name)
	}
	object.SetAnnotations(annotations)
}

// Add adds a configuration to a list, or replaces that with the same ID.
func Add(list []Config, added Config) []Config {
	list = slices.Clone(list)
	if i := slices.IndexFunc(list, func(c Config) bool { return c.ID == added.ID }); i >= 0 {
		list[i] = added
		return list
	}
	return append(list, added)
}

// Record is the outcome of the newest notification of a receiver.
type Record struct {
	// State identifies the state of the object that was notified.
	State string `json:"state"`
	// Error is why it could not be delivered; empty if it was.
	Error string `json:"error,omitempty"`
	// Sequence counts the notifications of a receiver in a spec that were delivered or given up.
	Sequence int64 `json:"sequence,omitempty"`
	// Pending are those that follow, oldest first. They are stored before they are sent.
	Pending []Notice `json:"pending,omitempty"`
}

// Notice is a notification for a receiver in a spec. It has no text of a model.
type Notice struct {
	// ID identifies the state of the object: the same state has the same ID.
	ID string `json:"id,omitempty"`
	// Sequence is the number of the notification among those for the receiver.
	Sequence int64               `json:"sequence"`
	State    v1beta1.NotifyState `json:"state"`
	Time     metav1.Time         `json:"time,omitzero"`
	// Reason is the kind of the error of a task that failed.
	Reason  v1beta1.ErrorKind `json:"reason,omitempty"`
	Waiting *Waiting          `json:"waiting,omitempty"`
}

// Waiting is a question or an approval that waits for a person, without its text and arguments.
type Waiting struct {
	Kind v1beta1.WaitingKind `json:"kind"`
	// Task and SubAgent name the one that waits. They are absent for a question of a chat itself.
	Task     string `json:"task,omitempty"`
	SubAgent string `json:"subAgent,omitempty"`
	Tool     string `json:"tool,omitempty"`
	// DenyRequesters reports that those who requested the work must not decide.
	DenyRequesters bool `json:"denyRequesters,omitempty"`
}

var toolName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// ToolName returns the name of a tool, or "" if it is not one: a model chooses it.
func ToolName(name string) string {
	if toolName.MatchString(name) {
		return name
	}
	return ""
}

// Records returns the outcomes that are recorded with an object, by the IDs of its receivers.
func Records(object metav1.Object) map[string]Record {
	records := map[string]Record{}
	if json.Unmarshal([]byte(object.GetAnnotations()[v1beta1.AnnotationNotified]), &records) != nil {
		return map[string]Record{}
	}
	return records
}

func WriteRecords(object metav1.Object, records map[string]Record) error {
	text, err := json.Marshal(records)
	if err != nil {
		return fmt.Errorf("encode the record of notifications: %w", err)
	}
	annotate(object, v1beta1.AnnotationNotified, string(text), len(records))
	return nil
}
