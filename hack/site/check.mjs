// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Checks the built site: links and anchors lead somewhere, every page is in the menu and in the search index, and nothing is loaded from another host.
import fs from 'node:fs'
import path from 'node:path'
import { root } from './.vitepress/links.mjs'
import { sidebar } from './.vitepress/sections.mjs'

const site = path.join(root, 'dist/site')
const base = process.env.SITE_BASE || '/'
const problems = []

const files = fs.readdirSync(site, { recursive: true }).filter(name => name.endsWith('.html') && name !== '404.html')
const pages = new Map(files.map(name => {
  const html = fs.readFileSync(path.join(site, name), 'utf8')
  return [name, { html, ids: new Set([...html.matchAll(/ id="([^"]+)"/g)].map(m => unescape(m[1]))) }]
}))

// unescape returns the text of an attribute.
function unescape(text) {
  return text.replaceAll('&quot;', '"').replaceAll('&#39;', "'").replaceAll('&amp;', '&')
}

// file returns the file of a link, and undefined if there is none.
function file(url) {
  const name = decodeURIComponent(url.pathname).slice(base.length)
  return [name, `${name}.html`, path.join(name, 'index.html')].find(found => found && fs.existsSync(path.join(site, found)) && fs.statSync(path.join(site, found)).isFile())
}

for (const [name, { html }] of pages) {
  const here = new URL(base + name.split(path.sep).join('/'), 'http://site')
  for (const [, attribute, value] of html.matchAll(/ (href|src)="([^"]*)"/g)) {
    const url = new URL(unescape(value), here)
    if (url.origin !== here.origin) {
      if (attribute === 'src') problems.push(`${name}: loads ${value} from another host`)
      continue
    }
    const found = file(url)
    if (!found) problems.push(`${name}: dead link: ${value}`)
    else if (url.hash && pages.has(found) && !pages.get(found).ids.has(decodeURIComponent(url.hash.slice(1)))) problems.push(`${name}: no such heading: ${value}`)
  }
}

const listed = new Set(sidebar.flatMap(section => section.items).map(item => (item.link.endsWith('/') ? `${item.link}index.html` : `${item.link}.html`).slice(1)))
for (const name of pages.keys()) {
  if (!listed.has(name.split(path.sep).join('/'))) problems.push(`${name}: the page is in no section of hack/site/.vitepress/sections.mjs`)
}

// Every page is in the search index.
const index = fs.readdirSync(path.join(site, 'assets/chunks')).filter(name => name.startsWith('@localSearchIndex')).map(name => fs.readFileSync(path.join(site, 'assets/chunks', name), 'utf8')).join('')
for (const name of pages.keys()) {
  const link = base + name.split(path.sep).join('/').replace(/(^|\/)index\.html$/, '$1').replace(/\.html$/, '')
  if (!index.includes(`${link}.html#`) && !index.includes(`${link}#`)) problems.push(`${name}: the page is not in the search index`)
}

if (problems.length > 0) {
  console.error(problems.join('\n'))
  process.exit(1)
}
console.log(`${pages.size} pages in ${path.relative(root, site)}: links and headings are valid`)
