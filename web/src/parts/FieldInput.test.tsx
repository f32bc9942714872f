// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// @vitest-environment jsdom

import { cleanup, fireEvent, render, screen } from '@testing-library/react';
import { useState } from 'react';
import { afterEach, expect, it } from 'vitest';
import type { Field } from '../model/form';
import { FieldInput } from './FieldInput';

afterEach(cleanup);

function Form({ field, seen }: { field: Field; seen: unknown[] }) {
  const [value, setValue] = useState<unknown>();
  seen[0] = value;
  return <FieldInput field={field} value={value} usual={undefined} choices={{ tools: ['notes__*', 'calculator'], providers: ['default'] }} onChange={setValue} />;
}

it('picks and removes names, and takes others', () => {
  const seen: unknown[] = [];
  render(<Form field={{ path: ['tools'], label: 'Tools', kind: 'lines', pick: 'tools' }} seen={seen} />);
  const pick = (value: string) => fireEvent.change(screen.getByLabelText(/^Tools/), { target: { value } });
  pick('calculator');
  pick('Another…');
  fireEvent.change(screen.getByLabelText(/^Tools/), { target: { value: ' web__* ' } });
  fireEvent.click(screen.getByRole('button', { name: 'Add' }));
  expect(seen[0]).toEqual(['calculator', 'web__*']);
  for (const name of ['calculator', 'web__*']) fireEvent.click(screen.getByRole('button', { name: `Remove ${name}` }));
  expect(seen[0]).toBeUndefined();
});

it('picks one name, or takes another', () => {
  const seen: unknown[] = [];
  render(<Form field={{ path: ['modelProvider'], label: 'Provider', kind: 'text', pick: 'providers' }} seen={seen} />);
  fireEvent.change(screen.getByLabelText(/^Provider/), { target: { value: 'default' } });
  expect(seen[0]).toBe('default');
  fireEvent.change(screen.getByLabelText(/^Provider/), { target: { value: 'Another…' } });
  fireEvent.change(screen.getByLabelText(/^Provider/), { target: { value: 'fast' } });
  fireEvent.blur(screen.getByLabelText(/^Provider/));
  expect(screen.getByLabelText<HTMLSelectElement>(/^Provider/).value).toBe('fast');
  expect(seen[0]).toBe('fast');
});

it('shows what holds while nothing is chosen', () => {
  const choice = { path: ['mode'], label: 'Mode', kind: 'choice', options: ['A', 'B'] } as const;
  const empty = (field: Partial<Field>, usual?: unknown) => {
    cleanup();
    render(<FieldInput field={{ ...choice, options: [...choice.options], path: [...choice.path], ...field }} value={undefined} usual={usual} choices={{}} onChange={() => undefined} />);
    return screen.getByLabelText<HTMLSelectElement>(/^Mode/).options[0]!.text;
  };
  expect(empty({})).toBe('default');
  expect(empty({ placeholder: 'A' })).toBe('A (default)');
  expect(empty({ placeholder: 'A' }, 'B')).toBe('B (built in)');
  expect(empty({ required: true })).toBe('Choose…');
});
