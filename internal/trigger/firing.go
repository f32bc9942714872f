// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package trigger

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"
	"time"
	"unicode"

	"k8s.io/apimachinery/pkg/types"

	"github.com/nestor-dev/nestor/internal/trigger/expr"
)

// Firing is an occurrence at a trigger's source that may start work.
type Firing struct {
	// ID identifies the firing. See ScheduleID, WebhookID, ObjectID and ManualID.
	ID string
	// Time is when it happened, or the scheduled time.
	Time time.Time
	// Input has the variables of its expressions. FillTrigger sets its variable trigger.
	Input expr.Input
	// Manual is true if a person fires the trigger. User is that person's name, which may be empty.
	Manual bool
	User   string
	// Object is the hash of the UID of a watched object. Rearmed is true if the condition was false for it since it was
	// last true.
	Object  string
	Rearmed bool
	// Missed is the number of older times of a schedule that do not fire.
	Missed int64
}

// FillTrigger sets the variable trigger of a firing's expressions.
func (f *Firing) FillTrigger(name types.NamespacedName) {
	f.Input.Trigger = map[string]any{"name": name.Name, "namespace": name.Namespace, "id": f.ID, "time": f.Time.UTC()}
}

func ScheduleID(at time.Time) string { return "s" + strconv.FormatInt(at.Unix(), 10) }

// WebhookID returns the id of a request, by the id of its delivery.
func WebhookID(delivery string) string { return bounded("w", delivery) }

func ObjectID(uid types.UID, resourceVersion string) string {
	return bounded("o", string(uid)+"-"+resourceVersion)
}

// ManualID returns the id of a firing by a person.
func ManualID(value string) string { return bounded("m", value) }

// maxID bounds the part of an id that comes from outside.
const maxID = 128

// bounded returns an id. A value that is too long, or cannot be printed, is replaced by its hash.
func bounded(prefix, value string) string {
	if len(value) > maxID || strings.ContainsFunc(value, func(r rune) bool { return !unicode.IsGraphic(r) || r == unicode.ReplacementChar }) {
		sum := sha256.Sum256([]byte(value))
		return prefix + "h" + hex.EncodeToString(sum[:])
	}
	return prefix + value
}

// Hash returns the hash of a key or a UID as stored in the status.
func Hash(value string) string {
	sum := sha256.Sum256([]byte(value))
	return hex.EncodeToString(sum[:8])
}

// The suffixes of names have no vowels, so that they form no words.
const (
	suffixChars  = "bcdfghjklmnpqrstvwxz2456789"
	suffixLength = 10
	maxName      = 63
)

// Name returns the name of the task or message of a firing. It is the same after every restart, and differs for
// triggers of the same name.
func Name(trigger string, uid types.UID, id string) string {
	sum := sha256.Sum256([]byte(string(uid) + "/" + id))
	suffix := make([]byte, suffixLength)
	for i := range suffix {
		suffix[i] = suffixChars[int(sum[i])%len(suffixChars)]
	}
	base := trigger[:min(len(trigger), maxName-suffixLength-1)]
	return strings.TrimRight(base, "-") + "-" + string(suffix)
}
