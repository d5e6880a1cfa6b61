// Written by mdvec and written anew by its next build. Your own settings belong into site.local.mjs beside it.
// All that comes from notes is data in JSON files: none of it is Markdown, a template or a part of a program.
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import MiniSearch from 'minisearch'
import { defineConfig } from 'vitepress'
import { indexOptions } from './theme/search.js'

const here = (place) => fileURLToPath(new URL(place, import.meta.url))
const read = (place) => JSON.parse(readFileSync(here(place), 'utf8'))
const hash = (text) => createHash('sha256').update(text).digest('base64')
const site = read('./site.json')
const japanese = site.language === 'ja'
const local = existsSync(here('./site.local.mjs')) ? (await import(new URL('./site.local.mjs', import.meta.url))).default : {}

const pages = here('../pages')
const search = new MiniSearch(indexOptions)
search.addAll(read('./search.json'))
const index = JSON.stringify(search)
writeFileSync(join(pages, 'public/mdvec-search.json'), index)
const indexAddress = `${site.base}mdvec-search.json?${encodeURIComponent(hash(index))}`

// The search box loads the index as data, too.
const searchIndex = {
  name: 'mdvec:search',
  enforce: 'pre',
  load: (id) => id === '/@localSearchIndex'
    ? `export default { root: async () => ({ default: await (await fetch(${JSON.stringify(indexAddress)})).text() }) }`
    : undefined,
}

// The module of a page reads what it shows; a page of your own stays what VitePress makes of it.
const pageModules = {
  name: 'mdvec:pages',
  enforce: 'post',
  transform(_, id) {
    const name = id.endsWith('.md') ? relative(pages, id).replaceAll('\\', '/').slice(0, -3) : ''
    if (!name || !existsSync(join(pages, `public/mdvec-pages/${name}.json`))) return
    return `import { component, pageData, read } from ${JSON.stringify(here('./theme/pages.js'))}
const page = await read(${JSON.stringify(name)})
export const __pageData = pageData(page)
export default component(page)`
  },
}

// Scripts, styles, images and data come from the site alone; VitePress writes short scripts into the head.
function policy(head) {
  const scripts = [...head.matchAll(/<script(?![^>]*\ssrc=)[^>]*>([^]*?)<\/script>/g)].map((each) => `'sha256-${hash(each[1])}'`)
  return ["default-src 'self'", ["script-src 'self'", ...scripts].join(' '), "style-src 'self' 'unsafe-inline'",
    "img-src 'self' data:", "object-src 'none'", "frame-src 'none'", "base-uri 'none'", "form-action 'none'"].join('; ')
}

const ours = {
  srcDir: 'pages',
  // The same notes give the same files. It takes no longer.
  buildConcurrency: 1,
  // The names of all scripts are one file, instead of standing in each page.
  metaChunk: true,
  outDir: './dist',
  base: site.base,
  lang: japanese ? 'ja-JP' : 'en-US',
  head: [['link', { rel: 'icon', type: 'image/svg+xml', href: site.iconAddress }]],
  title: site.title,
  // VitePress does not escape its own.
  transformHead: () => [['meta', { name: 'description', content: site.description }]],
  transformHtml: (html) => html.replace('<meta charset="utf-8">', (charset) =>
    `${charset}\n    <meta http-equiv="Content-Security-Policy" content="${policy(html.slice(0, html.indexOf('</head>')))}">`),
  vite: {
    // Programs and settings of folders above are none of ours.
    envDir: false,
    css: { postcss: {} },
    build: { target: 'es2022' },
    plugins: [searchIndex, pageModules],
  },
  themeConfig: {
    nav: site.nav,
    sidebar: [{ text: site.title, items: [] }],
    sidebarAddress: site.sidebarAddress,
    outline: { level: [2, 3], label: japanese ? '目次' : 'On this page' },
    docFooter: { prev: false, next: false },
    sidebarMenuLabel: japanese ? 'ノート' : 'Notes',
    returnToTopLabel: japanese ? '先頭へ' : 'Return to top',
    notFound: japanese ? {
      title: 'ページが見つかりません', quote: 'アドレスを確かめるか、検索から探してください。',
      linkText: '最初のページへ', linkLabel: '最初のページへ',
    } : undefined,
    darkModeSwitchLabel: japanese ? '表示' : 'Appearance',
    search: {
      provider: 'local',
      options: {
        translations: japanese ? {
          button: { buttonText: '検索', buttonAriaLabel: '検索' },
          modal: {
            displayDetails: '詳細を表示', resetButtonTitle: '消去', backButtonTitle: '閉じる',
            noResultsText: '見つかりません:',
            footer: { selectText: '選択', navigateText: '移動', closeText: '閉じる' },
          },
        } : undefined,
      },
    },
  },
}

export default defineConfig({ extends: ours, ...local })
