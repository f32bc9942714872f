// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import { describe, expect, it } from 'vitest';
import type { Chat } from '../api/types';
import { barred } from './separation';

const request = { task: 'a-1', call: 'c1' };
const chat = (separation: boolean, askers?: string[], user?: string) =>
  ({ metadata: { name: 'a' }, spec: { user }, status: { askers, waiting: [{ task: 'a-1', toolCall: 'c1', kind: 'Approval', separation }] } }) as unknown as Chat;

describe('separation', () => {
  it('bars those who asked for the work, and nobody else', () => {
    expect(barred(chat(true, ['alice']), request, 'alice')).toContain('Another person must decide');
    expect(barred(chat(true, ['carol'], 'alice'), request, 'alice')).toContain('Another person must decide');
    expect(barred(chat(true, ['alice']), request, 'bob')).toBeUndefined();
    expect(barred(chat(false, ['alice']), request, 'alice')).toBeUndefined();
  });

  it('bars everybody while it is not known who asked', () => {
    expect(barred(chat(true), request, 'bob')).toContain('No one can decide');
  });

  it('is a matter of the call that waits', () => {
    expect(barred(chat(true, ['alice']), { task: 'a-1', call: 'c2' }, 'alice')).toBeUndefined();
    expect(barred(undefined, request, 'alice')).toBeUndefined();
  });
});
