// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import type { Page } from 'playwright-core';
import { beforeAll, expect, it } from 'vitest';
import { visit } from './browser';
import { look } from './look';
import { browser, open, stack } from './world';

open();

const timeout = 120_000;
let admin: Page;

beforeAll(async () => {
  admin = await visit(browser, await stack.open('admin', 'alice'));
});

it('forks a run from an entry of its transcript, and shows both runs side by side', async () => {
  await stack.create('admin', 'AgentTask', 'alice', 'poem', { type: 'Agent', role: 'general', instruction: 'Write a haiku.', user: 'admin' });
  await admin.goto(new URL('/alice/runs/poem', admin.url()).href);
  await admin.locator('.chat-head .badge', { hasText: 'Done' }).waitFor({ timeout });
  await admin.getByRole('button', { name: 'Inspect', exact: true }).click();
  const transcript = admin.getByRole('log', { name: 'Transcript' });
  await transcript.getByText('Finished').waitFor({ timeout });
  await look(admin, 'forks-transcript');
  await transcript.getByRole('button', { name: /^Fork from entry/ }).first().click();
  const dialog = admin.getByRole('dialog', { name: 'Fork poem' });
  const replies = dialog.getByLabel(/^Replies of the model/);
  expect(await replies.inputValue()).toBe('Live');
  await replies.selectOption('Recorded');
  await dialog.getByText('The same with kubectl').click();
  await dialog.getByText(/kubectl nestor fork poem -n alice --at \d+ --replies Recorded$/).waitFor();
  await look(admin, 'forks-recorded');
  await dialog.getByLabel(/^Instruction/).fill('Write a haiku about rain.');
  expect(await replies.isDisabled()).toBe(true);
  await dialog.getByText(/kubectl nestor fork poem -n alice --at \d+ --instruction 'Write a haiku about rain.'/).waitFor();
  await look(admin, 'forks-dialog');
  await dialog.getByRole('button', { name: 'Fork', exact: true }).click();
  await admin.waitForURL(/\/runs\/poem-fork-.*view=compare/);
  await admin.locator('.chat-head .badge', { hasText: 'Done' }).waitFor({ timeout });
  await admin.getByText('The first difference is step 1 of').waitFor({ timeout });
  const first = admin.getByRole('listitem', { name: 'Step 1, differs' });
  await first.getByText('Write a haiku about rain.').first().waitFor();
  expect(await first.getByRole('region', { name: 'Difference of text' }).innerText()).toContain('Write a haiku.');
  await look(admin, 'forks-compare');
});

it('shows the revisions of a gated role, promotes one and rolls it back', async () => {
  await stack.create('admin', 'AgentRole', 'alice', 'poet', { systemPrompt: 'You write poems.', promotion: { mode: 'Gated' } });
  await admin.goto(new URL('/alice/roles?edit=poet', admin.url()).href);
  const revision = (number: number) => admin.getByRole('listitem', { name: `Revision ${number}` });
  await revision(1).getByText('promoted', { exact: true }).waitFor({ timeout });
  await admin.getByLabel(/^System prompt/).fill('You write short poems.');
  await admin.getByRole('button', { name: 'Check with a dry run' }).click();
  await admin.getByRole('button', { name: 'Apply to alice' }).click();
  await admin.getByRole('link', { name: 'Edit poet' }).click();
  await revision(2).getByText('current', { exact: true }).waitFor({ timeout });
  await revision(2).getByRole('button', { name: 'Changes since 1' }).click();
  await revision(2).getByText('You write short poems.').waitFor();
  await look(admin, 'forks-revisions', admin.getByRole('region', { name: 'Revisions' }));
  await revision(2).getByRole('button', { name: 'Promote' }).click();
  const dialog = admin.getByRole('dialog', { name: 'Promote revision 2?' });
  await dialog.getByText('You write short poems.').waitFor();
  await look(admin, 'forks-promote');
  await dialog.getByRole('button', { name: 'Promote' }).click();
  await revision(2).getByText('promoted', { exact: true }).waitFor({ timeout });
  await revision(1).getByRole('button', { name: 'Roll back' }).click();
  await admin.getByRole('dialog').getByRole('button', { name: 'Roll back' }).click();
  await revision(1).getByText('promoted', { exact: true }).waitFor({ timeout });
  await revision(2).getByText('rolled back').waitFor();
});
