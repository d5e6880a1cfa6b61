// Written by mdvec and written anew by its next build. What you add belongs into site.local.mjs beside it.
import { existsSync, readFileSync } from 'node:fs'
import { defineConfig } from 'vitepress'

const site = JSON.parse(readFileSync(new URL('./site.json', import.meta.url), 'utf8'))
const own = new URL('./site.local.mjs', import.meta.url)
const local = existsSync(own) ? (await import(own.href)).default : {}

// Japanese has no spaces: two neighbouring characters make a term, in notes and in queries.
// VitePress sends this function to the browser, so it stands by itself.
function tokenize(text) {
  const unspaced = /^[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff々〆〇ー]/
  const runs = text.normalize('NFKC').toLowerCase()
    .match(/[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff々〆〇ー]+|(?:(?![\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff])[\p{L}\p{M}\p{N}_])+/gu) || []
  const terms = []
  for (const run of runs) {
    if (!unspaced.test(run) || run.length === 1) terms.push(run)
    else for (let i = 0; i + 1 < run.length; i++) terms.push(run.slice(i, i + 2))
  }
  return terms
}

const japanese = {
  button: { buttonText: '検索', buttonAriaLabel: '検索' },
  modal: {
    displayDetails: '詳細を表示', resetButtonTitle: '消去', backButtonTitle: '閉じる',
    noResultsText: '見つかりません:',
    footer: { selectText: '選択', navigateText: '移動', closeText: '閉じる' },
  },
}

export default defineConfig({
  srcDir: 'pages',
  // Pages enter the search index in turn, so that the same notes give the same files. It takes no longer.
  buildConcurrency: 1,
  // The names of all scripts are one file, instead of standing in each page.
  metaChunk: true,
  outDir: './dist',
  base: site.base,
  lang: site.language === 'ja' ? 'ja-JP' : 'en-US',
  head: [['link', { rel: 'icon', type: 'image/svg+xml', href: site.iconAddress }]],
  title: site.title,
  description: site.description,
  // mdvec has resolved every link, and reports those that lead nowhere.
  ignoreDeadLinks: true,
  // Addresses are finished, too: the base is part of them.
  vue: { template: { transformAssetUrls: { tags: {} } } },
  markdown: { html: true },
  themeConfig: {
    nav: site.nav,
    sidebar: [{ text: site.title, items: [] }],
    sidebarAddress: site.sidebarAddress,
    outline: { level: [2, 3], label: site.language === 'ja' ? '目次' : 'On this page' },
    docFooter: { prev: false, next: false },
    sidebarMenuLabel: site.language === 'ja' ? 'ノート' : 'Notes',
    returnToTopLabel: site.language === 'ja' ? '先頭へ' : 'Return to top',
    notFound: site.language === 'ja' ? {
      title: 'ページが見つかりません', quote: 'アドレスを確かめるか、検索から探してください。',
      linkText: '最初のページへ', linkLabel: '最初のページへ',
    } : undefined,
    darkModeSwitchLabel: site.language === 'ja' ? '表示' : 'Appearance',
    search: {
      provider: 'local',
      options: {
        translations: site.language === 'ja' ? japanese : undefined,
        // VitePress looks for sections by an expression that takes minutes on a page with many rules or tables,
        // and drops tags without a space: all but headings with their links goes before.
        async _render(source, env, md) {
          const html = await md.render(source, env)
          return env.frontmatter?.search === false ? '' : html
            .replace(/<(?!h[1-6][^>]* id="|\/h[1-6]>|a class="header-anchor"|\/a>)[^>]*>/g, ' ')
            .replace(/&(?:#\d+|\w+);/g, ' ')
        },
        miniSearch: {
          options: { tokenize },
          searchOptions: {
            combineWith: 'AND', fuzzy: false,
            prefix: (term) => term.length === 1 || !/[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]/.test(term),
          },
        },
      },
    },
  },
  ...local,
})
