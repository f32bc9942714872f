// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// @vitest-environment jsdom

import { cleanup, render, screen, within } from '@testing-library/react';
import { afterEach, expect, it, vi } from 'vitest';
import type { Condition, Evaluation, Person } from '../api/types';
import { SiteContext, type Site } from '../state/context';
import { Store } from '../state/store';
import { EvaluationsOf, EvaluationsPage } from './EvaluationsPage';

afterEach(() => {
  cleanup();
  vi.unstubAllGlobals();
});

const revision = (letter: string) => letter.repeat(32);
const ready = (message: string, status: Condition['status'] = 'True'): Condition => ({ type: 'Ready', status, reason: 'Ready', message });

const anEvaluation = (name: string, status: Evaluation['status'], spec: Partial<Evaluation['spec']> = {}): Evaluation => ({
  metadata: { name, namespace: 'default', uid: name, creationTimestamp: '2026-01-01T00:00:00Z' },
  spec: { role: 'poet', ...spec },
  status,
});

const failed = anEvaluation(
  'poems',
  {
    verdict: 'Failed',
    candidateRevision: revision('c'),
    baselineRevision: revision('b'),
    startTime: '2026-01-01T00:00:00Z',
    completionTime: '2026-01-01T00:02:00Z',
    regressions: 1,
    costIncreasePercent: 20,
    baseline: { passed: 6, failed: 3, passRate: 66, totalTokens: 1500, costMicros: 20_000, currency: 'USD', averageDurationSeconds: 4 },
    candidate: { passed: 5, failed: 3, inconclusive: 1, passRate: 62, totalTokens: 2500, averageDurationSeconds: 65 },
    runs: [{}, {}, {}, {}],
    cases: [
      { case: 'sonnets', task: 'rain', outcome: 'Regressed', baselinePassed: 3, candidateTask: 'poems-1', message: 'expect[0] is false.' },
      { case: 'odes', task: 'snow', outcome: 'Inconclusive', message: 'Diverged: another call' },
      { case: 'sonnets', task: 'fog', outcome: 'Passed', baselinePassed: 3, candidatePassed: 3, candidateTask: 'poems-2' },
    ],
    conditions: [ready('The revision cccc of the role poet: Failed (regressions: 1 (at most 0)).')],
  },
  { repeats: 3, thresholds: { minPassRate: 90, maxCostIncreasePercent: 10 } },
);

function show(answer: unknown, view = <EvaluationsPage onMenu={vi.fn()} />, status = 200) {
  vi.stubGlobal('fetch', async () => new Response(JSON.stringify(answer), { status }));
  const site: Site = { store: new Store(), person: { user: 'alice', namespace: 'default', may: {} } as Person, namespace: 'default', toast: vi.fn(), roles: (name) => ({ name: name ?? '' }) };
  render(<SiteContext value={site}>{view}</SiteContext>);
}

/** The cells of a table's row without its heading. */
const cells = (heading: HTMLElement) => [...heading.closest('tr')!.querySelectorAll('td')].map(({ textContent }) => textContent);

it('lists evaluations with verdicts, progress and problems', async () => {
  const reconciling: Condition = { type: 'Reconciling', status: 'True', reason: 'Evaluating', message: '' };
  show({
    items: [
      failed,
      anEvaluation('running', { candidateRevision: revision('d'), completedTasks: 3, totalTasks: 8, conditions: [ready(''), reconciling] }),
      anEvaluation('broken', { conditions: [ready('Create the AgentRole.', 'False')] }),
      anEvaluation('idle', { conditions: [ready('The cases have 2 recorded runs.')] }),
      anEvaluation('new', {}),
    ],
  });
  expect(cells(await screen.findByText('poems')).slice(0, 6)).toEqual(['poet', 'Failed', '5 of 8, 1 inconclusive', '1', '+20%', 'cccccccc']);
  expect(cells(screen.getByText('running')).slice(1, 5)).toEqual(['3 of 8 tasks', '–', '–', '–']);
  for (const [name, label] of [['broken', 'Not ready'], ['idle', 'No candidate'], ['new', 'Not checked yet']]) expect(cells(screen.getByText(name!))[1]).toBe(label);
  expect(screen.getByText('poems').getAttribute('href')).toBe('/default/evaluations/poems');
  expect(screen.getAllByText('poet')[0]!.getAttribute('href')).toBe('/default/roles?edit=poet');
});

it('explains what an evaluation is, and reports a missing permission', async () => {
  show({ items: [] });
  await screen.findByText('No evaluations yet');
  screen.getByText('kubectl apply -n default -f evaluation.yaml');
  cleanup();
  show({ message: 'alice may not list agentevaluations' }, undefined, 403);
  await screen.findByText('alice may not list agentevaluations');
});

it('shows both revisions, and the cases in the order of the operator with their comparisons', async () => {
  show(failed, <EvaluationsPage onMenu={vi.fn()} name="poems" />);
  await screen.findByText(/regressions: 1 \(at most 0\)/);
  const both = within(screen.getByRole('region', { name: 'Figures of both revisions' }));
  const figures = (name: string) => cells(both.getByText(name));
  expect(figures('Revision')).toEqual(['bbbbbbbb', 'cccccccc', '']);
  expect(figures('Pass rate')).toEqual(['66%', '62%', 'at least 90%']);
  expect(figures('Regressions')).toEqual(['', '1', 'at most 0']);
  expect(figures('Inconclusive')).toEqual(['0', '1', 'at most 0']);
  expect(figures('Tokens')).toEqual(['1.5K', '2.5K', '']);
  expect(figures('Cost')).toEqual(['$0.02', 'unknown', '']);
  expect(figures('Cost increase')).toEqual(['', '+20%', 'at most 10%']);
  expect(figures('Average time')).toEqual(['4 s', '1 min 05 s', '']);
  const cases = within(screen.getByRole('region', { name: 'Results of the cases' }));
  expect(cases.getAllByText(/^(rain|snow|fog)$/).map((task) => [task.textContent, cells(task)[0]])).toEqual([['rain', 'Regressed'], ['snow', 'Inconclusive'], ['fog', 'Passed']]);
  expect(cells(cases.getByText('rain')).slice(1, 4)).toEqual(['rain', '3 of 3 passed', '0 of 3 passed']);
  expect(cases.getByRole('link', { name: 'Run of the candidate for rain' }).getAttribute('href')).toBe('/default/runs/poems-1');
  expect(cases.getByRole('link', { name: 'Compare with rain' }).getAttribute('href')).toBe('/default/runs/poems-1?view=compare');
  expect(cases.queryByRole('link', { name: 'Compare with snow' })).toBeNull();
  screen.getByText('The worst 3 of 4 recorded runs.');
});

it('shows the progress and the thresholds before there is a verdict', async () => {
  show(anEvaluation('poems', { candidateRevision: revision('c'), completedTasks: 1, totalTasks: 4, conditions: [ready('The cases have 2 recorded runs.'), { type: 'Reconciling', status: 'True', reason: 'Evaluating', message: 'The revision c is evaluated against b.' }] }), <EvaluationsPage onMenu={vi.fn()} name="poems" />);
  await screen.findByText('The revision c is evaluated against b.');
  screen.getByText('1 of 4 tasks');
  expect(cells(screen.getByText('Pass rate'))).toEqual(['–', '–', 'at least 100%']);
  screen.getByText('The cases appear here with the verdict.');
});

it('links the evaluations of a role', async () => {
  show({ items: [failed, anEvaluation('other', {}, { role: 'coder' })] }, <EvaluationsOf role="poet" />);
  const list = await screen.findByRole('list', { name: 'Evaluations' });
  expect(within(list).getAllByRole('link').map((link) => link.getAttribute('href'))).toEqual(['/default/evaluations/poems']);
  within(list).getByText('Failed');
});
