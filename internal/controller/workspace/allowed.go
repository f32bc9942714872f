// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package workspace

import (
	"context"
	"fmt"
	"net/netip"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/cluster/resolve"
	"github.com/nestor-dev/nestor/internal/tool/workspace/giturl"
	"github.com/nestor-dev/nestor/internal/tool/workspace/pod"
)

// Anyone who may create a chat can name a Secret and a claim in it, and the operator's pod uses them. Without the
// checks below a person could send any Secret of the namespace to their own server, and read any volume, without
// permission for either. So the objects themselves state what they are for, in an annotation or label that only users
// with write access to them can set. A policy of the chart also checks that the creator of the chat may get them; the
// checks here hold without it.

// checkReferences returns an error if an object that a pod refers to is missing, or if workspaces may not use it or run
// where it asks to.
func (p *pods) checkReferences(ctx context.Context, spec pod.Spec) error {
	if err := p.options.Allow.check(spec.Placement); err != nil {
		return err
	}
	if git := spec.Source.Git; git != nil {
		remote, err := giturl.Parse(git.URL)
		if err != nil {
			return fmt.Errorf("read the address of the repository: %w", err)
		}
		// The addresses of a name are resolved and checked when the pod is created.
		if address, err := netip.ParseAddr(remote.Host); err == nil {
			host := remote.Host
			if err := p.options.PrivateGitServers.check(spec.Namespace, host, nil, []netip.Addr{address}); err != nil {
				return err
			}
		}
		return p.checkSecret(ctx, spec.Namespace, git.SecretName, remote)
	}
	if claim := spec.Source.PersistentVolumeClaim; claim != nil {
		return p.checkClaim(ctx, spec.Namespace, claim.ClaimName)
	}
	if dir := spec.Source.EmptyDir; dir != nil && dir.SizeLimit != nil && dir.SizeLimit.Cmp(spec.MaxSize) > 0 {
		return notAllowed("The workspace requests %s, and this operator allows %s: create it again with a smaller sizeLimit, or start the operator with a larger --workspace-max-size.",
			dir.SizeLimit, &spec.MaxSize)
	}
	return nil
}

// checkSecret returns an error if a Secret may not be sent to the server of a repository.
func (p *pods) checkSecret(ctx context.Context, namespace, name string, remote giturl.Remote) error {
	if name == "" {
		return nil
	}
	var secret corev1.Secret
	if err := p.getOrMissing(ctx, namespace, &secret, name, v1beta1.ReasonSecretNotFound, "Secret"); err != nil {
		return err
	}
	if remote.MatchesList(secret.Annotations[v1beta1.AnnotationGitHosts]) {
		return nil
	}
	return notAllowed("The Secret %q may not be sent to %s. If it is meant for that server, let its owner run: kubectl annotate secret -n %s %s --overwrite %s=%s",
		name, remote.Origin(), namespace, name, v1beta1.AnnotationGitHosts, remote.Entry())
}

// checkClaim returns an error if a claim may not be a workspace.
func (p *pods) checkClaim(ctx context.Context, namespace, name string) error {
	var claim corev1.PersistentVolumeClaim
	if err := p.getOrMissing(ctx, namespace, &claim, name, v1beta1.ReasonWorkspaceUnavailable, "PersistentVolumeClaim"); err != nil {
		return err
	}
	if claim.Labels[v1beta1.LabelWorkspace] == "true" {
		return nil
	}
	return notAllowed("The PersistentVolumeClaim %q is not for workspaces. If agents may use its files, let its owner run: kubectl label pvc -n %s %s --overwrite %s=true",
		name, namespace, name, v1beta1.LabelWorkspace)
}

func (p *pods) getOrMissing(ctx context.Context, namespace string, object client.Object, name, reason, kind string) error {
	err := p.options.Live.Get(ctx, types.NamespacedName{Namespace: namespace, Name: name}, object)
	if apierrors.IsNotFound(err) {
		return &resolve.Missing{Reason: reason, Message: fmt.Sprintf("The workspace needs the %s %q: create it in the namespace %s.", kind, name, namespace)}
	}
	if err != nil {
		return fmt.Errorf("get %s %s/%s: %w", kind, namespace, name, err)
	}
	return nil
}

func notAllowed(format string, args ...any) error {
	return &resolve.Missing{Reason: v1beta1.ReasonWorkspaceNotAllowed, Message: fmt.Sprintf(format, args...)}
}
