// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import { expect, it } from 'vitest';
import type { Chat, MessageDisplay } from '../api/types';
import { aMessage, anEntry, aRun, aTask, aTree } from '../testing';
import { jsonOf, markdownOf } from './export';

const chat: Chat = { metadata: { name: 'talk', namespace: 'alice', uid: 'u', creationTimestamp: '2026-01-01T09:00:00Z' }, spec: {}, run: aRun({ title: 'The release' }) };
const args = '{"text":"```"}';

it('writes a conversation with its tasks, requests and decisions', () => {
  const tasks = [aTask('talk-1', { spec: { instruction: 'Write it\ndown.', triggerMessage: 'm1' }, status: { phase: 'Success', result: { summary: 'Written.' } } }), aTask('talk-1-1', { parent: 'talk-1', spec: { type: 'Tool', role: undefined, tool: 'notes__add' }, status: { phase: 'Failed', error: { kind: 'ToolError', message: 'no paper' } } })];
  const messages = [
    aMessage('m1', { role: 'User', user: 'alice', content: 'Write a note.' }, { created: '2026-01-01T10:00:00Z' }),
    aMessage('m2', { role: 'Assistant', task: 'talk-1', content: `Agent Scribe asks for approval of \`notes__add\` (task talk-1, call c1):\n${args}` }, { call: 'c1', created: '2026-01-01T10:00:01Z' }),
    aMessage('m3', { approval: { task: 'talk-1', toolCall: 'c1', decision: 'Approve', comment: 'go on' }, user: 'alice' }, { created: '2026-01-01T10:00:02Z' }),
    aMessage('m4', { role: 'Assistant', content: 'Done.' }, { created: '2026-01-01T10:00:03Z' }),
  ];
  const request: MessageDisplay['request'] = { task: 'talk-1', call: 'c1', who: 'Scribe', tool: 'notes__add', reasons: ['Required by policy team/notes, rule people'], arguments: args, whole: true, state: 'approved' };
  const tree = aTree(tasks, [], { 'talk-1': { after: 'm1' }, m2: { place: 1, request }, m3: { place: 2, hidden: true } });
  expect(markdownOf(chat, messages, tree)).toBe(`# The release

Chat \`talk\` in \`alice\`, created 2026-01-01 09:00:00 UTC.

### alice, 2026-01-01 10:00:00 UTC

Write a note.

- **coder** \`talk-1\`, Success: Write it down. → Written.
  - \`notes__add\` \`talk-1-1\`, Failed → ToolError: no paper

### Scribe requests approval of \`notes__add\`, 2026-01-01 10:00:01 UTC

- Required by policy team/notes, rule people
\`\`\`\`json
${args}
\`\`\`\`

*alice approved a call of talk-1: go on, 2026-01-01 10:00:02 UTC*

### Assistant, 2026-01-01 10:00:03 UTC

Done.
`);
});

it('writes everything as JSON, with the transcript if it may be read', () => {
  const read = JSON.parse(jsonOf(chat, [], [aTask('t')], [], [anEntry(1, { content: 'x' })])) as Record<string, unknown>;
  expect(Object.keys(read)).toEqual(['chat', 'messages', 'tasks', 'subAgents', 'transcript']);
  expect(JSON.parse(jsonOf(chat, [], [], []))).not.toHaveProperty('transcript');
});
