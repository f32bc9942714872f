// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// @vitest-environment jsdom

import { act, cleanup, fireEvent, render, screen } from '@testing-library/react';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { Problem } from '../api/state';
import { Problems, StateBanner } from './StateBanner';

beforeEach(() => void vi.useFakeTimers());

afterEach(() => {
  cleanup();
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

const operator: Problem = { kind: 'Operator', severity: 'error', message: 'The operator does not run.', todo: 'Start it.', startTime: '2026-01-01T10:00:00Z' };
const server = (name: string): Problem => ({ kind: 'ToolServer', severity: 'warning', object: `ToolServer ${name}`, message: `The ToolServer ${name} is not ready.`, todo: 'Look at it.' });

it('asks again and again, and shows what begins and ends', async () => {
  let now: Problem[] | undefined = [];
  const asked: string[] = [];
  vi.stubGlobal('fetch', async (path: string) => {
    asked.push(path);
    if (!now) throw new TypeError('no connection');
    return new Response(JSON.stringify({ problems: now }), { status: 200 });
  });
  render(<StateBanner namespace="team a" />);
  await act(() => vi.advanceTimersByTimeAsync(10));
  expect(asked).toEqual(['/api/state?namespace=team%20a']);
  expect(screen.getByRole('status').textContent).toBe('');

  now = [operator];
  await act(() => vi.advanceTimersByTimeAsync(3100));
  screen.getByText('The operator does not run.');
  screen.getByText('Start it.');

  now = undefined; // what was known stays while the server does not answer
  await act(() => vi.advanceTimersByTimeAsync(3100));
  screen.getByText('The operator does not run.');

  now = [];
  await act(() => vi.advanceTimersByTimeAsync(3100));
  expect(screen.getByRole('status').textContent).toBe('');
  expect(asked.length).toBe(4);

  now = [operator];
  act(() => void window.dispatchEvent(new Event('focus')));
  await act(() => vi.advanceTimersByTimeAsync(10));
  screen.getByText('The operator does not run.');
});

it('does not ask while the page is hidden', async () => {
  const fetch = vi.fn(async () => new Response('{"problems":[]}', { status: 200 }));
  vi.stubGlobal('fetch', fetch);
  const hidden = vi.spyOn(document, 'hidden', 'get').mockReturnValue(true);
  render(<StateBanner namespace="a" />);
  await act(() => vi.advanceTimersByTimeAsync(10_000));
  expect(fetch).not.toHaveBeenCalled();
  hidden.mockReturnValue(false);
  act(() => void document.dispatchEvent(new Event('visibilitychange')));
  await act(() => vi.advanceTimersByTimeAsync(10));
  expect(fetch).toHaveBeenCalledTimes(1);
  hidden.mockRestore();
});

it('folds further problems, and hides them until others come', () => {
  const { rerender } = render(<Problems found={[operator, server('a'), server('b'), server('c')]} />);
  expect(screen.getAllByRole('listitem')).toHaveLength(2);
  fireEvent.click(screen.getByRole('button', { name: '2 more' }));
  expect(screen.getAllByRole('listitem')).toHaveLength(4);
  fireEvent.click(screen.getByRole('button', { name: 'Hide' }));
  expect(screen.queryByRole('listitem')).toBeNull();
  rerender(<Problems found={[operator]} />);
  expect(screen.getAllByRole('listitem')).toHaveLength(1);
});
