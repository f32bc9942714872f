// Copyright 2026 The Nestor Authors
// SPDX-License-Identifier: Apache-2.0

// The static site of the documentation. Its pages are the files of the repository, which also read well without the
// site: nothing is copied, and links are those of the repository.
import fs from 'node:fs'
import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitepress'
import { anchors, repository, keepText, resolveLinks, rewrites, root } from './links.mjs'
import { sidebar } from './sections.mjs'

// others are the directories without pages.
const others = fs.readdirSync(root, { withFileTypes: true }).filter(entry => entry.isDirectory() && !['docs', 'examples'].includes(entry.name)).map(entry => entry.name)

// packages finds Vue for the pages, which are not beside the packages that the site is built with.
const packages = {
  name: 'packages',
  enforce: 'pre',
  resolveId(source, importer) {
    if (/^vue(\/|$)/.test(source) && importer?.endsWith('.md')) return this.resolve(source, fileURLToPath(import.meta.url), { skipSelf: true })
  },
}

export default defineConfig({
  title: 'Nestor',
  description: 'A Kubernetes operator for hierarchical LLM agents',
  lang: 'en',
  base: process.env.SITE_BASE || '/',
  srcDir: '../..',
  outDir: '../../dist/site',
  srcExclude: ['README.md', 'examples/README.md', 'examples/**/SKILL.md', 'examples/**/template.md', ...others.map(name => `${name}/**`)],
  rewrites,
  // Pages link to files on GitHub instead of these names; a link that leads nowhere fails the build.
  ignoreDeadLinks: false,
  metaChunk: true,
  markdown: {
    anchor: { slugify: anchors.slugify, getTokensText: anchors.text },
    config: md => [keepText, resolveLinks].forEach(rule => rule(md)),
    languageAlias: { console: 'shellsession' },
  },
  vite: {
    plugins: [packages],
    // The pictures stay files, so that their style sheets follow the reader's theme.
    build: { assetsInlineLimit: 0, chunkSizeWarningLimit: 4000 },
  },
  themeConfig: {
    search: { provider: 'local' },
    outline: [2, 3],
    nav: [
      { text: 'First chat', link: '/tasks/first-chat' },
      { text: 'Build an agent', link: '/tasks/build-an-agent' },
      { text: 'Examples', link: '/tasks/examples' },
      { text: 'Reference', link: '/reference/api' },
    ],
    sidebar,
    externalLinkIcon: true,
    socialLinks: [{ icon: 'github', link: repository }],
  },
})
