// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package revisions

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/rand"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1beta1"
)

// Promote writes the annotation that promotes a revision of a role for a user, and returns its value. The operator records in
// status.handledPromotion that it has handled it.
func Promote(ctx context.Context, api client.Client, r *v1beta1.AgentRole, revision, user string, now time.Time) (string, error) {
	value := revision + "/" + now.UTC().Format("20060102-150405-") + rand.String(5)
	for current := r.DeepCopy(); ; {
		changed := current.DeepCopy()
		metav1.SetMetaDataAnnotation(&changed.ObjectMeta, v1beta1.AnnotationPromote, value)
		metav1.SetMetaDataAnnotation(&changed.ObjectMeta, v1beta1.AnnotationPromoteUser, user)
		// The resource version makes sure that the role is still the one whose revisions were read.
		err := api.Patch(ctx, changed, client.MergeFromWithOptions(current, client.MergeFromWithOptimisticLock{}))
		if !apierrors.IsConflict(err) {
			return value, err
		}
		current = &v1beta1.AgentRole{}
		if err := api.Get(ctx, client.ObjectKeyFromObject(r), current); err != nil {
			return "", err
		}
		if current.UID != r.UID {
			return "", fmt.Errorf("the role %s was deleted", r.Name)
		}
	}
}
