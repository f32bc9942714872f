// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// Links between the pages of the repository, as links of the site.
import fs from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

// root is the directory of the repository.
export const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../../..')

// projectPages are the pages beside docs that are part of the site, in the order of the menu.
export const projectPages = ['GOVERNANCE', 'MAINTAINERS', 'CODE_OF_CONDUCT', 'ROADMAP', 'ADOPTERS', 'SECURITY', 'CHANGELOG', 'CONTRIBUTING']

// repository is where links to files lead that are not pages.
export const repository = process.env.SITE_REPOSITORY || 'https://github.com/nestor-dev/nestor'

// rewrites are the places of the pages in the site.
export const rewrites = {
  'docs/README.md': 'index.md',
  'docs/:section/README.md': ':section/index.md',
  'docs/:rest*': ':rest*',
  'examples/:name/README.md': 'examples/:name.md',
}

// anchors makes the anchors of headings as GitHub makes them, so that one link works in both.
export const anchors = {
  slugify: text => text.toLowerCase().replace(/[^\p{L}\p{N}\- _]/gu, '').replaceAll(' ', '-'),
  text: tokens => tokens.filter(t => ['text', 'code_inline'].includes(t.type)).map(t => t.content).join(''),
}

// place returns the path of a page in the site, or null for a file that is not a page.
function place(file) {
  if (projectPages.includes(file.replace(/\.md$/, ''))) return `/${file.replace(/\.md$/, '')}`
  if (file === 'examples/README.md') return '/tasks/examples' // the list of examples
  const example = /^examples\/([^/]+)\/README\.md$/.exec(file)
  if (example) return `/examples/${example[1]}`
  const doc = /^docs\/(.+)\.md$/.exec(file)
  return doc && `/${doc[1].replace(/(^|\/)README$/, '$1')}`
}

// target returns the link of the site for a link in a file of the repository.
function target(from, href) {
  if (/^([a-z][a-z0-9+.-]*:|\/\/|#)/i.test(href)) return href
  const [, name, hash] = /^([^#]*)(#.*)?$/.exec(href)
  let file = path.relative(root, path.resolve(path.dirname(from), decodeURIComponent(name)))
  if (file.startsWith('..') || !fs.existsSync(path.join(root, file))) throw new Error(`${path.relative(root, from)}: dead link: ${href}`)
  const directory = fs.statSync(path.join(root, file)).isDirectory()
  if (directory && fs.existsSync(path.join(root, file, 'README.md'))) file = path.join(file, 'README.md')
  const page = place(file)
  if (page) return page + (hash ?? '')
  return `${repository}/${directory ? 'tree' : 'blob'}/main/${file}${hash ?? ''}`
}

// resolveLinks replaces the links of pages, before other rules see them.
export function resolveLinks(md) {
  md.core.ruler.push('repository-links', state => {
    for (const block of state.tokens) {
      for (const token of block.children ?? []) {
        if (token.type === 'link_open') token.attrSet('href', target(state.env.realPath ?? state.env.path, token.attrGet('href')))
      }
    }
  })
}

// keepText escapes what Vue would take for its own expressions and components: double braces, and names in angle brackets.
export function keepText(md) {
  for (const type of ['text', 'code_inline']) {
    const render = md.renderer.rules[type]
    md.renderer.rules[type] = (...args) => render(...args).replaceAll('{{', '&#123;&#123;')
  }
  const html = md.renderer.rules.html_inline
  md.renderer.rules.html_inline = (tokens, i, ...rest) => /^<(br|!--)/.test(tokens[i].content) ? html(tokens, i, ...rest) : md.utils.escapeHtml(tokens[i].content)
}
