// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Forms for objects: their fields, and the manifests that they make.

import type { Resource } from '../api/types';

export type Spec = Record<string, unknown>;

/** The resources that have a form. */
export type Editable = 'agentchats' | 'agentroles' | 'modelproviders' | 'toolservers' | 'agenttriggers' | 'agentquotas' | 'toolpolicies';

/** What a form makes. A kind gets its editor with a value of this type. */
export interface Form {
  resource: Editable;
  kind: string;
  /** The kind in a sentence: "The role poet is changed." */
  word: string;
  sections: Section[];
  /** spec.user is the person who writes it. */
  requester?: boolean;
  /** What a new object begins with. */
  begin?: Spec;
  /** Specs to begin with instead. */
  presets?: { label: string; about?: string; name?: string; spec: Spec }[];
}

export interface Section {
  title: string;
  about?: string;
  /** Whether it is about a spec; without it, about all. */
  when?: (spec: Spec) => boolean;
  /** Members of the spec of which it has one. */
  oneOf?: Variant[];
  fields: Field[];
}

/** A member of a spec that excludes the others. */
export interface Variant {
  member: string;
  label: string;
  /** What the member begins with. */
  begin: Spec;
}

/** The variant that a spec has, or the first one. */
export const variantOf = (variants: Variant[], spec: Spec): Variant => variants.find(({ member }) => member in spec) ?? variants[0]!;

/** A spec with another variant, which has what was typed for it before, and without the members of the others. */
export function choose(variants: Variant[], spec: Spec, member: string, typed: Spec): Spec {
  const others = Object.fromEntries(Object.entries(spec).filter(([name]) => !variants.some((variant) => variant.member === name)));
  return { ...others, [member]: typed[member] ?? variants.find((variant) => variant.member === member)?.begin };
}

/** The sections and the fields that are about a spec. */
export function sectionsOf(form: Form, spec: Spec, isNew: boolean): Section[] {
  const shown = form.sections.filter(({ when }) => !when || when(spec));
  return shown.map((section) => ({ ...section, fields: section.fields.filter(({ when }) => !when || when(spec, isNew)) }));
}

/** An object as it stands in a repository: without what the API server and the operator set. */
export interface Manifest {
  apiVersion: 'nestor.dev/v1beta1';
  kind: string;
  metadata: { name: string; namespace: string; labels?: Record<string, string>; annotations?: Record<string, string> };
  spec: Spec;
}

/** The annotation with which kubectl apply remembers what it applied. */
const lastApplied = 'kubectl.kubernetes.io/last-applied-configuration';
/** The annotation with which the operator remembers what it delivered. */
const notified = 'nestor.dev/notified';

export function manifestOf(kind: string, object: Pick<Resource, 'metadata'> & { spec: unknown }): Manifest {
  const { name, namespace, labels } = object.metadata;
  const { [lastApplied]: _, [notified]: __, ...annotations } = object.metadata.annotations ?? {};
  return {
    apiVersion: 'nestor.dev/v1beta1',
    kind,
    metadata: { name, namespace, ...(nonEmpty(labels) ? { labels } : {}), ...(nonEmpty(annotations) ? { annotations } : {}) },
    spec: object.spec as Spec,
  };
}

const nonEmpty = (members: object | undefined) => members !== undefined && Object.keys(members).length > 0;

export function getIn(spec: Spec, path: string[]): unknown {
  return path.reduce<unknown>((value, name) => (typeof value === 'object' && value !== null ? (value as Spec)[name] : undefined), spec);
}

/** A copy of a spec with another value; undefined removes the field, and objects and lists that it leaves empty. A number is a place in a list. */
export function setIn(spec: Spec, [name, ...rest]: string[], value: unknown): Spec {
  if (rest.length > 0 && /^\d+$/.test(rest[0]!)) {
    const [at, ...inside] = rest;
    const items = Array.isArray(spec[name!]) ? [...(spec[name!] as Spec[])] : [];
    const item = setIn(items[Number(at)] ?? {}, inside, value);
    items.splice(Number(at), 1, ...(nonEmpty(item) ? [item] : []));
    const { [name!]: _, ...others } = spec;
    return items.length > 0 ? { ...spec, [name!]: items } : others;
  }
  const { [name!]: old, ...others } = spec;
  const next = rest.length === 0 ? value : setIn(typeof old === 'object' && old !== null ? (old as Spec) : {}, rest, value);
  if (next === undefined || (rest.length > 0 && !nonEmpty(next as Spec))) return others;
  return { ...spec, [name!]: next };
}

export interface Field {
  path: string[];
  label: string;
  /** secret: a reference to a key of a Secret, which the person names or pastes the value for. money: millionths, typed as an amount. models: models with their prices. rules: those of a policy. receivers: of notifications. */
  kind: 'text' | 'long' | 'number' | 'lines' | 'choice' | 'flag' | 'money' | 'secret' | 'models' | 'rules' | 'receivers';
  about?: string;
  placeholder?: string;
  options?: string[];
  /** Whether a choice has no default. */
  required?: boolean;
  /** The least height of a long text. */
  rows?: number;
  /** Values that the page proposes for texts and lines; others can be typed. */
  pick?: Picked;
  /** Whether it is about a spec; without it, about all. */
  when?: (spec: Spec, isNew: boolean) => boolean;
}

/** What a field picks from. */
export type Picked = 'roles' | 'providers' | 'tools' | 'chats';

/** The fields of a spec that the form does not show. */
export function otherFields(sections: Section[], spec: Spec): string[] {
  const shown = new Set(sections.flatMap(({ fields }) => fields.map(({ path }) => path[0])));
  return Object.keys(spec).filter((name) => !shown.has(name));
}

/** The program that applies an object from a repository, if it can be recognised. */
export function gitOpsManager(object: Resource): string | undefined {
  const { managedFields = [], labels = {}, annotations = {} } = object.metadata;
  const manager = managedFields.map(({ manager: name }) => name).find((name) => /argocd|flux|kustomize-controller|helm|config-sync|fleet/i.test(name));
  if (manager) return manager;
  if ('argocd.argoproj.io/tracking-id' in annotations || 'argocd.argoproj.io/instance' in labels) return 'Argo CD';
  if ('kustomize.toolkit.fluxcd.io/name' in labels) return 'Flux';
  return labels['app.kubernetes.io/managed-by'];
}
