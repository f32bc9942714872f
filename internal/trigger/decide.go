// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package trigger

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/shorten"
)

// Bounds of the status, as the API has them.
const (
	MaxPending  = 4
	MaxActive   = 100
	MaxLatched  = 500
	maxRecent   = 1024
	maxTarget   = 40960 / 4 * 3 // bytes; the API counts the characters of their base64
	maxUnpacked = 256 << 10
	maxMessage  = 512
)

// How long the id of a firing is remembered. A schedule needs no memory: its times only advance.
const (
	idWindow = time.Hour
	// webhookWindow is for webhooks that fired, while half of the memory is free: an attacker may replay their
	// requests.
	webhookWindow = 24 * time.Hour
	// maxWindow is the maximum of dedupSeconds, the longest window. An entry with a later end was made while the clock
	// was wrong.
	maxWindow = 604800 * time.Second
)

type Outcome string

const (
	// Fired: it is recorded, and starts work.
	Fired Outcome = "Fired"
	// Duplicate: it was decided before, or another one with its key fired recently.
	Duplicate Outcome = "Duplicate"
	// Dropped: it starts no work; the status has the reason.
	Dropped Outcome = "Dropped"
	// NotMatched: the condition of the source is false for it.
	NotMatched Outcome = "NotMatched"
	Suspended  Outcome = "Suspended"
	// Wait: the trigger has no space to record it now. The source must try again.
	Wait Outcome = "Wait"
)

// Decision is the outcome of a firing, with its details.
type Decision struct {
	Outcome Outcome
	// Name is the name of the task or message of a firing that fired.
	Name string
	// Reason and Message describe why it was dropped.
	Reason  v1beta1.DropReason
	Message string
}

type Work struct {
	// Key is the value of dedupKey, or "".
	Key string
	// Kind and Target are the kind and the spec of the task or message.
	Kind   v1beta1.TargetKind
	Target []byte
	// ReportTo is the object that the end of a task is reported to, or nil.
	ReportTo *v1beta1.WatchedObject
}

type Identity struct {
	Name string
	UID  types.UID
}

// Decide decides about a firing and returns the status that records the decision. Only the replica that has written
// this status may act on it. The active work in the given status must be current.
func Decide(of Identity, spec v1beta1.AgentTriggerSpec, status v1beta1.AgentTriggerStatus, now time.Time, f Firing, work Work) (v1beta1.AgentTriggerStatus, Decision) {
	d, outcome := begin(spec, status, now, f)
	if d == nil {
		return status, Decision{Outcome: outcome}
	}
	if work.Key != "" && isRecent(d.status.RecentKeys, now, keyHash(work.Key)) {
		if !d.latch() {
			return d.drop(v1beta1.DropTooManyObjects, tooManyObjects)
		}
		d.passTime()
		return d.status, Decision{Outcome: Duplicate}
	}
	if reason, message := d.refusal(); reason != "" {
		return d.drop(reason, message)
	}
	if len(d.status.Pending) >= MaxPending || len(d.status.RecentKeys)+2 > maxRecent {
		return status, Decision{Outcome: Wait}
	}
	target, err := pack(work.Target)
	if err != nil {
		return d.drop(v1beta1.DropTooLarge, err.Error())
	}
	return d.fire(of, work, target)
}

// Drop records that a firing starts no work.
func Drop(spec v1beta1.AgentTriggerSpec, status v1beta1.AgentTriggerStatus, now time.Time, f Firing, reason v1beta1.DropReason, message string) (v1beta1.AgentTriggerStatus, Decision) {
	d, outcome := begin(spec, status, now, f)
	if d == nil {
		return status, Decision{Outcome: outcome}
	}
	return d.drop(reason, message)
}

// begin returns the decision to make about a firing, or the outcome if there is none to make.
func begin(spec v1beta1.AgentTriggerSpec, status v1beta1.AgentTriggerStatus, now time.Time, f Firing) (*decision, Outcome) {
	switch {
	case spec.Suspend:
		return nil, Suspended
	case wasDecided(status, now, f):
		return nil, Duplicate
	}
	d := &decision{spec: spec, status: *status.DeepCopy(), now: now, firing: f}
	d.status.RecentKeys = unexpired(status.RecentKeys, now)
	return d, ""
}

func wasDecided(status v1beta1.AgentTriggerStatus, now time.Time, f Firing) bool {
	if f.Manual && f.ID == status.LastFireID {
		return true
	}
	if f.isScheduled() {
		return status.LastScheduleTime != nil && !f.Time.After(status.LastScheduleTime.Time)
	}
	if slices.ContainsFunc(status.Pending, func(p v1beta1.PendingFiring) bool { return p.ID == f.ID }) || isRecent(status.RecentKeys, now, idHash(f.ID)) {
		return true
	}
	return f.Object != "" && !f.Rearmed && slices.Contains(status.Latched, f.Object)
}

func (f Firing) isScheduled() bool { return strings.HasPrefix(f.ID, "s") && !f.Manual }

func (f Firing) isWebhook() bool { return strings.HasPrefix(f.ID, "w") && !f.Manual }

type decision struct {
	spec   v1beta1.AgentTriggerSpec
	status v1beta1.AgentTriggerStatus
	now    time.Time
	firing Firing
}

const tooManyObjects = "The condition is true for more objects than the trigger can record: use a selector, or a narrower condition."

// refusal returns why a new firing must not start work, or "".
func (d *decision) refusal() (v1beta1.DropReason, string) {
	active := len(d.status.Active)
	switch {
	case d.spec.ConcurrencyPolicy == v1beta1.ConcurrencyForbid && active > 0:
		return v1beta1.DropActive, fmt.Sprintf("concurrencyPolicy is Forbid, and %s is active.", d.status.Active[active-1])
	case active >= MaxActive:
		return v1beta1.DropTooManyActive, fmt.Sprintf("%d tasks or messages of the trigger are active.", active)
	case d.firing.Object != "" && len(d.status.Latched) >= MaxLatched && !slices.Contains(d.status.Latched, d.firing.Object):
		return v1beta1.DropTooManyObjects, tooManyObjects
	}
	return "", ""
}

func (d *decision) fire(of Identity, work Work, target []byte) (v1beta1.AgentTriggerStatus, Decision) {
	name := Name(of.Name, of.UID, d.firing.ID)
	now := metav1.NewTime(d.now.Truncate(time.Second))
	d.status.Pending = append(d.status.Pending, v1beta1.PendingFiring{ID: d.firing.ID, Time: now, Name: name, Kind: work.Kind, Object: work.ReportTo, Target: target})
	d.status.Active = append(d.status.Active, name)
	d.status.Firings = saturated(d.status.Firings, 1)
	d.status.LastFiredTime = &now
	window := idWindow
	if d.firing.isWebhook() && len(d.status.RecentKeys) < maxRecent/2 {
		window = webhookWindow
	}
	d.remember(window)
	if work.Key != "" {
		d.add(keyHash(work.Key), time.Duration(d.spec.DedupSeconds)*time.Second)
	}
	d.latch()
	d.passTime()
	return d.status, Decision{Outcome: Fired, Name: name}
}

// drop records a firing that starts no work.
func (d *decision) drop(reason v1beta1.DropReason, message string) (v1beta1.AgentTriggerStatus, Decision) {
	d.remember(idWindow) // so that a repetition is not counted again
	d.latch()
	d.passTime()
	d.status.Dropped = saturated(d.status.Dropped, 1)
	message = shorten.Head(message, maxMessage)
	d.status.LastDrop = &v1beta1.DroppedFiring{ID: d.firing.ID, Time: metav1.NewTime(d.now.Truncate(time.Second)), Reason: reason, Message: message}
	return d.status, Decision{Outcome: Dropped, Reason: reason, Message: message}
}

// passTime advances a schedule to the time of the firing.
func (d *decision) passTime() {
	if !d.firing.isScheduled() {
		return
	}
	at := metav1.NewTime(d.firing.Time)
	d.status.LastScheduleTime = &at
	if d.firing.Missed > 0 {
		d.status.Dropped = saturated(d.status.Dropped, d.firing.Missed)
		d.status.LastDrop = &v1beta1.DroppedFiring{ID: d.firing.ID, Time: metav1.NewTime(d.now.Truncate(time.Second)), Reason: v1beta1.DropMissed,
			Message: fmt.Sprintf("%d earlier times of the schedule were missed.", d.firing.Missed)}
	}
}

// latch remembers that the condition is true for the object of the firing. It reports false if there is no space.
func (d *decision) latch() bool {
	if d.firing.Object == "" || slices.Contains(d.status.Latched, d.firing.Object) {
		return true
	}
	if len(d.status.Latched) >= MaxLatched {
		return false
	}
	d.status.Latched = append(d.status.Latched, d.firing.Object)
	return true
}

// remember remembers the id of the firing.
func (d *decision) remember(window time.Duration) {
	if d.firing.Manual {
		d.status.LastFireID = d.firing.ID
	}
	if !d.firing.isScheduled() && len(d.status.RecentKeys) < maxRecent {
		d.add(idHash(d.firing.ID), window)
	}
}

func (d *decision) add(hash string, window time.Duration) {
	d.status.RecentKeys = append(d.status.RecentKeys, hash+":"+strconv.FormatInt(d.now.Add(window).Unix(), 10))
}

func idHash(id string) string   { return Hash("id/" + id) }
func keyHash(key string) string { return Hash("key/" + key) }

func isRecent(keys []v1beta1.RecentKey, now time.Time, hash string) bool {
	return slices.ContainsFunc(keys, func(key string) bool { return strings.HasPrefix(key, hash+":") && !isExpired(key, now) })
}

func unexpired(keys []v1beta1.RecentKey, now time.Time) []v1beta1.RecentKey {
	return slices.DeleteFunc(slices.Clone(keys), func(key string) bool { return isExpired(key, now) })
}

func isExpired(key v1beta1.RecentKey, now time.Time) bool {
	_, text, _ := strings.Cut(key, ":")
	until, err := strconv.ParseInt(text, 10, 64)
	return err != nil || now.Unix() >= until || until-now.Unix() > int64(maxWindow/time.Second)
}

// saturated adds without an overflow.
func saturated(value, more int64) int64 {
	if value > math.MaxInt64-more {
		return math.MaxInt64
	}
	return value + more
}

// writers are reused: each takes 800 KB, and many triggers fire in the same second.
var writers = sync.Pool{New: func() any { return gzip.NewWriter(nil) }}

// pack compresses the spec of a task or message.
func pack(target []byte) ([]byte, error) {
	if len(target) > maxUnpacked {
		return nil, fmt.Errorf("The rendered task or message has %d bytes, at most %d are allowed.", len(target), maxUnpacked) //nolint:staticcheck,revive // a message for people
	}
	var out bytes.Buffer
	writer, _ := writers.Get().(*gzip.Writer) // the pool has nothing else
	defer writers.Put(writer)
	writer.Reset(&out)
	if _, err := writer.Write(target); err != nil {
		return nil, fmt.Errorf("compress: %w", err)
	}
	if err := writer.Close(); err != nil {
		return nil, fmt.Errorf("compress: %w", err)
	}
	if out.Len() > maxTarget {
		return nil, fmt.Errorf("The rendered task or message is too large: %d bytes compressed, at most %d are allowed.", out.Len(), maxTarget) //nolint:staticcheck,revive // a message for people
	}
	return out.Bytes(), nil
}

// Unpack returns the spec of the task or message of a recorded firing, as JSON.
func Unpack(target []byte) ([]byte, error) {
	reader, err := gzip.NewReader(bytes.NewReader(target))
	if err != nil {
		return nil, fmt.Errorf("decompress the recorded target: %w", err)
	}
	out, err := io.ReadAll(io.LimitReader(reader, maxUnpacked+1))
	if err != nil {
		return nil, fmt.Errorf("decompress the recorded target: %w", err)
	}
	if len(out) > maxUnpacked {
		return nil, errors.New("the recorded target is too large")
	}
	return out, nil
}

// Unlatch forgets objects for which the condition is no longer true.
func Unlatch(status v1beta1.AgentTriggerStatus, objects map[string]bool) v1beta1.AgentTriggerStatus {
	status = *status.DeepCopy()
	status.Latched = slices.DeleteFunc(status.Latched, func(hash string) bool { return objects[hash] })
	return status
}
