import DefaultTheme from 'vitepress/theme'
import { onMounted } from 'vue'
import { indexOptions, searchOptions } from './search.js'
import './mdvec.css'

let site

function configure(changes) {
  site.value = { ...site.value, themeConfig: { ...site.value.themeConfig, ...changes } }
}

export default {
  extends: DefaultTheme,
  enhanceApp({ siteData }) {
    site = siteData
    // VitePress would send the functions of its settings as text, which the policy of the site forbids to run.
    const { search } = site.value.themeConfig
    if (search?.provider === 'local') {
      configure({ search: { ...search, options: { miniSearch: { options: indexOptions, searchOptions }, ...search.options } } })
    }
  },
  setup() {
    // Every page shows the sidebar with all notes: it is loaded once, instead of standing in each page.
    onMounted(async () => {
      const response = await fetch(site.value.themeConfig.sidebarAddress)
      if (response.ok) configure({ sidebar: await response.json() })
    })
  },
}
