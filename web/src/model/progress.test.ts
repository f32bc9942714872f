// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import { expect, it } from 'vitest';
import { partOf } from './progress';

it.each([
  ['3/10 reading files', 0.3],
  ['30%', 0.3],
  ['1/0', undefined],
  ['12', undefined],
  ['250%', 1],
  ['2026/01 is done', 1],
  ['3/10x', undefined],
  ['no part', undefined],
])('%s is %s', (text, part) => expect(partOf(text)).toBe(part));
