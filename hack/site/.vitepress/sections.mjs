// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// The sections of the site. A page that is in none of them fails the build: check.mjs.
import fs from 'node:fs'
import path from 'node:path'
import { projectPages, root } from './links.mjs'

// heading returns the first heading of a page, which is its name in the menu.
function heading(file) {
  const found = /^# (.+)$/m.exec(fs.readFileSync(path.join(root, file), 'utf8'))
  if (!found) throw new Error(`${file}: a page begins with a heading`)
  return found[1].replaceAll('`', '')
}

const page = (file, link) => ({ text: heading(file), link })
const doc = name => page(`docs/${name}.md`, `/${name}`)
const section = (text, items, collapsed = true) => ({ text, items, collapsed })
const inDirectory = (dir, match) => fs.readdirSync(path.join(root, dir)).filter(name => match.test(name)).sort()

const examples = inDirectory('examples', /^[a-z-]+$/).map(name => page(`examples/${name}/README.md`, `/examples/${name}`))
const decisions = inDirectory('docs/adr', /^\d.*\.md$/).map(name => doc(`adr/${name.replace(/\.md$/, '')}`))
const references = inDirectory('docs/reference', /\.md$/).map(name => doc(`reference/${name.replace(/\.md$/, '')}`))

export const sidebar = [
  section('Start', [
    { text: 'Overview', link: '/' },
    ...['tasks/first-chat', 'tasks/kind', 'concepts/overview', 'tasks/build-an-agent', 'faq', 'comparison'].map(doc),
  ], false),
  section('Chat', [
    'tasks/talk-from-the-terminal', 'tasks/web-page', 'tasks/attachments', 'tasks/edit-a-chat',
  ].map(doc), false),
  section('Role', ['tasks/write-a-role', 'concepts/roles', 'tasks/change-a-prompt'].map(doc), false),
  section('Provider', ['tasks/your-model', 'concepts/models'].map(doc), false),
  section('Task', ['tasks/ci', 'tasks/fork-and-replay'].map(doc), false),
  section('Later: tools and control', [
    'tasks/add-tools', 'concepts/tools', 'concepts/workspace', 'tasks/approvals', 'tasks/notifications', 'concepts/labels', 'concepts/policies',
    'tasks/injection', 'tasks/budgets', 'tasks/quotas',
  ].map(doc)),
  section('Later: triggers and other programs', [
    'tasks/triggers', 'tasks/webhooks', 'tasks/clients', 'concepts/gateway', 'tasks/door-openai', 'tasks/door-mcp',
    'tasks/door-ag-ui', 'tasks/door-a2a', 'tasks/remote-agents',
  ].map(doc)),
  section('Examples', [doc('tasks/examples'), ...examples]),
  section('Run it', [
    'tasks/install', 'tasks/gitops', 'tasks/production', 'tasks/expose', 'tasks/oidc', 'concepts/security',
    'tasks/observe', 'tasks/troubleshooting', 'tasks/high-availability', 'tasks/backup-and-restore', 'tasks/upgrade',
    'tasks/uninstall', 'concepts/ledger', 'concepts/history',
  ].map(doc), false),
  section('Reference', references),
  section('Work on Nestor', [
    page('CONTRIBUTING.md', '/CONTRIBUTING'), ...['concepts/architecture', 'performance', 'tasks/chaos', 'tasks/real-cluster-tests', 'tasks/release'].map(doc),
    ...projectPages.filter(name => name !== 'CONTRIBUTING').map(name => page(`${name}.md`, `/${name}`)),
  ]),
  section('Decisions', [doc('adr/README'), ...decisions].map(item => ({ ...item, link: item.link.replace(/README$/, '') }))),
]
