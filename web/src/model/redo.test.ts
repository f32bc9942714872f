// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import { describe, expect, it } from 'vitest';
import { aMessage } from '../testing';
import { draftOf, repeat, repeatable } from './redo';

const attachments = [{ name: 'a.txt', mediaType: 'text/plain', data: 'YQ==' }];

describe('repeating a message', () => {
  it('takes the words and the attachments, and neither the chat nor the question that it answered', () => {
    const message = aMessage('m', { content: 'Hello', user: 'alice', inReplyTo: 'q', attachments });
    expect(repeat(message)).toEqual({ content: 'Hello', attachments });
    expect(draftOf(message)).toEqual({ from: 'm', text: 'Hello', attachments });
    expect(repeat(aMessage('m', { content: 'Hello' }))).toEqual({ content: 'Hello' });
  });

  it.each([
    [{ content: 'x' }, true],
    [{ content: 'x', role: 'User' }, true],
    [{ content: 'x', role: 'Assistant' }, false],
    [{ content: 'x', role: 'System' }, false],
    [{ cancel: {} }, false],
    [{ approval: { task: 't', decision: 'Approve' } }, false],
  ] as const)('%j: %s', (spec, can) => expect(repeatable(spec)).toBe(can));
});
