// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package localmode

import (
	"bytes"
	"context"
	"embed"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/yaml"

	"github.com/nestor-dev/nestor/api/v1beta1"
	manifests "github.com/nestor-dev/nestor/config/operator"
)

// Namespace contains the demo's chat and roles.
const Namespace = "default"

// ChatName returns the name of the demo's chat. An agent keeps the model that it started with, so each model has its own chat.
func (l *Local) ChatName() string {
	m := l.options.Model
	if !m.Real() {
		return "first"
	}
	const most = 40
	name := strings.Trim(notInName.ReplaceAllString("first-"+strings.ToLower(m.Name), "-"), "-")
	return strings.TrimRight(name[:min(len(name), most)], "-")
}

var notInName = regexp.MustCompile(`[^a-z0-9]+`)

// scriptedModel is the name of the scripted model.
const scriptedModel = "scripted"

// keySecret holds the key of a real model.
const keySecret = "model-key"

// The files of the sample project end in .txt here, so that no tool takes them for a part of Nestor.
//
//go:embed sample/*.txt sample/*.md roles/*.yaml
var files embed.FS

// layOutSample writes the sample project once; changes by agents are kept. It is a git repository if git is installed, so that people can see
// what the agents changed.
func (l *Local) layOutSample(ctx context.Context) error {
	if _, err := os.Stat(l.Sample); err == nil {
		return nil
	}
	if err := os.MkdirAll(l.Sample, 0o755); err != nil {
		return fmt.Errorf("create the directory of the sample project: %w", err)
	}
	if err := l.writeSample(); err != nil {
		return err
	}
	for _, arguments := range [][]string{{"init", "--quiet"}, {"add", "--all"}, {"commit", "--quiet", "--message", "The sample project"}} {
		git := exec.CommandContext(ctx, "git", append([]string{"-C", l.Sample, "-c", "user.name=Nestor", "-c", "user.email=nestor@localhost", "-c", "commit.gpgSign=false"}, arguments...)...)
		if out, err := git.CombinedOutput(); err != nil {
			l.Say("the sample project is not a git repository, so that its changes cannot be shown: git %s: %v %s", arguments[0], err, bytes.TrimSpace(out))
			return nil
		}
	}
	return nil
}

func (l *Local) writeSample() error {
	return fs.WalkDir(files, "sample", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := files.ReadFile(path)
		if err != nil {
			return fmt.Errorf("read %s: %w", path, err)
		}
		name := strings.TrimSuffix(filepath.Base(path), ".txt")
		if err := os.WriteFile(filepath.Join(l.Sample, name), content, 0o644); err != nil {
			return fmt.Errorf("write the sample project: %w", err)
		}
		return nil
	})
}

// furnish creates the objects that a first chat needs.
func (l *Local) furnish(ctx context.Context) error {
	if err := l.ensure(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: operatorNamespace}}); err != nil {
		return err
	}
	if err := l.furnishPeople(ctx); err != nil {
		return err
	}
	if err := l.furnishModel(ctx); err != nil {
		return err
	}
	if err := l.furnishRoles(ctx); err != nil {
		return err
	}
	if err := l.furnishChats(ctx); err != nil {
		return err
	}
	if err := l.ensure(ctx, l.NewChat(l.ChatName())); err != nil {
		return err
	}
	var sent v1beta1.AgentMessageList
	if err := l.Client.List(ctx, &sent, client.InNamespace(Namespace), client.MatchingLabels{v1beta1.LabelChat: l.ChatName()}, client.Limit(1)); err != nil {
		return fmt.Errorf("list the messages of the chat %s: %w", l.ChatName(), err)
	}
	l.fresh = len(sent.Items) == 0
	return nil
}

// furnishPeople brings the roles of people up to date, for service accounts that use the gateway.
func (l *Local) furnishPeople(ctx context.Context) error {
	roles, err := manifests.PeopleRoles()
	if err != nil {
		return err
	}
	for _, role := range roles {
		if err := l.Client.Apply(ctx, client.ApplyConfigurationFromUnstructured(role), client.FieldOwner("demo"), client.ForceOwnership); err != nil {
			return fmt.Errorf("create the role %s: %w", role.GetName(), err)
		}
	}
	return nil
}

// NewChat returns a chat that has the sample project as its workspace.
func (l *Local) NewChat(name string) *v1beta1.AgentChat {
	chat := &v1beta1.AgentChat{ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: name}}
	chat.Spec.Workspace = &v1beta1.Workspace{Directory: &v1beta1.DirectorySource{Path: l.Sample}}
	return chat
}

// ensure creates an object if it does not exist.
func (l *Local) ensure(ctx context.Context, object client.Object) error {
	if err := l.Client.Create(ctx, object); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("create %T %s: %w", object, object.GetName(), err)
	}
	return nil
}

// furnishModel points the default provider to the model of this run.
func (l *Local) furnishModel(ctx context.Context) error {
	m := l.options.Model
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: keySecret}}
	if m.Key == "" {
		if err := client.IgnoreNotFound(l.Client.Delete(ctx, secret)); err != nil {
			return fmt.Errorf("delete the key of the last model: %w", err)
		}
	} else if err := l.put(ctx, secret, func() error {
		secret.Data = map[string][]byte{"key": []byte(m.Key)}
		return nil
	}); err != nil {
		return fmt.Errorf("store the key of the model: %w", err)
	}
	provider := &v1beta1.ModelProvider{ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: "default"}}
	err := l.put(ctx, provider, func() error {
		provider.Spec.API, provider.Spec.BaseURL, provider.Spec.DefaultModel, provider.Spec.APIKeyRef = v1beta1.APIOpenAI, l.modelURL, scriptedModel, nil
		// Invented prices, so that people see where costs are shown.
		provider.Spec.Models = slices.DeleteFunc(provider.Spec.Models, func(p v1beta1.ModelInfo) bool { return p.Name == scriptedModel })
		if !m.Real() {
			provider.Spec.Models = append(provider.Spec.Models, v1beta1.ModelInfo{
				Name: scriptedModel, InputMicrosPerMillion: ptr.To[int64](1_250_000), OutputMicrosPerMillion: ptr.To[int64](10_000_000),
			})
		}
		if m.Real() {
			provider.Spec.API, provider.Spec.DefaultModel = m.API, m.Name
		}
		if m.Key != "" {
			provider.Spec.APIKeyRef = &v1beta1.SecretKeyRef{Name: keySecret, Key: "key"}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("create the model provider: %w", err)
	}
	return nil
}

// furnishRoles brings the sample roles up to date.
func (l *Local) furnishRoles(ctx context.Context) error {
	entries, err := files.ReadDir("roles")
	if err != nil {
		return fmt.Errorf("read the roles: %w", err)
	}
	for _, entry := range entries {
		text, err := files.ReadFile("roles/" + entry.Name())
		if err != nil {
			return fmt.Errorf("read %s: %w", entry.Name(), err)
		}
		var wanted v1beta1.AgentRole
		if err := yaml.UnmarshalStrict(text, &wanted); err != nil {
			return fmt.Errorf("read %s: %w", entry.Name(), err)
		}
		role := &v1beta1.AgentRole{ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: wanted.Name}}
		if err := l.put(ctx, role, func() error {
			role.Spec = wanted.Spec
			return nil
		}); err != nil {
			return fmt.Errorf("create the role %s: %w", wanted.Name, err)
		}
	}
	return nil
}

// put creates or updates an object. The operator is already running and may write its status at the same time.
func (l *Local) put(ctx context.Context, object client.Object, want controllerutil.MutateFn) error {
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		_, err := controllerutil.CreateOrUpdate(ctx, l.Client, object, want)
		return err
	})
}
