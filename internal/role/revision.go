// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package role

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/nestor-dev/nestor/api/v1beta1"
)

// revisionLength is the number of hexadecimal digits in a revision: 128 bits of a SHA-256.
const revisionLength = 32

// snapshot is a resolved role with all of its texts. Fields are only added, and omitted where they are empty: the digests of recorded
// revisions must not change with a release.
type snapshot struct {
	Role
	// Texts are the files of the skills, in their order.
	Texts []map[string]string `json:"skillFiles,omitempty"`
}

// Snapshot returns a resolved role as canonical JSON, and its revision: the digest of this JSON. What controls the use of the role, its
// promotion and who may share it, is not part of either.
func (r Role) Snapshot() (data []byte, revision string, err error) {
	r.Promotion, r.AllowedNamespaces, r.SystemPromptFrom = nil, nil, nil
	whole := snapshot{Role: r}
	for _, s := range r.SkillTexts {
		whole.Texts = append(whole.Texts, s.texts)
	}
	data, err = json.Marshal(whole)
	if err == nil {
		data, err = canonical(data)
	}
	if err != nil {
		return nil, "", fmt.Errorf("encode the role %s: %w", r.Name, err)
	}
	return data, digest(data), nil
}

// ReadSnapshot returns the role of a snapshot. It returns an error if the snapshot is not that of the revision.
func ReadSnapshot(data []byte, revision string) (Role, error) {
	data, err := canonical(data)
	if err != nil {
		return Role{}, fmt.Errorf("read the revision %s: %w", revision, err)
	}
	if got := digest(data); got != revision {
		return Role{}, fmt.Errorf("read the revision %s: its data is that of %s", revision, got)
	}
	var whole snapshot
	if err := json.Unmarshal(data, &whole); err != nil {
		return Role{}, fmt.Errorf("read the revision %s: %w", revision, err)
	}
	for i := range whole.SkillTexts {
		if i < len(whole.Texts) {
			whole.SkillTexts[i].texts = whole.Texts[i]
		}
	}
	whole.Revision = revision
	return whole.Role, nil
}

// Gated reports whether runs begin with the promoted revision of a role.
func Gated(r *v1beta1.AgentRole) bool {
	return r.Spec.Promotion != nil && r.Spec.Promotion.Mode == v1beta1.PromotionGated
}

// canonical returns JSON with sorted keys and without spaces: the API server may return data in another form than it was written.
func canonical(data []byte) ([]byte, error) {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return nil, err
	}
	return json.Marshal(value)
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])[:revisionLength]
}
