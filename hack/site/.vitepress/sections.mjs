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
  section('Start', [{ text: 'Overview', link: '/' }, ...['tasks/first-chat', 'tasks/kind', 'concepts/overview', 'faq', 'comparison'].map(doc)], false),
  section('Use', [
    'tasks/talk-from-the-terminal', 'tasks/web-page', 'tasks/approvals', 'tasks/attachments', 'tasks/edit-a-chat', 'tasks/write-a-role', 'tasks/add-tools', 'tasks/budgets',
  ].map(doc), false),
  section('Automate and connect', [
    'tasks/triggers', 'tasks/webhooks', 'tasks/ci', 'tasks/remote-agents', 'tasks/door-openai', 'tasks/door-mcp', 'tasks/door-ag-ui', 'tasks/door-a2a',
  ].map(doc), false),
  section('Examples', [doc('tasks/examples'), ...examples]),
  section('Run it', [
    'tasks/install', 'tasks/production', 'tasks/your-model', 'tasks/gitops', 'tasks/quotas', 'tasks/high-availability', 'tasks/backup-and-restore', 'tasks/observe',
    'tasks/upgrade', 'tasks/uninstall', 'tasks/troubleshooting',
  ].map(doc), false),
  section('Concepts', [
    'concepts/models', 'concepts/roles', 'concepts/tools', 'concepts/workspace', 'concepts/ledger', 'concepts/history', 'concepts/gateway', 'concepts/security', 'concepts/architecture',
  ].map(doc), false),
  section('Reference', references),
  section('Work on Nestor', [
    page('CONTRIBUTING.md', '/CONTRIBUTING'), ...['performance', 'tasks/chaos', 'tasks/real-cluster-tests', 'tasks/release'].map(doc),
    ...projectPages.filter(name => name !== 'CONTRIBUTING').map(name => page(`${name}.md`, `/${name}`)),
  ]),
  section('Decisions', [doc('adr/README'), ...decisions].map(item => ({ ...item, link: item.link.replace(/README$/, '') }))),
]
