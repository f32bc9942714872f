// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/nestor-dev/nestor/api/v1beta1"
	"github.com/nestor-dev/nestor/internal/version"
)

// whoamiResponse describes the signed-in person for the page.
type whoamiResponse struct {
	User string `json:"user"`
	// Groups are groups of the user for spec.userGroups of a task.
	Groups    []string `json:"groups,omitempty"`
	SignIn    string   `json:"signIn"`
	Namespace string   `json:"namespace"`
	// NamespaceMissing is true if the namespace does not exist, as far as the person may read it.
	NamespaceMissing bool `json:"namespaceMissing,omitempty"`

	Version string          `json:"version"`
	May     map[string]bool `json:"may"`
	// GatewayURL is where programs reach the gateway.
	GatewayURL string `json:"gatewayURL,omitempty"`
	// DefaultWorkspace is the workspace that the page proposes for new chats.
	DefaultWorkspace *v1beta1.Workspace `json:"defaultWorkspace,omitempty"`
	// Ideas are first messages that the page proposes.
	Ideas []string `json:"ideas,omitempty"`
}

// pagePermissions are the permissions that the page checks, so that it can show what is missing.
var pagePermissions = map[string]authorizationv1.ResourceAttributes{
	"readChats":         {Group: "nestor.dev", Resource: chats, Verb: "list"},
	"watchChats":        {Group: "nestor.dev", Resource: chats, Verb: "watch"},
	"readMessages":      {Group: "nestor.dev", Resource: messages, Verb: "list"},
	"createChats":       {Group: "nestor.dev", Resource: chats, Verb: "create"},
	"renameChats":       {Group: "nestor.dev", Resource: chats, Verb: "patch"},
	"update/agentchats": {Group: "nestor.dev", Resource: chats, Verb: "update"},

	"deleteChats":     {Group: "nestor.dev", Resource: chats, Verb: "delete"},
	"createMessages":  {Group: "nestor.dev", Resource: messages, Verb: "create"},
	"readEvaluations": {Group: "nestor.dev", Resource: evaluations, Verb: "list"},
	"readTriggers":    {Group: "nestor.dev", Resource: triggers, Verb: "list"},
	"fireTriggers":    {Group: "nestor.dev", Resource: triggers, Verb: "patch"},
	"createTasks":     {Group: "nestor.dev", Resource: tasks, Verb: "create"},
	"readTranscripts": {Group: "history.nestor.dev", Resource: "transcripts", Verb: "get"},

	"create/agentroles":     {Group: "nestor.dev", Resource: roles, Verb: "create"},
	"update/agentroles":     {Group: "nestor.dev", Resource: roles, Verb: "update"},
	"promote/agentroles":    {Group: "nestor.dev", Resource: roles, Verb: "promote"},
	"create/modelproviders": {Group: "nestor.dev", Resource: providers, Verb: "create"},
	"update/modelproviders": {Group: "nestor.dev", Resource: providers, Verb: "update"},
	"create/toolservers":    {Group: "nestor.dev", Resource: toolServers, Verb: "create"},
	"update/toolservers":    {Group: "nestor.dev", Resource: toolServers, Verb: "update"},
	"create/agenttriggers":  {Group: "nestor.dev", Resource: triggers, Verb: "create"},
	"update/agenttriggers":  {Group: "nestor.dev", Resource: triggers, Verb: "update"},
	"create/toolpolicies":   {Group: "nestor.dev", Resource: toolPolicies, Verb: "create"},
	"update/toolpolicies":   {Group: "nestor.dev", Resource: toolPolicies, Verb: "update"},
	"create/agentquotas":    {Group: "nestor.dev", Resource: quotas, Verb: "create"},
	"update/agentquotas":    {Group: "nestor.dev", Resource: quotas, Verb: "update"},
}

// whoami returns the user and their permissions in a namespace.
func (s *site) whoami(w http.ResponseWriter, r *http.Request, config *rest.Config) {
	namespace := r.FormValue("namespace")
	if namespace == "" {
		namespace = s.namespace
	}
	if err := checkNamespace(namespace); err != nil {
		writeError(w, err)
		return
	}
	user, err := review(r.Context(), config)
	if err != nil {
		writeError(w, err)
		return
	}
	may, err := permissions(r.Context(), config, namespace)
	if err != nil {
		writeError(w, err)
		return
	}
	writeJSON(w, http.StatusOK, whoamiResponse{
		User: user.Username, Groups: namedGroups(user.Groups), SignIn: s.identity.SignIn(), Namespace: namespace,
		NamespaceMissing: namespaceMissing(r.Context(), config, namespace), Version: version.String(), May: may, DefaultWorkspace: s.workspace, Ideas: s.ideas, GatewayURL: s.gatewayURL,
	})
}

// maxGroups is the bound of spec.userGroups of a task.
const maxGroups = 64

// namedGroups returns the groups that a task must name. The operator adds those that the API server gives to every user.
func namedGroups(groups []string) []string {
	named := slices.DeleteFunc(slices.Clone(groups), func(group string) bool {
		return group == "" || len(group) > 253 || group == "system:authenticated" || strings.HasPrefix(group, "system:serviceaccounts")
	})
	return named[:min(len(named), maxGroups)]
}

// review returns the user of a configuration, as the API server sees it.
func review(ctx context.Context, config *rest.Config) (user authenticationv1.UserInfo, err error) {
	api, err := newClient(config)
	if err != nil {
		return user, err
	}
	self := &authenticationv1.SelfSubjectReview{}
	err = api.Create(ctx, self)
	return self.Status.UserInfo, err
}

// namespaceMissing reports whether the API server answers that a namespace does not exist: RBAC grants permissions in such
// namespaces, too. Most people may not read namespaces, and theirs count as existing.
func namespaceMissing(ctx context.Context, config *rest.Config, namespace string) bool {
	api, err := newClient(config)
	if err != nil {
		return false
	}
	return apierrors.IsNotFound(api.Get(ctx, client.ObjectKey{Name: namespace}, &corev1.Namespace{}))
}

func permissions(ctx context.Context, config *rest.Config, namespace string) (map[string]bool, error) {
	api, err := newClient(config)
	if err != nil {
		return nil, err
	}
	group, ctx := errgroup.WithContext(ctx)
	type right struct {
		name    string
		allowed bool
	}
	answers := make(chan right, len(pagePermissions))
	for name, question := range pagePermissions {
		question.Namespace = namespace
		group.Go(func() error {
			allowed, err := mayDo(ctx, api, question)
			answers <- right{name, allowed}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	close(answers)
	may := map[string]bool{}
	for answer := range answers {
		may[answer.name] = answer.allowed
	}
	return may, nil
}
