// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import { describe, expect, it } from 'vitest';
import { annotationTitle, type Chat } from '../api/types';
import { describeWorkspace, draftOf, manifest, problemsOf, specOf } from './newchat';

const sample = { directory: { path: '/home/alice/sample' } };
const empty = draftOf(undefined);

describe('a new chat', () => {
  it('leaves everything to the defaults that the person left out', () => {
    expect(specOf(empty, undefined)).toEqual({});
    expect(problemsOf(empty)).toEqual({});
  });

  it('has the default workspace, unless the person chose another one', () => {
    const draft = draftOf(sample);
    expect(specOf(draft, sample)).toEqual({ workspace: sample });
    expect(specOf({ ...draft, workspace: 'none' }, sample)).toEqual({});
    expect(specOf({ ...draft, workspace: 'git', url: 'https://git.example.com/a.git', ref: 'main', secret: 'login' }, sample)).toEqual({ workspace: { git: { url: 'https://git.example.com/a.git', ref: 'main', secretName: 'login' } } });
    expect(specOf({ ...draft, workspace: 'claim', claim: 'files', readOnly: true }, sample)).toEqual({ workspace: { persistentVolumeClaim: { claimName: 'files', readOnly: true } } });
    expect(specOf({ ...draft, workspace: 'empty' }, sample)).toEqual({ workspace: { emptyDir: {} } });
  });

  it('has a role, a model and limits', () => {
    const draft = { ...empty, role: 'helper', provider: 'local', model: ' small ', tokens: '1000', cost: '0.25', depth: '1', parallel: '3' };
    expect(specOf(draft, undefined)).toEqual({ role: 'helper', modelProvider: 'local', model: 'small', limits: { maxTotalTokens: 1000, maxCostMicros: 250_000, maxDepth: 1, maxParallelTasks: 3 } });
  });

  it('has its title in an annotation', () => {
    expect(manifest('alice', 'talk', { ...empty, title: ' The move ' }, undefined).metadata).toEqual({ name: 'talk', namespace: 'alice', annotations: { [annotationTitle]: 'The move' } });
    expect(manifest('alice', 'talk', empty, undefined).metadata).toEqual({ name: 'talk', namespace: 'alice' });
    expect(manifest('alice', 'talk', empty, undefined, '\n  Move  the store.\nAll of it.').metadata.annotations).toEqual({ 'nestor.dev/first-words': 'Move the store.' });
  });

  it.each([
    [{ name: 'Not A Name' }, 'name'],
    [{ name: 'x'.repeat(64) }, 'name'],
    [{ workspace: 'git' }, 'url'],
    [{ workspace: 'git', url: 'git@example.com:a.git' }, 'url'],
    [{ workspace: 'git', url: 'https://alice:secret@example.com/a.git' }, 'url'],
    [{ workspace: 'git', url: 'https://example.com/a.git', ref: '-f' }, 'ref'],
    [{ workspace: 'git', url: 'https://example.com/a.git', secret: 'A B' }, 'secret'],
    [{ workspace: 'claim' }, 'claim'],
    [{ cost: '-1' }, 'cost'],
    [{ depth: '6' }, 'depth'],
    [{ parallel: '0' }, 'parallel'],
  ] as const)('is not created with %o', (part, field) => {
    expect(Object.keys(problemsOf({ ...empty, ...part }))).toEqual([field]);
  });
});

describe('a copy', () => {
  const chat: Chat = {
    metadata: { name: 'talk', namespace: 'alice', uid: 'u', creationTimestamp: '', annotations: { [annotationTitle]: 'The move' } },
    spec: { role: 'orchestrator', user: 'bob', model: 'small', workspace: sample, limits: { maxDepth: 3, maxTotalTokens: 0, maxCostMicros: 500_000 } },
  };

  it('has everything of the chat but its user', () => {
    const draft = draftOf(undefined, chat);
    expect(draft.title).toBe('Copy of The move');
    expect(specOf(draft, undefined)).toEqual({ role: 'orchestrator', model: 'small', workspace: sample, limits: { maxDepth: 3, maxCostMicros: 500_000 } });
  });

  it('does not take the default workspace if the chat has none', () => {
    expect(specOf(draftOf(sample, { ...chat, spec: {} }), sample)).toEqual({});
  });
});

it.each([
  [undefined, 'no files'],
  [{ git: { url: 'https://git.example.com/a.git', ref: 'main' } }, 'git.example.com/a.git at main'],
  [{ persistentVolumeClaim: { claimName: 'files' } }, 'the volume files'],
  [sample, '/home/alice/sample'],
  [{ emptyDir: {} }, 'an empty directory'],
])('describes a workspace', (workspace, words) => {
  expect(describeWorkspace(workspace)).toBe(words);
});
