// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import { expect, it } from 'vitest';
import { annotationTitle, labelTrigger, type Task } from '../api/types';
import { aTask } from '../testing';
import { copyCommand, copyOf } from './again';
import { exact } from './format';

it('a copy has the whole spec, and neither the cancel nor the state of the task', () => {
  const spec = { role: 'coder', instruction: 'Mend it.', successCriteria: 'Tests pass.', limits: { maxIterations: 4 }, workspace: { emptyDir: {} }, ttlSecondsAfterFinished: 60, model: 'large' };
  const task = aTask('mend', { spec: { ...spec, cancel: true, group: 'g', user: 'bob', userGroups: ['staff'], fireUser: 'carol' } as Partial<Task['spec']>, status: { phase: 'Cancelled' } });
  task.metadata.labels = { [labelTrigger]: 'nightly' };
  task.metadata.annotations = { [annotationTitle]: 'The title', 'nestor.dev/firing': 'f' };
  expect(copyOf(task, { user: 'alice', groups: ['platform'] }, 'bcdfg')).toEqual({
    apiVersion: 'nestor.dev/v1beta1',
    kind: 'AgentTask',
    metadata: { name: 'mend-again-bcdfg', namespace: 'default', annotations: { [annotationTitle]: 'The title' } },
    spec: { type: 'Agent', ...spec, user: 'alice' },
  });
});

it('a copy of a tool call has its arguments, and the groups of this person', () => {
  const call = aTask('call', { spec: { type: 'Tool', role: undefined, tool: 'notes__add', arguments: { title: 'x', deep: [{ n: 1 }] } } });
  const copy = copyOf(call, { user: 'alice', groups: ['platform'] }, 'bcdfg');
  expect(copy.spec).toMatchObject({ type: 'Tool', tool: 'notes__add', arguments: { title: 'x', deep: [{ n: 1 }] }, user: 'alice', userGroups: ['platform'] });
  expect(copyCommand(call, copy)).toContain('"userGroups":["platform"]');
});

it.each([
  ['call-again-bcdfg', 'call-again-hjklm'],
  ['a'.repeat(63), `${'a'.repeat(51)}-again-hjklm`],
  [`${'a'.repeat(50)}-${'b'.repeat(12)}`, `${'a'.repeat(50)}-again-hjklm`],
])('%s becomes %s', (name, copy) => {
  expect(copyOf(aTask(name), { user: 'alice' }, 'hjklm').metadata.name).toBe(copy);
});

it.each([
  ['{"n": 9007199254740991, "m": [-9007199254740991, 0.1, 1e3], "text": "9007199254740993", "none": null}', true],
  ['{"n": 9007199254740993}', false],
  ['{"deep": [{"n": -9223372036854775808}]}', false],
  ['{"n": 9007199254740993.5}', false],
  ['{"n": 1e400}', false],
])('whether numbers are exact: %s is %s', (text, is) => {
  expect(exact(JSON.parse(text))).toBe(is);
});

it('the command makes the same copy, and survives a shell', () => {
  const task = aTask('call', { spec: { type: 'Tool', role: undefined, tool: 'notes__add' } });
  task.metadata.annotations = { [annotationTitle]: 'The title', 'nestor.dev/firing': 'f' };
  const command = copyCommand(task, copyOf(task, { user: "o'hara" }, 'bcdfg'));
  expect(command).toBe(
    `kubectl get agenttasks.nestor.dev call -n default -o yaml |\n  kubectl patch -f - --local --type=merge -o yaml -p '{"metadata":{"name":"call-again-bcdfg","uid":null,"resourceVersion":null,"labels":null,"finalizers":null,"ownerReferences":null,"annotations":{"nestor.dev/firing":null}},"spec":{"user":"o'\\''hara","cancel":null,"group":null,"userGroups":null,"fireUser":null},"status":null}' |\n  kubectl create -f -`,
  );
});
