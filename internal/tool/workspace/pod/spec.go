// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package pod

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/nestor-dev/nestor/internal/tool/workspace/gitpush"
	"github.com/nestor-dev/nestor/internal/tool/workspace/giturl"
)

const Port = 7410

const Container = "workspace"

const TokenKey = "token"

type Spec struct {
	// Owner is the AgentChat or standalone AgentTask of the workspace, and Namespace its namespace.
	Owner     Owner
	Namespace string
	Source    Source
	// Image holds nestor-workspace, bash and git.
	Image string
	// Resources of the server; DefaultResources if empty.
	Resources corev1.ResourceRequirements
	// Operator selects the pods that may connect.
	Operator Peer
	// Egress lists the allowed outgoing connections; empty allows none. Hosts are names that the pod resolves without
	// DNS.
	Egress []networkingv1.NetworkPolicyEgressRule
	Hosts  []corev1.HostAlias
	// Publish, if set, is for a pod that publishes changes instead of one that serves files. Its source is Git.
	Publish *Publish
	// MaxSize bounds the files of a source without its own volume; zero means no bound.
	MaxSize resource.Quantity
	// Placement is where and with which runtime the pod runs.
	Placement Placement
}

// Placement is the part of a pod's spec that decides its node and runtime.
type Placement struct {
	RuntimeClassName string
	NodeSelector     map[string]string
	Tolerations      []corev1.Toleration
}

// Owner is the object that a workspace belongs to.
type Owner struct {
	APIVersion, Kind, Name string
	UID                    string
	// Chat is the value of the label nestor.dev/chat; empty for a standalone task.
	Chat string
}

type Peer struct {
	Namespace string
	Labels    map[string]string
}

// Source is where the files come from; exactly one field is set.
type Source struct {
	Git                   *Git
	PersistentVolumeClaim *PersistentVolumeClaim
	EmptyDir              *EmptyDir
}

// Git is a repository that is cloned when the pod starts.
type Git struct {
	URL string
	// Ref is a branch, a tag or a commit; empty for the default branch.
	Ref string
	// Commit is the commit to check out instead of the newest one of Ref; empty for that.
	Commit string
	// SecretName names a Secret with username and password, or ssh-privatekey and
	// known_hosts. Only the init container can read it.
	SecretName string
}

type Publish struct {
	Branch string
	// AllowPaths are globs of CI definitions and lists of reviewers that may be published.
	AllowPaths []string
}

type PersistentVolumeClaim struct {
	ClaimName string
	ReadOnly  bool
}

// EmptyDir is a directory that starts empty and is deleted with the pod.
type EmptyDir struct {
	// SizeLimit bounds the files; the default is 5Gi, or MaxSize if that is less.
	SizeLimit *resource.Quantity
}

// DefaultResources returns the resources of a workspace that specifies none.
func DefaultResources() corev1.ResourceRequirements {
	return corev1.ResourceRequirements{
		Requests: corev1.ResourceList{
			corev1.ResourceCPU:    resource.MustParse("100m"),
			corev1.ResourceMemory: resource.MustParse("256Mi"),
		},
		Limits: corev1.ResourceList{
			corev1.ResourceCPU:    resource.MustParse("2"),
			corev1.ResourceMemory: resource.MustParse("2Gi"),
		},
	}
}

// Validate returns an error if the spec is incomplete or contradictory.
func (s Spec) Validate() error {
	if s.Owner.Name == "" || s.Owner.UID == "" || s.Owner.Kind == "" || s.Owner.APIVersion == "" || s.Namespace == "" {
		return errors.New("workspace has no complete owner and namespace")
	}
	if s.Image == "" {
		return errors.New("workspace has no image")
	}
	if s.Operator.Namespace == "" || len(s.Operator.Labels) == 0 {
		// An empty selector would admit every pod.
		return errors.New("workspace does not specify which operator may connect")
	}
	if s.Publish != nil && (s.Source.Git == nil || !gitpush.IsBranch(s.Publish.Branch)) {
		return errors.New("changes can be published only on a branch of a git repository that begins with nestor/")
	}
	if s.Publish != nil {
		if _, err := gitpush.ParseAllowed(s.Publish.AllowPaths); err != nil {
			return err
		}
	}
	return s.Source.validate()
}

func (s Source) validate() error {
	sources := []bool{s.Git != nil, s.PersistentVolumeClaim != nil, s.EmptyDir != nil}
	if len(slices.DeleteFunc(sources, func(set bool) bool { return !set })) != 1 {
		return errors.New("workspace must have exactly one of git, persistentVolumeClaim and emptyDir")
	}
	if s.Git != nil {
		_, err := giturl.Parse(s.Git.URL)
		return err
	}
	if s.PersistentVolumeClaim != nil && s.PersistentVolumeClaim.ClaimName == "" {
		return errors.New("workspace's persistentVolumeClaim has no claimName")
	}
	return nil
}

// Name returns the name of all objects of the workspace. It depends on the owner's UID, so that a re-created owner
// does not get the old pod.
func (s Spec) Name() string {
	const longest = 40
	sum := sha256.Sum256([]byte(s.Owner.UID))
	name := strings.ReplaceAll(s.Owner.Name, ".", "-")
	name = strings.Trim(name[:min(len(name), longest)], "-")
	prefix := "ws-"
	if s.Publish != nil {
		prefix = "wp-"
	}
	return prefix + name + "-" + hex.EncodeToString(sum[:4])
}

// URL returns the address of the server for the operator.
func (s Spec) URL() string {
	return fmt.Sprintf("http://%s.%s.svc:%d/", s.Name(), s.Namespace, Port)
}

// Labels returns the labels of every workspace's objects.
func Labels() map[string]string {
	return map[string]string{"app.kubernetes.io/name": "nestor-workspace", "app.kubernetes.io/managed-by": "nestor"}
}

func (s Spec) meta() metav1.ObjectMeta {
	labels := Labels()
	maps.Copy(labels, s.selector())
	labels["nestor.dev/root"] = s.Owner.UID
	if s.Owner.Chat != "" {
		labels["nestor.dev/chat"] = s.Owner.Chat
	}
	return metav1.ObjectMeta{
		Name:      s.Name(),
		Namespace: s.Namespace,
		Labels:    labels,
		OwnerReferences: []metav1.OwnerReference{{
			APIVersion: s.Owner.APIVersion, Kind: s.Owner.Kind, Name: s.Owner.Name, UID: types.UID(s.Owner.UID),
			Controller: new(true), BlockOwnerDeletion: new(true),
		}},
	}
}

// selector returns the labels with which the Service and the policy select the pod.
func (s Spec) selector() map[string]string {
	return map[string]string{"app.kubernetes.io/name": "nestor-workspace", "app.kubernetes.io/instance": s.Name()}
}
