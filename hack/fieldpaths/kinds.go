// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"reflect"
	"regexp"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	aggregatorscheme "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	historyv1beta1 "github.com/nestor-dev/nestor/api/history/v1beta1"
	"github.com/nestor-dev/nestor/config/crd"
)

// field returns the field of an object by its JSON name. A nil field is a value whose fields are free.
type field func(name string) (field, bool)

// kinds are the fields of kinds by name: Nestor's own, which a sentence may mean without naming them, and others.
type kinds struct {
	own, others map[string]field
	// words maps the words for a kind in prose and in commands to its name.
	words map[string]string
}

// aliases are words of the glossary for Nestor's kinds.
var aliases = map[string]string{
	"chat": "AgentChat", "message": "AgentMessage", "quota": "AgentQuota", "role": "AgentRole", "task": "AgentTask", "policy": "ToolPolicy",
	"trigger": "AgentTrigger", "evaluation": "AgentEvaluation", "provider": "ModelProvider", "sub-agent": "SubAgent", "whoami": "SelfSubjectReview",
}

func readKinds() (*kinds, error) {
	k := &kinds{own: map[string]field{}, others: map[string]field{}, words: map[string]string{}}
	for word, kind := range aliases {
		k.name(kind, word, word+"s")
	}
	definitions, err := crd.All()
	if err != nil {
		return nil, err
	}
	for _, d := range definitions {
		kind := d.Spec.Names.Kind
		k.own[kind] = ofSchema(d.Spec.Versions[0].Schema.OpenAPIV3Schema)
		k.name(kind, kind, kind+"s", d.Spec.Names.Singular, d.Spec.Names.Plural)
	}
	history, core := runtime.NewScheme(), runtime.NewScheme()
	for _, add := range []func() error{
		func() error { return historyv1beta1.AddToScheme(history) },
		func() error { return scheme.AddToScheme(core) },
		func() error { return aggregatorscheme.AddToScheme(core) },
	} {
		if err := add(); err != nil {
			return nil, err
		}
	}
	k.addTypes(k.own, history)
	k.addTypes(k.others, core)
	return k, nil
}

// addTypes adds the kinds of a scheme whose objects have a name.
func (k *kinds) addTypes(to map[string]field, from *runtime.Scheme) {
	for gvk, t := range from.AllKnownTypes() {
		if _, named := t.FieldByName("ObjectMeta"); !named {
			continue
		}
		to[gvk.Kind] = ofType(t)
		plural, singular := meta.UnsafeGuessKindToResource(gvk)
		k.name(gvk.Kind, gvk.Kind, gvk.Kind+"s", singular.Resource, plural.Resource)
	}
}

func (k *kinds) name(kind string, words ...string) {
	for _, word := range words {
		k.words[word] = kind
	}
}

func ofSchema(schema *apiextensionsv1.JSONSchemaProps) field {
	for schema.Items != nil {
		schema = schema.Items.Schema
	}
	if schema.AdditionalProperties != nil || schema.Type == "object" && len(schema.Properties) == 0 {
		return nil
	}
	return func(name string) (field, bool) {
		inner, found := schema.Properties[name]
		if !found {
			return nil, false
		}
		return ofSchema(&inner), true
	}
}

func ofType(t reflect.Type) field {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if t.Kind() == reflect.Map || t == reflect.TypeFor[runtime.RawExtension]() {
		return nil
	}
	return func(name string) (field, bool) {
		if t.Kind() != reflect.Struct {
			return nil, false
		}
		for f := range t.Fields() {
			tag, options, _ := strings.Cut(f.Tag.Get("json"), ",")
			if strings.Contains(options, "inline") || f.Anonymous && tag == "" {
				if inner, found := ofType(f.Type)(name); found {
					return inner, true
				}
			}
			if tag == name {
				return ofType(f.Type), true
			}
		}
		return nil, false
	}
}

var index = regexp.MustCompile(`\[[^\]]*\]`)

// has reports whether a kind has a path such as spec.limits.maxDepth or status.waiting[].text.
func (k *kinds) has(kind, path string) bool {
	at := k.own[kind]
	if at == nil {
		at = k.others[kind]
	}
	for name := range strings.SplitSeq(index.ReplaceAllString(path, ""), ".") {
		if at == nil {
			return true
		}
		next, found := at(name)
		if !found {
			return false
		}
		at = next
	}
	return true
}
