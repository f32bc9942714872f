// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import { expect, it } from 'vitest';
import type { Condition } from '../api/types';
import { headOf, standstillOf } from './standstill';

const condition = (type: string, status: Condition['status'], reason: string): Condition[] => [{ type, status, reason, message: 'words' }];

it('tells pauses and waits from work and failures', () => {
  expect(standstillOf(undefined)).toBeUndefined();
  expect(standstillOf(condition('Ready', 'True', 'Ready'))).toBeUndefined();
  expect(standstillOf(condition('Ready', 'False', 'ModelError'))).toBeUndefined();
  expect(standstillOf(condition('Ready', 'True', 'PausedTurnLimit'))).toEqual({ reason: 'PausedTurnLimit', message: 'words', paused: true });
  expect(standstillOf(condition('Progressing', 'False', 'RateLimited'))).toMatchObject({ paused: false });
  expect(standstillOf(condition('Ready', 'False', 'QuotaExhausted'))).toMatchObject({ paused: false });
  expect(standstillOf(condition('Succeeded', 'Unknown', 'QuotaExhausted'))).toMatchObject({ reason: 'QuotaExhausted' });
});

it('has a head for every reason', () => {
  expect(headOf({ reason: 'PausedLoop', message: '', paused: true })).toContain('repeatedly');
  expect(headOf({ reason: 'PausedOtherwise', message: '', paused: true })).toBe('Paused');
  expect(headOf({ reason: 'Otherwise', message: '', paused: false })).toBe('Waiting');
});
