import DefaultTheme from 'vitepress/theme'
import { onMounted } from 'vue'
import './mdvec.css'

let site

export default {
  extends: DefaultTheme,
  enhanceApp({ siteData }) {
    site = siteData
  },
  setup() {
    // Every page shows the sidebar with all notes: it is loaded once, instead of standing in each page.
    onMounted(async () => {
      const { themeConfig } = site.value
      const response = await fetch(themeConfig.sidebarAddress)
      if (!response.ok) return
      site.value = { ...site.value, themeConfig: { ...themeConfig, sidebar: await response.json() } }
    })
  },
}
