// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// A new user, in an empty namespace and without the documentation, sets up a model provider, a tool server, a role and a trigger.

import type { Page } from 'playwright-core';
import { beforeAll, expect, it } from 'vitest';
import { visit } from './browser';
import { look } from './look';
import { browser, open, stack } from './world';

open();

const timeout = 120_000;
let admin: Page;

beforeAll(async () => {
  admin = await visit(browser, await stack.open('admin', 'default'));
});

const place = (name: string) => admin.getByRole('navigation', { name: 'Chats' }).getByRole('link', { name, exact: true }).click();

async function apply(): Promise<void> {
  await admin.getByRole('button', { name: 'Check with a dry run' }).click();
  await admin.getByText(/^The API server accepts it/).waitFor();
  await admin.getByRole('button', { name: 'Apply to default' }).click();
}

/** The addresses of the model and the tool server of the stack, as the page shows them to those of another namespace. */
async function addresses(): Promise<{ model: string; tools: string }> {
  const other = await visit(browser, await stack.open('admin', 'alice'));
  const field = async (page: string, edit: string, label: RegExp) => {
    await other.goto(new URL(`/alice/${page}?edit=${edit}`, other.url()).href);
    return other.getByLabel(label).inputValue();
  };
  const found = { model: await field('models', 'default', /^Base URL/), tools: await field('tools', 'notes', /^URL/) };
  await other.context().close();
  return found;
}

it('goes from an empty namespace to an own provider, tool server, role and trigger', async () => {
  const { model, tools } = await addresses();

  await admin.getByRole('link', { name: 'Set up a model provider' }).click();
  await admin.getByRole('button', { name: 'vLLM or another server' }).click();
  await admin.getByLabel(/^Base URL/).fill(model);
  await admin.getByLabel(/^Default model/).fill('scripted');
  await apply();
  await admin.getByRole('article', { name: 'default' }).getByText('Ready', { exact: true }).waitFor({ timeout });
  await look(admin, 'newcomer-provider');
  await admin.getByRole('button', { name: 'Test: default' }).click();
  await admin.locator('.chat-head .badge', { hasText: 'Done' }).waitFor({ timeout });

  await place('Tools');
  await admin.getByRole('link', { name: 'New tool server' }).click();
  expect(await admin.getByLabel(/^Accepted tools/).count()).toBe(0);
  await admin.getByLabel('Name', { exact: true }).fill('notebook');
  await admin.getByLabel(/^URL/).fill(tools);
  await apply();
  await admin.getByRole('region', { name: 'Tools: notebook' }).getByText('notebook__add').waitFor({ timeout });
  await look(admin, 'newcomer-tools');

  await place('Roles');
  await admin.getByRole('link', { name: 'New role' }).click();
  await admin.getByLabel('Name', { exact: true }).fill('poet');
  await admin.getByLabel(/^System prompt/).fill('You write poems.');
  await admin.getByLabel(/^Tools/).selectOption('notebook__*');
  await admin.getByLabel('Task', { exact: true }).fill('Write a haiku.');
  await admin.getByRole('button', { name: 'Try it' }).click();
  const tried = admin.locator('.try-runs');
  await tried.getByText('An old pond').waitFor({ timeout });
  expect(await tried.evaluate((runs) => runs.getBoundingClientRect().top < window.innerHeight)).toBe(true);
  await look(admin, 'newcomer-role', tried);
  await apply();
  await admin.getByRole('article', { name: 'poet' }).waitFor();

  await place('Triggers');
  await admin.getByRole('link', { name: 'Set up a trigger' }).click();
  await admin.getByLabel('Name', { exact: true }).fill('morning');
  await admin.getByLabel(/^Role of the task/).selectOption('poet');
  await admin.getByLabel(/^Instruction/).fill('Write a haiku.');
  await admin.getByText('Monday to Friday at 07:00 (UTC)').waitFor();
  await look(admin, 'newcomer-trigger');
  await apply();
  const trigger = admin.getByRole('region', { name: 'Trigger morning' });
  await trigger.getByText('Ready', { exact: true }).waitFor({ timeout });
  await trigger.getByRole('button', { name: 'Fire' }).click();
  await trigger.getByText('An old pond.', { exact: true }).waitFor({ timeout });
  await look(admin, 'newcomer-fired');
});
