// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// @vitest-environment jsdom

import { cleanup, fireEvent, render, screen } from '@testing-library/react';
import { afterEach, expect, it } from 'vitest';
import { anAgent, aTask, aTree } from '../testing';
import { Steps } from './Steps';

afterEach(cleanup);

it('shows the arguments of a call, or says that they are in the inspector', () => {
  const calls = [
    { id: 'a', tool: 'read', phase: 'Success' as const, arguments: { path: 'main.go' } },
    { id: 'b', tool: 'write', phase: 'Success' as const, argumentsOmitted: true },
  ];
  render(<Steps node={aTree([aTask('t')], [anAgent('t', { toolCalls: calls })]).roots[0]!} inspect={() => undefined} />);
  fireEvent.click(screen.getByRole('button', { name: /read/ }));
  expect(screen.getAllByText(/main\.go/).length).toBeGreaterThan(0);
  fireEvent.click(screen.getByRole('button', { name: /write/ }));
  screen.getByText('The input is too large to show here. The inspector has it.');
});
