// The pages of notes: finished HTML, read as data.
import { h } from 'vue'

export async function read(name) {
  if (import.meta.env.SSR) {
    const { readFile } = await import('node:fs/promises')
    return { name, ...JSON.parse(await readFile(`pages/public/mdvec-pages/${name}.json`, 'utf8')) }
  }
  // The first page of a visit is here already.
  const shown = document.querySelector('.note[data-page]')
  if (shown?.dataset.page === name) return { name, title: shown.dataset.title, html: shown.innerHTML }
  const place = name.split('/').map(encodeURIComponent).join('/')
  const response = await fetch(`${import.meta.env.BASE_URL}mdvec-pages/${place}.json`)
  if (!response.ok) throw new Error(`fetch of ${place}: ${response.status}`)
  return { name, ...await response.json() }
}

export const pageData = ({ name, title }) => (
  { title, description: '', frontmatter: {}, headers: [], relativePath: `${name}.md`, filePath: `${name}.md` }
)

export const component = ({ name, title, html }) => ({
  name,
  render: () => h('div', { class: 'note', 'data-page': name, 'data-title': title, innerHTML: html }),
})
