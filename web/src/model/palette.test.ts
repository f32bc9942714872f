// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import { describe, expect, it } from 'vitest';
import type { Chat, Role } from '../api/types';
import { aRun, aTask } from '../testing';
import type { FoundTranscript } from '../api/history';
import { entriesOf, find, placesOf } from './palette';
import { runsOf } from './runs';

const aChat = (name: string, title: string, namespace = 'default'): Chat => ({ metadata: { name, namespace, uid: `${namespace}-${name}`, creationTimestamp: '2026-01-01T00:00:00Z' }, spec: {}, run: aRun({ title, badge: 'idle' }) });
const aRole = (name: string, displayName?: string): Role => ({ metadata: { name, namespace: 'default', uid: name, creationTimestamp: '2026-01-01T00:00:00Z' }, spec: { displayName } });

const chats = [aChat('release-x', 'Plan the release'), aChat('audit', 'Security review')];
const places = placesOf({ namespace: 'default', chats, runs: runsOf([...chats, aChat('other', 'Release notes', 'team-a')], [aTask('nightly')]), roles: [aRole('reviewer', 'Security reviewer')], may: { readEvaluations: true } });

describe('the palette', () => {
  it('leads to pages, chats, runs and roles, each once', () => {
    expect(places.map(({ kind, title, href }) => [kind, title, href])).toEqual([
      ['page', 'New chat', '/default'],
      ['page', 'Runs', '/default/runs'],
      ['page', 'Roles', '/default/roles'],
      ['page', 'Models', '/default/models'],
      ['page', 'Tools', '/default/tools'],
      ['page', 'Policies', '/default/policies'],
      ['page', 'Evaluations', '/default/evaluations'],
      ['page', 'Usage', '/default/usage'],
      ['chat', 'Plan the release', '/default/chats/release-x'],
      ['chat', 'Security review', '/default/chats/audit'],
      ['run', 'nightly', '/default/runs/nightly'],
      ['chat', 'Release notes', '/team-a/chats/other'],
      ['role', 'Security reviewer', '/default/roles?edit=reviewer'],
    ]);
    expect(places.find(({ href }) => href === '/team-a/chats/other')!.detail).toBe('other in team-a');
  });

  it('finds by words of title, name and kind, the best first', () => {
    const titles = (search: string) => find(places, search).map(({ title }) => title);
    expect(titles('rel')).toEqual(['Release notes', 'Plan the release']);
    expect(titles('security role')).toEqual(['Security reviewer']);
    expect(titles('team-a')).toEqual(['Release notes']);
    expect(titles('  ')).toHaveLength(places.length);
    expect(titles('nothing like it')).toEqual([]);
    expect(find(places, '', 2)).toHaveLength(2);
  });

  it('leads to the entries that a search found', () => {
    const found = (kind: FoundTranscript['agent']['kind'], name: string, more: Partial<FoundTranscript['agent']> = {}, transcript?: string): FoundTranscript => ({
      metadata: { name: transcript ?? `${{ AgentChat: 'chat', SubAgent: 'subagent', AgentTask: 'task' }[kind]}.${name}`, namespace: 'default', uid: name },
      agent: { kind, name, ...more },
      matches: [{ seq: 7, time: '2026-01-01T00:00:00Z', kind: 'User', excerpt: [{ text: 'the ' }, { text: 'words', match: true }] }],
    });
    const entries = entriesOf(
      [
        found('AgentChat', 'audit', { chat: 'audit' }),
        found('SubAgent', 'audit-1', { chat: 'audit', depth: 1 }),
        found('SubAgent', 'nightly', { depth: 1 }),
        found('SubAgent', 'nightly-2-1', { depth: 3 }),
        found('AgentTask', 'sum', { depth: 1 }),
        found('AgentChat', 'gone', { chat: 'gone' }),
        found('AgentChat', 'audit', { chat: 'audit' }, 'chat.audit.uid-of-an-earlier-one'),
        { ...found('SubAgent', 'nightly', { depth: 1 }), matches: [] },
      ],
      chats,
    );
    expect(entries.map(({ title, detail, href }) => [title, detail, href])).toEqual([
      ['the words', 'audit', '/default/chats/audit?agent=%40&entry=7'],
      ['the words', 'audit-1', '/default/chats/audit?agent=audit-1&entry=7'],
      ['the words', 'nightly', '/default/runs/nightly?agent=nightly&entry=7'],
      ['the words', 'nightly-2-1', '/default/runs/nightly?agent=nightly-2-1&entry=7'],
      ['the words', 'sum', '/default/runs/sum?agent=sum&entry=7'],
    ]);
  });
});
