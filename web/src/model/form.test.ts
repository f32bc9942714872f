// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import { expect, it } from 'vitest';
import type { Role } from '../api/types';
import { gitOpsManager, getIn, manifestOf, otherFields, setIn } from './form';
import { roleForm } from './setup';

const role = (more: Partial<Role['metadata']> = {}): Role => ({ metadata: { name: 'poet', namespace: 'default', uid: 'u', resourceVersion: '7', creationTimestamp: 'now', ...more }, spec: { displayName: 'Poet' }, status: {} });

it('leaves out what does not belong into a repository', () => {
  const annotations = { 'kubectl.kubernetes.io/last-applied-configuration': '{}', 'nestor.dev/notified': '[]', team: 'a' };
  expect(manifestOf('AgentRole', role({ annotations, labels: {}, managedFields: [{ manager: 'x' }] }))).toEqual({ apiVersion: 'nestor.dev/v1beta1', kind: 'AgentRole', metadata: { name: 'poet', namespace: 'default', annotations: { team: 'a' } }, spec: { displayName: 'Poet' } });
});

it('changes fields without touching the others, and removes objects that become empty', () => {
  const spec = { skills: [{ configMapName: 'a' }], tools: { allow: ['x'], deny: ['y'] } };
  expect(setIn(spec, ['tools', 'allow'], undefined)).toEqual({ skills: [{ configMapName: 'a' }], tools: { deny: ['y'] } });
  expect(setIn(setIn(spec, ['tools', 'allow'], undefined), ['tools', 'deny'], undefined)).toEqual({ skills: [{ configMapName: 'a' }] });
  expect(setIn(spec, ['limits', 'maxIterations'], 3)).toEqual({ ...spec, limits: { maxIterations: 3 } });
  expect(setIn(spec, ['limits', 'maxIterations'], undefined)).toEqual(spec);
  expect(Object.keys(setIn(spec, ['tools', 'allow'], ['z']))).toEqual(['skills', 'tools']);
  expect(getIn(spec, ['tools', 'deny'])).toEqual(['y']);
  expect(getIn(spec, ['model', 'deep'])).toBeUndefined();
});

it('names the fields that the form does not show', () => {
  expect(otherFields(roleForm.sections, { skills: [], tools: {}, review: {}, limits: {} })).toEqual(['skills', 'review']);
});

it.each([
  [{ managedFields: [{ manager: 'kubectl-client-side-apply' }, { manager: 'argocd-controller' }] }, 'argocd-controller'],
  [{ annotations: { 'argocd.argoproj.io/tracking-id': 'x' } }, 'Argo CD'],
  [{ labels: { 'kustomize.toolkit.fluxcd.io/name': 'x' } }, 'Flux'],
  [{ labels: { 'app.kubernetes.io/managed-by': 'Helm' } }, 'Helm'],
  [{ managedFields: [{ manager: 'kubectl-create' }] }, undefined],
])('recognises what applies a role: %j', (more, want) => {
  expect(gitOpsManager(role(more))).toBe(want);
});

it('sets fields of objects in lists', () => {
  const spec = setIn(setIn({ url: 'u' }, ['headersFrom', '0', 'name'], 'Authorization'), ['headersFrom', '0', 'secretKeyRef'], { name: 'a', key: 'b' });
  expect(spec).toEqual({ url: 'u', headersFrom: [{ name: 'Authorization', secretKeyRef: { name: 'a', key: 'b' } }] });
  expect(getIn(spec, ['headersFrom', '0', 'name'])).toBe('Authorization');
  expect(setIn(setIn(spec, ['headersFrom', '0', 'name'], undefined), ['headersFrom', '0', 'secretKeyRef'], undefined)).toEqual({ url: 'u' });
});
