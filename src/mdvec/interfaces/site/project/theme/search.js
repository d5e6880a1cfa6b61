// How the search box reads texts and queries, in Node and in the browser.
const unspaced = '\\u3040-\\u30ff\\u3400-\\u4dbf\\u4e00-\\u9fff\\uf900-\\ufaff'
const run = new RegExp(`[${unspaced}々〆〇ー]+|(?:(?![${unspaced}])[\\p{L}\\p{M}\\p{N}_])+`, 'gu')
const hiragana = /[\u3041-\u309f]/
const japanese = new RegExp(`^[${unspaced}々〆〇ー]`)

const ideograph = /[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff々]/
// Words of questions, which their answers have not.
const subject = /(?![何誰])[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]/g
const asking = new Set(
  ('a an and are at be by can could did do does for from had has have how i if in is it its me my of on or our should so '
  + 'that the their there this to was we were what when where which who whose why will with would you your').split(' '))

// Titles are HTML.
const runs = (text) => text.replace(/&(?:#\d+|\w+);/g, ' ').normalize('NFKC').toLowerCase().match(run) ?? []

// Japanese has no spaces: two neighbouring characters make a term, in notes and in queries.
function terms(found) {
  if (!japanese.test(found) || found.length === 1) return [found]
  return Array.from({ length: found.length - 1 }, (_, i) => found.slice(i, i + 2))
}

// A last character begins no pair, and is found like the others by how a term begins.
const tokenize = (text) => runs(text).flatMap((found) =>
  found.length > 1 && ideograph.test(found.at(-1)) ? [...terms(found), found.at(-1)] : terms(found))

// Particles and endings count if there is nothing else: first pairs without hiragana, then single characters.
function queryTerms(text) {
  const all = runs(text).flatMap(terms)
  const subjects = all.filter((term) => !hiragana.test(term) && !asking.has(term))
  const characters = subjects.length ? subjects : text.normalize('NFKC').match(subject) ?? []
  return characters.length ? characters : all
}

export const indexOptions = { fields: ['title', 'titles', 'text'], storeFields: ['title', 'titles'], tokenize }

export const searchOptions = {
  tokenize: queryTerms,
  combineWith: 'AND',
  fuzzy: false,
  prefix: (term) => term.length === 1 || !japanese.test(term),
}
