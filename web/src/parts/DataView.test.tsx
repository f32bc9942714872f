// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// @vitest-environment jsdom

import { cleanup, render } from '@testing-library/react';
import { afterEach, expect, it } from 'vitest';
import { DataView } from './DataView';

afterEach(cleanup);

it('shows the data as it is, and never as markup', () => {
  const data = { verdict: 'reject', reasons: ['<img src=x onerror=alert(1)>'], score: 0 };
  const { container } = render(<DataView data={data} />);
  expect(JSON.parse(container.querySelector('pre')!.textContent!)).toEqual(data);
  expect(container.querySelector('img')).toBeNull();
  expect(container.querySelector('details')!.open).toBe(true);
});

it('folds data with many fields', () => {
  const data = Object.fromEntries(Array.from({ length: 9 }, (_, i) => [`field${i}`, i]));
  expect(render(<DataView data={data} />).container.querySelector('details')!.open).toBe(false);
});
