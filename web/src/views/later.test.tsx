// @vitest-environment jsdom
// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import { render, screen } from '@testing-library/react';
import { Suspense } from 'react';
import { expect, test } from 'vitest';
import { later } from './later';

test('a view is loaded when it is shown', async () => {
  let loaded = 0;
  const View = later(async () => {
    loaded++;
    return ({ name }: { name: string }) => <p>Hello {name}</p>;
  });
  expect(loaded).toBe(0);
  render(
    <Suspense fallback="loading">
      <View name="Ada" />
    </Suspense>,
  );
  await screen.findByText('Hello Ada');
  expect(loaded).toBe(1);
});

test('a view whose script is gone asks for a reload', async () => {
  const View = later(() => Promise.reject(new TypeError('Failed to fetch dynamically imported module')));
  render(
    <Suspense fallback="loading">
      <View />
    </Suspense>,
  );
  await screen.findByRole('button', { name: 'Reload' });
});
