// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import { expect, it } from 'vitest';
import { sticks } from './stick';

it.each([
  ['at the end', { scrollHeight: 1000, scrollTop: 500, clientHeight: 500 }, { stuck: false, top: 200 }, true],
  ['grown before the scroll to the end is reported', { scrollHeight: 1300, scrollTop: 500, clientHeight: 500 }, { stuck: true, top: 500 }, true],
  ['scrolled up', { scrollHeight: 1000, scrollTop: 300, clientHeight: 500 }, { stuck: true, top: 500 }, false],
  ['scrolled down, but not to the end', { scrollHeight: 1000, scrollTop: 300, clientHeight: 500 }, { stuck: false, top: 200 }, false],
] as const)('the end stays in sight: %s', (_, box, before, stays) => expect(sticks(box, before)).toBe(stays));
