// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

import type { Page } from 'playwright-core';
import { beforeAll, expect, it } from 'vitest';
import { visit } from './browser';
import { look } from './look';
import { browser, open, stack } from './world';

open();

let admin: Page;

beforeAll(async () => {
  admin = await visit(browser, await stack.open('admin', 'default'));
});

const place = (name: string) => admin.getByRole('navigation', { name: 'Chats' }).getByRole('link', { name, exact: true }).click();

/** Checks what the form has, and applies it. */
async function apply(): Promise<void> {
  await admin.getByRole('button', { name: 'Check with a dry run' }).click();
  await admin.getByText(/^The API server accepts it/).waitFor();
  await admin.getByRole('button', { name: 'Apply to default' }).click();
}

it('sets up a provider from the start page, with a pasted key', async () => {
  await admin.getByRole('link', { name: 'Set up a model provider' }).click();
  await admin.getByRole('button', { name: 'vLLM or another server' }).click();
  await admin.getByLabel(/^API key apiKeyRef/).fill('model');
  await admin.getByLabel('API key: key in the Secret').fill('api-key');
  await admin.getByLabel('API key: value for a new Secret').fill('sk-pasted');
  await admin.getByRole('button', { name: 'Create the Secret' }).click();
  await admin.getByText('The Secret model is created.').waitFor();
  await admin.getByLabel(/^Default model/).fill('small');
  await admin.getByRole('button', { name: 'Add a model' }).click();
  await admin.getByLabel('Model 1', { exact: true }).fill('small');
  await admin.getByLabel('Price of input of model 1').fill('0.5');
  await admin.getByLabel('Price of output of model 1').fill('1.5');
  await look(admin, 'setup-provider');
  expect(await admin.content()).not.toContain('sk-pasted');
  await apply();
  await admin.getByRole('article', { name: 'default' }).waitFor();
  await look(admin, 'setup-models');
});

it('sets up a trigger with its next times, a tool server and a quota', async () => {
  await place('Triggers');
  await admin.getByRole('link', { name: 'Set up a trigger' }).click();
  await admin.getByRole('button', { name: 'On a schedule' }).click();
  await admin.getByText('Monday to Friday at 07:00 (UTC)').waitFor();
  await admin.getByLabel('Name', { exact: true }).fill('morning');
  await admin.getByLabel(/^Instruction/).fill('Summarise the night.');
  await look(admin, 'setup-trigger');
  await apply();
  await admin.getByRole('region', { name: 'Trigger morning' }).waitFor();
  await place('Tools');
  await admin.getByRole('link', { name: 'New tool server' }).click();
  await admin.getByLabel('Name', { exact: true }).fill('search');
  await admin.getByLabel(/^URL/).fill('https://mcp.invalid/mcp');
  await look(admin, 'setup-tools');
  await apply();
  await admin.getByRole('region', { name: 'Tools: search' }).waitFor();
  await place('Usage');
  await admin.getByRole('link', { name: 'New quota' }).click();
  await admin.getByLabel('Name', { exact: true }).fill('daily');
  await admin.getByLabel(/^Period/).selectOption('Day');
  await admin.getByLabel(/^Cost/).fill('5');
  await apply();
  await admin.getByRole('meter', { name: 'daily: cost' }).waitFor();
});

it('sets up a policy that was tried on a recorded call', async () => {
  await stack.create('admin', 'AgentTask', 'default', 'sum', { type: 'Tool', tool: 'calculator', arguments: { expression: '1 + 1' }, user: 'admin' });
  await admin.goto(new URL('/default/runs/sum', admin.url()).href);
  await admin.locator('.chat-head .badge', { hasText: 'Done' }).waitFor();
  await place('Policies');
  await look(admin, 'setup-policies-none');
  await admin.getByRole('link', { name: 'Set up a policy' }).click();
  await admin.getByRole('button', { name: 'Every write needs a person' }).click();
  await admin.getByLabel(/^Allow when/).fill("call.tool != 'calculator'");
  await admin.getByLabel(/^Otherwise/).selectOption('Deny');
  await admin.getByRole('button', { name: 'Try it' }).click();
  await admin.getByText(/1 matched: 1 denied/).waitFor();
  await admin.getByRole('region', { name: 'Try it' }).locator('summary').click();
  await look(admin, 'setup-policy', admin.getByRole('region', { name: 'Try it' }));
  await apply();
  await admin.getByRole('article', { name: 'writes' }).waitFor();
  await look(admin, 'setup-policies');
});
